"""Hierarchical Dirichlet process (Teh, Jordan, Beal and Blei 2006), by the sampler of MC2."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import sparse

from mcsquared.arrays import Floats, Int64s, Rng
from mcsquared.baselines.topic_model import ALL_GROUPS, Rows, TopicModel, single_cluster_parameters
from mcsquared.checks import check_integer
from mcsquared.corpus import Corpus
from mcsquared.families import ConjugateFamily
from mcsquared.families.numerics import as_dense
from mcsquared.kernels.rng import Step, generator
from mcsquared.model.parameters import ETA, Concentration, V
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe
from mcsquared.posterior.draws import content_means
from mcsquared.prediction.groups import with_mean_content
from mcsquared.prediction.parameters import (
    ModelParameters,
    Stream,
    draw_content_parameters,
    draw_key,
    pad_topics,
    split_unused_weight,
    stream,
)
from mcsquared.progress import Progress
from mcsquared.samplers import hdp
from mcsquared.samplers.init import starts
from mcsquared.samplers.init.assignments import at_most, blocked_state
from mcsquared.samplers.threads import ThreadPool, n_threads_for
from mcsquared.samplers.types import Key
from mcsquared.schedule import Schedule
from mcsquared.state import Bounds, State, TopicLabels

CHAIN = 0


@dataclass(frozen=True, eq=False)
class HDPDraw:
    """Topics of one stored draw, the largest first.

    Given a draw, a new group has θ_j ~ DP(v, ε), as in MC2 with a single cluster, τ = ε and λ = v.
    """

    content_statistics: sparse.csr_matrix | Floats  # word counts, or the family's statistics
    tokens_of_topic: Int64s  # (n_topics,)
    topic_weights: Floats  # (n_topics,)
    unused_weight: float
    v: float
    eta: float

    @property
    def n_topics(self) -> int:
        """Number of topics with tokens."""
        return len(self.topic_weights)

    def draw_parameters(self, family: ConjugateFamily, rng: Rng) -> ModelParameters:
        """Draw ψ given the counts, and split ε_new among unused topics."""
        unused = split_unused_weight(self.unused_weight, self.eta, rng)
        statistics = pad_topics(as_dense(self.content_statistics), len(unused))
        content = draw_content_parameters(family, statistics, rng)
        weights, key = np.concatenate([self.topic_weights, unused]), draw_key(rng)
        drawn = single_cluster_parameters(weights, content, family, self.v, key, self.n_topics)
        return replace(drawn, content_statistics=statistics)

    def mean_parameters(
        self, family: ConjugateFamily, has_words: bool, seed: int
    ) -> ModelParameters:
        """Return the parameters of the known topics with ψ at its mean."""
        statistics, weights = as_dense(self.content_statistics), self.topic_weights
        key = draw_key(stream(seed, Stream.PARAMETERS, 0, 0))
        parameters = single_cluster_parameters(weights, statistics, family, self.v, key)
        return with_mean_content(parameters, statistics, has_words)


@dataclass(eq=False, repr=False, kw_only=True)
class DirichletProcessModel(TopicModel):
    """Base class of `HDP` and `NPTOT`: the run loop, and parameters of stored draws."""

    thin: int = 5
    max_topics: int | None = None
    init: str = "auto"
    progress: Any = "auto"

    _minima: ClassVar = {**TopicModel._minima, "thin": 1}

    @abstractmethod
    def _start(self, corpus: Corpus) -> Any:
        """Set ``_priors`` and return a chain with the methods `sweep`, `trace_row` and `draw`."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_topics is not None:
            check_integer("max_topics", self.max_topics, 1)
        starts.check_init(self.init)

    def _fit(self, corpus: Corpus) -> Floats:
        chain = self._start(corpus)
        schedule = Schedule(self.n_sweeps, self.burn_in, self.thin, self.keep_parameters)
        rows, self.draws_ = [], []
        with Progress(self.n_sweeps, 1, corpus.n_tokens, self.progress) as progress:
            for sweep in range(1, self.n_sweeps + 1):
                started = time.perf_counter()
                chain.sweep()
                kept = schedule.is_kept(sweep)
                if kept and schedule.stores_parameters(sweep):
                    self.draws_.append(chain.draw())
                seconds = time.perf_counter() - started
                rows.append(
                    {"sweep": sweep, "kept": kept} | chain.trace_row() | {"seconds": seconds}
                )
                n_topics = int(rows[-1]["n_topics"])
                progress(SimpleNamespace(chain=0, sweep=sweep, n_clusters=1, n_topics=n_topics))
        self.trace_ = pd.DataFrame(rows)
        last = self.draws_[-1]
        return content_means(last.content_statistics, last.tokens_of_topic, self._priors.content)

    def _mean_parameters(self, corpus: Corpus) -> Iterable[tuple[Rows, ModelParameters]]:
        has_words, family = self._vocabulary is not None, self._priors.content
        return [(ALL_GROUPS, self.draws_[-1].mean_parameters(family, has_words, self._seed))]

    def _parameters(
        self, corpus: Corpus, given_contexts: bool, seed: int
    ) -> Iterable[tuple[Rows, Iterable[ModelParameters]]]:
        family = self._priors.content
        drawn = (
            draw.draw_parameters(family, stream(seed, Stream.PARAMETERS, number, 0))
            for number, draw in enumerate(self.draws_)
        )
        return [(ALL_GROUPS, drawn)]


