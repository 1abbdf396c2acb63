"""Chains and stored draws of npTOT: topics of words with components over time."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.baselines.hdp import CHAIN, HDPDraw, initial_topics, occupied_slots, topics_of_state
from mcsquared.families import Gaussian
from mcsquared.kernels.cpu.collapsed import resample_word_topics
from mcsquared.kernels.cpu.times import make_times, sum_times
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import Concentration, initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.prediction.parameters import (
    draw_content,
    draw_log_dirichlet,
    split_unused_weight,
)
from mcsquared.samplers.init.assignments import state_from_assignments
from mcsquared.samplers.steps.concentrations import resample_concentration, resample_root
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.steps.topics import topic_state
from mcsquared.samplers.types import Key

FIRST_COMPONENTS = 8  # initial component slots of each topic


@dataclass(frozen=True, eq=False)
class NPTOTDraw(HDPDraw):
    """Topics of one stored draw with their components over time.

    Components of topic ``m`` are ``component_start[m]:component_start[m + 1]``.
    """

    component_start: NDArray[np.int64]  # (n_topics + 1,)
    component_statistics: Floats  # n, Σt, Σt² relative to the family's origin, (n_components, 3)
    alpha: float  # concentration of components in a topic

    def mean_densities(self, family: Gaussian, times: Floats) -> Floats:
        """Return the predictive density f_m(t), parameters integrated out: (n_times, n_topics)."""
        new = np.exp(family.log_predictive(times, np.zeros((1, family.n_stats))))
        known = np.exp(family.log_predictive(times, self.component_statistics))
        counts = self.component_statistics[:, 0]
        result = np.empty((len(times), self.n_topics))
        for m, bounds in enumerate(pairwise(self.component_start)):
            rows = slice(*bounds)
            total = known[:, rows] @ counts[rows] + self.alpha * new[:, 0]
            result[:, m] = total / (counts[rows].sum() + self.alpha)
        return result

    def draw_log_densities(
        self, family: Gaussian, n_topics: int, times: Floats, rng: np.random.Generator
    ) -> Floats:
        """Draw every topic's mixture given its components; return log f_m(t): (n_times, n_topics).

        Weights ~ Dir(n_m1, ..., α), the last of which is split among new components; means and
        precisions from their posterior. Unused topics have components from the prior only. For a
        missing time f is 1.
        """
        result = np.zeros((len(times), n_topics))
        seen = ~np.isnan(times)
        by_topic = np.split(self.component_statistics, self.component_start[1:])
        for m in range(n_topics):
            known = by_topic[m] if m < self.n_topics else np.zeros((0, family.n_stats))
            shape = np.append(known[:, 0], self.alpha)
            log_weights = draw_log_dirichlet(shape[None, :], rng)[0]
            new = split_unused_weight(float(np.exp(log_weights[-1])), self.alpha, rng)
            with np.errstate(divide="ignore"):
                log_weights = np.concatenate([log_weights[:-1], np.log(new)])
            parameters = draw_content(family, known, len(new), rng)
            logs = family.log_likelihood(times[seen], parameters) + log_weights
            result[seen, m] = np.logaddexp.reduce(logs, axis=1)
        return result


class NPTOTChain:
    """A chain of npTOT; in its state every group is its own cluster.

    Parameters
    ----------
    time : float64 (n_groups,)
        Relative to the family's origin; NaN where missing.
    parameters : float64 (4,)
        Normal-Gamma prior of a component: mean, strength, shape, rate.
    alpha : float or Gamma
        Concentration of components in a topic, which starts with one, or its prior.
    """

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        time: Floats,
        parameters: Floats,
        alpha: Concentration,
        seed: int,
        init: str = "auto",
        max_topics: int | None = None,
    ) -> None:
        self._observations, self._priors, self._seed = observations, priors, seed
        self._alpha_prior, self.max_topics = alpha, max_topics
        topics, rng = initial_topics(observations, priors, seed, init, max_topics)
        groups = np.arange(observations.n_groups)
        self.state = state_from_assignments(observations, priors, groups, topics, rng)
        timed = np.repeat(~np.isnan(time), np.diff(observations.group_start))
        component_of_token = np.where(timed, 0, -1).astype(np.int32)
        statistics = np.zeros((len(self.state.topic_weights), FIRST_COMPONENTS, 3))
        first = initial_value(alpha)
        self.times = make_times(time, component_of_token, first, parameters, statistics)
        self._sum_times()

    @property
    def n_components(self) -> NDArray[np.int64]:
        """Number of components in every topic slot."""
        return (self.times.statistics[:, :, 0] > 0).sum(axis=1)

    def sweep(self) -> None:
        """Draw topics and components of all tokens sequentially, then tables, v, η, ε and α."""
        state, priors = self.state, self._priors
        state.sweep += 1
        key = Key(self._seed, CHAIN, state.sweep)
        self._sweep_tokens(key)
        tokens = np.diff(self._observations.group_start)
        topics_in_group = state.counts.topics_in_cluster[: len(tokens)]
        tables = draw_tables(topics_in_group, state.v * state.topic_weights, key)
        state.v = resample_concentration(
            state.v, priors.v, tokens, tables.sum(axis=1), key.generator(Step.V)
        )
        resample_root(state, tables.sum(axis=0, dtype=np.int64), priors, key)
        alpha = resample_concentration(
            self.times.alpha,
            self._alpha_prior,
            self.times.statistics[:, :, 0].sum(axis=1),
            self.n_components,
            key.generator(Step.ALPHA),
        )
        self.times = self.times._replace(alpha=alpha)

    def _sweep_tokens(self, key: Key) -> None:
        """Visit all tokens; add slots whenever they run out, and continue."""
        state, observations = self.state, self._observations
        group = token = 0
        while token < observations.n_tokens:
            # Recomputed, because rounding errors of updated sums accumulate.
            self._sum_times()
            n_topics, n_components, _ = self.times.statistics.shape
            bound = -1 if self.max_topics is None else self.max_topics
            group, token = resample_word_topics(
                group,
                token,
                topic_state(state, observations, state.cluster_of_group, state.v, bound),
                observations.word,
                state.counts.words_in_topic,
                float(self._priors.content.concentration),  # type: ignore[attr-defined]
                key,
                self.times,
            )
            if state.n_topics == n_topics:
                state.grow_topics()
            full = self.n_components.max(initial=0) == n_components
            n_slots = n_components * 2 if full else n_components
            times = self.times
            # New scratch arrays, and empty slots for components.
            statistics = np.zeros((len(state.topic_weights), n_slots, 3))
            statistics[:n_topics, :n_components] = times.statistics
            self.times = make_times(
                times.time, times.component_of_token, times.alpha, times.parameters, statistics
            )

    def _sum_times(self) -> None:
        sum_times(
            self._observations.group_start,
            self.times.time,
            self.state.topic_of_token,
            self.times.component_of_token,
            self.times.statistics,
        )

    def row(self) -> dict[str, float]:
        """Return the current state's entries of the trace."""
        return {
            "n_topics": self.state.n_topics,
            "v": self.state.v,
            "eta": self.state.eta,
            "alpha": self.times.alpha,
            "n_components": int(self.n_components.sum()),
        }

    def draw(self) -> NPTOTDraw:
        """Return the topics of the current state."""
        components = self.times.statistics[occupied_slots(self.state)]
        occupied = components[:, :, 0] > 0
        return NPTOTDraw(
            **topics_of_state(self.state, self._observations),
            v=self.state.v,
            component_start=np.concatenate([[0], np.cumsum(occupied.sum(axis=1))]),
            component_statistics=components[occupied],
            alpha=self.times.alpha,
        )
