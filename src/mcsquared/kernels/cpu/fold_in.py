"""Clusters and topics of new groups that vary inside their cluster, the globals fixed.

Given π, τ, ψ and a finite λ, groups are independent. In a group

    p(l_ji = m | z_j = k, ·)  ∝  (n_jm + λ τ_km) ψ_m(w_ji),             n_jm without token i
    p(z_j = k | ·)            ∝  π_k F(x_j | k) Π_m Γ(λτ_km + n_jm) / Γ(λτ_km)

Random numbers belong to the key of a group and to places in it, never to its number, so that its
result does not depend on the groups beside it.
"""

import math

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.seats import (
    change_cluster,
    draw_cluster,
    draw_in_logs,
    draw_product,
    empty_seats,
    weigh_clusters,
)
from mcsquared.kernels.cpu.special import add_log
from mcsquared.kernels.rng import BLOCK, fill_uniforms, uniform

__all__ = ["fold_in"]

# Every step of an iteration has its own number, so that no two draws share one.
START, TOPICS, CLUSTER, PROPOSAL, FILLING, ACCEPTANCE = range(6)


@njit(cache=True, error_model="numpy")
def add_probabilities(log_cluster, log_sum):
    """Add the probabilities in proportion to exp(log_cluster) to a sum, itself in logs."""
    largest = -math.inf
    for k in range(log_cluster.size):
        largest = max(largest, log_cluster[k])
    total = 0.0
    for k in range(log_cluster.size):
        total += math.exp(log_cluster[k] - largest)
    norm = largest + math.log(total)
    for k in range(log_cluster.size):
        value = log_cluster[k] - norm
        low, high = min(value, log_sum[k]), max(value, log_sum[k])
        log_sum[k] = high + math.log1p(math.exp(low - high)) if low > -math.inf else high


