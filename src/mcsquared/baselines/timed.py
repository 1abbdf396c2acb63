"""Chains of npTOT: topics of words and components of time, then tables and concentrations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcsquared.baselines.franchise import CHAIN, first_topics
from mcsquared.baselines.kept import occupied_slots
from mcsquared.kernels.cpu.times import make_times, sum_times
from mcsquared.kernels.cpu.tokens import resample_word_topics
from mcsquared.kernels.rng import Step, generator
from mcsquared.model.parameters import Concentration, Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.init.assignments import state_from_assignments
from mcsquared.samplers.steps.concentrations import resample_concentration, resample_root
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.types import Key
from mcsquared.state import State

__all__ = ["Times", "start", "sweep"]

FIRST_COMPONENTS = 8  # slots for each topic


@dataclass
class Times:
    """The components of every topic over time.

    Attributes
    ----------
    time : float64 (n_groups,)
        Relative to the family's origin; NaN where missing.
    parameters : float64 (4,)
        Of the Normal-Gamma prior: mean, strength, shape, rate.
    prior : float or Gamma
        Of ``alpha``.
    alpha : float
        Concentration of components in a topic.
    component_of_token : int32 (n_tokens,)
        A component slot of the token's topic; -1 without a time.
    statistics : float64 (topic slots, component slots, 3)
        n, Σt, Σt².
    """

    time: NDArray[np.float64]
    parameters: NDArray[np.float64]
    prior: Concentration
    alpha: float
    component_of_token: NDArray[np.int32]
    statistics: NDArray[np.float64]

    def make_room(self, n_topic_slots: int, n_component_slots: int) -> None:
        """Add empty slots; what is there keeps its own."""
        held = self.statistics
        self.statistics = np.zeros((n_topic_slots, n_component_slots, 3))
        self.statistics[: held.shape[0], : held.shape[1]] = held

    @property
    def n_components(self) -> NDArray[np.int64]:
        """Components of every topic slot."""
        return (self.statistics[:, :, 0] > 0).sum(axis=1)

    def of_topics(self, state: State) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the statistics of all components, topic by topic, and where each topic begins."""
        rows = self.statistics[occupied_slots(state)]
        held = rows[:, :, 0] > 0
        start = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int64)
        return start, rows[held]


def start(
    observations: Observations,
    priors: Priors,
    time: NDArray[np.float64],
    parameters: NDArray[np.float64],
    prior: Concentration,
    seed: int,
    init: str = "auto",
    max_topics: int | None = None,
) -> tuple[State, Times]:
    """Return the chain before its first sweep; to its state every group is a cluster of its own.

    A topic begins with one component over time.
    """
    rng = generator(seed, CHAIN, 0, int(Step.START))
    topics = first_topics(observations, priors, seed, init, max_topics, rng)
    groups = np.arange(observations.n_groups)
    state = state_from_assignments(observations, priors, groups, topics, rng)
    timed = np.repeat(~np.isnan(time), np.diff(observations.group_start))
    n_slots = len(state.topic_weights)
    times = Times(
        time=time,
        parameters=parameters,
        prior=prior,
        alpha=prior.mean if isinstance(prior, Gamma) else float(prior),
        component_of_token=np.where(timed, 0, -1).astype(np.int32),
        statistics=np.zeros((n_slots, FIRST_COMPONENTS, 3)),
    )
    _sum(state, times, observations)
    return state, times


def sweep(
    state: State,
    times: Times,
    observations: Observations,
    priors: Priors,
    seed: int,
    max_topics: int | None = None,
) -> None:
    """Draw topics and components of all tokens in turn, then tables, v, η, ε and α."""
    state.sweep += 1
    key = Key(seed, CHAIN, state.sweep)
    _sweep_tokens(state, times, observations, priors, key, max_topics)
    tokens = np.diff(observations.group_start)
    held = state.counts.topics_in_cluster[: len(tokens)]
    tables = draw_tables(held, state.v * state.topic_weights, key)
    state.v = resample_concentration(
        state.v, priors.v, tokens, tables.sum(axis=1), key.generator(Step.V)
    )
    resample_root(state, tables.sum(axis=0, dtype=np.int64), priors, key)
    times.alpha = resample_concentration(
        times.alpha,
        times.prior,
        times.statistics[:, :, 0].sum(axis=1),
        times.n_components,
        key.generator(Step.ALPHA),
    )


def _sweep_tokens(
    state: State,
    times: Times,
    observations: Observations,
    priors: Priors,
    key: Key,
    max_topics: int | None,
) -> None:
    """Visit all tokens; where slots run out, make room and go on from there."""
    group = token = 0
    while token < observations.n_tokens:
        # From scratch: sums that tokens left and joined for long would drift.
        _sum(state, times, observations)
        counts, (n_topics, n_components, _) = state.counts, times.statistics.shape
        group, token = resample_word_topics(
            group,
            token,
            observations.group_start,
            observations.word,
            state.cluster_of_group,
            float(priors.content.concentration),  # type: ignore[attr-defined]
            state.v,
            state.eta,
            -1 if max_topics is None else max_topics,
            state.topic_of_token,
            counts.topics_in_cluster,
            counts.words_in_topic,
            counts.tokens_in_topic,
            state.topic_weights,
            state.log_unused,
            *key,
            make_times(
                times.time,
                times.component_of_token,
                times.alpha,
                times.parameters,
                times.statistics,
            ),
        )
        if state.n_topics == n_topics:
            state.grow_topics()
        full = times.n_components.max(initial=0) == n_components
        times.make_room(len(state.topic_weights), n_components * 2 if full else n_components)


def _sum(state: State, times: Times, observations: Observations) -> None:
    sum_times(
        observations.group_start,
        times.time,
        state.topic_of_token,
        times.component_of_token,
        times.statistics,
    )
