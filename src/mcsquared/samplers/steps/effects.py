"""Contexts that act on topics: topic weights of their values, tables, ω and v_c.

    b_j  =  Σ_s ω_s τ_s / W        over the sources s that group j has, W = Σ ω of these sources

The sources are the cluster and the values of the group's effects. Each of the group's tables comes
from one of them, so that τ_s ~ Dir(v_c ε + O_s), with O_s the tables of all groups from s. If all
groups had all effects, ω would be Dir(1 + totals). A group without some of them contributes the
factor ω_s / W for each of its tables. For all T tables of groups with the same sources, W^−T is the
normaliser of a negative binomial distribution: R ~ NegBin(T, W) further tables, all of them from
missing sources, restore the Dirichlet.
"""

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np

from mcsquared.arrays import CountArray, Floats, Int64s, Rng
from mcsquared.kernels.cpu.contexts import sum_exponentials
from mcsquared.kernels.cpu.gammas import ROWS_PER_PASS, draw_gamma_rows
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import initial_value
from mcsquared.model.priors import Priors
from mcsquared.samplers.steps.concentrations import resample_concentration
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import EffectDraw, Key, Sweep
from mcsquared.state import EffectState, State

VALUES_PER_PASS = ROWS_PER_PASS * N_LANES  # values whose topic weights are drawn together
VARIATE_COST = 10.0  # nanoseconds of one topic weight
MIN_FLOAT32_SHAPE = 1e-30  # of a variate in single precision
FIRST_ROW = 2**19  # of the random numbers of tables; lower rows belong to clusters


def start_effects(priors: Priors, n_topic_slots: int) -> EffectState | None:
    """Return the initial state of the effects, without tables; None if there are no effects."""
    if not priors.effects:
        return None
    n_effects, n_values = len(priors.effects), priors.effect_offsets[-1]
    return EffectState(
        tables=np.zeros((n_values, n_topic_slots), np.int32),
        weights=np.full(n_effects + 1, 1.0 / (n_effects + 1)),
        v=np.full(n_effects, initial_value(priors.v)),
    )


def draw_effects(
    effects: EffectState | None,
    priors: Priors,
    topic_weights: Floats,
    key: Key,
    threads: ThreadPool = SINGLE_THREAD,
) -> EffectDraw | None:
    """Draw the log of τ_s ~ Dir(v_c ε + O_s) for every value s of every effect c.

    Returns None if there are no effects. Gamma variates are drawn topic by topic, because nearly
    all values of an effect have no tables of a topic and share the shape v_c ε_m.
    """
    if effects is None:
        return None
    offsets, n_slots = priors.effect_offsets, len(topic_weights)
    start = padded_starts(offsets)
    counts = np.zeros((n_slots, start[-1]), effects.tables.dtype)
    for first, (begin, end) in zip(start, pairwise(offsets), strict=False):
        counts[:, first : first + end - begin] = effects.tables[begin:end].T
    logs = np.empty(counts.shape, np.float32)

    def draw(first: int, last: int) -> None:
        for m, (v, (begin, end)) in product(
            range(first, last), zip(effects.v, pairwise(start), strict=True)
        ):
            shape = float(v * topic_weights[m])
            rows = (m * start[-1] + np.array([begin, end])) // N_LANES
            if shape == 0.0:
                logs[m, begin:end] = -np.inf  # a slot that a bound excludes
                continue
            prior = (counts.reshape(-1), max(shape, MIN_FLOAT32_SHAPE))
            numbers = (int(Step.EFFECT_SHARES), key)
            draw_gamma_rows(*rows, N_LANES, *prior, *numbers, True, logs.reshape(-1))

    threads.map(n_slots, draw, work=VARIATE_COST * counts.size)
    largest, total = np.empty((2, 1, counts.shape[1]))
    sum_exponentials(0, 1, n_slots, logs, largest, total)
    log_total, log_shares = (largest + np.log(total))[0], np.empty((offsets[-1], n_slots))
    for first, (begin, end) in zip(start, pairwise(offsets), strict=False):
        values = slice(first, first + end - begin)
        np.subtract(logs[:, values].T, log_total[values, None], out=log_shares[begin:end])
    return EffectDraw(log_shares, effects.weights.copy())


