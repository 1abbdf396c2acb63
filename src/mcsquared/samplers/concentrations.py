"""Concentrations and root weights: α, v, η and ε, in an order that leaves the posterior as it is.

Tables q_km ~ CRT(c_km, v ε_m) come first, with the current v and ε; then v from the tables, η from
the current ε, ε from the tables and the new η, and α from the clusters. The paper's appendix
updates α and v with other quantities than their conditionals hold; docs/errata.md has the list.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.kernels.cpu.tables import draw_table_counts, log_rising_of_lengths
from mcsquared.kernels.rng import Step, generator
from mcsquared.model.parameters import Concentration, Gamma
from mcsquared.model.priors import Priors
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = [
    "draw_tables",
    "draw_topic_weights",
    "resample_concentration",
    "resample_concentrations",
    "resample_eta_given_weights",
    "resample_given_lengths",
]

MOST_LOG = 690.0  # of a concentration: its exponential is a float


def resample_concentration(
    current: float,
    prior: Concentration,
    customers: ArrayLike,
    tables: ArrayLike,
    rng: np.random.Generator,
) -> float:
    """Draw a concentration c from restaurants with N customers at T tables each.

        b ~ Beta(c + 1, N),  s ~ Bernoulli(N / (N + c)),
        c ~ Gamma(shape + Σ(T − s), rate − Σ log b)

    Restaurants without customers say nothing; if all are empty the draw is from the prior.

    Parameters
    ----------
    current : float
        The value that the tables were drawn with.
    prior : float or Gamma
        A number is a fixed concentration and comes back as it is.
    customers, tables : array of int (n_restaurants,)
    """
    if not isinstance(prior, Gamma):
        return float(prior)
    customers = np.asarray(customers, np.float64)
    open_ones = customers > 0
    customers, tables = customers[open_ones], np.asarray(tables, np.float64)[open_ones]
    shape, rate = prior.shape, prior.rate
    if customers.size:
        log_b = np.log(rng.beta(current + 1.0, customers))
        s = rng.random(customers.size) * (customers + current) < customers
        shape += float((tables - s).sum())
        rate -= float(log_b.sum())
    return positive_gamma(shape, rate, rng)


def resample_given_lengths(
    current: float,
    prior: Concentration,
    lengths: NDArray[np.int64],
    times: NDArray[np.int64],
    n_tables: int,
    rng: np.random.Generator,
) -> float:
    """Draw a concentration of many restaurants from the tables of all of them together.

        p(c | T)  ∝  p(c) c^T Π_j Γ(c) / Γ(c + N_j)

    Restaurants with as many customers give the same factor, so that the work does not grow with
    their number, and nothing but the lengths is needed of them. A slice sampler on log c (Neal
    2003): the slice is found by steps of about the width of the density, then narrowed down.

    Parameters
    ----------
    prior : float or Gamma
        A number is a fixed concentration and comes back as it is.
    lengths, times : int64 (n,)
        Customers that a restaurant may have, and how many restaurants have so many.
    n_tables : int
        T, of all restaurants.
    """
    if not isinstance(prior, Gamma):
        return float(prior)

    def log_density(x: float) -> float:
        if abs(x) > MOST_LOG:
            return -math.inf
        c = math.exp(x)
        rising = log_rising_of_lengths(c, lengths, times)
        return (prior.shape + n_tables) * x - prior.rate * c - rising

    x = min(max(math.log(current), -MOST_LOG), MOST_LOG)
    width = 4.0 / math.sqrt(1.0 + n_tables)
    level = log_density(x) + math.log(1.0 - rng.random())
    low = x - width * rng.random()
    high = low + width
    while log_density(low) > level:
        low -= width
    while log_density(high) > level:
        high += width
    while True:
        candidate = low + (high - low) * rng.random()
        if log_density(candidate) >= level:
            return math.exp(candidate)
        if candidate < x:
            low = candidate
        else:
            high = candidate


def positive_gamma(shape: float, rate: float, rng: np.random.Generator) -> float:
    """Draw from Gamma(shape, rate), in logs so that a small shape does not end in 0."""
    log_value = math.log(rng.gamma(shape + 1.0)) + math.log(1.0 - rng.random()) / shape
    return math.exp(min(max(log_value - math.log(rate), -MOST_LOG), MOST_LOG))


def resample_eta_given_weights(
    prior: Concentration, n_topics: int, log_unused_weight: float, rng: np.random.Generator
) -> float:
    """Draw η given ε: Gamma(shape + M, rate − log ε_new)."""
    if not isinstance(prior, Gamma):
        return float(prior)
    return positive_gamma(prior.shape + n_topics, prior.rate - log_unused_weight, rng)


def draw_tables(
    customers: NDArray[np.int32],
    concentration: NDArray[np.float64],
    seed: int,
    chain: int,
    sweep: int,
    workers: Workers = ONE,
) -> NDArray[np.int32]:
    """Draw q_km ~ CRT(c_km, v ε_m), exactly: shape of ``customers``, (n_clusters, n_topics)."""
    customers = np.ascontiguousarray(customers, np.int32)
    concentration = np.ascontiguousarray(concentration, np.float64)

    def draw(first: int, last: int) -> NDArray[np.int32]:
        rows = customers[first:last]
        return draw_table_counts(rows, concentration, seed, chain, sweep, first)

    return np.concatenate(workers.map(len(customers), draw))


def draw_topic_weights(
    tables_of_topic: NDArray[np.int64], eta: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Draw ε ~ Dir(u_1, ..., u_M, η); return ε_1..ε_M and log ε_new."""
    gammas = rng.gamma(tables_of_topic.astype(np.float64))
    if not gammas.size:
        return gammas, 0.0
    log_rest = math.log(rng.gamma(eta + 1.0)) + math.log(1.0 - rng.random()) / eta
    log_total = float(np.logaddexp(np.log(gammas.sum()), log_rest))
    # A topic that holds nearly everything must not be rounded to more than that.
    return np.minimum(gammas * math.exp(-log_total), 1.0), log_rest - log_total


def resample_concentrations(state: State, priors: Priors, seed: int, chain: int) -> None:
    """Draw tables, v, η, ε and α, in this order, for sweep ``state.sweep``."""
    counts, sweep = state.counts, state.sweep

    def rng(step: Step) -> np.random.Generator:
        return generator(seed, chain, sweep, int(step))

    prior_weights = state.v * state.topic_weights
    tables = draw_tables(counts.topics_in_cluster, prior_weights, seed, chain, sweep)
    state.v = resample_concentration(
        state.v, priors.v, counts.tokens_in_cluster, tables.sum(axis=1), rng(Step.V)
    )
    state.eta = resample_eta_given_weights(
        priors.eta, state.n_topics, float(state.log_unused[0]), rng(Step.ETA)
    )
    active = counts.tokens_in_topic > 0
    weights, log_unused = draw_topic_weights(
        tables.sum(axis=0, dtype=np.int64)[active], state.eta, rng(Step.TOPIC_WEIGHTS)
    )
    state.topic_weights[:] = 0.0
    state.topic_weights[active] = weights
    state.log_unused[0] = log_unused
    state.alpha = resample_concentration(
        state.alpha,
        priors.alpha,
        [len(state.cluster_of_group)],
        [state.n_clusters],
        rng(Step.ALPHA),
    )
