"""Clusters and table counts of groups that vary within their cluster (λ finite).

    log p(z_j = k)  =  log π_k + contexts + Σ_m ln Γ(λτ_km + n_jm) − ln Γ(λτ_km)

given the topics of the tokens. The number of tables of each topic is then o_jm ~ CRT(n_jm, λτ_km).
"""

from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import add_context_scores
from mcsquared.kernels.cpu.fast_math import log32, log64
from mcsquared.kernels.cpu.groups import (
    count_tables,
    empty_uniforms,
    fill_group_uniforms,
    list_topics,
)
from mcsquared.kernels.cpu.lanes import N_LANES, add, fill, load, store
from mcsquared.kernels.cpu.special import log_rising_factorial, pick, stirling_series
from mcsquared.kernels.rng import Step, uniform_of

F = np.float32
CLUSTERS, GROUP_TABLES = int(Step.CLUSTERS), int(Step.GROUP_TABLES)


class ScoredGroups(NamedTuple):
    """Scores of all groups in every cluster, and the topics of their tokens."""

    scores: np.ndarray  # float64 (n_groups, cluster slots): from topics and contexts
    topic_scores: np.ndarray  # float32 (n_groups, cluster slots): from topics alone
    # Group j has n_topics[j] topics, in increasing order, from start[j] on, and their counts.
    start: np.ndarray  # int64 (n_groups,)
    n_topics: np.ndarray  # int32 (n_groups,)
    topic: np.ndarray  # int32 (capacity,)
    count: np.ndarray  # type: ignore[assignment]  # int32 (capacity,)


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_log_rising_factorials(first_topic, last_topic, base, out):
    """Write ln Γ(a + n) − ln Γ(a) with a = base[k, m] to ``out[m, n, k]``, float32, for all n.

    A base of 0 has underflowed and is replaced by 1e-30.
    """
    n_cluster_slots = base.shape[0]
    a = np.empty(n_cluster_slots, np.float32)
    for m in range(first_topic, last_topic):
        for k in range(n_cluster_slots):
            a[k] = max(base[k, m], F(1e-30))
            out[m, 0, k] = F(0.0)
        for n in range(out.shape[1] - 1):
            for k in range(n_cluster_slots):
                out[m, n + 1, k] = out[m, n, k] + log32(a[k] + float32(n))


@njit(cache=True, error_model="numpy")
def score_clusters(topics, counts, n_topics, base, tabulated, n_tabulated, topic_scores):
    """Write Σ_m ln Γ(λτ_km + n_jm) − ln Γ(λτ_km) of a group to float32 ``topic_scores``."""
    n_cluster_slots = topic_scores.size
    for k in range(0, n_cluster_slots, N_LANES):
        total = fill(F(0.0))
        for t in range(n_topics):
            n = min(counts[t], n_tabulated)
            row = topics[t] * (n_tabulated + 1) + n
            total = add(total, load(tabulated, row * n_cluster_slots + k))
        store(topic_scores, k, total)
    for t in range(n_topics):
        if counts[t] > n_tabulated:
            add_beyond_table(base[:, topics[t]], n_tabulated, counts[t] - n_tabulated, topic_scores)


@njit(cache=True, error_model="numpy")
def add_beyond_table(base, n_tabulated, n_more, topic_scores):
    """Add ln Γ(a + n + n_more) − ln Γ(a + n), a = base[k], n = n_tabulated, to ``topic_scores``."""
    a = np.empty(base.size)
    for k in range(base.size):
        a[k] = max(float(base[k]), 1e-30) + n_tabulated
    if n_tabulated < 8:
        for k in range(base.size):
            a[k] = log_rising_factorial(a[k], n_more)
    else:
        replace_by_log_rising_factorials(a, float(n_more))
    for k in range(base.size):
        topic_scores[k] += float32(a[k])


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def replace_by_log_rising_factorials(a, n):
    """Replace all a ≥ 8 by ln Γ(a + n) − ln Γ(a).

    Stirling's series, as in `log_rising_factorial`, in a form that the compiler can vectorise.
    """
    for k in range(a.size):
        ratio = n / a[k]
        grown = 1.0 + ratio
        log_grown = log64(grown) - ((grown - 1.0) - ratio) / grown  # log1p
        series = stirling_series(a[k] + n) - stirling_series(a[k])
        a[k] = n * log64(a[k]) + (a[k] + n - 0.5) * log_grown - n + series


@njit(cache=True, error_model="numpy")
def group_scratch(base, contexts):
    """Return scratch arrays for `score_group`.

    They are the topics of a group, their counts, zeros for `list_topics`, the log-likelihood of the
    topics in every cluster slot, and a row of dense statistics.
    """
    n_cluster_slots, n_slots = base.shape
    topics, counts = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    topic_scores = np.empty(n_cluster_slots, np.float32)
    n_statistics = contexts.dense.stat_start[-1]
    return topics, counts, np.zeros(n_slots, np.int64), topic_scores, np.empty(n_statistics)