def padded_starts(offsets: Sequence[int]) -> Int64s:
    """Return the first random number of every effect, and their total, for one topic."""
    return VALUES_PER_PASS * np.cumsum([0, *(-(-np.diff(offsets) // VALUES_PER_PASS))])


def with_unused_weight(state: State) -> Floats:
    """Return ε with the weight of all unused topics in the first empty slot."""
    weights, empty = state.topic_weights.copy(), np.flatnonzero(state.counts.tokens_in_topic == 0)
    weights[empty[:1]] = np.exp(state.log_unused)
    return weights


def draw_effect_tables(sweep: Sweep) -> None:
    """Draw CRT(O_sm, v_c ε_m) for every value, given the ε of the globals."""
    if sweep.state.effects is not None:
        sweep.effect_tables = sweep.backend.draw_effect_tables(sweep)


def draw_effect_tables_on_host(sweep: Sweep) -> CountArray:
    """Draw CRT(O_sm, v_c ε_m): (values of all effects, topic slots)."""
    effects = sweep.state.effects
    assert effects is not None
    topic_weights, parts = sweep.globals.weights.topic_weights, []
    for v, (first, last) in zip(effects.v, pairwise(sweep.priors.effect_offsets), strict=True):
        rows, row = effects.tables[first:last], FIRST_ROW + first
        parts.append(draw_tables(rows, v * topic_weights, sweep.key, sweep.threads, row))
    return np.concatenate(parts)


def resample_effects(sweep: Sweep) -> None:
    """Draw v_c of every effect, and ω, given the tables."""
    effects, tables = sweep.state.effects, sweep.effect_tables
    if effects is None:
        return
    assert tables is not None
    rng = sweep.key.generator(Step.EFFECTS)
    totals = [int(sweep.state.tables.sum(dtype=np.int64))]
    for number, (first, last) in enumerate(pairwise(sweep.priors.effect_offsets)):
        customers = effects.tables[first:last].sum(axis=1, dtype=np.int64)
        opened = tables[first:last].sum(axis=1)
        v = float(effects.v[number])
        effects.v[number] = resample_concentration(v, sweep.priors.v, customers, opened, rng)
        totals.append(int(customers.sum()))
    assert sweep.sums.tables_by_pattern is not None
    added = draw_missing_tables(effects.weights, sweep.sums.tables_by_pattern, rng)
    effects.weights = rng.dirichlet(1.0 + np.array(totals) + added)


def draw_missing_tables(weights: Floats, tables_by_pattern: Int64s, rng: Rng) -> Int64s:
    """Draw the tables that missing sources would have had: int64 (n_effects + 1,)."""
    added = np.zeros(len(weights), np.int64)
    for pattern in np.flatnonzero(tables_by_pattern):
        is_missing = np.array([False, *(not pattern >> c & 1 for c in range(len(weights) - 1))])
        missing = float(weights[is_missing].sum())
        if missing > 0.0:
            odds = missing / float(weights[~is_missing].sum())
            n_added = rng.poisson(rng.gamma(float(tables_by_pattern[pattern])) * odds)
            missing_weights = np.where(is_missing, weights, 0.0)
            added += rng.multinomial(n_added, missing_weights / missing_weights.sum())
    return added


def scales_of_patterns(weights: Floats) -> Floats:
    """Return 1 / Σ ω over the sources of groups with each set of effects: (2^n_effects,)."""
    n_effects = len(weights) - 1
    bits = np.arange(2**n_effects)[:, None] >> np.arange(n_effects) & 1
    return 1.0 / (weights[0] + bits @ weights[1:])
