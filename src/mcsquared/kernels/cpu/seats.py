"""Tokens of one group at their topics: the pieces of samplers for groups that vary.

Given the cluster k of a group, the topics of its tokens are customers in a Chinese restaurant with
the weights λτ_k: p(l = m | the others, w) ∝ (n_m + λτ_km) ψ_m(w). Rows over topics are padded with
zeros to whole `LANES`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.running import LANES, pick_product, sum_products
from mcsquared.kernels.cpu.special import add_log, log_gamma, log_rising, pick

__all__ = [
    "LANES",
    "NEGLIGIBLE",
    "SMALLEST",
    "ClusterTables",
    "Seats",
    "TokenTables",
    "change_cluster",
    "draw_cluster",
    "draw_in_logs",
    "draw_product",
    "empty_seats",
    "log_weights",
    "weigh_clusters",
]

NEGLIGIBLE = 1e-150  # smaller numbers are zeros in tables: their products would be slow, denormal
SMALLEST = 1e-125  # sums below this are not trusted, and done again in logs
MANY = 9  # tokens of a topic from which on log-gammas cost less than products


class TokenTables(NamedTuple):
    """How probable tokens are in each topic; tokens alike share a row.

    Parameters
    ----------
    likelihood : float64 (n_rows, n_lanes)
        ψ_m(w), relative to the greatest of its row.
    log_likelihood : float64 (n_rows, n_lanes)
        Its logarithm.
    """

    likelihood: Any
    log_likelihood: Any


class ClusterTables(NamedTuple):
    """What groups draw on in each cluster: λτ, its logarithm, and ln Γ(1 + λτ).

    All are float64 (n_clusters, n_lanes). The logarithm is no ornament: weights far below the
    smallest float are the rule where a topic is rare.
    """

    mass: Any
    log_mass: Any
    log_gamma_after: Any


class Seats(NamedTuple):
    """The topics of one group's tokens, and what follows from them.

    Parameters
    ----------
    topic : int32 (n_tokens or more,)
    counts : float64 (n_lanes,)
        Tokens of each topic, n_m.
    weights : float64 (n_lanes,)
        n_m + λτ_m of the cluster in hand. Never updated by ± 1, in which a small λτ_m would drown.
    logs : float64 (n_lanes,)
    sums : float64 (n_lanes + 16,)
        Scratch.
    """

    topic: Any
    counts: Any
    weights: Any
    logs: Any
    sums: Any


@njit(cache=True, error_model="numpy")
def empty_seats(n_tokens, n_lanes):
    """Return room for a group."""
    counts, weights, logs = np.zeros(n_lanes), np.zeros(n_lanes), np.zeros(n_lanes)
    return Seats(np.zeros(n_tokens, np.int32), counts, weights, logs, np.zeros(n_lanes + LANES))


@njit(cache=True, error_model="numpy")
def log_weights(counts, weights, log_mass, log_row, logs):
    """Write log((n_m + λτ_m) ψ_m) of a token to ``logs`` and return the log of their sum."""
    largest = -math.inf
    for m in range(logs.size):
        held = log_mass[m] if counts[m] == 0.0 else math.log(weights[m])
        logs[m] = held + log_row[m]
        largest = max(largest, logs[m])
    if largest == -math.inf:
        return largest
    total = 0.0
    for m in range(logs.size):
        total += math.exp(logs[m] - largest)
    return largest + math.log(total)


@njit(cache=True, error_model="numpy")
def heaviest(weights, row):
    """Return where weights × row is greatest."""
    best = 0
    for m in range(1, row.size):
        if weights[m] * row[m] > weights[best] * row[best]:
            best = m
    return best


@njit(cache=True, error_model="numpy", inline="always")
def draw_product(weights, row, sums, u):
    """Return a place drawn in proportion to weights × row, and the sum of those.

    A sum that cannot be trusted is 0, and the place of no meaning.
    """
    total = sum_products(weights, row, sums)
    m = pick_product(sums, u * total)
    if m < 0:  # by rounding
        m = heaviest(weights, row)
    return m, (total if total > SMALLEST else 0.0)


@njit(cache=True, error_model="numpy")
def draw_in_logs(counts, weights, log_mass, log_row, logs, u):
    """Draw a topic for a token so strange that no (n_m + λτ_m) ψ_m is a float.

    Returns
    -------
    topic : int
    log_total : float
        log Σ_m (n_m + λτ_m) ψ_m.
    """
    total = log_weights(counts, weights, log_mass, log_row, logs)
    return pick(logs, logs.size, u), total


@njit(cache=True, error_model="numpy")
def change_cluster(seats, k, clusters):
    """Make the weights those of cluster ``k``."""
    for m in range(seats.weights.size):
        seats.weights[m] = seats.counts[m] + clusters.mass[k, m]


@njit(cache=True, error_model="numpy")
def log_arrangement(counts, used, n_used, mass, log_mass, log_gamma_after):
    """Return Σ_m ln Γ(λτ_m + n_m) − ln Γ(λτ_m) over the topics that have tokens.

    The first token of a topic gives λτ_m, which may be far below the smallest float and comes as a
    logarithm; the others give (λτ_m + 1) ... (λτ_m + n_m − 1).
    """
    value, product = 0.0, 1.0
    for i in range(n_used):
        m = used[i]
        n, a = counts[m], mass[m]
        value += log_mass[m]
        if a > 1e4:  # a difference of two log-gammas would have no digits left
            value += log_rising(a + 1.0, int(n) - 1)
        elif n < MANY:
            factor = 1.0
            for step in range(1, int(n)):
                factor *= a + step
            value, product = add_log(value, product, factor)
        else:
            value += log_gamma(a + n) - log_gamma_after[m]
    return value + math.log(product)


@njit(cache=True, error_model="numpy")
def weigh_clusters(seats, log_prior, clusters, used, log_cluster):
    """Write log p(z = k, topics of the group's tokens), up to a constant, for every cluster."""
    n_used = 0
    for m in range(seats.counts.size):
        if seats.counts[m] > 0.0:
            used[n_used] = m
            n_used += 1
    for k in range(log_prior.size):
        log_cluster[k] = log_prior[k] + log_arrangement(
            seats.counts,
            used,
            n_used,
            clusters.mass[k],
            clusters.log_mass[k],
            clusters.log_gamma_after[k],
        )


@njit(cache=True, error_model="numpy")
def draw_cluster(log_probability, scratch, u):
    """Return a cluster drawn in proportion to exp(log_probability), which stays as it is."""
    scratch[:] = log_probability
    return pick(scratch, scratch.size, u)
