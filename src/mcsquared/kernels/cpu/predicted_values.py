"""Values of a context that acts on topics, sampled with the clusters and topics of new groups.

    p(l_ji = m | ·)  ∝  (n_jm + λ b_jm) ψ_m(w_ji),       b_j  =  w_0 τ_{z_j} + w_c τ_{x_j} + rest_j
    p(z_j = k | ·)   ∝  π_k F(x_j | k) DM(n_j; λ b_j)
    p(x_j = s | ·)   ∝  F(s | z_j) DM(n_j; λ b_j)

b_j is the base measure of the group's topics (see `mcsquared.kernels.cpu.effects`), rest_j the part
of its other values, and DM the Dirichlet-multinomial distribution of its topic counts n_j. The
result is the mean of the last line over the iterations. The first topics are drawn with the mean of
the values' rows, so that they favour no value.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.effects import add_log_rising
from mcsquared.kernels.cpu.fold_in import (
    ACCEPTANCE,
    CLUSTER,
    PROPOSAL,
    START,
    add_probabilities,
    fill_sequentially,
    resample_topics,
)
from mcsquared.kernels.cpu.group_state import ClusterBases, draw_cluster, empty_state
from mcsquared.kernels.rng import BLOCK, uniform

F = np.float32
# Steps of random numbers, after those of `fold_in`.
START_VALUE, VALUE, PROPOSED_VALUE = range(6, 9)


class ValueRows(NamedTuple):
    """Topic weights of clusters and of the values to be predicted.

    Columns of the transposed arrays are padded to a multiple of sixteen.
    """

    clusters: np.ndarray  # float64 (n_clusters, n_slots): τ_k
    values: np.ndarray  # float64 (n_values, n_slots): τ_s
    means: np.ndarray  # float64 (n_clusters, n_slots): Σ_s F(s | k) τ_s
    clusters_by_topic: np.ndarray  # float32 (n_slots, n_clusters, padded)
    values_by_topic: np.ndarray  # float32 (n_slots, n_values, padded)


class ValueWeights(NamedTuple):
    """Weights of the sources of each group, times λ."""

    cluster: np.ndarray  # float64 (n_groups,)
    value: np.ndarray  # float64 (n_groups,)
    rest: np.ndarray  # float64 (n_groups, n_slots): λ rest_j


@njit(cache=True, error_model="numpy")
def set_base(state, j, cluster, value, weights, bases):
    """Set the base measure of group ``j`` with rows of a cluster and of a value as sources.

    ``bases`` is a `ClusterBases` of one row; the weights of ``state`` are updated.
    """
    for m in range(state.weights.size):
        base = weights.cluster[j] * cluster[m] + weights.value[j] * value[m]
        base += weights.rest[j, m]
        bases.base[0, m] = base
        bases.log_base[0, m] = math.log(base) if base > 0.0 else -math.inf
        state.weights[m] = state.counts[m] + base


@njit(cache=True, error_model="numpy")
def score_rows(state, lam, weight, by_topic, other_weight, other_row, rest, scores):
    """Write the log-likelihood of the topics with each row of topic weights as a source.

    The rows are the columns of ``by_topic``, and ``weight`` is theirs; ``other_weight`` and
    ``other_row`` are those of the source that is given. ``scores`` is float32, one per row.
    """
    n_topics, n_slots = 0, state.counts.size
    lists, fixed = np.empty((5, n_slots), np.int64), np.empty(n_slots, np.float32)
    topics, counts = lists[0], lists[1]
    for m in range(n_slots):
        if state.counts[m] > 0.0:
            topics[n_topics], counts[n_topics] = m, int(state.counts[m])
            fixed[n_topics] = other_weight * other_row[m] + rest[m]
            n_topics += 1
    scores[:] = F(0.0)
    given = (float32(weight), by_topic, fixed, lam)
    add_log_rising(topics, counts, n_topics, *given, lists[2:], scores)


@njit(cache=True, error_model="numpy")
def score_values(state, lam, j, k, rows, weights, log_values, value_scores, log_weights):
    """Write log p(x_j = s, topics of the tokens | z_j = k) of all values to ``log_weights``."""
    cluster = (weights.cluster[j], rows.clusters[k])
    by_topic, rest = rows.values_by_topic, weights.rest[j]
    score_rows(state, lam, weights.value[j], by_topic, *cluster, rest, value_scores)
    for s in range(log_weights.size):
        log_weights[s] = log_values[k, s] + value_scores[s]


@njit(cache=True, nogil=True, error_model="numpy")
def predict_values(
    groups, tokens, lam, rows, weights, log_values, joint_moves, n_burn_in, n_kept, log_value
):
    """Sample cluster, value and topics of groups; average the probabilities of the values.

    Parameters
    ----------
    groups : PredictedGroups
        ``log_prior`` without the context to be predicted.
    rows : ValueRows
    weights : ValueWeights
    log_values : float64 (n_clusters, n_values)
        log F(s | k), normalised over the values.
    joint_moves : bool (n_groups,)
        Whether cluster, value and topics are also proposed jointly, as in `fold_in`.
    log_value : float64 (n_groups, n_values)
        Output: log of the mean of p(x_j = s | z_j, topics of the tokens).
    """
    group_start, row_of_token, log_prior, log_proposal, key_of_group, seed = groups
    (n_clusters, n_slots), n_values = rows.clusters.shape, len(rows.values)
    longest = np.diff(group_start).max() if group_start.size > 1 else 0
    state, spare = empty_state(longest, n_slots), empty_state(longest, n_slots)
    bases = ClusterBases(np.empty((1, n_slots)), np.empty((1, n_slots)), np.empty((1, n_slots)))
    others = ClusterBases(np.empty((1, n_slots)), np.empty((1, n_slots)), np.empty((1, n_slots)))
    uniforms = np.empty((longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)
    no_counts, cluster_log_weights = np.empty(0), np.empty(n_clusters)
    value_log_weights, scratch = np.empty(n_values), np.empty(max(n_clusters, n_values))
    cluster_scores = np.empty(rows.clusters_by_topic.shape[1], np.float32)
    value_scores = np.empty(rows.values_by_topic.shape[1], np.float32)
    for j in range(group_start.size - 1):
        tokens_of_group = row_of_token[group_start[j] : group_start[j + 1]]
        group_key, rest = key_of_group[j], weights.rest[j]
        log_value[j] = -math.inf
        u = uniform(seed, group_key, 0, START, 0, 0)
        k = draw_cluster(log_proposal[j], scratch[:n_clusters], u)
        # Topics of a random value would favour it for many iterations.
        set_base(state, j, rows.clusters[k], rows.means[k], weights, bases)
        key = (seed, group_key, 0)
        fill_sequentially(state, 0, bases, tokens, tokens_of_group, True, uniforms, key)
        score_values(state, lam, j, k, rows, weights, log_values, value_scores, value_log_weights)
        u = uniform(seed, group_key, 0, START_VALUE, 0, 0)
        x = draw_cluster(value_log_weights, scratch[:n_values], u)
        set_base(state, j, rows.clusters[k], rows.values[x], weights, bases)
        for iteration in range(1, n_burn_in + n_kept + 1):
            key = (seed, group_key, iteration)
            if joint_moves[j]:
                u = uniform(seed, group_key, iteration, PROPOSAL, 0, 0)
                k_new = draw_cluster(log_proposal[j], scratch[:n_clusters], u)
                u = uniform(seed, group_key, iteration, PROPOSED_VALUE, 0, 0)
                x_new = draw_cluster(log_values[k_new], scratch[:n_values], u)
                set_base(spare, j, rows.clusters[k_new], rows.values[x_new], weights, others)
                gain = log_prior[j, k_new] - log_proposal[j, k_new]
                gain -= log_prior[j, k] - log_proposal[j, k]
                gain += fill_sequentially(
                    spare, 0, others, tokens, tokens_of_group, True, uniforms, key
                )
                gain -= fill_sequentially(
                    state, 0, bases, tokens, tokens_of_group, False, uniforms, key
                )
                if math.log(uniform(seed, group_key, iteration, ACCEPTANCE, 0, 0)) < gain:
                    k, x = k_new, x_new
                    state.topic[: tokens_of_group.size] = spare.topic[: tokens_of_group.size]
                    state.counts[:] = spare.counts
                    set_base(state, j, rows.clusters[k], rows.values[x], weights, bases)
            resample_topics(state, 0, bases, tokens, tokens_of_group, uniforms, key, no_counts)
            value = (weights.value[j], rows.values[x])
            w = weights.cluster[j]
            score_rows(state, lam, w, rows.clusters_by_topic, *value, rest, cluster_scores)
            for other in range(n_clusters):
                cluster_log_weights[other] = (
                    log_prior[j, other] + log_values[other, x] + cluster_scores[other]
                )
            u = uniform(seed, group_key, iteration, CLUSTER, 0, 0)
            k = draw_cluster(cluster_log_weights, scratch[:n_clusters], u)
            score_values(
                state, lam, j, k, rows, weights, log_values, value_scores, value_log_weights
            )
            if iteration > n_burn_in:
                add_probabilities(value_log_weights, log_value[j])
            u = uniform(seed, group_key, iteration, VALUE, 0, 0)
            x = draw_cluster(value_log_weights, scratch[:n_values], u)
            set_base(state, j, rows.clusters[k], rows.values[x], weights, bases)
        log_value[j] -= math.log(n_kept)
