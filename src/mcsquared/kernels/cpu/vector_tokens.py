"""Tokens that are not words in the blocked sampler: numbers, vectors, or those of a Python family.

Given the drawn parameters, groups are independent:

    log p(group j | z_j = k)  =  Σ_i log Σ_m τ_km ψ_m(x_i)          λ = ∞, topics summed out
    p(l_ji = m | z_j = k)     ∝  τ_km ψ_m(x_i)                      λ = ∞
    p(l_ji = m | z_j = k)     ∝  (n_jm + λ τ_km) ψ_m(x_i)           λ finite, one token at a time

    log ψ_m(x)  =  T(x) · natural_m  (log h(x) is omitted: it is the same for every topic)

The likelihoods of a token are divided by the largest; sums that still underflow are computed in
logarithms. No BLAS product decides a draw, so the order of summation is fixed.
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.fast_math import exponentials
from mcsquared.kernels.cpu.predictive import (
    GAUSSIAN,
    JOIN,
    MULTIVARIATE_GAUSSIAN,
    add_observation,
)
from mcsquared.kernels.cpu.special import add_log, pick
from mcsquared.kernels.rng import Step, uniform_of

TOPICS = int(Step.TOPICS)
MIN_PRECISE_SUM = 1e-280  # terms of smaller sums may have underflowed: logarithms are used


class VectorTokens(NamedTuple):
    """Tokens, with natural parameters of, or log-likelihoods in, every topic slot."""

    kind: int  # one of `KINDS`, or -1 for a Python family
    values: np.ndarray  # float64 (n_tokens, width), relative to the family's origin
    natural: np.ndarray  # float64 (folded statistics, topic slots)
    log_likelihood: np.ndarray  # float64 (rows, topic slots); ``natural`` is used if it has no rows
    first_token: int  # the token of the first row of ``log_likelihood``
    statistics: np.ndarray  # float64 (n_tokens, n_stats) of a Python family


def natural_tokens(kind: int, values: np.ndarray, natural: np.ndarray) -> VectorTokens:
    """Return tokens of a family with a kernel.

    ``natural`` is float64 (topic slots, n_stats), from the family's ``natural_parameters``.
    """
    width, n_slots = values.shape[1], len(natural)
    if kind == MULTIVARIATE_GAUSSIAN:
        # The statistics contain x_a x_b twice; one product is enough.
        square = natural[:, 1 + width :].reshape(n_slots, width, width)
        twice = square + np.swapaxes(square, 1, 2)
        twice[:, np.arange(width), np.arange(width)] *= 0.5
        below = twice[(slice(None), *np.tril_indices(width))]
        natural = np.concatenate([natural[:, : 1 + width], below], axis=1)
    natural, no_rows = np.ascontiguousarray(natural.T), np.zeros((0, n_slots))
    return VectorTokens(kind, values, natural, no_rows, 0, np.zeros((0, 0)))


def python_tokens(
    log_likelihood: np.ndarray, first_token: int, statistics: np.ndarray
) -> VectorTokens:
    """Return tokens of a Python family, which computes its own log-likelihood.

    ``log_likelihood`` is float64 (rows, topic slots) for the tokens from ``first_token`` on that a
    kernel visits; ``statistics`` is float64 (n_tokens, n_stats). Both are in C order.
    """
    natural = np.zeros((0, log_likelihood.shape[1]))
    return VectorTokens(-1, np.zeros((0, 0)), natural, log_likelihood, first_token, statistics)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def weighted_sum(weights, rows, out):
    """Write Σ_s weights[s] rows[s] to ``out``; blocks of four rows with weight 0 are skipped."""
    n_columns = out.size
    for n in range(n_columns):
        out[n] = 0.0
    whole = weights.size - weights.size % 4
    # Not rows[s][n]: creating the array rows[s] costs more than the sum.
    for s in range(0, whole, 4):
        a, b, c, d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            for n in range(n_columns):
                left = a * rows[s, n] + b * rows[s + 1, n]
                right = c * rows[s + 2, n] + d * rows[s + 3, n]
                out[n] += left + right
    for s in range(whole, weights.size):
        for n in range(n_columns):
            out[n] += weights[s] * rows[s, n]


@njit(cache=True, error_model="numpy")
def fold_statistics(kind, x, out):
    """Write T(x) with each product of two coordinates once: 1, x, then x_a x_b for b ≤ a."""
    out[0] = 1.0
    index = 1
    for a in range(x.size):
        out[index] = x[a]
        index += 1
    if kind == GAUSSIAN:
        out[index] = x[0] * x[0]
    elif kind == MULTIVARIATE_GAUSSIAN:
        for a in range(x.size):
            for b in range(a + 1):
                out[index] = x[a] * x[b]
                index += 1


class Workspace(NamedTuple):
    """Scratch rows for one call of a kernel."""

    statistics: np.ndarray  # float64 (folded statistics,)
    row: np.ndarray  # float64 (topic slots,): log-likelihoods of one token
    likelihood: np.ndarray  # float64 (topic slots,): their exponentials
    weights: np.ndarray  # float64 (topic slots,)
    sums: np.ndarray  # float64 (cluster slots,)
    products: np.ndarray  # float64 (cluster slots,)


@njit(cache=True, error_model="numpy")
def make_workspace(tokens, log_shares):
    """Return uninitialised scratch rows."""
    n_cluster_slots, n_slots = log_shares.shape
    return Workspace(
        np.empty(tokens.natural.shape[0]),
        np.empty(n_slots),
        np.empty(n_slots),
        np.empty(n_slots),
        np.empty(n_cluster_slots),
        np.empty(n_cluster_slots),
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
    """Return the maximum of a row, or −∞ if it is empty, from four independent maxima."""
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
def log_mixture(log_shares, row):
    """Return log Σ_m exp(log_shares[m] + row[m]), −∞ if all terms are 0."""
    largest = -math.inf
    for m in range(row.size):
        if log_shares[m] + row[m] > largest:
            largest = log_shares[m] + row[m]
    if largest == -math.inf:
        return largest
    total = 0.0
    for m in range(row.size):
        x = log_shares[m] + row[m] - largest
        if x > -50.0:  # even thousands of smaller terms do not change the last digit
            total += math.exp(x)
    return largest + math.log(total)


@njit(cache=True, nogil=True, error_model="numpy")
def score_vector_groups(first_group, last_group, group_start, tokens, log_shares, scores):
    """Add Σ_i log Σ_m τ_km ψ_m(x_i) to the score of every group in every cluster slot (λ = ∞).

    Tokens of likelihood 0 in every topic are ignored.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    log_shares : float64 (cluster slots, topic slots)
        −∞ in unused slots.
    scores : float64 (last_group − first_group, cluster slots)
    """
    work = make_workspace(tokens, log_shares)
    shares_by_topic = np.empty((log_shares.shape[1], log_shares.shape[0]))
    for k in range(log_shares.shape[0]):
        for m in range(log_shares.shape[1]):
            shares_by_topic[m, k] = math.exp(log_shares[k, m])
    for j in range(first_group, last_group):
        score = scores[j - first_group]
        work.products[:] = 1.0
        log_scale = 0.0  # Σ_i of the largest log-likelihood, common to all clusters
        for i in range(group_start[j], group_start[j + 1]):
            row = token_row(tokens, i, work)
            log_scale += score_token(row, log_shares, shares_by_topic, work, score)
        for k in range(score.size):
            score[k] += log_scale + math.log(work.products[k])


@njit(cache=True, error_model="numpy")
def score_token(row, log_shares, shares_by_topic, work, score):
    """Add log Σ_m τ_km exp(row[m] − largest) to the scores by `add_log`; return ``largest``."""
    largest = largest_of(row)
    if largest == -math.inf:
        return 0.0
    exponentials(row, largest, work.likelihood)
    weighted_sum(work.likelihood, shares_by_topic, work.sums)
    for k in range(score.size):
        if work.sums[k] > MIN_PRECISE_SUM:
            score[k], work.products[k] = add_log(score[k], work.products[k], work.sums[k])
        elif score[k] > -math.inf:
            score[k] += log_mixture(log_shares[k], row) - largest
    return largest


@njit(cache=True, error_model="numpy")
def pick_topic(row, prior, log_shares, log_lam, work, u):
    """Draw a topic with probability ∝ prior[m] exp(row[m]).

    ``row``, float64 (topic slots,), are the log-likelihoods of a token in the topics. ``prior`` is
    λτ plus the counts of the group; where it has underflowed, ``log_lam + log_shares`` is used as
    its logarithm.
    """
    largest = largest_of(row)
    total = 0.0
    if largest > -math.inf:
        exponentials(row, largest, work.likelihood)
        for m in range(row.size):
            total += prior[m] * work.likelihood[m]
            work.weights[m] = total
    if not total > MIN_PRECISE_SUM:
        return pick_in_logs(row, prior, log_shares, log_lam, work, u)
    threshold = u * total
    m = 0
    while m < row.size - 1 and work.weights[m] <= threshold:
        m += 1
    return m


@njit(cache=True, error_model="numpy")
def pick_in_logs(row, prior, log_shares, log_lam, work, u):
    """Draw as `pick_topic` does, in logarithms; from the prior if all likelihoods are 0."""
    possible = False
    for m in range(row.size):
        is_precise = prior[m] > MIN_PRECISE_SUM
        log_prior = math.log(prior[m]) if is_precise else log_lam + log_shares[m]
        weight = log_prior + row[m]
        work.likelihood[m] = log_prior
        work.weights[m] = weight if weight > -math.inf else -math.inf  # NaN becomes −∞
        possible = possible or weight > -math.inf
    return pick(work.weights if possible else work.likelihood, row.size, u)


@njit(cache=True, error_model="numpy")
def record(tokens, i, k, m, topic_of_token, topics_in_cluster, statistics):
    """Store the topic m of token i; update the counts of cluster k and the topic's statistics."""
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
    log_shares,
    lam,
    cluster_of_group,
    topic_of_token,
    topics_in_cluster,
    topic_statistics,
    key,
):
    """Draw each token's topic given its cluster and, if λ is finite, its group's other tokens.

    Parameters
    ----------
    log_shares : float64 (cluster slots, topic slots)
    lam : float
        Positive; may be infinite.
    cluster_of_group : int32 (n_groups,)
    topic_of_token : uint16 (n_tokens,)
        Overwritten; read only if λ is finite.
    topics_in_cluster : int32 (cluster slots, topic slots)
        Counts are added to it.
    topic_statistics : float64 (last_chunk − first_chunk, topic slots, n_stats)
        Statistics are added to it, by chunk, so that sums do not depend on the number of threads.
    """
    work = make_workspace(tokens, log_shares)
    groups_vary = not math.isinf(lam)
    scale, log_lam = (lam, math.log(lam)) if groups_vary else (1.0, 0.0)
    shares, n_slots = np.exp(log_shares), log_shares.shape[1]
    prior, base, count = np.empty(n_slots), np.empty(n_slots), np.empty(n_slots, np.int64)
    for c in range(first_chunk, last_chunk):
        statistics = topic_statistics[c - first_chunk]
        for j in range(groups.chunk_start[c], groups.chunk_start[c + 1]):
            k = np.int64(cluster_of_group[j])
            count[:] = 0
            if groups_vary:
                for i in range(groups.start[j], groups.start[j + 1]):
                    count[topic_of_token[i]] += 1
            for m in range(n_slots):
                base[m] = scale * shares[k, m]
                prior[m] = count[m] + base[m]
            for i in range(groups.start[j], groups.start[j + 1]):
                if groups_vary:
                    old = topic_of_token[i]
                    count[old] -= 1
                    prior[old] = count[old] + base[old]  # exact, unlike a subtraction
                u = uniform_of(key, TOPICS, groups.first_token + i, 0)
                m = pick_topic(token_row(tokens, i, work), prior, log_shares[k], log_lam, work, u)
                if groups_vary:
                    count[m] += 1
                    prior[m] = count[m] + base[m]
                record(tokens, i, k, m, topic_of_token, topics_in_cluster, statistics)
