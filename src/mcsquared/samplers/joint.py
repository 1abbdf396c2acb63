"""The joint density of assignments, data and weights: what the trace shows and tests compare with.

    log p(z, l, x, w, ε | α, v, η) =
        K log α + Σ_k ln Γ(n_k) + ln Γ(α) − ln Γ(α + J)
      + Σ_k Σ_contexts log marginal(x of the observed groups in k)
      + Σ_k [ ln Γ(v) − ln Γ(v + c_k) + Σ_m (ln Γ(v ε_m + c_km) − ln Γ(v ε_m)) ]
      + Σ_m log marginal(content of m)
      + M log η + (η − 1) log ε_new − Σ_m log ε_m

Where groups vary around their cluster (λ finite) the third line is

      + Σ_j [ ln Γ(λ) − ln Γ(λ + N_j) + Σ_m (ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km)) ]
      + Σ_k log Dir(τ_k; v ε)

Base measures of the data are left out: they are the same for every assignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from mcsquared.kernels.cpu.tables import (
    log_joint_of_counts,
    log_joint_of_words,
    log_rising_of_lengths,
)
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import Counts, State

__all__ = [
    "N_KNOWN",
    "begin_log_tables",
    "log_joint",
    "log_joint_of_members",
    "log_without_probabilities",
]

Floats = NDArray[np.float64]

FEW_CELLS = 300_000
N_KNOWN = 1024  # counts whose log-gammas are computed once


def log_joint(
    state: State,
    observations: Observations,
    priors: Priors,
    tables: Callable[[], float] | None = None,
) -> float:
    """Return log p(z, l, x, w, ε | α, v, η), up to the data's base measures: λ = ∞.

    Parameters
    ----------
    tables : callable, optional
        What `begin_log_tables` returned, where somebody has begun.
    """
    counts = state.counts
    tables = tables or begin_log_tables(counts, observations, priors)
    others = [_log_clusters(state, observations)]
    if observations.n_tokens:
        occupied = counts.groups_in_cluster > 0
        active = counts.tokens_in_topic > 0
        others.append(_log_topics(state, counts, occupied))
        weights = state.topic_weights[active]
        others.append(_log_root(weights, float(state.log_unused[0]), state.eta))
    return sum(others, tables())


def log_joint_of_members(
    state: State,
    observations: Observations,
    topic_weights: Floats,
    log_shares: Floats,
    log_rising: float,
    tables: Callable[[], float],
) -> float:
    """Return log p(z, l, x, w, τ, ε | α, v, η, λ), up to the data's base measures: λ finite.

    Parameters
    ----------
    state : State
        Groups have moved, the concentrations are those that they moved by.
    topic_weights : float64 (topic slots,)
        ε, empty slots included.
    log_shares : float64 (cluster slots, topic slots)
        log τ.
    log_rising : float
        Σ_j Σ_m ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km).
    tables : callable
        What `begin_log_tables` returned.
    """
    counts = state.counts
    others = [_log_clusters(state, observations)]
    if observations.n_tokens:
        active = counts.tokens_in_topic > 0
        occupied = counts.groups_in_cluster > 0
        unused = float(topic_weights[~active].sum())
        log_unused = math.log(unused) if unused > 0.0 else float(state.log_unused[0])
        weights = np.append(topic_weights[active], math.exp(log_unused))
        shares = log_shares[occupied]
        known = np.column_stack([shares[:, active], _log_sums(shares[:, ~active])])
        others.append(log_rising + _log_restaurants(state.lam, observations))
        others.append(_log_dirichlet(known, state.v * weights))
        others.append(_log_root(weights[:-1], log_unused, state.eta))
    return sum(others, tables())


def _log_sums(logs: Floats) -> Floats:
    """Return the logarithm of each row's sum, −∞ where nothing is above 0; SciPy takes longer."""
    highest = np.maximum(logs.max(axis=1, initial=-np.inf), np.finfo(np.float64).min)
    with np.errstate(divide="ignore"):
        return highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1))


def _log_clusters(state: State, observations: Observations) -> float:
    """Return the log-density of clusters, and of contexts other than bags given them."""
    occupied = state.counts.groups_in_cluster > 0
    groups = state.counts.groups_in_cluster[occupied].astype(np.float64)
    alpha = state.alpha
    total = len(groups) * math.log(alpha) + float(gammaln(groups).sum())
    total += float(gammaln(alpha) - gammaln(alpha + observations.n_groups))
    return total + _log_contexts(state, observations, occupied)


def _log_restaurants(concentration: float, observations: Observations) -> float:
    return -log_rising_of_lengths(concentration, *observations.layout.lengths)


