"""Contexts of groups given drawn parameters: how well each cluster explains them, and their sums.

The families with few statistics are exponential: log F(x | φ_k) = T(x) · natural_k + log h(x), and
the base measure h is the same for all clusters. Bags read a table of log-probabilities, a row for
each category.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.contexts import JOIN
from mcsquared.kernels.cpu.fast_math import exp32
from mcsquared.kernels.cpu.predictive import add_observation
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.rng import Step, uniform

__all__ = [
    "ContextParameters",
    "add_context_scores",
    "draw_clusters_by_scores",
    "sum_contexts",
    "sum_exponentials",
]

CLUSTERS = int(Step.CLUSTERS)


class ContextParameters(NamedTuple):
    """Parameters of the contexts in every cluster slot, drawn for one sweep."""

    naturals: np.ndarray  # float64 (statistics of dense contexts, cluster slots)
    log_categories: np.ndarray  # float32 (categories of all bags, cluster slots)
    extra: np.ndarray  # float64 (n_groups, cluster slots) of families without a kernel; or (0, 0)


@njit(cache=True, error_model="numpy")
def add_context_scores(j, dense, bags, parameters, statistics, scores):
    """Add Σ log F(x_j | φ_k) over the contexts that group ``j`` has to ``scores`` (clusters,).

    ``statistics`` is scratch, as long as one row of dense statistics.
    """
    n_clusters = scores.size
    for c in range(dense.kind.size):
        if not dense.observed[j, c]:
            continue
        first, last = dense.stat_start[c], dense.stat_start[c + 1]
        statistics[first:last] = 0.0
        values = dense.values[j, dense.value_start[c] : dense.value_start[c + 1]]
        add_observation(dense.kind[c], statistics[first:last], values, JOIN)
        for s in range(first, last):
            for k in range(n_clusters):
                scores[k] += statistics[s] * parameters.naturals[s, k]
    for c in range(bags.concentration.size):
        for e in range(bags.start[c, j], bags.start[c, j + 1]):
            row = parameters.log_categories[bags.category[e]]
            for k in range(n_clusters):
                scores[k] += bags.count[e] * row[k]
    if parameters.extra.size > 0:
        for k in range(n_clusters):
            scores[k] += parameters.extra[j, k]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_clusters_by_scores(
    first_group,
    last_group,
    content_scores,
    log_weights,
    dense,
    bags,
    contexts,
    seed,
    chain,
    sweep,
    number_of_first,
    cluster_of_group,
):
    """Draw z_j of groups whose content has been scored: float64 (groups, cluster slots).

    ``number_of_first`` groups of the corpus come before the first of these arrays: random numbers
    are those of the whole.
    """
    n_clusters = log_weights.size
    scores, statistics = np.empty(n_clusters), np.empty(dense.stat_start[-1])
    for j in range(first_group, last_group):
        for k in range(n_clusters):
            scores[k] = log_weights[k] + content_scores[j - first_group, k]
        add_context_scores(j, dense, bags, contexts, statistics, scores)
        u = uniform(seed, chain, sweep, CLUSTERS, number_of_first + j, 0)
        cluster_of_group[j] = pick(scores, n_clusters, u)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def sum_exponentials(first_chunk, last_chunk, rows, table, largest, total):
    """Sum exp(table) over chunks of ``rows`` rows, column by column.

    Chunk ``c`` is ``table[c * rows : (c + 1) * rows]``, the last one shorter; its sums are
    ``total[c] * exp(largest[c])``, both float64 (n_chunks, n_columns).
    """
    n_columns = table.shape[1]
    for chunk in range(first_chunk, last_chunk):
        begin, end = chunk * rows, min((chunk + 1) * rows, len(table))
        highest, sums = np.full(n_columns, np.float32(-np.inf)), np.zeros(n_columns)
        for r in range(begin, end):
            for k in range(n_columns):
                highest[k] = max(highest[k], table[r, k])
        for r in range(begin, end):
            for k in range(n_columns):
                sums[k] += exp32(table[r, k] - highest[k])
        for k in range(n_columns):
            largest[chunk, k] = highest[k]
            total[chunk, k] = sums[k]


@njit(cache=True, nogil=True, error_model="numpy")
def sum_contexts(
    first_chunk,
    last_chunk,
    chunk_start,
    cluster_of_group,
    dense,
    bags,
    groups_in_cluster,
    statistics,
    categories,
    totals,
):
    """Count the groups of some chunks and sum their contexts by cluster.

    Parameters
    ----------
    groups_in_cluster : int32 (cluster slots,)
        Added to, like ``categories`` int32 (categories, cluster slots) and ``totals`` int64
        (cluster slots, bags): whole numbers add up in any order.
    statistics : float64 (n_chunks, cluster slots, dense statistics)
        One sum for each chunk, so that adding them is the same on any number of threads.
    """
    for chunk in range(first_chunk, last_chunk):
        sums = statistics[chunk]
        sums[:] = 0.0
        for j in range(chunk_start[chunk], chunk_start[chunk + 1]):
            k = cluster_of_group[j]
            groups_in_cluster[k] += 1
            for c in range(dense.kind.size):
                if dense.observed[j, c]:
                    add_observation(
                        dense.kind[c],
                        sums[k, dense.stat_start[c] : dense.stat_start[c + 1]],
                        dense.values[j, dense.value_start[c] : dense.value_start[c + 1]],
                        JOIN,
                    )
            for c in range(bags.concentration.size):
                for e in range(bags.start[c, j], bags.start[c, j + 1]):
                    categories[bags.category[e], k] += bags.count[e]
                    totals[k, c] += bags.count[e]
