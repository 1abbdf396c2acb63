"""Topics of the tokens of one group given its cluster, for prediction with finite λ.

Given the cluster k, the topics follow a Chinese restaurant process with the weights λτ_k:
p(l = m | other tokens, w) ∝ (n_m + λτ_km) ψ_m(w). Rows of topics are padded with zeros to a
multiple of 16.
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.special import add_log, log_gamma, log_rising_factorial, pick
from mcsquared.kernels.cpu.thresholds import search_products, sum_products

MIN_ENTRY = 1e-150  # smaller numbers become 0: their products would be subnormal, hence slow
MIN_PRECISE_SUM = 1e-125  # smaller sums are imprecise and are recomputed in logarithms
MIN_LOG_GAMMA_TOKENS = 9  # from here on, log-gammas are faster than products


class TokenLikelihoods(NamedTuple):
    """Likelihood of tokens in each topic. Equal tokens share a row."""

    likelihood: np.ndarray  # float64 (n_rows, n_slots): ψ_m(w), divided by the row's maximum
    log_likelihood: np.ndarray  # float64 (n_rows, n_slots)


class ClusterBases(NamedTuple):
    """Base measure λτ of the topics of each cluster, float64 (n_clusters, n_slots).

    The base of rare topics often underflows, hence the logarithms.
    """

    base: np.ndarray  # λτ
    log_base: np.ndarray
    log_gamma_plus_one: np.ndarray  # ln Γ(λτ + 1)


class PredictedGroups(NamedTuple):
    """New groups whose clusters and topics are to be sampled."""

    start: np.ndarray  # int64 (n_groups + 1,): tokens of group j are start[j]:start[j + 1]
    row_of_token: np.ndarray  # int32 (n_tokens,): row in `TokenLikelihoods`
    log_prior: np.ndarray  # float64 (n_groups, n_clusters): log π_k + log F(x_j | k) + constant
    log_proposal: np.ndarray  # float64 (n_groups, n_clusters): normalised
    key: np.ndarray  # uint32 (n_groups,): selects the random numbers, instead of the group's index
    seed: int


class GroupState(NamedTuple):
    """Topics of one group's tokens, their counts and weights, and scratch rows.

    Weights are recomputed rather than changed by ± 1, which would lose a small λτ_m. Loops over
    tokens unpack the arrays first, because reading an attribute costs as much as a small sum.
    """

    topic: np.ndarray  # int32 (n_tokens or more,)
    counts: np.ndarray  # float64 (n_slots,): tokens of each topic, n_m
    weights: np.ndarray  # float64 (n_slots,): n_m + λτ_m of the current cluster
    logs: np.ndarray  # float64 (n_slots,)
    sums: np.ndarray  # float64 (n_slots + 16,)


@njit(cache=True, error_model="numpy")
def empty_state(n_tokens, n_slots):
    """Return an empty state for groups of up to ``n_tokens`` tokens."""
    counts, weights, logs = np.zeros(n_slots), np.zeros(n_slots), np.zeros(n_slots)
    sums = np.zeros(n_slots + N_LANES)
    return GroupState(np.zeros(n_tokens, np.int32), counts, weights, logs, sums)


@njit(cache=True, error_model="numpy")
def change_cluster(state, k, clusters):
    """Set the weights to those of cluster ``k``."""
    for m in range(state.weights.size):
        state.weights[m] = state.counts[m] + clusters.base[k, m]


@njit(cache=True, error_model="numpy")
def most_probable(weights, row):
    """Return the topic m with the largest weights[m] × row[m]."""
    best = 0
    for m in range(1, row.size):
        if weights[m] * row[m] > weights[best] * row[best]:
            best = m
    return best


@njit(cache=True, error_model="numpy", inline="always")
def draw_product(weights, row, sums, u):
    """Return a topic drawn in proportion to weights × row, and the sum of the products.

    If the sum is too small to be precise, 0 is returned for it and the topic is meaningless.
    """
    total = sum_products(weights, row, row.size, sums)
    m = search_products(sums, u * total)
    if m < 0:  # by rounding
        m = most_probable(weights, row)
    return m, (total if total > MIN_PRECISE_SUM else 0.0)


@njit(cache=True, error_model="numpy")
def draw_in_logs(counts, weights, log_base, log_row, logs, u):
    """Draw a topic for a token so improbable that every (n_m + λτ_m) ψ_m underflows.

    Returns
    -------
    topic : int
    log_total : float
        log Σ_m (n_m + λτ_m) ψ_m.
    """
    for m in range(logs.size):
        weight = log_base[m] if counts[m] == 0.0 else math.log(weights[m])
        logs[m] = weight + log_row[m]
    log_total = log_sum(logs, logs.size)
    return pick(logs, logs.size, u), log_total


@njit(cache=True, error_model="numpy")
def log_sum(values, n):
    """Return log Σ exp(values[:n])."""
    largest = -math.inf
    for i in range(n):
        largest = max(largest, values[i])
    if largest == -math.inf:
        return largest
    total = 0.0
    for i in range(n):
        total += math.exp(values[i] - largest)
    return largest + math.log(total)


@njit(cache=True, error_model="numpy")
def log_topics(counts, used, n_used, base, log_base, log_gamma_plus_one):
    """Return Σ_m ln Γ(λτ_m + n_m) − ln Γ(λτ_m) over the topics that have tokens.

    The first token of a topic contributes the factor λτ_m, passed as a logarithm because it may
    underflow; the others contribute (λτ_m + 1) ... (λτ_m + n_m − 1).
    """
    value, product = 0.0, 1.0
    for i in range(n_used):
        m = used[i]
        n, a = counts[m], base[m]
        value += log_base[m]
        if a > 1e4:  # the difference of two log-gammas would have few correct digits
            value += log_rising_factorial(a + 1.0, int(n) - 1)
        elif n < MIN_LOG_GAMMA_TOKENS:
            factor = 1.0
            for step in range(1, int(n)):
                factor *= a + step
            value, product = add_log(value, product, factor)
        else:
            value += log_gamma(a + n) - log_gamma_plus_one[m]
    return value + math.log(product)


@njit(cache=True, error_model="numpy")
def weigh_clusters(state, log_prior, clusters, used, log_cluster):
    """Write log p(z = k, topics of the group's tokens), up to a constant, for every cluster."""
    n_used = 0
    for m in range(state.counts.size):
        if state.counts[m] > 0.0:
            used[n_used] = m
            n_used += 1
    base, log_base, log_gamma_plus_one = clusters
    for k in range(log_prior.size):
        log_cluster[k] = log_prior[k] + log_topics(
            state.counts, used, n_used, base[k], log_base[k], log_gamma_plus_one[k]
        )


@njit(cache=True, error_model="numpy")
def draw_cluster(log_probability, scratch, u):
    """Return a cluster drawn in proportion to exp(log_probability), which is not changed."""
    scratch[:] = log_probability
    return pick(scratch, scratch.size, u)
