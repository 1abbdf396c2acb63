"""The face that topic models of a fixed size share: topics, shares of topics, perplexity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mcsquared.baselines.checks import words_of
from mcsquared.checks import as_seed

if TYPE_CHECKING:
    from mcsquared.baselines.folding import TopicDraw
    from mcsquared.corpus import Corpus

__all__ = ["TopicEstimator", "TopicModel"]


class TopicEstimator(TransformerMixin, BaseEstimator):
    """An estimator whose `transform` gives a column for each topic."""

    n_topics_: int

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` gives: topic0, topic1, ...

        Examples
        --------
        >>> model.get_feature_names_out()[:2].tolist()
        ['topic0', 'topic1']
        """
        check_is_fitted(self)
        return np.array([f"topic{m}" for m in range(self.n_topics_)], dtype=object)


class TopicModel(TopicEstimator, ABC):
    """Topics that groups mix, each group by weights with a Dirichlet prior.

    A subclass has ``_fit(corpus, seed)``, which learns from a corpus, and ``_draws(corpus,
    given_contexts)``, which returns its kept draws as they are for the groups of a corpus.

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic in the last kept draw; rows sum to 1.
    n_topics_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of object
        The words.
    """

    random_state: Any

    @abstractmethod
    def _fit(self, corpus: Corpus, seed: int) -> NDArray[np.float64]:
        """Learn, and return the topics of the last draw."""

    @abstractmethod
    def _draws(self, corpus: Corpus, given_contexts: bool) -> Sequence[TopicDraw]:
        """Return the kept draws as they are for the groups of a corpus."""

    def fit(self, X: Any, y: Any = None, *, contexts: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str, or matrix of counts
        y : ignored
        contexts : frame or dict of columns, optional
            One row per group; a corpus has its own.

        Examples
        --------
        >>> model.fit(corpus[:20]).components_.shape
        (4, 35)
        """
        corpus = words_of(X, contexts)
        self._seed = as_seed(self.random_state)
        self.components_ = self._fit(corpus, self._seed)
        self.n_topics_, self.n_features_in_ = self.components_.shape
        self.feature_names_in_ = np.asarray(corpus.vocabulary, dtype=object)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, contexts: Any = None) -> NDArray[np.float64]:
        """Fit the model and return the topic shares of the groups it was fitted to.

        Examples
        --------
        >>> model.fit_transform(corpus).shape
        (40, 4)
        """
        return self.fit(X, y, contexts=contexts).transform(X, contexts=contexts)

    def transform(self, X: Any, *, contexts: Any = None) -> NDArray[np.float64]:
        """Return the share of each topic in each group: (n_groups, n_topics_), rows sum to 1.

        The posterior mean of the group's topic weights under the topics ``components_``, by Gibbs
        sampling.

        Examples
        --------
        >>> model.transform(corpus[:3]).sum(axis=1).round(6)
        array([1., 1., 1.])
        """
        from mcsquared.baselines.folding import topic_shares

        corpus = self._known(X, contexts)
        return topic_shares(corpus, self._draws(corpus, given_contexts=True)[-1], self._seed)

    def perplexity(
        self,
        X: Any,
        method: str = "completion",
        given_contexts: bool = False,
        *,
        contexts: Any = None,
    ) -> float:
        """Return the perplexity of groups that were not in training, lower is better.

        It is measured as `MC2.perplexity` measures it: the mean over kept draws, and with the same
        ``random_state`` on the same halves of the groups.

        Parameters
        ----------
        method : {"completion", "left_to_right"}
        given_contexts : bool
            Whether the groups' contexts may be used, where the model has a use for them.

        Examples
        --------
        >>> 1 < model.perplexity(corpus[:3]) < 35
        True
        """
        from mcsquared.baselines.folding import perplexity

        check_is_fitted(self)
        corpus = words_of(X, contexts)
        known = self._known(X, contexts)
        draws = self._draws(known, given_contexts)
        n_dropped = int(corpus.n_tokens - known.n_tokens)
        return float(perplexity(draws, known, method, self._seed, n_dropped, given_contexts))

    def _known(self, X: Any, contexts: Any) -> Corpus:
        check_is_fitted(self)
        return words_of(X, contexts, self.feature_names_in_)
