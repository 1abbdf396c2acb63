"""Contexts of groups: any number of them, of any family with a kernel; any value may be missing.

Contexts with few statistics (`DenseContexts`) are columns of one array; contexts that count
categories (`BagContexts`) are concatenated in one list of (category, count) entries. The collapsed
sampler integrates out the parameters; the blocked sampler draws them. Dense families are
exponential families: log F(x | φ_k) = T(x) · natural_k + log h(x), and the base measure h is the
same for all clusters. Bags have an array of log-probabilities with one row per category.
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.fast_math import exp32
from mcsquared.kernels.cpu.predictive import JOIN, add_observation, log_predictive, prepare
from mcsquared.kernels.cpu.special import add_log, log_rising_factorial, pick
from mcsquared.kernels.rng import Step, uniform_of

CLUSTERS, OUTLIERS = int(Step.CLUSTERS), int(Step.OUTLIERS)


class DenseContexts(NamedTuple):
    """``n`` contexts with few statistics. ``*_start`` are the bounds of each context's columns."""

    kind: np.ndarray  # int64 (n,): values of `mcsquared.kernels.cpu.predictive.KINDS`
    parameters: np.ndarray  # float64, flat
    parameter_start: np.ndarray  # int64 (n + 1,)
    values: np.ndarray  # float64 (n_groups, columns)
    value_start: np.ndarray  # int64 (n + 1,)
    observed: np.ndarray  # bool (n_groups, n)
    stat_start: np.ndarray  # int64 (n + 1,)
    prepared_start: np.ndarray  # int64 (n + 1,)


class BagContexts(NamedTuple):
    """``n`` contexts that count categories, which are numbered consecutively over all contexts."""

    start: np.ndarray  # int64 (n, n_groups + 1): bounds of the entries of each group
    category: np.ndarray  # int32 (entries,)
    count: np.ndarray  # type: ignore[assignment]  # int32 (entries,)
    shapes: np.ndarray  # float64 (categories of all bags,): Dirichlet parameters
    smoothing: np.ndarray  # float64 (n,): sums of the shapes


class ContextCounts(NamedTuple):
    """Statistics of the contexts in each cluster slot, and rows prepared from them."""

    statistics: np.ndarray  # float64 (cluster slots, dense statistics)
    prepared: np.ndarray  # float64 (cluster slots, prepared numbers)
    categories: np.ndarray  # int32 (cluster slots, categories of all bags)
    totals: np.ndarray  # int64 (cluster slots, bags)


class Background(NamedTuple):
    """Backgrounds of dense contexts: a value comes from its cluster, or from the background.

    The density of a value is ρ F(x | φ_k) + (1 − ρ) F(x | φ_0). ``log_probabilities`` are log ρ and
    log (1 − ρ) of each context; 0 and −∞ without a background.
    """

    log_probabilities: np.ndarray  # float64 (dense contexts, 2)
    natural: np.ndarray  # float64 (statistics of dense contexts,): natural parameters of φ_0


class ContextParameters(NamedTuple):
    """Parameters of the contexts in every cluster slot, drawn for one sweep."""

    natural: np.ndarray  # float64 (statistics of dense contexts, cluster slots): those of φ_k
    log_categories: np.ndarray  # float32 (categories of all bags, cluster slots)
    python_scores: np.ndarray  # float64 (n_groups, cluster slots) of Python families; or (0, 0)
    background: Background


class GivenContexts(NamedTuple):
    """Contexts of groups with the parameters drawn for them."""

    dense: DenseContexts
    bags: BagContexts
    parameters: ContextParameters


@njit(cache=True, error_model="numpy")
def prepare_cluster(k, dense, counts):
    """Prepare the dense contexts of cluster ``k`` after a change of its statistics."""
    for c in range(dense.kind.size):
        prepare(
            dense.kind[c],
            dense.parameters[dense.parameter_start[c] : dense.parameter_start[c + 1]],
            counts.statistics[k, dense.stat_start[c] : dense.stat_start[c + 1]],
            counts.prepared[k, dense.prepared_start[c] : dense.prepared_start[c + 1]],
        )


