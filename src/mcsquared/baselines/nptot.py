"""Nonparametric topics over time (Dubey, Hefny, Williamson and Xing 2013).

    ε ~ GEM(η),   θ_j ~ DP(v, ε),   l_ji ~ θ_j,   w_ji ~ ψ_{l_ji},   t_ji ~ f_{l_ji}

A hierarchical Dirichlet process in which every topic has a Dirichlet process mixture of Gaussians
f_m over time in addition to its words, and every word has the time of its group. Given times, the
likelihood of a token of topic m is ψ_mw f_m(t). In document completion, where the first half of a
group's tokens is given and the second half is scored, the score of a word is

    p(w | t, first half)  =  Σ_m θ_m f_m(t) ψ_mw  /  Σ_m θ_m f_m(t)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Floats, Int64s, Rng
from mcsquared.baselines import hdp
from mcsquared.baselines.topic_model import Rows, rows_by_value
from mcsquared.checks import check_positive
from mcsquared.corpus import Column, Corpus, Vectors
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily, Gaussian
from mcsquared.kernels.cpu.collapsed import resample_word_topics
from mcsquared.kernels.cpu.times import make_times, sum_times
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import ALPHA, ETA, Concentration, V, initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe
from mcsquared.prediction.parameters import (
    ModelParameters,
    Stream,
    draw_content_parameters,
    draw_log_dirichlet,
    pad_topics,
    split_unused_weight,
    stream,
)
from mcsquared.samplers.init.assignments import state_from_assignments
from mcsquared.samplers.steps.concentrations import resample_concentration, resample_root
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.steps.topics import topic_state
from mcsquared.samplers.types import Key

GRID_POINTS = 101
N_INITIAL_COMPONENT_SLOTS = 8  # per topic


@dataclass(eq=False, repr=False)
class NPTOT(hdp.DirichletProcessModel):
    """Topics over time: `HDP` in which each topic also has a distribution over time.

    Parameters
    ----------
    time : str
        Name of the context with a group's time: numbers or dates, with or without missing
        values. A group without a time is treated as in `HDP`.
    family : "auto" or Gaussian
        Prior of a topic's components over time. "auto": means distributed like the groups' times,
        and a nearly fixed width.
    width : float
        Width of a component in standard deviations of the groups' times, if ``family`` is "auto".
    eta, v : float or Gamma
        Concentrations of topics at the root, and of a group's topics around those of the root.
    alpha : float or Gamma
        Concentration of the components of a topic over time.
    content : "auto", family or family name
        Family of the content of a topic.
    n_sweeps, burn_in, thin, keep_parameters, max_topics, init, random_state, progress
        As in `HDP`. Tokens are visited sequentially, on one thread.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Word probabilities of each topic of the last stored draw, the largest topic first.
    n_topics_ : int
    draws_ : list of NPTOTDraw
    trace_ : DataFrame
        One row per sweep: sweep, kept, n_topics, v, eta, alpha, n_components, seconds.

    Notes
    -----
    Every word of a group repeats its time, so that a group of a thousand words contributes a
    thousand equal times to its topics. A component whose width can shrink, as under ``Gaussian()``,
    then collapses to a single time, its density grows without bound, and topics represent dates.
    Therefore "auto" fixes the width. The width determines the influence of times relative to
    words: scores depend on it strongly, and for a large width the model is `HDP`. Report the width
    with a score, and do not select it on the scored groups.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.NPTOT("position", n_sweeps=30, burn_in=10, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape == (40, model.n_topics_)
    True
    """

    time: str = "year"
    family: str | Gaussian = "auto"
    width: float = 0.25
    eta: Concentration = ETA.default
    v: Concentration = V.default
    alpha: Concentration = ALPHA.default
    content: str | ConjugateFamily = "auto"

    def time_given_topic(self, grid: ArrayLike | None = None) -> pd.DataFrame:
        """Return each topic's density over time, one row per time and one column per topic.

        Parameters
        ----------
        grid : array of numbers, or of dates if the times are dates, optional
            Times; by default 101 points from the earliest to the latest time in the training data.

        Examples
        --------
        >>> model.time_given_topic().shape[1] == model.n_topics_
        True
        """
        check_is_fitted(self)
        times = self._grid(grid)
        densities = self.draws_[-1].mean_densities(self._time_family, times)
        return pd.DataFrame(
            densities,
            index=pd.Index(self._column.display(times), name=self._column.name),
            columns=pd.RangeIndex(self.n_topics_, name="topic"),
        )

    def _grid(self, grid: ArrayLike | None) -> Floats:
        if grid is not None:
            column = Corpus(
                np.zeros((len(np.asarray(grid)), 1), np.int64), {self._column.name: grid}
            ).contexts[self._column.name]
            return np.asarray(column.convert_for("gaussian").values, np.float64)
        observed = self._column.observations()
        if not len(observed):
            raise InputError("grid must be given if no time was observed in training, got None")
        return np.linspace(observed.min(), observed.max(), GRID_POINTS)

    def _start(self, corpus: Corpus) -> NPTOTChain:
        v, alpha = V.validated(self.v), ALPHA.validated(self.alpha)
        if isinstance(corpus.content, Vectors):
            raise InputError("content must be words, got vectors")
        self._column = time_column(corpus, self.time)
        self._time_family = time_family(self.family, self.width, self._column, corpus.n_tokens)
        self._priors = Priors.for_corpus(corpus, self.content, {}, alpha=1.0, v=v, eta=self.eta)
        return NPTOTChain(
            observe(corpus, self._priors),
            self._priors,
            self._column.values - self._time_family.origin,
            self._time_family.kernel_parameters(),
            alpha,
            self._seed,
            self.init,
            self.max_topics,
        )

    def _columns(self) -> dict[str, Column]:
        return {self._column.name: self._column}

    def _mean_parameters(self, corpus: Corpus) -> Iterable[tuple[Rows, ModelParameters]]:
        draw = self.draws_[-1]
        parameters = draw.mean_parameters(self._priors.content, has_words=True, seed=self._seed)
        times, subsets = rows_by_value(corpus.contexts[self._column.name].values)
        for value, rows in zip(times, subsets, strict=True):
            logs = np.zeros((1, draw.n_topics))
            if not np.isnan(value):
                logs = np.log(draw.mean_densities(self._time_family, np.array([value])))
            yield rows, replace(parameters, log_topic_evidence=_relative(logs)[0])

    def _parameters(
        self, corpus: Corpus, given_contexts: bool, seed: int
    ) -> Iterable[tuple[Rows, Iterable[ModelParameters]]]:
        if not given_contexts:
            yield from super()._parameters(corpus, given_contexts, seed)
            return
        times, subsets = rows_by_value(corpus.contexts[self._column.name].values)
        draws = []
        for number, draw in enumerate(self.draws_):
            rng = stream(seed, Stream.PARAMETERS, number, 0)
            parameters = draw.draw_parameters(self._priors.content, rng)
            n_topics = parameters.log_topic_given_cluster.shape[1]
            logs = draw.draw_log_densities(self._time_family, n_topics, times, rng)
            draws.append((parameters, _relative(logs)))
        for i, rows in enumerate(subsets):
            yield rows, [replace(drawn, log_topic_evidence=logs[i]) for drawn, logs in draws]

    def _check_method(self, method: str, given_contexts: bool) -> None:
        super()._check_method(method, given_contexts)
        if given_contexts and method != "completion":
            raise InputError(f"method must be 'completion' if given_contexts=True, got {method!r}")


def _relative(log_densities: Floats) -> Floats:
    """Return log-densities minus the largest of each row, at least -700: only ratios matter."""
    return np.maximum(log_densities - log_densities.max(axis=1, keepdims=True), -700.0)


def time_column(corpus: Corpus, name: Any) -> Column:
    """Return the column of times as numbers."""
    if name not in corpus.contexts:
        names = ", ".join(map(repr, corpus.contexts)) or "none"
        raise InputError(f"time must be a context of the corpus ({names}), got {name!r}")
    return corpus.contexts[name].convert_for("gaussian")


def time_family(family: Any, width: float, column: Column, n_tokens: int) -> Gaussian:
    """Return the prior of a component over time, with defaults from the groups' times."""
    if isinstance(family, Gaussian):
        filled = column.fill_family(family)
    elif isinstance(family, str) and family == "auto":
        default = column.fill_family(Gaussian())
        assert isinstance(default, Gaussian)
        # The prior is as strong as the likelihood of all tokens.
        shape = 0.5 * max(n_tokens, 2)
        square = check_positive("width", width) ** 2
        rate = shape * square * float(default.rate or 1.0)
        filled = column.fill_family(Gaussian(strength=square, shape=shape, rate=rate))
    else:
        raise InputError(f"family must be 'auto' or a Gaussian, got {family!r}")
    assert isinstance(filled, Gaussian)
    return filled


@dataclass(frozen=True, eq=False)
class NPTOTDraw(hdp.HDPDraw):
    """Topics of one stored draw with their components over time.

    Components of topic ``m`` are ``component_start[m]:component_start[m + 1]``.
    """

    component_start: Int64s  # (n_topics + 1,)
    component_statistics: Floats  # n, Σt, Σt² relative to the family's origin, (n_components, 3)
    alpha: float  # concentration of components in a topic

    def mean_densities(self, family: Gaussian, times: Floats) -> Floats:
        """Return the predictive density f_m(t), parameters integrated out: (n_times, n_topics)."""
        new = np.exp(family.log_predictive(times, np.zeros((1, family.n_stats))))
        occupied = np.exp(family.log_predictive(times, self.component_statistics))
        counts = self.component_statistics[:, 0]
        result = np.empty((len(times), self.n_topics))
        for m, bounds in enumerate(pairwise(self.component_start)):
            rows = slice(*bounds)
            total = occupied[:, rows] @ counts[rows] + self.alpha * new[:, 0]
            result[:, m] = total / (counts[rows].sum() + self.alpha)
        return result

    def draw_log_densities(
        self, family: Gaussian, n_topics: int, times: Floats, rng: Rng
    ) -> Floats:
        """Draw every topic's mixture given its components; return log f_m(t): (n_times, n_topics).

        Weights are drawn from Dir(n_m1, ..., α), and the last one is split among new components;
        means and precisions are drawn from their posterior. Unused topics have components from the
        prior only. For a missing time, f is 1.
        """
        result = np.zeros((len(times), n_topics))
        observed = ~np.isnan(times)
        by_topic = np.split(self.component_statistics, self.component_start[1:])
        for m in range(n_topics):
            occupied = by_topic[m] if m < self.n_topics else np.zeros((0, family.n_stats))
            concentration = np.append(occupied[:, 0], self.alpha)
            log_weights = draw_log_dirichlet(concentration[None, :], rng)[0]
            new = split_unused_weight(float(np.exp(log_weights[-1])), self.alpha, rng)
            with np.errstate(divide="ignore"):
                log_weights = np.concatenate([log_weights[:-1], np.log(new)])
            parameters = draw_content_parameters(family, pad_topics(occupied, len(new)), rng)
            logs = family.log_likelihood(times[observed], parameters) + log_weights
            result[observed, m] = np.logaddexp.reduce(logs, axis=1)
        return result


class NPTOTChain:
    """A chain of npTOT; in its state every group is its own cluster.

    ``time`` (n_groups,) is relative to the family's origin, NaN where missing. ``parameters`` (4,)
    are mean, strength, shape and rate of the Normal-Gamma prior of a component, and ``alpha`` is
    the concentration of the components of a topic, or its prior. Every topic starts with one.
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
        topics, rng = hdp.initial_topics(observations, priors, seed, init, max_topics)
        groups = np.arange(observations.n_groups)
        self.state = state_from_assignments(observations, priors, groups, topics, rng)
        timed = np.repeat(~np.isnan(time), np.diff(observations.group_start))
        component_of_token = np.where(timed, 0, -1).astype(np.int32)
        statistics = np.zeros((len(self.state.topic_weights), N_INITIAL_COMPONENT_SLOTS, 3))
        start = initial_value(alpha)
        self.times = make_times(time, component_of_token, start, parameters, statistics)
        self._sum_times()

    @property
    def n_components(self) -> Int64s:
        """Number of components in every topic slot."""
        return (self.times.statistics[:, :, 0] > 0).sum(axis=1)

    def sweep(self) -> None:
        """Draw topics and components of all tokens sequentially, then tables, v, η, ε and α."""
        state, priors = self.state, self._priors
        state.sweep += 1
        key = Key(self._seed, hdp.CHAIN, state.sweep)
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
        """Resample all tokens; whenever the slots run out, add slots and continue."""
        state, observations = self.state, self._observations
        group = token = 0
        while token < observations.n_tokens:
            # Sums are recomputed, because rounding errors of updates accumulate.
            self._sum_times()
            n_topic_slots, n_component_slots, _ = self.times.statistics.shape
            bound = -1 if self.max_topics is None else self.max_topics
            group, token = resample_word_topics(
                group,
                token,
                topic_state(state, observations, state.cluster_of_group, state.v, bound),
                observations.word,
                state.counts.words_in_topic,
                self._priors.beta,
                key,
                self.times,
            )
            if state.n_topics == n_topic_slots:
                state.grow_topics()
            n_slots, times = n_component_slots, self.times
            if self.n_components.max(initial=0) == n_component_slots:
                n_slots *= 2
            # New scratch arrays, and empty slots for components.
            statistics = np.zeros((len(state.topic_weights), n_slots, 3))
            statistics[:n_topic_slots, :n_component_slots] = times.statistics
            self.times = make_times(*times[:4], statistics)

    def _sum_times(self) -> None:
        sum_times(
            self._observations.group_start,
            self.times.time,
            self.state.topic_of_token,
            self.times.component_of_token,
            self.times.statistics,
        )

    def trace_row(self) -> dict[str, float]:
        """Return the entries of the current state in the trace."""
        return {
            "n_topics": self.state.n_topics,
            "v": self.state.v,
            "eta": self.state.eta,
            "alpha": self.times.alpha,
            "n_components": int(self.n_components.sum()),
        }

    def draw(self) -> NPTOTDraw:
        """Return the topics of the current state."""
        components = self.times.statistics[hdp.occupied_slots(self.state)]
        occupied = components[:, :, 0] > 0
        return NPTOTDraw(
            **hdp.topics_of_state(self.state, self._observations),
            v=self.state.v,
            component_start=np.concatenate([[0], np.cumsum(occupied.sum(axis=1))]),
            component_statistics=components[occupied],
            alpha=self.times.alpha,
        )