@dataclass(eq=False, repr=False)
class HDP(DirichletProcessModel):
    """Hierarchical Dirichlet process: topics without clusters and contexts.

    The special case of `MC2` in which every group is its own cluster: Q0 ~ DP(η S) and
    Q_j ~ DP(v Q0) for group j. Contexts of a corpus are ignored.

    Parameters
    ----------
    eta : float or Gamma
        Concentration of topics at the root. A number fixes it; a `Gamma` is its prior.
    v : float or Gamma
        Concentration of a group's topics around those of the root.
    content : "auto", family or family name
        Family of the content of a topic. "auto": `Categorical` for words, a Gaussian for vectors.
    n_sweeps, burn_in, thin : int
        Total number of sweeps, number of initial sweeps to discard, interval of kept sweeps.
    keep_parameters : int
        Number of stored draws, evenly spaced; scores are averaged over them.
    max_topics : int, optional
        Upper bound on the number of topics.
    init : {"auto", "random"}
    n_jobs : int, optional
        Threads; -1 for every core. The draws do not depend on it.
    random_state : int, RandomState or None
    progress : {"auto", True, False}

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Word probabilities of each topic of the last stored draw, the largest topic first; rows sum
        to 1. For vectors, the means of the topics.
    n_topics_ : int
    draws_ : list of HDPDraw
    trace_ : DataFrame
        One row per sweep: sweep, kept, n_topics, v, eta, seconds.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.HDP(n_sweeps=30, burn_in=10, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape == (40, model.n_topics_)
    True
    """

    eta: Concentration = ETA.default
    v: Concentration = V.default
    content: str | ConjugateFamily = "auto"
    n_jobs: int | None = field(default=None, kw_only=True)

    def _start(self, corpus: Corpus) -> HDPChain:
        # The prior of v is passed as `lam`, see `HDPChain`; alpha and v of MC2 are not used.
        v = V.validated(self.v)
        priors = Priors.for_corpus(corpus, self.content, {}, alpha=1.0, v=1.0, eta=self.eta, lam=v)
        self._priors = priors
        observations = observe(corpus, priors)
        n_threads = n_threads_for(self.n_jobs)
        return HDPChain(observations, priors, self._seed, self.init, self.max_topics, n_threads)


class HDPChain:
    """A chain of `HDP`, run as the equivalent model with a single cluster.

    The topic shares of the cluster are those of the root (τ = ε), and λ takes the role of v.
    """

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        seed: int,
        init: str = "auto",
        max_topics: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self._observations, self._n_threads = observations, n_threads
        self._inputs = (observations, priors, seed, CHAIN)
        self._bounds = Bounds(1, max_topics)
        topics, rng = initial_topics(observations, priors, seed, init, max_topics)
        cluster_of_group = np.zeros(observations.n_groups, np.int64)
        self.state = blocked_state(observations, priors, cluster_of_group, topics, rng)

    def sweep(self) -> None:
        """Run one sweep."""
        with ThreadPool(self._n_threads) as threads:
            hdp.sweep(self.state, *self._inputs, self._bounds, threads)
        if hdp.is_collapsed_sweep_due(self.state, self._observations):
            hdp.collapsed_sweep(self.state, *self._inputs, self._bounds)

    def trace_row(self) -> dict[str, float]:
        """Return the entries of the current state in the trace."""
        return {"n_topics": self.state.n_topics, "v": self.state.lam, "eta": self.state.eta}

    def draw(self) -> HDPDraw:
        """Return the topics of the current state."""
        return HDPDraw(**topics_of_state(self.state, self._observations), v=self.state.lam)


def initial_topics(
    observations: Observations, priors: Priors, seed: int, init: str, max_topics: int | None
) -> tuple[TopicLabels, np.random.Generator]:
    """Return the initial topics of all tokens, as in the sampler of MC2, and the generator."""
    rng = generator(seed, CHAIN, 0, int(Step.START))
    n_topics, key = at_most(starts.topics_for(observations), max_topics), Key(seed, CHAIN, 0)
    return starts.first_topics(observations, priors, n_topics, key, init, rng), rng


def occupied_slots(state: State) -> Int64s:
    """Return the slots of the topics that have tokens, the largest first."""
    tokens = state.counts.tokens_in_topic
    order = np.argsort(-tokens, kind="stable")
    return order[tokens[order] > 0]


def topics_of_state(state: State, observations: Observations) -> dict[str, Any]:
    """Return the fields of an `HDPDraw` except v, by name."""
    counts, slots = state.counts, occupied_slots(state)
    if observations.n_words > 0:
        statistics = sparse.csr_matrix(counts.words_in_topic[:, slots].T)
    else:
        statistics = counts.topic_statistics[slots]
    return {
        "content_statistics": statistics,
        "tokens_of_topic": counts.tokens_in_topic[slots],
        "topic_weights": state.topic_weights[slots],
        "unused_weight": math.exp(float(state.log_unused[0])),
        "eta": state.eta,
    }
