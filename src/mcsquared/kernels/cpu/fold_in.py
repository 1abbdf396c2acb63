"""Clusters and topics of new groups for finite λ, given the globals.

Given π, τ, ψ and λ, groups are independent. For each group

    p(l_ji = m | z_j = k, ·)  ∝  (n_jm + λ τ_km) ψ_m(w_ji),             n_jm excludes token i
    p(z_j = k | ·)            ∝  π_k F(x_j | k) Π_m Γ(λτ_km + n_jm) / Γ(λτ_km)

Random numbers are keyed by group, so the result of a group does not depend on other groups.
"""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.group_state import (
    change_cluster,
    draw_cluster,
    draw_in_logs,
    draw_product,
    empty_state,
    log_sum,
    weigh_clusters,
)
from mcsquared.kernels.cpu.special import add_log
from mcsquared.kernels.rng import BLOCK, fill_uniforms, uniform, uniform_of

# Every step of an iteration has its own counter, so that no two draws share a random number.
START, TOPICS, CLUSTER, PROPOSAL, FILLING, ACCEPTANCE = range(6)


@njit(cache=True, error_model="numpy")
def add_probabilities(log_cluster, log_total):
    """Add the normalised exp(log_cluster) to exp(log_total), in logarithms."""
    norm = log_sum(log_cluster, log_cluster.size)
    for k in range(log_cluster.size):
        value = log_cluster[k] - norm
        low, high = min(value, log_total[k]), max(value, log_total[k])
        log_total[k] = high + math.log1p(math.exp(low - high)) if low > -math.inf else high