def _log_dirichlet(log_shares: Floats, shape: Floats) -> float:
    """Return Σ_k log Dir(τ_k; shape), as a density of log-ratios of the parts of τ_k.

    As a density of τ itself it has no bound: a topic just born has a shape near 0, and log τ may
    be minus a million. Parts without a share and almost without a shape are left out.
    """
    with np.errstate(invalid="ignore"):
        terms = shape * log_shares
    terms = np.where(np.isfinite(terms), terms, 0.0)
    held = shape > 0.0
    constant = gammaln(shape.sum()) - gammaln(shape[held]).sum()
    return float(terms.sum() + len(log_shares) * constant)


def _log_root(weights: Floats, log_unused: float, eta: float) -> float:
    """Return the log-density of ε."""
    total = len(weights) * math.log(eta) + (eta - 1.0) * log_unused
    return total - float(np.log(weights).sum())


def _log_contexts(state: State, observations: Observations, occupied: np.ndarray) -> float:
    counts, total = state.counts, 0.0
    start = observations.dense.stat_start
    for c, family in enumerate(observations.dense_families):
        statistics = counts.context_statistics[occupied, start[c] : start[c + 1]]
        total += float(family.log_marginal(statistics).sum())
    for generic in observations.python_contexts:
        statistics = np.zeros((len(occupied), generic.family.n_stats))
        np.add.at(statistics, state.cluster_of_group, generic.statistics)
        total += float(generic.family.log_marginal(statistics[occupied]).sum())
    return total


def _log_topics(state: State, counts: Counts, occupied: np.ndarray) -> float:
    active = counts.tokens_in_topic > 0
    prior = state.v * state.topic_weights[active]
    held = counts.topics_in_cluster[occupied][:, active]
    tokens = counts.tokens_in_cluster[occupied]
    total = float((gammaln(state.v) - gammaln(state.v + tokens)).sum())
    total += float((gammaln(prior + held) - gammaln(prior)).sum())
    return total


def begin_log_tables(
    counts: Counts, observations: Observations, priors: Priors, workers: Workers = ONE
) -> Callable[[], float]:
    """Begin with the log-density of the content given its topics, and of bags given clusters.

    Returns what ends it, with the sum of them. Other threads add up while somebody draws; counts
    must not change before the end.
    """
    end_content: Callable[[], float]
    if observations.n_words:
        bounds, prior = observations.layout.row_chunk_start, priors.content.kernel_parameters()
        held = counts.tokens_in_topic
        end_content = _begin_log_counts(counts.words_in_topic, prior, held, bounds, workers)
    else:
        active = counts.tokens_in_topic > 0
        marginals = priors.content.log_marginal(counts.topic_statistics[active])
        end_content = marginals.sum

    def end() -> float:
        categories = np.ascontiguousarray(counts.category_counts.T)
        total, first = 0.0, 0
        bags = zip(observations.bag_families, counts.category_totals.T, strict=True)
        for family, observed in bags:
            bounds = np.array([first, first + family.n_stats])
            total += _begin_log_counts(categories, family.kernel_parameters(), observed, bounds)()
            first += family.n_stats
        return total + float(end_content())

    return end


def log_without_probabilities(prior: Floats, totals: NDArray[np.int64]) -> float:
    """Return Σ ln Γ(c size) − ln Γ(c size + n) over the totals n of as many distributions."""
    concentration, size = prior
    once = np.ones(len(totals), np.int64)
    return -log_rising_of_lengths(concentration * size, totals, once)


def _begin_log_counts(
    counts: NDArray[np.int32],
    prior: Floats,
    totals: NDArray[np.int64],
    bounds: NDArray[np.int64],
    workers: Workers = ONE,
) -> Callable[[], float]:
    """Begin with the log-density of draws from unknown probabilities ~ Dir(c, ..., c).

    They are integrated out. Returns what ends it, with the density.

    Parameters
    ----------
    counts : int32 (categories or more, columns)
        A column for each unknown distribution.
    prior : float64 (2,)
        c, and how many categories there are.
    totals : int64 (columns,)
        Draws in each column.
    bounds : of chunks of the rows that count
    """
    known, by_chunk = log_joint_of_counts(prior[0], N_KNOWN), np.zeros(len(bounds) - 1)

    def add(first: int, last: int) -> None:
        log_joint_of_words(first, last, bounds, counts, prior[0], known, by_chunk)

    end_adding = (ONE if counts.size < FEW_CELLS else workers).begin(len(by_chunk), add)

    def end() -> float:
        without = log_without_probabilities(prior, totals)
        end_adding()
        return float(by_chunk.sum()) + without

    return end
