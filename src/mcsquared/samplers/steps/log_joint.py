"""The joint density of assignments, data and weights, recorded in the trace.

    log p(z, l, x, w, ε | α, v, η) =
        K log α + Σ_k ln Γ(n_k) + ln Γ(α) − ln Γ(α + J)
      + Σ_k Σ_contexts log marginal(x of the observed groups in k)
      + Σ_k [ ln Γ(v) − ln Γ(v + c_k) + Σ_m (ln Γ(v ε_m + c_km) − ln Γ(v ε_m)) ]
      + Σ_m log marginal(content of m)
      + M log η + (η − 1) log ε_new − Σ_m log ε_m

If groups vary within their cluster (λ finite), the third line is

      + Σ_j [ ln Γ(λ) − ln Γ(λ + N_j) + Σ_m (ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km)) ]
      + Σ_k log Dir(τ_k; v ε) − log Dir(τ_k; v ε + O_k)

The last line divides by the density of τ given the tables, so that τ does not count (Besag, "A
candidate's formula", Biometrika 76, 1989): for any τ, the mean of its exponential over the tables
o_jm ~ CRT(n_jm, λ τ_km) is p(l | z, v ε, λ). The density of τ itself has a dimension per topic and
cluster, so that clusterings with different numbers of clusters could not be compared. With effects,
b_j of `mcsquared.model.effects` replaces τ_k in Σ_j, and the values of effects have the same terms
as the clusters in Σ_k.

Base measures of the data are left out: they do not depend on the assignments.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.special import betaln, gammaln

from mcsquared.arrays import Bools, CountArray, Floats, Int64s
from mcsquared.families.numerics import log_rising_factorial
from mcsquared.kernels.cpu.counts import (
    log_joint_of_words,
    log_ratio_of_tables,
    log_rising_factorials,
    sum_log_rising_factorials,
)
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.steps.collapsed import is_collapsed_step_due
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Sweep
from mcsquared.state import Counts, State

N_TABULATED = 1024  # counts whose log-gammas are computed once


def begin_log_density(sweep: Sweep) -> None:
    """Start computing the log-density of content and bags while other steps draw.

    This is skipped before a collapsed step, which changes the counts.
    """
    if not is_collapsed_step_due(sweep):
        sweep.log_density = sweep.backend.begin_log_density(sweep.state)


def record_varying_log_joint(sweep: Sweep) -> None:
    """Record log p(z, l, x, w, ε | α, v, η, λ) after groups were resampled (λ finite).

    The concentrations and the globals are those that the groups were resampled with.
    """
    if not sweep.globals.groups_vary:
        return
    state, observations, counts = sweep.state, sweep.observations, sweep.state.counts
    assert sweep.sums.topic_log_likelihood is not None
    assert sweep.log_density is not None
    terms = [log_clusters(state, observations, sweep.log_levels)]
    if observations.n_tokens:
        active, topic_weights = counts.tokens_in_topic > 0, sweep.globals.weights.topic_weights
        unused = float(topic_weights[~active].sum())
        log_unused = math.log(unused) if unused > 0.0 else float(state.log_unused[0])
        weights = np.append(topic_weights[active], math.exp(log_unused))
        occupied = counts.groups_in_cluster > 0
        log_shares = sweep.backend.log_shares(sweep.globals)[occupied]
        tables, shape = state.tables[occupied][:, active], state.v * weights
        constant = sum_log_rising_factorials(state.lam, *observations.layout.lengths)
        terms.append(float(sweep.sums.topic_log_likelihood.sum()) - constant)
        terms.append(log_ratio_given_tables(log_shares[:, active], shape, tables))
        terms.append(sweep.backend.log_effects(sweep, active, weights))
        terms.append(log_topic_weights(weights[:-1], log_unused, state.eta))
    state.log_joint = sum(terms, sweep.log_density())


def log_effects_on_host(sweep: Sweep, active: Bools, weights: Floats) -> float:
    """Return the terms of the topic shares τ^(c) of all values of effects.

    ``weights`` is ε of the ``active`` topics and, last, of all others.
    """
    effects, drawn, total = sweep.state.effects, sweep.globals.effects, 0.0
    if effects is None or drawn is None:
        return total
    # Of all slots, because selecting the columns of active topics would copy the arrays below.
    weight_of_slot = np.zeros(len(active) + 1)
    weight_of_slot[:-1][active], weight_of_slot[-1] = weights[:-1], weights[-1]
    for v, (first, last) in zip(effects.v, pairwise(sweep.priors.effect_offsets), strict=True):
        log_shares, tables = drawn.log_shares[first:last], effects.tables[first:last]
        total += log_ratio_given_tables(log_shares, float(v) * weight_of_slot, tables)
    return total


def record_log_joint(sweep: Sweep) -> None:
    """Record the joint density at the end of the sweep (λ = ∞)."""
    state = sweep.state
    if math.isinf(state.lam):
        log_density = sweep.log_density or sweep.backend.begin_log_density(state)
        inputs = (state, sweep.observations, sweep.priors)
        state.log_joint = log_joint(*inputs, log_density, sweep.log_levels)


def log_joint(
    state: State,
    observations: Observations,
    priors: Priors,
    log_density: Callable[[], float] | None = None,
    log_levels: float | None = None,
) -> float:
    """Return log p(z, l, x, w, ε | α, v, η), up to the data's base measures (λ = ∞).

    ``log_density`` is the result of an earlier `begin_log_density_on_host`, ``log_levels`` the
    log-density of the clusters and of the units above groups, if there are any.
    """
    counts = state.counts
    log_density = log_density or begin_log_density_on_host(state, observations, priors)
    terms = [log_clusters(state, observations, log_levels)]
    if observations.n_tokens:
        occupied = counts.groups_in_cluster > 0
        terms.append(_log_topics(state, counts, occupied))
        weights = state.topic_weights[counts.tokens_in_topic > 0]
        terms.append(log_topic_weights(weights, float(state.log_unused[0]), state.eta))
    return sum(terms, log_density())


def log_clusters(
    state: State, observations: Observations, log_levels: float | None = None
) -> float:
    """Return the log-density of clusters, and of contexts other than bags given them.

    ``log_levels`` is the log-density of the clusters if there are levels above groups.
    """
    occupied = state.counts.groups_in_cluster > 0
    if log_levels is not None:
        return log_levels + _log_contexts(state, observations, occupied)
    sizes = state.counts.groups_in_cluster[occupied].astype(np.float64)
    alpha = state.alpha
    total = len(sizes) * math.log(alpha) + float(gammaln(sizes).sum())
    total += float(gammaln(alpha) - gammaln(alpha + observations.n_groups))
    return total + _log_contexts(state, observations, occupied)


def log_ratio_given_tables(log_shares: Floats, shape: Floats, tables: CountArray) -> float:
    """Return Σ_k log Dir(τ_k; shape) − log Dir(τ_k; shape + O_k).

    ``log_shares`` are log τ and ``tables`` O, (n_clusters, n_topics); ``shape`` (n_topics + 1,) is
    v ε, the last one that of the unused topics, which have no tables.
    """
    positive = np.maximum(shape, np.finfo(np.float64).tiny)
    given = map(np.ascontiguousarray, (log_shares, positive, tables))
    totals = tables.sum(axis=1, dtype=np.float64)
    log_totals = float(log_rising_factorial(float(shape.sum()), totals).sum())
    return float(log_ratio_of_tables(*given)) - log_totals


def log_topic_weights(weights: Floats, log_unused: float, eta: float) -> float:
    """Return the log-density of ε; ``log_unused`` is log ε_new."""
    total = len(weights) * math.log(eta) + (eta - 1.0) * log_unused
    return total - float(np.log(weights).sum())


def _log_contexts(state: State, observations: Observations, occupied: np.ndarray) -> float:
    statistics, total = state.counts.context_statistics, 0.0
    for family, columns in observations.context_columns:
        total += float(family.log_marginal(statistics[occupied, columns]).sum())
    sums = statistics.sum(axis=0)
    for c, columns in observations.background_columns:
        family, foreground = observations.context_columns[c]
        total += float(family.log_marginal(sums[columns]))
        total += float(betaln(1.0 + sums[foreground.start], 1.0 + sums[columns.start]))
    return total


def _log_topics(state: State, counts: Counts, occupied: np.ndarray) -> float:
    active = counts.tokens_in_topic > 0
    prior = state.v * state.topic_weights[active]
    topics = counts.topics_in_cluster[occupied][:, active]
    tokens = counts.tokens_in_cluster[occupied]
    total = float((gammaln(state.v) - gammaln(state.v + tokens)).sum())
    total += float((gammaln(prior + topics) - gammaln(prior)).sum())
    return total


def begin_log_density_on_host(
    state: State, observations: Observations, priors: Priors, threads: ThreadPool = SINGLE_THREAD
) -> Callable[[], float]:
    """Start computing the log-density of content given topics and of bags given clusters.

    Returns a function that finishes the sum. Counts must not change before it is called. The
    Dirichlet parameters of categories are those at the time of that call.
    """
    counts = state.counts
    finish_content: Callable[[], float]
    if observations.n_words:
        bounds, prior = observations.layout.row_chunk_start, priors.content.kernel_parameters()
        tokens = counts.tokens_in_topic
        finish_content = _begin_log_counts(counts.words_in_topic, prior, tokens, bounds, threads)
    else:
        active = counts.tokens_in_topic > 0
        finish_content = priors.content.log_marginal(counts.topic_statistics[active]).sum

    def finish() -> float:
        return log_bags(state, observations) + float(finish_content())

    return finish


def log_bags(state: State, observations: Observations) -> float:
    """Return the log-density of bags given clusters."""
    counts, total = state.counts, 0.0
    categories = np.ascontiguousarray(counts.category_counts.T)
    bags = observations.bag_columns_given(state.category_shapes)
    for (family, columns), totals in zip(bags, counts.category_totals.T, strict=True):
        if np.ndim(family.shapes):
            total += float(family.log_marginal(counts.category_counts[:, columns]).sum())
        else:
            bounds = np.array([columns.start, columns.stop])
            total += _begin_log_counts(categories, family.kernel_parameters(), totals, bounds)()
    return total


def log_density_of_totals(prior: Floats, totals: Int64s) -> float:
    """Return Σ ln Γ(c size) − ln Γ(c size + n), the terms that depend on the totals n alone.

    ``prior`` is c and the number of categories, size.
    """
    concentration, size = prior
    multiplicity = np.ones(len(totals), np.int64)
    return -sum_log_rising_factorials(concentration * size, totals, multiplicity)


def _begin_log_counts(
    counts: CountArray,
    prior: Floats,
    totals: Int64s,
    bounds: Int64s,
    threads: ThreadPool = SINGLE_THREAD,
) -> Callable[[], float]:
    """Start computing the log-density of counts, their Dir(c, ..., c) probabilities integrated out.

    Returns a function that finishes it. ``counts`` has a column per distribution and a row per
    category, also of other distributions; ``bounds`` are chunks of the rows to use. ``totals`` are
    the sums of these rows, and ``prior`` is c and the number of categories.
    """
    tabulated, by_chunk = log_rising_factorials(prior[0], N_TABULATED), np.zeros(len(bounds) - 1)

    def add(first: int, last: int) -> None:
        log_joint_of_words(first, last, bounds, counts, prior[0], tabulated, by_chunk)

    finish_adding = threads.begin(len(by_chunk), add, work=1.0 * counts.size)

    def finish() -> float:
        log_totals = log_density_of_totals(prior, totals)
        finish_adding()
        return float(by_chunk.sum()) + log_totals

    return finish