@njit(cache=True, error_model="numpy")
def fill_step_uniforms(uniforms, n, key, step):
    """Write the first ``n`` random numbers of a step; ``key`` is (seed, group key, iteration)."""
    fill_uniforms(uniforms, (n + BLOCK - 1) // BLOCK, key, step, 0)


@njit(cache=True, error_model="numpy")
def fill_sequentially(state, k, clusters, tokens, rows, draw, uniforms, key):
    """Add the tokens one after another; return Σ_i log Σ_m (n_m + λτ_m) ψ_m(w_i).

    ``rows``, int32 (n,), are the rows of the tokens in `TokenLikelihoods`. n_m counts the tokens
    before i. If ``draw``, topics are drawn from p(l_i = m | tokens before i, w_i); otherwise they
    are those of ``state``.
    """
    if draw:
        fill_step_uniforms(uniforms, rows.size, key, FILLING)
    topic, counts, weights, logs, sums = state
    likelihood, base = tokens.likelihood, clusters.base[k]
    counts[:] = 0.0
    weights[:] = base
    value, product = 0.0, 1.0
    for i in range(rows.size):
        m, total = draw_product(weights, likelihood[rows[i]], sums, uniforms[i])
        if total > 0.0:
            value, product = add_log(value, product, total)
        else:
            log_row, log_base = tokens.log_likelihood[rows[i]], clusters.log_base[k]
            m, log_total = draw_in_logs(counts, weights, log_base, log_row, logs, uniforms[i])
            value += log_total
        if draw:
            topic[i] = m
        m = topic[i]
        counts[m] += 1.0
        weights[m] = counts[m] + base[m]
    return value + math.log(product)


@njit(cache=True, error_model="numpy")
def resample_topics(state, k, clusters, tokens, rows, uniforms, key, expected_counts):
    """Draw every token's topic in turn; add p(l_i = m | ·) to ``expected_counts`` if not empty.

    Averages of these probabilities have less variance than averages of the drawn topics.
    """
    fill_step_uniforms(uniforms, rows.size, key, TOPICS)
    topic, counts, weights, logs, sums = state
    likelihood, base = tokens.likelihood, clusters.base[k]
    for i in range(rows.size):
        m = topic[i]
        counts[m] -= 1.0
        weights[m] = counts[m] + base[m]
        row = likelihood[rows[i]]
        m, total = draw_product(weights, row, sums, uniforms[i])
        if total == 0.0:
            log_row, log_base = tokens.log_likelihood[rows[i]], clusters.log_base[k]
            m, _ = draw_in_logs(counts, weights, log_base, log_row, logs, uniforms[i])
            if expected_counts.size:
                expected_counts[m] += 1.0
        elif expected_counts.size:
            scale = 1.0 / total
            for other in range(expected_counts.size):
                expected_counts[other] += weights[other] * row[other] * scale
        topic[i] = m
        counts[m] += 1.0
        weights[m] = counts[m] + base[m]


@njit(cache=True, error_model="numpy")
def move_jointly(
    state, spare, k, clusters, tokens, rows, log_prior, log_proposal, scratch, uniforms, key
):
    """Propose a cluster and all topics jointly; return the cluster after acceptance or rejection.

    The cluster is drawn from ``log_proposal``, the topics sequentially. The ratio of target to
    proposal is p(z) / proposal(z) times the product of the normalising sums of the topics.
    """
    other = draw_cluster(log_proposal, scratch, uniform_of(key, PROPOSAL, 0, 0))
    proposed = log_prior[other] - log_proposal[other]
    proposed += fill_sequentially(spare, other, clusters, tokens, rows, True, uniforms, key)
    current = log_prior[k] - log_proposal[k]
    current += fill_sequentially(state, k, clusters, tokens, rows, False, uniforms, key)
    if math.log(uniform_of(key, ACCEPTANCE, 0, 0)) >= proposed - current:
        return k
    state.topic[: rows.size] = spare.topic[: rows.size]
    state.counts[:] = spare.counts
    state.weights[:] = spare.weights
    return other


@njit(cache=True, nogil=True, error_model="numpy")
def fold_in(groups, tokens, clusters, joint_moves, n_burn_in, n_kept, log_cluster, mean_counts):
    """Sample the clusters and topics of groups, and average both.

    Parameters
    ----------
    groups : PredictedGroups
        ``log_proposal`` is the distribution of the initial cluster and of joint proposals.
    tokens : TokenLikelihoods
    clusters : ClusterBases
    joint_moves : bool (n_groups,)
        Whether to propose the cluster and all topics of a group jointly as well. Needed if λ is
        large compared with the number of tokens: the cluster and the topics then almost determine
        each other, so that separate updates mix slowly.
    n_burn_in, n_kept : int
        Iterations, each over all tokens of a group.
    log_cluster : float64 (n_groups, n_clusters)
        Output: log of the mean of p(z_j = k | topics of the tokens).
    mean_counts : float64 (n_groups, n_slots)
        Output: mean number of tokens of each topic.
    """
    group_start, row_of_token, log_prior, log_proposal, key_of_group, seed = groups
    n_clusters, n_slots = clusters.base.shape
    longest = np.diff(group_start).max() if group_start.size > 1 else 0
    state, spare = empty_state(longest, n_slots), empty_state(longest, n_slots)
    uniforms = np.empty((longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)
    used, no_counts = np.empty(n_slots, np.int64), np.empty(0)
    scratch, log_joint = np.empty(n_clusters), np.empty(n_clusters)
    for j in range(group_start.size - 1):
        rows = row_of_token[group_start[j] : group_start[j + 1]]
        group_key = key_of_group[j]
        log_cluster[j] = -math.inf
        mean_counts[j] = 0.0
        if rows.size == 0:
            add_probabilities(log_prior[j], log_cluster[j])
            continue
        k = draw_cluster(log_proposal[j], scratch, uniform(seed, group_key, 0, START, 0, 0))
        fill_sequentially(state, k, clusters, tokens, rows, True, uniforms, (seed, group_key, 0))
        for iteration in range(1, n_burn_in + n_kept + 1):
            key, is_kept = (seed, group_key, iteration), iteration > n_burn_in
            if joint_moves[j]:
                priors = log_prior[j], log_proposal[j]
                k = move_jointly(
                    state, spare, k, clusters, tokens, rows, *priors, scratch, uniforms, key
                )
            expected_counts = mean_counts[j] if is_kept else no_counts
            resample_topics(state, k, clusters, tokens, rows, uniforms, key, expected_counts)
            weigh_clusters(state, log_prior[j], clusters, used, log_joint)
            if is_kept:
                add_probabilities(log_joint, log_cluster[j])
            k = draw_cluster(log_joint, scratch, uniform(seed, group_key, iteration, CLUSTER, 0, 0))
            change_cluster(state, k, clusters)
        log_cluster[j] -= math.log(n_kept)
        mean_counts[j] /= n_kept