@njit(cache=True, error_model="numpy")
def add_dense(j, sign, dense, statistics):
    """Add (JOIN) or remove (LEAVE) the dense contexts of group ``j``."""
    for c in range(dense.kind.size):
        if dense.observed[j, c]:
            add_observation(
                dense.kind[c],
                statistics[dense.stat_start[c] : dense.stat_start[c + 1]],
                dense.values[j, dense.value_start[c] : dense.value_start[c + 1]],
                sign,
            )


@njit(cache=True, error_model="numpy")
def move_contexts(j, k, sign, dense, bags, counts):
    """Add the contexts of group ``j`` to cluster ``k`` (JOIN) or remove them (LEAVE)."""
    add_dense(j, sign, dense, counts.statistics[k])
    for c in range(bags.smoothing.size):
        for e in range(bags.start[c, j], bags.start[c, j + 1]):
            counts.categories[k, bags.category[e]] += sign * bags.count[e]
            counts.totals[k, c] += sign * bags.count[e]


@njit(cache=True, error_model="numpy")
def log_contexts(j, k, dense, bags, counts):
    """Return Σ log p(x_j | contexts of cluster k) over the observed contexts."""
    value = 0.0
    for c in range(dense.kind.size):
        if dense.observed[j, c]:
            value += log_predictive(
                dense.kind[c],
                counts.prepared[k, dense.prepared_start[c] : dense.prepared_start[c + 1]],
                dense.values[j, dense.value_start[c] : dense.value_start[c + 1]],
            )
    for c in range(bags.smoothing.size):
        total = 0
        product = 1.0
        for e in range(bags.start[c, j], bags.start[c, j + 1]):
            weight = bags.shapes[bags.category[e]] + counts.categories[k, bags.category[e]]
            if bags.count[e] == 1:
                value, product = add_log(value, product, weight)
            else:
                value += log_rising_factorial(weight, bags.count[e])
            total += bags.count[e]
        if total > 0:
            value += math.log(product)
            value -= log_rising_factorial(bags.smoothing[c] + counts.totals[k, c], total)
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def rebuild_contexts(cluster_of_group, dense, bags, counts):
    """Recompute the statistics of every cluster, group by group, and prepare all slots.

    Float statistics lose digits when observations are added and removed. The order of summation is
    fixed, so that the sums do not depend on earlier sweeps.
    """
    counts.statistics[:] = 0.0
    counts.categories[:] = 0
    counts.totals[:] = 0
    for j in range(cluster_of_group.size):
        move_contexts(j, np.int64(cluster_of_group[j]), JOIN, dense, bags, counts)
    for k in range(len(counts.statistics)):
        prepare_cluster(k, dense, counts)


@njit(cache=True, error_model="numpy")
def fill_statistics(j, c, dense, statistics):
    """Write T(x) of dense context ``c`` of group ``j``; return the bounds of its statistics."""
    first, last = dense.stat_start[c], dense.stat_start[c + 1]
    statistics[first:last] = 0.0
    values = dense.values[j, dense.value_start[c] : dense.value_start[c + 1]]
    add_observation(dense.kind[c], statistics[first:last], values, JOIN)
    return first, last


