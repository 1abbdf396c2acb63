"""Weights that all groups share, drawn from counts: ε with its tail, π, and τ.

Given the counts of the occupied topics, the root measure is (ε_1, ..., ε_M, ε_new) ~ Dir(u, η), and
the weight that no topic has yet is broken into sticks for the empty slots, which are the
truncation; the last of them takes the rest. Nothing depends on the order of topics, and more empty
slots change nothing for the others. Clusters likewise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.shares import draw_log_shares
from mcsquared.kernels.rng import Step, generator
from mcsquared.samplers.concentrations import draw_topic_weights
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import Bounds, State

__all__ = ["Key", "Weights", "draw_shares", "draw_weights", "make_room"]

# Numbers of topic slots: the kernel for groups that vary is compiled for each of the first few.
TOPIC_SLOTS = (32, 64, 112, 160, 208, 256, 384, 512)
FEWEST_EMPTY = 16
MOST_EMPTY = 256
FEW_CELLS = 10_000  # of clusters and topics
NEGLIGIBLE = 1e-4  # weight that may fall on the last empty slot instead of on ones after it


class Key(NamedTuple):
    """Where a chain stands: what random numbers are functions of."""

    seed: int
    chain: int
    sweep: int

    def generator(self, step: Step) -> np.random.Generator:
        """Return the numbers of a step that draws a handful."""
        return generator(self.seed, self.chain, self.sweep, int(step))


@dataclass(frozen=True)
class Weights:
    """The weights that a sweep begins with.

    Attributes
    ----------
    topics : float64 (topic slots,)
        ε with the tail in the empty slots; 0 in slots that a bound closes.
    log_clusters : float64 (cluster slots,)
        log π; −∞ in slots that a bound closes.
    log_shares : float64 (cluster slots, topic slots)
        log τ.
    """

    topics: NDArray[np.float64]
    log_clusters: NDArray[np.float64]
    log_shares: NDArray[np.float64]


def make_room(state: State, bounds: Bounds) -> None:
    """Add slots until enough of them are empty for what might be new."""
    unused = math.exp(float(state.log_unused[0]))
    wanted = _wanted(state.n_topics, unused, state.eta, bounds.topics)
    wanted = next((size for size in TOPIC_SLOTS if size >= wanted), wanted)
    if len(state.topic_weights) < wanted:
        state.add_topic_slots(wanted - len(state.topic_weights))
    n_groups = int(state.counts.groups_in_cluster.sum())
    unused = state.alpha / (state.alpha + n_groups)
    wanted = _wanted(state.n_clusters, unused, state.alpha, bounds.clusters)
    if len(state.counts.groups_in_cluster) < wanted:
        state.add_cluster_slots(wanted - len(state.counts.groups_in_cluster))


def _wanted(occupied: int, unused: float, concentration: float, bound: int | None) -> int:
    """Return how many slots are wanted: enough empty ones that what is cut off is negligible."""
    empty = float(FEWEST_EMPTY)
    if unused > NEGLIGIBLE:
        # Each stick leaves c / (1 + c) of the rest, on average.
        empty = math.log(NEGLIGIBLE / unused) / -math.log1p(1.0 / concentration)
    empty = min(max(empty, FEWEST_EMPTY), MOST_EMPTY)
    slots = occupied + math.ceil(empty)
    if bound is not None:
        slots = max(min(slots, bound), occupied)
    return -(-slots // N_LANES) * N_LANES


def draw_weights(
    state: State,
    bounds: Bounds,
    key: Key,
    draw: Callable[[State, NDArray[np.float64], Key], NDArray[np.float64]] | None = None,
) -> Weights:
    """Draw π, τ and the tails, given counts, ε and the concentrations.

    Parameters
    ----------
    draw : callable, optional
        Draws τ; `draw_shares` by default.
    """
    topics = topic_weights_with_tail(state, bounds, key)
    return Weights(
        topics=topics,
        log_clusters=draw_log_cluster_weights(state, bounds, key),
        log_shares=(draw or draw_shares)(state, topics, key),
    )


def topic_weights_with_tail(state: State, bounds: Bounds, key: Key) -> NDArray[np.float64]:
    """Return ε over all slots, ε_new shared among the empty ones."""
    weights = state.topic_weights.copy()
    empty = open_slots(state.counts.tokens_in_topic > 0, bounds.topics)
    sticks = log_sticks(len(empty), state.eta, key.generator(Step.TOPIC_TAIL))
    weights[empty] = np.exp(sticks + float(state.log_unused[0]))
    return weights


def draw_log_cluster_weights(state: State, bounds: Bounds, key: Key) -> NDArray[np.float64]:
    """Draw log π ~ Dir(n_1, ..., n_K, α), the last part shared among the empty slots."""
    groups = state.counts.groups_in_cluster
    occupied = groups > 0
    log_weights = np.full(len(groups), -np.inf)
    weights, log_unused = draw_topic_weights(
        groups[occupied].astype(np.int64), state.alpha, key.generator(Step.CLUSTER_WEIGHTS)
    )
    with np.errstate(divide="ignore"):
        log_weights[occupied] = np.log(weights)
    empty = open_slots(occupied, bounds.clusters)
    sticks = log_sticks(len(empty), state.alpha, key.generator(Step.CLUSTER_TAIL))
    log_weights[empty] = sticks + log_unused
    return log_weights


def open_slots(occupied: NDArray[np.bool_], bound: int | None) -> NDArray[np.int64]:
    """Return the empty slots that may be used: no more in all than the bound."""
    empty = np.flatnonzero(~occupied)
    if bound is None:
        return empty
    return empty[: max(bound - int(occupied.sum()), 0)]


def log_sticks(n: int, concentration: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Break a stick of length 1 into n pieces: Beta(1, c) of the rest each, then the rest."""
    if n == 0:
        return np.zeros(0)
    # b ~ Beta(1, c) as 1 − U^(1/c), so that log(1 − b) needs no logarithm of a difference.
    log_left = np.log1p(-rng.random(n - 1)) / concentration
    log_rest = np.concatenate([[0.0], np.cumsum(log_left)])
    with np.errstate(divide="ignore"):
        log_taken = np.append(np.log(-np.expm1(log_left)), 0.0)
    return log_taken + log_rest


def draw_shares(
    state: State, topics: NDArray[np.float64], key: Key, workers: Workers = ONE
) -> NDArray[np.float64]:
    """Draw log τ_k for every cluster slot: Dir(v ε + O_k)."""
    held = state.tables
    log_shares = np.empty(held.shape)
    prior = state.v * topics

    def draw(first: int, last: int) -> None:
        draw_log_shares(first, last, prior, held, *key, int(Step.TOPIC_SHARES), log_shares)

    workers.map(len(held), draw, is_small=held.size < FEW_CELLS)
    return log_shares
