"""Tokens that are not words, for the blocked sampler: numbers, vectors, or a family of one's own.

Given the drawn parameters, groups are independent, and the map step of a sweep is

    log p(group j | z_j = k)  =  Σ_i log Σ_m τ_km ψ_m(x_i)          λ = ∞, topics summed out
    p(l_ji = m | z_j = k)     ∝  τ_km ψ_m(x_i)                      λ = ∞
    p(l_ji = m | z_j = k)     ∝  (n_jm + λ τ_km) ψ_m(x_i)           λ finite, tokens in turn

where log ψ_m(x) is that of a `VectorTokens`. Likelihoods are taken relative to the largest of each
token, and sums that underflow nevertheless are computed in logarithms.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.fast_math import exponentials
from mcsquared.kernels.cpu.predictive import JOIN, add_observation
from mcsquared.kernels.cpu.special import add_log, pick
from mcsquared.kernels.cpu.vector_likelihood import fold_statistics, weighted_sum
from mcsquared.kernels.rng import Step, uniform_of

TOPICS = int(Step.TOPICS)

# Sums of weights below this are computed in logarithms: terms that underflowed may be most of them.
TINY = 1e-280


class Workspace(NamedTuple):
    """Rows that one call of a kernel writes over and over."""

    statistics: np.ndarray  # float64 (folded statistics,)
    row: np.ndarray  # float64 (topic slots,): log-likelihoods of one token
    shares: np.ndarray  # float64 (topic slots,): their exponentials
    weights: np.ndarray  # float64 (topic slots,)
    sums: np.ndarray  # float64 (cluster slots,)
    products: np.ndarray  # float64 (cluster slots,)


@njit(cache=True, error_model="numpy")
def make_workspace(tokens, log_tau):
    """Return the rows that a call needs."""
    n_clusters, n_topics = log_tau.shape
    return Workspace(
        np.empty(tokens.natural.shape[0]),
        np.empty(n_topics),
        np.empty(n_topics),
        np.empty(n_topics),
        np.empty(n_clusters),
        np.empty(n_clusters),
    )


@njit(cache=True, error_model="numpy")
def token_row(tokens, i, work):
    """Return the log-likelihood of token ``i`` in every topic slot."""
    if tokens.log_likelihood.shape[0] > 0:
        return tokens.log_likelihood[i - tokens.first_token]
    fold_statistics(tokens.kind, tokens.values[i], work.statistics)
    weighted_sum(work.statistics, tokens.natural, work.row)
    return work.row


@njit(cache=True, error_model="numpy")
def largest_of(row):
    """Return the largest number of a row, −∞ where there is none; four at a time."""
    a = b = c = d = -math.inf
    whole = row.size - row.size % 4
    for m in range(0, whole, 4):
        a = row[m] if row[m] > a else a
        b = row[m + 1] if row[m + 1] > b else b
        c = row[m + 2] if row[m + 2] > c else c
        d = row[m + 3] if row[m + 3] > d else d
    for m in range(whole, row.size):
        a = row[m] if row[m] > a else a
    return max(max(a, b), max(c, d))


@njit(cache=True, error_model="numpy")
def log_sum(log_tau, row):
    """Return log Σ_m exp(log_tau[m] + row[m]), −∞ where no term is above 0."""
    largest = -math.inf
    for m in range(row.size):
        if log_tau[m] + row[m] > largest:
            largest = log_tau[m] + row[m]
    if largest == -math.inf:
        return largest
    total = 0.0
    for m in range(row.size):
        x = log_tau[m] + row[m] - largest
        if x > -50.0:  # thousands of smaller terms would not change the last digit
            total += math.exp(x)
    return largest + math.log(total)


@njit(cache=True, nogil=True, error_model="numpy")
def score_vector_groups(first_group, last_group, group_start, tokens, log_tau, scores):
    """Add Σ_i log Σ_m τ_km ψ_m(x_i) to the score of every group in every cluster slot (λ = ∞).

    A token that no topic can have made adds nothing: it says nothing about the cluster.

    Parameters
    ----------
    first_group, last_group : int
    group_start : int64 (n_groups + 1,)
    tokens : VectorTokens
    log_tau : float64 (cluster slots, topic slots)
        −∞ in slots that are not in use.
    scores : float64 (last_group − first_group, cluster slots)
        Added to.
    """
    work = make_workspace(tokens, log_tau)
    tau_by_topic = np.empty((log_tau.shape[1], log_tau.shape[0]))
    for k in range(log_tau.shape[0]):
        for m in range(log_tau.shape[1]):
            tau_by_topic[m, k] = math.exp(log_tau[k, m])
    for j in range(first_group, last_group):
        score = scores[j - first_group]
        work.products[:] = 1.0
        height = 0.0  # Σ_i of the largest log-likelihood, the same for every cluster
        for i in range(group_start[j], group_start[j + 1]):
            height += score_token(token_row(tokens, i, work), log_tau, tau_by_topic, work, score)
        for k in range(score.size):
            score[k] += height + math.log(work.products[k])


@njit(cache=True, error_model="numpy")
def score_token(row, log_tau, tau_by_topic, work, score):
    """Add log Σ_m τ_km exp(row[m] − largest) to each score and product; return ``largest``."""
    largest = largest_of(row)
    if largest == -math.inf:
        return 0.0
    exponentials(row, largest, work.shares)
    weighted_sum(work.shares, tau_by_topic, work.sums)
    for k in range(score.size):
        if work.sums[k] > TINY:
            score[k], work.products[k] = add_log(score[k], work.products[k], work.sums[k])
        elif score[k] > -math.inf:
            score[k] += log_sum(log_tau[k], row) - largest
    return largest


@njit(cache=True, error_model="numpy")
def pick_topic(row, prior, log_tau, log_lam, work, u):
    """Draw a topic with chances ∝ prior[m] exp(row[m]).

    ``prior`` is λτ plus the counts; if it underflows, ``log_lam + log_tau`` is used.
    """
    largest = largest_of(row)
    total = 0.0
    if largest > -math.inf:
        exponentials(row, largest, work.shares)
        for m in range(row.size):
            total += prior[m] * work.shares[m]
            work.weights[m] = total
    if not total > TINY:
        return pick_in_logs(row, prior, log_tau, log_lam, work, u)
    threshold = u * total
    m = 0
    while m < row.size - 1 and work.weights[m] <= threshold:
        m += 1
    return m


@njit(cache=True, error_model="numpy")
def pick_in_logs(row, prior, log_tau, log_lam, work, u):
    """Do as `pick_topic` where doubles underflow; by the prior alone if no topic is possible."""
    possible = False
    for m in range(row.size):
        base = math.log(prior[m]) if prior[m] > TINY else log_lam + log_tau[m]
        weight = base + row[m]
        work.shares[m] = base
        work.weights[m] = weight if weight > -math.inf else -math.inf  # not a number: impossible
        possible = possible or weight > -math.inf
    return pick(work.weights if possible else work.shares, row.size, u)


@njit(cache=True, error_model="numpy")
def record(tokens, i, k, m, topic_of_token, topics_in_cluster, statistics):
    """Write a token's topic, and count it."""
    topic_of_token[i] = m
    topics_in_cluster[k, m] += 1
    if tokens.kind >= 0:
        add_observation(tokens.kind, statistics[m], tokens.values[i], JOIN)
    else:
        for s in range(statistics.shape[1]):
            statistics[m, s] += tokens.statistics[i, s]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_vector_topics(
    first_chunk,
    last_chunk,
    groups,
    tokens,
    log_tau,
    cluster_of_group,
    topic_of_token,
    topics_in_cluster,
    topic_statistics,
    key,
):
    """Draw the topic of every token given its group's cluster (λ = ∞).

    Parameters
    ----------
    first_chunk, last_chunk : int
    groups : Groups
    tokens : VectorTokens
    log_tau : float64 (cluster slots, topic slots)
    cluster_of_group : int32 (n_groups,)
    topic_of_token : uint16 (n_tokens,)
        Output.
    topics_in_cluster : int32 (cluster slots, topic slots)
        Counts are added to it.
    topic_statistics : float64 (last_chunk − first_chunk, topic slots, n_stats)
        Statistics of each chunk are added to it, so that sums do not depend on threads.
    key : Key
    """
    work = make_workspace(tokens, log_tau)
    tau = np.exp(log_tau)
    for c in range(first_chunk, last_chunk):
        statistics = topic_statistics[c - first_chunk]
        for j in range(groups.chunk_start[c], groups.chunk_start[c + 1]):
            k = np.int64(cluster_of_group[j])
            for i in range(groups.start[j], groups.start[j + 1]):
                u = uniform_of(key, TOPICS, groups.first_token + i, 0)
                m = pick_topic(token_row(tokens, i, work), tau[k], log_tau[k], 0.0, work, u)
                record(tokens, i, k, m, topic_of_token, topics_in_cluster, statistics)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_vector_groups(
    first_chunk,
    last_chunk,
    groups,
    tokens,
    log_tau,
    lam,
    cluster_of_group,
    topic_of_token,
    topics_in_cluster,
    topic_statistics,
    key,
):
    """Draw the topic of every token given the other tokens of its group (λ finite).

    Arguments are those of `draw_vector_topics`, with ``lam`` a float above 0, and topics in
    ``topic_of_token`` to begin with.
    """
    work = make_workspace(tokens, log_tau)
    tau = np.exp(log_tau)
    prior, share = np.empty(log_tau.shape[1]), np.empty(log_tau.shape[1])
    count = np.empty(log_tau.shape[1], np.int64)
    for c in range(first_chunk, last_chunk):
        statistics = topic_statistics[c - first_chunk]
        for j in range(groups.chunk_start[c], groups.chunk_start[c + 1]):
            k = np.int64(cluster_of_group[j])
            count[:] = 0
            for i in range(groups.start[j], groups.start[j + 1]):
                count[topic_of_token[i]] += 1
            for m in range(share.size):
                share[m] = lam * tau[k, m]
                prior[m] = count[m] + share[m]
            for i in range(groups.start[j], groups.start[j + 1]):
                old = topic_of_token[i]
                count[old] -= 1
                prior[old] = count[old] + share[old]  # not by subtraction, which leaves a residue
                u = uniform_of(key, TOPICS, groups.first_token + i, 0)
                row = token_row(tokens, i, work)
                m = pick_topic(row, prior, log_tau[k], math.log(lam), work, u)
                count[m] += 1
                prior[m] = count[m] + share[m]
                record(tokens, i, k, m, topic_of_token, topics_in_cluster, statistics)
