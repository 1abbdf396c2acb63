"""Weights given counts: ε with its tail, π, and τ.

Given q_m tables of each occupied topic, (ε_1, ..., ε_M, ε_new) ~ Dir(q_1, ..., q_M, η). ε_new is
divided among the empty slots by stick-breaking, of which the last slot takes the rest.
Nothing depends on the order of topics, and the number of empty slots does not affect the occupied
ones. The same holds for clusters.
"""

import numpy as np

from mcsquared.arrays import Bools, Float32s, Floats, Int64s, Rng
from mcsquared.kernels.cpu.gammas import draw_log_shares
from mcsquared.kernels.rng import Step
from mcsquared.samplers.steps.concentrations import draw_dp_weights
from mcsquared.samplers.steps.slots import topic_bound
from mcsquared.samplers.types import Key, Sweep, Weights

SHARE_COST = 100.0  # nanoseconds to draw the share of one topic in one cluster
NEGLIGIBLE_SHARE = 1e-20  # smaller ones are set to 0: products would underflow or be subnormal


def draw_weights(sweep: Sweep) -> Weights:
    """Draw π, τ and the tails, given counts, ε and the concentrations."""
    topic_weights = topic_weights_with_tail(sweep)
    log_cluster_weights = draw_log_cluster_weights(sweep)
    return Weights(topic_weights, log_cluster_weights, draw_log_topic_shares(sweep, topic_weights))


def topic_weights_with_tail(sweep: Sweep) -> Floats:
    """Return ε of all slots, with ε_new divided among the empty ones."""
    state = sweep.state
    weights = state.topic_weights.copy()
    empty = usable_slots(state.counts.tokens_in_topic > 0, topic_bound(sweep))
    sticks = log_sticks(len(empty), state.eta, sweep.key.generator(Step.TOPIC_TAIL))
    weights[empty] = np.exp(sticks + float(state.log_unused[0]))
    return weights


def draw_log_cluster_weights(sweep: Sweep) -> Floats:
    """Draw the log of π ~ Dir(n_1, ..., n_K, α), its last part divided among the empty slots.

    With levels above groups, n_k is the number of draws from π: see `mcsquared.state.State`.
    """
    state, steps = sweep.state, (Step.CLUSTER_WEIGHTS, Step.CLUSTER_TAIL)
    rngs = tuple(sweep.key.generator(step) for step in steps)
    return draw_log_root(state.root_counts, state.alpha, sweep.bounds.clusters, *rngs)


def draw_log_root(
    counts: Int64s, concentration: float, bound: int | None, rng: Rng, tail_rng: Rng
) -> Floats:
    """Draw the log of weights ~ Dir(counts, concentration), the last divided among empty slots."""
    occupied = counts > 0
    log_weights = np.full(len(counts), -np.inf)
    weights, log_unused = draw_dp_weights(counts[occupied], concentration, rng)
    with np.errstate(divide="ignore"):
        log_weights[occupied] = np.log(weights)
    empty = usable_slots(occupied, bound)
    sticks = log_sticks(len(empty), concentration, tail_rng)
    log_weights[empty] = sticks + log_unused
    return log_weights


def usable_slots(occupied: Bools, bound: int | None) -> Int64s:
    """Return the empty slots that may be used without exceeding the bound."""
    empty = np.flatnonzero(~occupied)
    if bound is None:
        return empty
    return empty[: max(bound - int(occupied.sum()), 0)]


def log_sticks(n: int, concentration: float, rng: Rng) -> Floats:
    """Return the logs of n stick-breaking weights; the last one takes all that is left."""
    if n == 0:
        return np.zeros(0)
    # b ~ Beta(1, c) as 1 − U^(1/c), so that log(1 − b) needs no logarithm of a difference.
    log_left = np.log1p(-rng.random(n - 1)) / concentration
    log_rest = np.concatenate([[0.0], np.cumsum(log_left)])
    with np.errstate(divide="ignore"):
        log_taken = np.append(np.log(-np.expm1(log_left)), 0.0)
    return log_taken + log_rest


def draw_log_topic_shares(sweep: Sweep, topic_weights: Floats, key: Key | None = None) -> Floats:
    """Draw the log of τ_k ~ Dir(v ε + O_k) for every cluster slot; ``topic_weights`` is ε."""
    tables, prior = np.ascontiguousarray(sweep.state.tables), sweep.state.v * topic_weights
    log_shares, step = np.empty(tables.shape), int(Step.TOPIC_SHARES)

    def draw(first: int, last: int) -> None:
        draw_log_shares(first, last, prior, tables, key or sweep.key, step, log_shares)

    sweep.threads.map(len(tables), draw, work=SHARE_COST * tables.size)
    return log_shares


def as_float32(values: Floats) -> Float32s:
    """Return the values as float32, with 0 for those below `NEGLIGIBLE_SHARE`."""
    return np.where(values < NEGLIGIBLE_SHARE, 0.0, values).astype(np.float32)


def scale_shares(weights: Weights, sums: Floats) -> Float32s:
    """Return τ_km divided by ``sums[m]``, the sum of the gamma variates that are ∝ ψ_m."""
    shares = as_float32(np.exp(weights.log_shares))
    shares /= sums.astype(np.float32)
    return shares