@njit(cache=True, error_model="numpy")
def score_group(j, groups, topic_of_token, base, tabulated, contexts, scratch, scores):
    """Add the log-likelihood of a group's topics and contexts to float64 ``scores``.

    Topics, their counts, and the log-likelihood of the topics alone are in ``scratch``; returns the
    number of topics.
    """
    topics, counts, tokens, topic_scores, statistics = scratch
    n_topics = list_topics(j, groups, topic_of_token, tokens, topics, counts)
    n_tabulated = tabulated.size // base.size - 1
    score_clusters(topics, counts, n_topics, base, tabulated, n_tabulated, topic_scores)
    for k in range(scores.size):
        scores[k] += topic_scores[k]
    add_context_scores(j, contexts, statistics, scores)
    return n_topics


@njit(cache=True, error_model="numpy")
def add_tables(topics, counts, n_topics, base, uniforms, tables):
    """Add o_m ~ CRT(n_m, base_m) to ``tables`` (topics,), with a random number per customer.

    ``uniforms`` is from `empty_uniforms`.
    """
    first = 0
    for t in range(n_topics):
        tables[topics[t]] += count_tables(base[topics[t]], counts[t], uniforms, first)
        first += counts[t]


@njit(cache=True, nogil=True, error_model="numpy")
def resample_groups(
    first_chunk,
    last_chunk,
    groups,
    topic_of_token,
    base,
    tabulated,
    log_weights,
    contexts,
    key,
    cluster_of_group,
    topics_in_cluster,
    tables_in_cluster,
    log_likelihood,
):
    """Draw the cluster and the table counts of each group in some chunks, given its topics.

    Parameters
    ----------
    base : float32 (cluster slots, topic slots)
        λ τ_km.
    tabulated : float32 (topic slots × (n + 1) × cluster slots,)
        From `tabulate_log_rising_factorials`.
    log_weights : float64 (cluster slots,)
        log π_k; −∞ in slots that must not be drawn.
    topics_in_cluster, tables_in_cluster : int32 (cluster slots, topic slots)
        Tokens c_km and tables O_km are added to these.
    log_likelihood : float64 (n_chunks,)
        Output: Σ_j Σ_m ln Γ(λτ_km + n_jm) − ln Γ(λτ_km), k = z_j, over the groups of each chunk.
    """
    scratch, uniforms = group_scratch(base, contexts), empty_uniforms(groups)
    (topics, counts, _, topic_scores, _), scores = scratch, np.empty(len(base))
    given = (groups, topic_of_token, base, tabulated, contexts, scratch)
    drawn = (base, groups, key, uniforms, topics_in_cluster, tables_in_cluster)
    for chunk in range(first_chunk, last_chunk):
        total = 0.0
        for j in range(groups.chunk_start[chunk], groups.chunk_start[chunk + 1]):
            scores[:] = log_weights
            n_topics = score_group(j, *given, scores)
            z = pick(scores, scores.size, uniform_of(key, CLUSTERS, groups.first_group + j, 0))
            cluster_of_group[j] = z
            total += topic_scores[z]
            add_to_cluster(j, z, topics, counts, n_topics, *drawn)
        log_likelihood[chunk] = total


@njit(cache=True, nogil=True, error_model="numpy")
def resample_scored_groups(
    first_chunk,
    last_chunk,
    groups,
    base,
    scored,
    log_rows,
    row_of_group,
    key,
    cluster_of_group,
    topics_in_cluster,
    tables_in_cluster,
    log_likelihood,
):
    """Do the same as `resample_groups`, given the scores of the groups.

    Parameters
    ----------
    scored : ScoredGroups
    log_rows : float64 (rows, cluster slots)
        Log-weights of the clusters; group ``j`` has those of ``row_of_group[j]``.
    """
    n_cluster_slots, uniforms = len(base), empty_uniforms(groups)
    scores = np.empty(n_cluster_slots)
    drawn = (base, groups, key, uniforms, topics_in_cluster, tables_in_cluster)
    for chunk in range(first_chunk, last_chunk):
        total = 0.0
        for j in range(groups.chunk_start[chunk], groups.chunk_start[chunk + 1]):
            row = row_of_group[j]
            for k in range(n_cluster_slots):
                scores[k] = scored.scores[j, k] + log_rows[row, k]
            z = pick(scores, n_cluster_slots, uniform_of(key, CLUSTERS, groups.first_group + j, 0))
            cluster_of_group[j] = z
            total += scored.topic_scores[j, z]
            first, n_topics = scored.start[j], scored.n_topics[j]
            topics = scored.topic[first : first + n_topics]
            counts = scored.count[first : first + n_topics]
            add_to_cluster(j, z, topics, counts, n_topics, *drawn)
        log_likelihood[chunk] = total


@njit(cache=True, error_model="numpy")
def add_to_cluster(
    j, k, topics, counts, n_topics, base, groups, key, uniforms, in_cluster, tables_in_cluster
):
    """Add the topics of a group to ``in_cluster`` (cluster slots, topic slots); draw its tables."""
    fill_group_uniforms(j, groups, key, GROUP_TABLES, uniforms)
    add_tables(topics, counts, n_topics, base[k], uniforms, tables_in_cluster[k])
    for t in range(n_topics):
        in_cluster[k, topics[t]] += counts[t]
