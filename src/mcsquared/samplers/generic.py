"""Families without a kernel, a user's own: the same conditionals from the family's three functions.

Slower by a factor of some hundred than a kernel, and as exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.rng import Step, uniform
from mcsquared.observations import Observations, PythonObservations
from mcsquared.state import State

__all__ = ["GenericContexts", "resample_generic_topics"]

NOTHING = np.zeros(0)


class GenericContexts:
    """Statistics per cluster of the contexts whose families have no kernel, for one sweep."""

    def __init__(self, contexts: list[PythonObservations], state: State) -> None:
        self.contexts = contexts
        self.state = state
        n_slots = len(state.counts.groups_in_cluster)
        self.statistics = [np.zeros((n_slots, c.family.n_stats)) for c in contexts]
        for context, statistics in zip(contexts, self.statistics, strict=True):
            np.add.at(statistics, state.cluster_of_group, context.statistics)

    @classmethod
    def of(cls, state: State, observations: Observations) -> GenericContexts:
        """Return the statistics of a state, summed from its labels."""
        return cls(observations.python_contexts, state)

    def grow(self) -> None:
        """Follow `State.grow_clusters`."""
        self.statistics = [np.vstack([s, np.zeros_like(s)]) for s in self.statistics]

    def walk(self, first: int, draw: Callable[[int, int, NDArray[np.float64]], int]) -> int:
        """Draw every group's cluster from ``first`` on; return where slots ran out."""
        cluster_of_group = self.state.cluster_of_group
        if not self.contexts:
            return draw(first, len(cluster_of_group), NOTHING)
        for j in range(first, len(cluster_of_group)):
            old = cluster_of_group[j]
            self._move(j, old, -1.0)
            if self.state.counts.groups_in_cluster[old] == 1:
                for statistics in self.statistics:
                    statistics[old] = 0.0
            if draw(j, j + 1, self._log_predictive(j)) == j:
                self._move(j, old, 1.0)
                return j
            self._move(j, cluster_of_group[j], 1.0)
        return len(cluster_of_group)

    def _move(self, j: int, k: int, sign: float) -> None:
        for context, statistics in zip(self.contexts, self.statistics, strict=True):
            statistics[k] += sign * context.statistics[j]

    def _log_predictive(self, j: int) -> NDArray[np.float64]:
        total = np.zeros(len(self.statistics[0]))
        for context, statistics in zip(self.contexts, self.statistics, strict=True):
            if context.statistics[j].any():
                total += _log_gain(context, j, statistics)
        return total


def _log_gain(
    observed: PythonObservations, row: int, statistics: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log Z(s + T(x)) − log Z(s) for every slot; the base measure cancels."""
    family = observed.family
    return family.log_normaliser(statistics + observed.statistics[row]) - family.log_normaliser(
        statistics
    )


def resample_generic_topics(
    state: State, observations: Observations, seed: int, chain: int, max_topics: int
) -> None:
    """Draw every token's topic when the content's family has no kernel."""
    assert observations.python_content is not None
    content, counts, sweep = observations.python_content, state.counts, state.sweep
    cluster_of_token = np.repeat(state.cluster_of_group, np.diff(observations.group_start))
    counts.topic_statistics[:] = 0.0
    np.add.at(counts.topic_statistics, state.topic_of_token, content.statistics)
    for i, k in enumerate(cluster_of_token.tolist()):
        if state.n_topics == len(state.topic_weights):
            state.grow_topics()
        m = int(state.topic_of_token[i])
        _take_out(state, k, m, content.statistics[i])
        active = np.flatnonzero(counts.tokens_in_topic > 0)
        slots = active
        if not active.size or max_topics < 0 or active.size < max_topics:
            slots = np.append(active, np.flatnonzero(counts.tokens_in_topic == 0)[0])
        log_weights = _log_gain(content, i, counts.topic_statistics[slots])
        prior = counts.topics_in_cluster[k, active] + state.v * state.topic_weights[active]
        log_weights[: active.size] += np.log(prior)
        log_weights[active.size :] += math.log(state.v) + state.log_unused[0]
        u = uniform(seed, chain, sweep, int(Step.TOPICS), i, 0)
        m = slots[pick(log_weights, len(slots), u)]
        if counts.tokens_in_topic[m] == 0:
            log_rest = math.log(uniform(seed, chain, sweep, int(Step.BIRTHS), i, 0)) / state.eta
            state.topic_weights[m] = -math.expm1(log_rest) * math.exp(state.log_unused[0])
            state.log_unused[0] += log_rest
        state.topic_of_token[i] = m
        counts.topics_in_cluster[k, m] += 1
        counts.tokens_in_topic[m] += 1
        counts.topic_statistics[m] += content.statistics[i]
    counts.topic_statistics[:] = 0.0
    np.add.at(counts.topic_statistics, state.topic_of_token, content.statistics)


def _take_out(state: State, k: int, m: int, statistics: NDArray[np.float64]) -> None:
    counts = state.counts
    counts.topics_in_cluster[k, m] -= 1
    counts.tokens_in_topic[m] -= 1
    counts.topic_statistics[m] -= statistics
    if counts.tokens_in_topic[m] == 0:
        unused = math.exp(state.log_unused[0]) + state.topic_weights[m]
        state.log_unused[0] = math.log(unused)
        state.topic_weights[m] = 0.0
        counts.topic_statistics[m] = 0.0
