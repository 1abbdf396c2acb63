"""Base class of topic-model baselines: fit, topic shares of new groups, perplexity.

In all of them, a group has its own topic shares θ_j, with a common prior. This is the model of MC2
with one cluster, so that the same kernels sample and score new groups.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Floats
from mcsquared.checks import as_seed, check_choice, check_integer, check_jobs, check_positive
from mcsquared.corpus import Column, Corpus, Vectors, as_corpus
from mcsquared.errors import InputError
from mcsquared.evaluation.log_likelihood import log_completion, log_left_to_right
from mcsquared.evaluation.perplexity import PerplexityResult, score_groups
from mcsquared.families import ConjugateFamily
from mcsquared.families.numerics import rows_by_label
from mcsquared.prediction.fold_in import ITERATIONS, Iterations, fold_in_groups
from mcsquared.prediction.likelihood import safe_log
from mcsquared.prediction.parameters import ModelParameters
from mcsquared.transformer import TopicTransformer

ALL_GROUPS = slice(None)

Rows = slice | NDArray[np.intp]


@dataclass(eq=False, repr=False, kw_only=True)
class TopicModel(TopicTransformer, ABC):
    """Base class of topic models in which every group has its own topic shares."""

    n_sweeps: int = 600
    burn_in: int = 100
    keep_parameters: int = 10
    random_state: int | np.random.RandomState | None = None

    _minima: ClassVar = {"n_sweeps": 1, "burn_in": 0, "keep_parameters": 1}  # of integers
    _positive_parameters: ClassVar[tuple[str, ...]] = ()
    _content: ClassVar = "auto"
    _transform_iterations: ClassVar = ITERATIONS

    @abstractmethod
    def _fit(self, corpus: Corpus) -> Floats:
        """Set ``draws_`` and return the topics of the last draw, ``components_``."""

    @abstractmethod
    def _mean_parameters(self, corpus: Corpus) -> Iterable[tuple[Rows, ModelParameters]]:
        """Return subsets of the groups with the parameters of the last draw, at their means."""

    @abstractmethod
    def _parameters(
        self, corpus: Corpus, given_contexts: bool, seed: int
    ) -> Iterable[tuple[Rows, Iterable[ModelParameters]]]:
        """Return subsets of the groups with the parameters of every draw."""

    def fit(self, X: Any, y: Any = None, *, contexts: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str, matrix or list of arrays
        y : ignored
        contexts : frame or dict of columns, optional
            One row per group; replaces the contexts of a corpus.
        """
        self._check_parameters()
        corpus = as_corpus(X, contexts, content=self._content)
        self._seed = as_seed(self.random_state)
        self._vocabulary = corpus.vocabulary
        self._width = corpus.content.width if isinstance(corpus.content, Vectors) else None
        self.components_ = self._fit(corpus)
        self.n_topics_ = len(self.components_)
        n_features = corpus.n_words if self._width is None else self._width
        self._set_features(n_features, corpus.vocabulary)
        return self

    def transform(self, X: Any, *, contexts: Any = None) -> Floats:
        """Return the share of each topic in each group: (n_groups, n_topics_), rows sum to 1.

        The posterior mean of the group's topic shares given the topics of the last stored draw, by
        Gibbs sampling.

        Examples
        --------
        >>> model.transform(corpus[:3]).sum(axis=1).round(6)
        array([1., 1., 1.])
        """
        corpus = self._aligned(X, contexts)
        shares = np.zeros((corpus.n_groups, self.n_topics_))
        if self.n_topics_ > 0:
            for rows, parameters in self._mean_parameters(corpus):
                groups, iterations = _take(corpus, rows), self._transform_iterations
                log_prior = np.zeros((groups.n_groups, 1))  # a single cluster
                shares[rows] = fold_in_groups(groups, parameters, log_prior, iterations).topics
        return shares

    def perplexity(
        self,
        X: Any,
        method: str = "completion",
        given_contexts: bool = False,
        *,
        contexts: Any = None,
    ) -> float:
        """Return the perplexity of held-out groups; lower is better.

        It is computed as in `MC2.perplexity`, averaged over stored draws and, for the same
        ``random_state``, with the same halves of the groups.

        Parameters
        ----------
        method : {"completion", "left_to_right"}
            See `mcsquared.evaluation.perplexity`.
        given_contexts : bool
            Whether the groups' contexts are used, in models that use contexts.

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
        """Return the perplexity with its method and the log-likelihood of each group.

        Examples
        --------
        >>> model.perplexity_result(corpus[:3]).log_likelihood.shape
        (3,)
        """
        corpus = self._aligned(X, contexts)
        self._check_method(method, given_contexts)
        seed = self._seed if random_state is None else as_seed(random_state)
        n_dropped, n_draws = int(corpus.dropped_tokens), len(self.draws_)

        def score(first: Corpus | None, target: Corpus) -> Floats:
            return self._log_likelihood(corpus, first, target, given_contexts, seed)

        return score_groups(score, corpus, method, given_contexts, seed, n_dropped, n_draws)

    def _check_method(self, method: str, given_contexts: bool) -> None:
        check_choice("method", method, ("completion", "left_to_right"))

    def _log_likelihood(
        self, corpus: Corpus, first: Corpus | None, target: Corpus, given_contexts: bool, seed: int
    ) -> Floats:
        """Return the log-likelihood of each group, or of its second half given the first."""
        result = np.zeros(corpus.n_groups)
        for rows, parameters in self._parameters(corpus, given_contexts, seed):
            groups = _take(target, rows)
            draws = ((drawn, np.zeros((groups.n_groups, 1))) for drawn in parameters)
            if first is None:
                result[rows] = log_left_to_right(draws, groups)
            else:
                iterations = self._score_iterations()
                result[rows] = log_completion(draws, _take(first, rows), groups, iterations)
        return result

    def _score_iterations(self) -> Iterations:
        return ITERATIONS

    def _columns(self) -> dict[str, Column]:
        """Return the training contexts that the model uses."""
        return {}

    def _aligned(self, X: Any, contexts: Any) -> Corpus:
        """Return ``X`` as a corpus with the words and contexts of training."""
        check_is_fitted(self)
        words: Any = self._vocabulary
        corpus = as_corpus(X, contexts, content=self._content, vocabulary=words)
        return corpus.aligned_to(words, self._columns(), self._width)

    def _check_parameters(self) -> None:
        for name, minimum in self._minima.items():
            check_integer(name, getattr(self, name), minimum)
        for name in self._positive_parameters:
            check_positive(name, getattr(self, name))
        check_jobs(getattr(self, "n_jobs", None))
        thin = getattr(self, "thin", 1)
        if self.n_sweeps - self.burn_in < thin:
            raise InputError(
                f"n_sweeps must exceed burn_in ({self.burn_in}) by at least {thin}, "
                f"got {self.n_sweeps}"
            )


def single_cluster_parameters(
    weights: Floats,
    content_parameters: Floats,
    family: ConjugateFamily,
    lam: float,
    key: tuple[int, int],
    n_topics: int | None = None,
) -> ModelParameters:
    """Return the parameters of a model in which all groups vary around the same topic weights."""
    return ModelParameters(
        log_weight_of_cluster=np.zeros(1),
        log_topic_given_cluster=safe_log(weights / weights.sum())[None],
        content_parameters=content_parameters,
        family=family,
        n_clusters=1,
        n_topics=len(weights) if n_topics is None else n_topics,
        lam=lam,
        key=key,
        integrated=not family.can_sample,
    )


def rows_by_value(values: NDArray[Any]) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """Return the distinct values and the indices of the rows with each of them."""
    distinct, code = np.unique(values, return_inverse=True)
    return distinct, rows_by_label(code.ravel(), len(distinct))


def _take(corpus: Corpus, rows: Rows) -> Corpus:
    return corpus if rows is ALL_GROUPS else corpus[rows]
