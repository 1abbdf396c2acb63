"""What baselines that sample topics share: the run, kept draws, topics of new groups, scores."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mcsquared.baselines.kept import KeptTopics, globals_of_draws, mean_globals
from mcsquared.baselines.topic_model import TopicEstimator
from mcsquared.chain import Schedule
from mcsquared.checks import as_seed, check_whole
from mcsquared.corpus import Corpus, Vectors, as_corpus
from mcsquared.errors import InputError
from mcsquared.evaluation.perplexity import PerplexityResult, perplexity_value, split_halves
from mcsquared.evaluation.varying import N_PARTICLES, log_completion, log_left_to_right
from mcsquared.families import ConjugateFamily
from mcsquared.model.priors import Priors
from mcsquared.prediction.parameters import HALVES, stream
from mcsquared.prediction.varying import N_KEPT, fold_in_groups
from mcsquared.progress import Progress
from mcsquared.samplers.init.starts import check_init

if TYPE_CHECKING:
    from mcsquared.corpus import Column

__all__ = ["Chain", "TopicSampler"]

METHODS = ("completion", "left_to_right")

Floats = NDArray[np.float64]


class Chain(Protocol):
    """A chain that a baseline runs."""

    def sweep(self) -> None:
        """Do one sweep."""

    def row(self) -> dict[str, float]:
        """Return what the trace notes of the present state, ``n_topics`` among it."""

    def draw(self) -> KeptTopics:
        """Return the topics of the present state."""


@dataclass(frozen=True)
class SweepDone:
    """What the progress bar reads of a sweep."""

    sweep: int
    n_topics: int
    n_clusters: int = 1
    chain: int = 0


class TopicSampler(TopicEstimator, ABC):
    """Base of `HDP` and `NPTOT`: topics that every group mixes by weights of its own.

    A subclass has the parameters that `_schedule` reads, and makes the chain.
    """

    n_sweeps: int
    burn_in: int
    thin: int
    keep_parameters: int
    max_topics: int | None
    init: str
    random_state: Any
    progress: Any
    draws_: list[Any]  # of KeptTopics, or of what a subclass makes of them
    _priors: Priors

    def fit(self, X: Any, y: Any = None, *, contexts: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str, matrix or list of arrays
        y : ignored
        contexts : frame or dict of columns, optional
            One row per group; a corpus has its own.

        Examples
        --------
        >>> model.fit(corpus).components_.shape == (model.n_topics_, 35)
        True
        """
        schedule = self._schedule()
        corpus = as_corpus(X, contexts)
        self._seed = as_seed(self.random_state)
        chain = self._start(corpus)
        self._vocabulary = corpus.vocabulary
        self._width = corpus.content.width if isinstance(corpus.content, Vectors) else None
        self._run(chain, schedule, corpus.n_tokens)
        last = self.draws_[-1]
        self.n_topics_ = last.n_topics
        self.components_ = last.components(self._family)
        self.n_features_in_ = corpus.n_words if self._width is None else self._width
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if corpus.vocabulary is not None:
            self.feature_names_in_ = np.asarray(corpus.vocabulary, dtype=object)
        return self

    @abstractmethod
    def _start(self, corpus: Corpus) -> Chain:
        """Return the chain before its first sweep, and note families and columns of training."""

    def _run(self, chain: Chain, schedule: Schedule, n_tokens: int) -> None:
        import pandas as pd

        rows, self.draws_ = [], []
        n_kept = 0
        with Progress(schedule.n_sweeps, 1, n_tokens, self.progress) as progress:
            for sweep in range(1, schedule.n_sweeps + 1):
                began = time.perf_counter()
                chain.sweep()
                kept = schedule.is_kept(sweep)
                if kept:
                    if schedule.stores_parameters(n_kept):
                        self.draws_.append(chain.draw())
                    n_kept += 1
                seconds = time.perf_counter() - began
                rows.append({"sweep": sweep, "kept": kept} | chain.row() | {"seconds": seconds})
                progress(SweepDone(sweep, int(rows[-1]["n_topics"])))
        self.trace_ = pd.DataFrame(rows)

    def transform(self, X: Any, *, contexts: Any = None) -> Floats:
        """Return the share of each topic in each group: (n_groups, n_topics_), rows sum to 1.

        The posterior mean of the group's weights, given the topics of the last kept draw.

        Examples
        --------
        >>> model.transform(corpus[:3]).sum(axis=1).round(6)
        array([1., 1., 1.])
        """
        corpus = self._known(X, contexts)
        draw = self.draws_[-1]
        if draw.n_topics == 0:
            return np.zeros((corpus.n_groups, 0))
        return self._shares(draw, corpus)

    def _shares(self, draw: KeptTopics, corpus: Corpus) -> Floats:
        parameters, likelihood = mean_globals(draw, self._family, corpus, self._seed)
        alone = np.zeros((corpus.n_groups, 1))
        return fold_in_groups(corpus, parameters, self._family, alone, likelihood).topics

    def perplexity(
        self,
        X: Any,
        method: str = "completion",
        given_contexts: bool = False,
        *,
        contexts: Any = None,
    ) -> float:
        """Return the perplexity of groups that were not in training, lower is better.

        Halves of "completion" are those of `MC2` with the same ``random_state``.

        Parameters
        ----------
        method : {"completion", "left_to_right"}
            See `mcsquared.evaluation.perplexity`.
        given_contexts : bool
            Whether the groups' contexts may be used, by a model that knows some.

        Examples
        --------
        >>> 1 < model.perplexity(corpus[:3]) < 35
        True
        """
        return float(self.perplexity_result(X, method, given_contexts, contexts=contexts))

    def perplexity_result(
        self,
        X: Any,
        method: str = "completion",
        given_contexts: bool = False,
        random_state: int | None = None,
        *,
        contexts: Any = None,
    ) -> PerplexityResult:
        """Return the perplexity with the log-likelihood of each group, and which one it is.

        Examples
        --------
        >>> model.perplexity_result(corpus[:3]).log_likelihood.shape
        (3,)
        """
        corpus = self._known(X, contexts)
        if method not in METHODS:
            known = ", ".join(map(repr, METHODS))
            raise InputError(f"method is {method!r}, but one of {known} is wanted")
        seed = self._seed if random_state is None else as_seed(random_state)
        first, target = None, corpus
        if method == "completion":
            first, target = split_halves(corpus, stream(seed, HALVES))
        log_likelihood = self._log_likelihood(corpus, first, target, given_contexts, seed)
        total, n_tokens = float(log_likelihood.sum()), int(target.n_tokens)
        return PerplexityResult(
            value=perplexity_value(total, n_tokens),
            method=method,
            given_contexts=given_contexts,
            n_tokens=n_tokens,
            n_dropped=int(corpus.dropped_tokens),
            n_draws=len(self.draws_),
            log_likelihood=log_likelihood,
        )

    def _log_likelihood(
        self,
        corpus: Corpus,
        first: Corpus | None,
        target: Corpus,
        given_contexts: bool,
        seed: int,
    ) -> Floats:
        """Return the log-likelihood of each group, or of its second half given the first."""
        alone = np.zeros((corpus.n_groups, 1))
        draws = (
            (parameters, alone)
            for _, parameters, _ in globals_of_draws(self.draws_, self._family, seed)
        )
        if first is None:
            return log_left_to_right(draws, target, self._family, N_PARTICLES)
        return log_completion(draws, first, target, self._family, N_KEPT)

    @property
    def _family(self) -> ConjugateFamily:
        return self._priors.content

    def _known(self, X: Any, contexts: Any) -> Corpus:
        """Return ``X`` as a corpus in the words, and the columns, of training."""
        check_is_fitted(self)
        words: Any = self._vocabulary
        corpus = as_corpus(X, contexts, vocabulary=words)
        return corpus.aligned_to(words, self._columns(), self._width)

    def _columns(self) -> dict[str, Column]:
        """Return the columns of training that the model uses."""
        return {}

    def _schedule(self) -> Schedule:
        """Check every parameter that is not a prior, before anything is done."""
        for name, least in (("n_sweeps", 1), ("burn_in", 0), ("thin", 1), ("keep_parameters", 1)):
            check_whole(name, getattr(self, name), least)
        if self.max_topics is not None:
            check_whole("max_topics", self.max_topics, 1)
        check_init(self.init)
        schedule = Schedule(self.n_sweeps, self.burn_in, self.thin, self.keep_parameters)
        if schedule.n_kept < 1:
            raise InputError(
                f"n_sweeps={self.n_sweeps} with burn_in={self.burn_in} and thin={self.thin} keeps "
                "no draw, but at least one is wanted"
            )
        return schedule
