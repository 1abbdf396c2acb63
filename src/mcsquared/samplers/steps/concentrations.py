"""λ, v, η, ε and α, in an order that leaves the posterior invariant.

Group tables were drawn with the λ and τ of the sweep; they determine λ and O_km. Cluster tables
q_km ~ CRT(O_km, v ε_m) determine v. The blocked sampler draws η with ε integrated out, the
collapsed one given the current ε; then ε from the tables and the new η, and α with π integrated
out. π and τ are redrawn when the next sweep begins. The paper's appendix updates α and v with
quantities other than their conditionals; docs/errata.md has the list.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import CountArray, Floats, Int64s, Rng
from mcsquared.checks import MAX_CONCENTRATION
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.categories import sum_category_terms
from mcsquared.kernels.cpu.counts import sum_log_rising_factorials
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import Concentration
from mcsquared.model.priors import Priors
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import State

MAX_LOG = math.log(MAX_CONCENTRATION)  # logarithms of concentrations are clipped to ± this
MIN_WEIGHT = 1e-300  # of a topic with tables
MAX_ATTEMPTS = 1000  # about a hundred rejections shrink the interval to a point


def resample_collapsed_concentrations(sweep: Sweep) -> None:
    """Draw v, η, ε and α after a collapsed sweep over the groups."""
    resample_concentrations(sweep, eta_from_weights=True)


def resample_concentrations(sweep: Sweep, eta_from_weights: bool = False) -> None:
    """Draw λ, v, η, ε and α after a blocked sweep over the groups."""
    state, priors, key, tables = sweep.state, sweep.priors, sweep.key, sweep.cluster_tables
    if not math.isinf(state.lam):
        resample_lam(sweep)
    customers, rng = state.tables.sum(axis=1, dtype=np.int64), key.generator(Step.V)
    state.v = resample_concentration(state.v, priors.v, customers, tables.sum(axis=1), rng)
    tables_of_topic = tables.sum(axis=0, dtype=np.int64)
    if sweep.effect_tables is not None:
        tables_of_topic += sweep.effect_tables.sum(axis=0, dtype=np.int64)
    resample_root(state, tables_of_topic, priors, key, eta_from_weights)
    state.v = resample_v_given_weights(state, priors.v, rng)
    n_draws, n_clusters = [sweep.observations.n_groups], [state.n_clusters]
    if state.levels:  # the groups of a unit draw their clusters from its type
        n_draws = [int(state.root_counts.sum())]
    rng = key.generator(Step.ALPHA)
    state.alpha = resample_concentration(state.alpha, priors.alpha, n_draws, n_clusters, rng)


def resample_lam(sweep: Sweep) -> None:
    """Draw λ given the number of group tables."""
    state, rng = sweep.state, sweep.key.generator(Step.LAM)
    n_tables, lengths = state.n_group_tables, sweep.observations.layout.lengths
    state.lam = resample_given_lengths(state.lam, sweep.priors.lam, *lengths, n_tables, rng)


def resample_v_given_weights(state: State, prior: Concentration, rng: Rng) -> float:
    """Draw v given ε, with the tables q_km of clusters integrated out; O_k = Σ_m O_km.

        p(v | O, ε)  ∝  p(v) Π_k Γ(v) / Γ(v + O_k) Π_m Γ(vε_m + O_km) / Γ(vε_m)

    Given q_km alone, log v moves by about 1 / √Σ q_km in a sweep.
    """
    if not isinstance(prior, Gamma):
        return float(prior)
    cluster, topic = np.nonzero(state.tables)
    count, totals = state.tables[cluster, topic], state.tables.sum(axis=1, dtype=np.int64)
    base = np.maximum(state.topic_weights[topic], MIN_WEIGHT)
    return resample_given_base(state.v, prior, base, count, totals, (-MAX_LOG, MAX_LOG), rng)


def resample_given_base(
    current: float,
    prior: Gamma | None,
    base: Floats,
    count: CountArray,
    totals: Int64s,
    log_bounds: tuple[float, float],
    rng: Rng,
) -> float:
    """Draw c given counts n_k from Dirichlet-multinomial distributions with shapes c b.

        p(c | n, b)  ∝  p(c) Π_k Γ(c) / Γ(c + Σ_m n_km) Π_m Γ(c b_m + n_km) / Γ(c b_m)

    A slice sampler on log c, uniform if ``prior`` is None, with first interval ``log_bounds``.
    ``base`` and ``count`` (n_entries,) are b_m and n_km of the positive counts, and ``totals``
    (n_distributions,) are Σ_m n_km.
    """
    lengths, multiplicity = np.unique(totals[totals > 0], return_counts=True)

    def log_density(x: float) -> float:
        value = sum_category_terms(math.exp(x), base, count)
        value -= sum_log_rising_factorials(math.exp(x), lengths, multiplicity)
        return value if prior is None else value + prior.shape * x - prior.rate * math.exp(x)

    low, high = log_bounds
    x = min(max(math.log(current), low), high)
    level = log_density(x) + math.log(1.0 - rng.random())
    return math.exp(shrink_slice(log_density, level, x, low, high, rng))


def resample_root(
    state: State, tables_of_topic: Int64s, priors: Priors, key: Key, eta_from_weights: bool = False
) -> None:
    """Draw η, with ε integrated out or given the current ε, then ε ~ Dir(tables, η)."""
    active = state.counts.tokens_in_topic > 0
    tables, rng = tables_of_topic[active], key.generator(Step.ETA)
    if eta_from_weights:
        log_unused = float(state.log_unused[0])
        state.eta = resample_eta_given_weights(priors.eta, state.n_topics, log_unused, rng)
    else:
        customers = [int(tables.sum())]
        state.eta = resample_concentration(state.eta, priors.eta, customers, [len(tables)], rng)
    weights, log_unused = draw_dp_weights(tables, state.eta, key.generator(Step.TOPIC_WEIGHTS))
    state.topic_weights = np.zeros(len(active))
    state.topic_weights[active] = weights
    state.log_unused = np.array([log_unused])


def resample_concentration(
    current: float, prior: Concentration, customers: ArrayLike, tables: ArrayLike, rng: Rng
) -> float:
    """Draw a concentration c from restaurants with N customers at T tables each.

        b ~ Beta(c + 1, N),  s ~ Bernoulli(N / (N + c)),
        c ~ Gamma(shape + Σ(T − s), rate − Σ log b)

    The tables were drawn with ``current``. A prior that is a number is returned unchanged.
    Restaurants without customers are ignored; if all are empty the draw is from the prior.
    """
    if not isinstance(prior, Gamma):
        return float(prior)
    customers = np.asarray(customers, np.float64)
    occupied = customers > 0
    customers, tables = customers[occupied], np.asarray(tables, np.float64)[occupied]
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
    lengths: Int64s,
    multiplicity: Int64s,
    n_tables: int,
    rng: Rng,
) -> float:
    """Draw the common concentration of many restaurants, given their total number of tables.

        p(c | T)  ∝  p(c) c^T Π_j Γ(c) / Γ(c + N_j)

    Restaurants with the same number of customers have the same factor, so the cost depends on the
    number of distinct lengths only. The sampler is a slice sampler on log c (Neal 2003) with
    stepping out and shrinkage; a step is about as wide as the density.

    ``lengths`` are the distinct numbers of customers, ``multiplicity`` the number of restaurants
    that have each, and ``n_tables`` is T. A prior that is a number is returned unchanged.
    """
    if not isinstance(prior, Gamma):
        return float(prior)

    def log_density(x: float) -> float:
        if abs(x) > MAX_LOG:
            return -math.inf
        c = math.exp(x)
        log_factorials = sum_log_rising_factorials(c, lengths, multiplicity)
        return (prior.shape + n_tables) * x - prior.rate * c - log_factorials

    x = min(max(math.log(current), -MAX_LOG), MAX_LOG)
    width = 4.0 / math.sqrt(1.0 + n_tables)
    level = log_density(x) + math.log(1.0 - rng.random())
    low = x - width * rng.random()
    high = low + width
    while log_density(low) > level:
        low -= width
    while log_density(high) > level:
        high += width
    return math.exp(shrink_slice(log_density, level, x, low, high, rng))


def shrink_slice(
    log_density: Callable[[float], float], level: float, x: float, low: float, high: float, rng: Rng
) -> float:
    """Draw a point of ``low`` to ``high`` whose log-density is at least ``level``.

    The interval shrinks towards ``x``, the current point, after each rejected candidate.
    """
    for _ in range(MAX_ATTEMPTS):
        candidate = low + (high - low) * rng.random()
        if log_density(candidate) >= level:
            return candidate
        if candidate < x:
            low = candidate
        else:
            high = candidate
    raise FloatingPointError("no candidate for a concentration was accepted")


def positive_gamma(shape: float, rate: float, rng: Rng) -> float:
    """Draw from Gamma(shape, rate), in logs so that a small shape does not underflow to 0."""
    log_value = math.log(rng.gamma(shape + 1.0)) + math.log(1.0 - rng.random()) / shape
    return math.exp(min(max(log_value - math.log(rate), -MAX_LOG), MAX_LOG))


def resample_eta_given_weights(
    prior: Concentration, n_topics: int, log_unused_weight: float, rng: Rng
) -> float:
    """Draw η given ε: Gamma(shape + M, rate − log ε_new)."""
    if not isinstance(prior, Gamma):
        return float(prior)
    return positive_gamma(prior.shape + n_topics, prior.rate - log_unused_weight, rng)


def draw_dp_weights(counts: Int64s, c: float, rng: Rng) -> tuple[Floats, float]:
    """Draw weights ~ Dir(n_1, ..., n_K, c); return the first K, and the logarithm of the last."""
    gammas = rng.gamma(counts.astype(np.float64))
    if not gammas.size:
        return gammas, 0.0
    log_rest = math.log(rng.gamma(c + 1.0)) + math.log(1.0 - rng.random()) / c
    log_total = float(np.logaddexp(np.log(gammas.sum()), log_rest))
    # Rounding must not make a weight exceed 1.
    return np.minimum(gammas * math.exp(-log_total), 1.0), log_rest - log_total