@njit(cache=True, error_model="numpy")
def fill_numbers(numbers, n, at, step):
    """Fill in the first ``n`` random numbers of a step; ``at`` is seed, key and iteration."""
    fill_uniforms(numbers, (n + BLOCK - 1) // BLOCK, at[0], at[1], at[2], step, 0)


@njit(cache=True, error_model="numpy")
def seat_in_turn(seats, k, clusters, tokens, rows, draw, numbers, at):
    """Seat the tokens one after another and return Σ_i log Σ_m (n_m + λτ_m) ψ_m(w_i), n_m before i.

    With ``draw`` each draws its topic, p(l_i = m | topics of the tokens before, w_i); without, it
    keeps the one that it has.
    """
    if draw:
        fill_numbers(numbers, rows.size, at, FILLING)
    topic, counts, weights, logs, sums = seats
    likelihood, mass = tokens.likelihood, clusters.mass[k]
    counts[:] = 0.0
    weights[:] = mass
    value, product = 0.0, 1.0
    for i in range(rows.size):
        m, total = draw_product(weights, likelihood[rows[i]], sums, numbers[i])
        if total > 0.0:
            value, product = add_log(value, product, total)
        else:
            log_row, log_mass = tokens.log_likelihood[rows[i]], clusters.log_mass[k]
            m, log_total = draw_in_logs(counts, weights, log_mass, log_row, logs, numbers[i])
            value += log_total
        if draw:
            topic[i] = m
        m = topic[i]
        counts[m] += 1.0
        weights[m] = counts[m] + mass[m]
    return value + math.log(product)


@njit(cache=True, error_model="numpy")
def resample_topics(seats, k, clusters, tokens, rows, numbers, at, shares):
    """Draw every token's topic in turn; its probabilities are added to ``shares``, if that is long.

    p(l_i = m | ·) instead of the topic that is drawn from it: the same mean, with less noise.
    """
    fill_numbers(numbers, rows.size, at, TOPICS)
    topic, counts, weights, logs, sums = seats
    likelihood, mass = tokens.likelihood, clusters.mass[k]
    for i in range(rows.size):
        m = topic[i]
        counts[m] -= 1.0
        weights[m] = counts[m] + mass[m]
        row = likelihood[rows[i]]
        m, total = draw_product(weights, row, sums, numbers[i])
        if total == 0.0:
            log_row, log_mass = tokens.log_likelihood[rows[i]], clusters.log_mass[k]
            m, _ = draw_in_logs(counts, weights, log_mass, log_row, logs, numbers[i])
            if shares.size:
                shares[m] += 1.0
        elif shares.size:
            scale = 1.0 / total
            for other in range(shares.size):
                shares[other] += weights[other] * row[other] * scale
        topic[i] = m
        counts[m] += 1.0
        weights[m] = counts[m] + mass[m]


@njit(cache=True, error_model="numpy")
def move_together(
    seats, spare, k, clusters, tokens, rows, log_prior, log_start, scratch, numbers, at
):
    """Move the cluster and all topics at once, or stay; return the cluster.

    A cluster from ``log_start`` is proposed, and topics seated in turn. Target over proposal is
    p(z) / start(z) times the product of the sums that the topics were drawn from.
    """
    other = draw_cluster(log_start, scratch, uniform(at[0], at[1], at[2], PROPOSAL, 0, 0))
    proposed = log_prior[other] - log_start[other]
    proposed += seat_in_turn(spare, other, clusters, tokens, rows, True, numbers, at)
    held = log_prior[k] - log_start[k]
    held += seat_in_turn(seats, k, clusters, tokens, rows, False, numbers, at)
    if math.log(uniform(at[0], at[1], at[2], ACCEPTANCE, 0, 0)) >= proposed - held:
        return k
    seats.topic[: rows.size] = spare.topic[: rows.size]
    seats.counts[:] = spare.counts
    seats.weights[:] = spare.weights
    return other


@njit(cache=True, nogil=True, error_model="numpy")
def fold_in(
    group_start,
    row_of_token,
    tokens,
    clusters,
    log_prior,
    log_start,
    together,
    seed,
    key_of_group,
    n_burn_in,
    n_kept,
    log_cluster,
    topics,
):
    """Sample the clusters and topics of groups, and average what they say of both.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
        Tokens of group ``j`` are ``group_start[j]:group_start[j + 1]``.
    row_of_token : int32 (n_tokens,)
        Of the tables ``tokens``.
    tokens : TokenTables
    clusters : ClusterTables
    log_prior : float64 (n_groups, n_clusters)
        log π_k + log F(x_j | k), up to a constant of the group.
    log_start : float64 (n_groups, n_clusters)
        Normalised: where clusters begin, and what moves of all topics at once propose.
    together : bool (n_groups,)
        Whether a group tries such moves, too. They are what it takes where λ is large against the
        number of tokens: there topics follow the cluster and the cluster follows the topics, and
        one after the other they hardly move.
    seed : int
    key_of_group : uint32 (n_groups,)
    n_burn_in, n_kept : int
        Iterations, each over all tokens of a group.
    log_cluster : float64 (n_groups, n_clusters)
        Output: log of the mean of p(z_j = k | topics of the tokens).
    topics : float64 (n_groups, n_lanes)
        Output: the mean number of tokens of each topic.
    """
    n_clusters, n_lanes = clusters.mass.shape
    longest = 0
    for j in range(group_start.size - 1):
        longest = max(longest, group_start[j + 1] - group_start[j])
    seats, spare = empty_seats(longest, n_lanes), empty_seats(longest, n_lanes)
    numbers = np.empty((longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)
    used, nothing = np.empty(n_lanes, np.int64), np.empty(0)
    scratch, log_joint = np.empty(n_clusters), np.empty(n_clusters)
    for j in range(group_start.size - 1):
        rows = row_of_token[group_start[j] : group_start[j + 1]]
        key = key_of_group[j]
        log_cluster[j] = -math.inf
        topics[j] = 0.0
        if rows.size == 0:
            add_probabilities(log_prior[j], log_cluster[j])
            continue
        k = draw_cluster(log_start[j], scratch, uniform(seed, key, 0, START, 0, 0))
        seat_in_turn(seats, k, clusters, tokens, rows, True, numbers, (seed, key, 0))
        for sweep in range(1, n_burn_in + n_kept + 1):
            at, kept = (seed, key, sweep), sweep > n_burn_in
            if together[j]:
                k = move_together(
                    seats,
                    spare,
                    k,
                    clusters,
                    tokens,
                    rows,
                    log_prior[j],
                    log_start[j],
                    scratch,
                    numbers,
                    at,
                )
            shares = topics[j] if kept else nothing
            resample_topics(seats, k, clusters, tokens, rows, numbers, at, shares)
            weigh_clusters(seats, log_prior[j], clusters, used, log_joint)
            if kept:
                add_probabilities(log_joint, log_cluster[j])
            k = draw_cluster(log_joint, scratch, uniform(seed, key, sweep, CLUSTER, 0, 0))
            change_cluster(seats, k, clusters)
        log_cluster[j] -= math.log(n_kept)
        topics[j] /= n_kept