@njit(cache=True, error_model="numpy")
def add_context_scores(j, contexts, statistics, scores):
    """Add Σ log F(x_j | φ_k) over the observed contexts, without log h, to float64 ``scores``.

    ``scores`` has one element per cluster slot; ``statistics`` is scratch for the dense statistics.
    """
    n_cluster_slots = scores.size
    dense, bags, parameters = contexts
    for c in range(dense.kind.size):
        if not dense.observed[j, c]:
            continue
        first, last = fill_statistics(j, c, dense, statistics)
        log_foreground, log_background = parameters.background.log_probabilities[c]
        if log_background > -math.inf:
            for s in range(first, last):
                log_background += statistics[s] * parameters.background.natural[s]
            for k in range(n_cluster_slots):
                log_cluster = log_foreground
                for s in range(first, last):
                    log_cluster += statistics[s] * parameters.natural[s, k]
                scores[k] += max(log_cluster, log_background) + math.log1p(
                    math.exp(-abs(log_cluster - log_background))
                )
            continue
        for s in range(first, last):
            for k in range(n_cluster_slots):
                scores[k] += statistics[s] * parameters.natural[s, k]
    for c in range(bags.smoothing.size):
        for e in range(bags.start[c, j], bags.start[c, j + 1]):
            row = parameters.log_categories[bags.category[e]]
            for k in range(n_cluster_slots):
                scores[k] += bags.count[e] * row[k]
    if parameters.python_scores.size > 0:
        for k in range(n_cluster_slots):
            scores[k] += parameters.python_scores[j, k]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_foreground(
    first_group, last_group, dense, natural, background, key, offset, cluster_of_group, foreground
):
    """Draw which values come from their cluster, given the clusters and all parameters.

    ``natural`` is that of `ContextParameters`. ``foreground`` is bool (n_groups, dense contexts),
    output; False for missing values. ``offset`` groups of the corpus precede these arrays.
    """
    statistics = np.empty(dense.stat_start[-1])
    for j in range(first_group, last_group):
        for c in range(dense.kind.size):
            foreground[j, c] = dense.observed[j, c]
            log_foreground, log_background = background.log_probabilities[c]
            if not dense.observed[j, c] or log_background == -math.inf:
                continue
            first, last = fill_statistics(j, c, dense, statistics)
            log_odds = log_background - log_foreground
            for s in range(first, last):
                log_odds += statistics[s] * (
                    background.natural[s] - natural[s, cluster_of_group[j]]
                )
            u = uniform_of(key, OUTLIERS, offset + j, c)
            # Equivalent to u < 1 / (1 + exp(log_odds)).
            foreground[j, c] = math.log(1.0 / u - 1.0) > log_odds


@njit(cache=True, nogil=True, error_model="numpy")
def draw_clusters_by_scores(
    first_group, last_group, content_scores, log_weights, contexts, key, offset, cluster_of_group
):
    """Draw z_j given ``content_scores`` float64 (last_group − first_group, cluster slots).

    ``offset`` groups of the corpus precede these arrays: random numbers are those of the corpus.
    """
    n_cluster_slots = log_weights.size
    scores, statistics = np.empty(n_cluster_slots), np.empty(contexts.dense.stat_start[-1])
    for j in range(first_group, last_group):
        for k in range(n_cluster_slots):
            scores[k] = log_weights[k] + content_scores[j - first_group, k]
        add_context_scores(j, contexts, statistics, scores)
        u = uniform_of(key, CLUSTERS, offset + j, 0)
        cluster_of_group[j] = pick(scores, n_cluster_slots, u)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def sum_exponentials(first_chunk, last_chunk, rows, logs, largest, total):
    """Sum exp(logs), float32 (n_rows, n_columns), over chunks of ``rows`` rows, by column.

    Chunk ``c`` is ``logs[c * rows : (c + 1) * rows]``; the last may be shorter. Its sums are
    ``total[c] * exp(largest[c])``, where both arrays are float64 (n_chunks, n_columns).
    """
    n_columns = logs.shape[1]
    for chunk in range(first_chunk, last_chunk):
        begin, end = chunk * rows, min((chunk + 1) * rows, len(logs))
        highest, sums = np.full(n_columns, np.float32(-np.inf)), np.zeros(n_columns)
        for r in range(begin, end):
            for k in range(n_columns):
                highest[k] = max(highest[k], logs[r, k])
        for r in range(begin, end):
            for k in range(n_columns):
                sums[k] += exp32(logs[r, k] - highest[k])
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
    """Count the groups of some chunks, and sum their contexts, by cluster.

    Parameters
    ----------
    groups_in_cluster : int32 (cluster slots,)
        Counts are added to it, to ``categories`` int32 (categories, cluster slots) and to
        ``totals`` int64 (cluster slots, bags). Sums of integers do not depend on the order.
    statistics : float64 (n_chunks, cluster slots, dense statistics)
        Output: a sum per chunk, so that the total does not depend on the number of threads.
    """
    for chunk in range(first_chunk, last_chunk):
        sums = statistics[chunk]
        sums[:] = 0.0
        for j in range(chunk_start[chunk], chunk_start[chunk + 1]):
            k = cluster_of_group[j]
            groups_in_cluster[k] += 1
            add_dense(j, JOIN, dense, sums[k])
            for c in range(bags.smoothing.size):
                for e in range(bags.start[c, j], bags.start[c, j + 1]):
                    categories[bags.category[e], k] += bags.count[e]
                    totals[k, c] += bags.count[e]
