"""Clusterings of groups by their words or topics, based on scikit-learn.

Clusters are numbered by decreasing size, as in MC2, and groups without words are assigned to the
largest cluster. In `TopicClusters`, both depend on the given clusterer.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Bools, Floats, Int64s
from mcsquared.checks import as_seed, check_choice, check_integer
from mcsquared.corpus import Words, as_corpus
from mcsquared.errors import InputError
from mcsquared.families.numerics import as_dense

WEIGHTINGS = ("proportions", "tfidf", "counts")
SIMILARITIES = ("euclidean", "symmetric_kl")
MIN_SHARE = 1e-12  # replaces a share of zero, for the logarithm


class _Clusterer(ClusterMixin, BaseEstimator, ABC):
    """Base class of clusterers of groups, each of which is represented by a row of features."""

    weighting: str
    random_state: Any

    @abstractmethod
    def _cluster(self, features: Any) -> Int64s:
        """Return a label for each row."""

    @abstractmethod
    def _assign(self, features: Any) -> Int64s:
        """Return the labels of new groups, with the numbering of `_cluster`."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the groups.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str, matrix of counts or of features
            A dense matrix of floats has one row of features per group, which is used unchanged.
        y : ignored
        """
        self._fit_features(X)
        features, has_content = self._features(X)
        if not has_content.any():
            raise InputError("X must have at least one non-empty group, got none")
        raw = self._cluster(features[np.flatnonzero(has_content)])
        used, sizes = np.unique(raw, return_counts=True)
        self.n_clusters_ = len(used)
        # By decreasing size; labels without groups have the rank of the largest cluster.
        self._rank = np.zeros(max(int(raw.max()) + 1, getattr(self, "n_clusters", 0)), np.int64)
        self._rank[used[np.argsort(-sizes, kind="stable")]] = np.arange(len(used))
        self.labels_ = np.zeros(len(has_content), np.int64)
        self.labels_[has_content] = self._rank[raw]
        return self

    def predict(self, X: Any) -> Int64s:
        """Return the cluster of each group."""
        check_is_fitted(self)
        features, has_content = self._features(X)
        labels = np.zeros(len(has_content), np.int64)
        if has_content.any():
            labels[has_content] = self._rank[self._assign(features[np.flatnonzero(has_content)])]
        return labels

    def _fit_features(self, X: Any) -> None:
        """Store the vocabulary and document frequencies, or the number of given features."""
        check_choice("weighting", self.weighting, WEIGHTINGS)
        content, self._vocabulary = as_corpus(X).content, None
        if not isinstance(content, Words):
            self._width = content.width
            return
        self._vocabulary = content.vocabulary
        if self.weighting == "tfidf":
            from sklearn.feature_extraction.text import TfidfTransformer

            self._idf = TfidfTransformer().fit(content.counts)

    def _features(self, X: Any) -> tuple[Any, Bools]:
        """Return the features of groups, csr_matrix or float64, and whether each has content."""
        if self._vocabulary is None:
            return self._given_features(X)
        words: Any = self._vocabulary
        content = as_corpus(X, content="counts", vocabulary=words).aligned_to(words).content
        assert isinstance(content, Words)
        sizes = content.tokens_per_group
        if self.weighting == "tfidf":
            features = self._idf.transform(content.counts)
        elif self.weighting == "proportions":
            features = sparse.diags_array(1.0 / np.maximum(sizes, 1)) @ content.counts
        else:
            features = content.counts.astype(np.float64)
        return sparse.csr_matrix(features), sizes > 0

    def _given_features(self, X: Any) -> tuple[Floats, Bools]:
        """Return the features of groups that were given as one vector each."""
        content = as_corpus(X).content
        sizes = content.tokens_per_group
        if isinstance(content, Words) or (sizes > 1).any():
            raise InputError("X must have one vector per group, got words or several vectors")
        if content.width != self._width:
            raise InputError(f"X must have {self._width} columns, got {content.width}")
        features = np.zeros((content.n_groups, content.width))
        features[sizes > 0] = content.values
        return features, sizes > 0


def _check_n_clusters(n_clusters: Any, features: Any) -> int:
    n_groups = features.shape[0]
    if check_integer("n_clusters", n_clusters, 1) > n_groups:
        limit = f"the number of groups with words ({n_groups})"
        raise InputError(f"n_clusters must be at most {limit}, got {n_clusters}")
    return int(n_clusters)


@dataclass(eq=False, repr=False)
class KMeans(_Clusterer):
    """k-means of the groups' words by scikit-learn.

    Parameters
    ----------
    n_clusters : int
    weighting : {"proportions", "tfidf", "counts"}
        Features of a group: each word's share of its tokens, tf-idf as in scikit-learn, or counts.
    n_init : int
        Number of initialisations; the best result is kept.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        Clusters by decreasing size.
    n_clusters_ : int
    model_ : sklearn.cluster.KMeans

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.KMeans(n_clusters=4, random_state=0).fit(corpus)
    >>> model.labels_.shape, model.predict(corpus[:3]).shape
    ((40,), (3,))
    """

    n_clusters: int = 8
    weighting: str = "proportions"
    n_init: int = 10
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, features: Any) -> Int64s:
        from sklearn import cluster

        self.model_ = cluster.KMeans(
            _check_n_clusters(self.n_clusters, features),
            n_init=check_integer("n_init", self.n_init, 1),
            random_state=as_seed(self.random_state),
        ).fit(features)
        return self.model_.labels_

    def _assign(self, features: Any) -> Int64s:
        return self.model_.predict(features)


@dataclass(eq=False, repr=False)
class NMF(_Clusterer):
    """Non-negative matrix factorisation of the groups' words; the largest factor is the cluster.

    Parameters
    ----------
    n_clusters : int
        Number of factors. A factor that is not the largest of any group is not a cluster.
    weighting : {"proportions", "tfidf", "counts"}
    max_iter : int
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        Clusters by decreasing size.
    n_clusters_ : int
    model_ : sklearn.decomposition.NMF

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.NMF(n_clusters=4, random_state=0).fit(corpus)
    >>> model.labels_.shape, model.predict(corpus[:3]).shape
    ((40,), (3,))
    """

    n_clusters: int = 8
    weighting: str = "proportions"
    max_iter: int = 500
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, features: Any) -> Int64s:
        from sklearn import decomposition

        smallest = features.min()
        if smallest < 0:
            raise InputError(f"X must not have negative values, got {smallest:g}")
        self.model_ = decomposition.NMF(
            _check_n_clusters(self.n_clusters, features),
            max_iter=check_integer("max_iter", self.max_iter, 1),
            random_state=as_seed(self.random_state),
        )
        return self.model_.fit_transform(features).argmax(axis=1)

    def _assign(self, features: Any) -> Int64s:
        return self.model_.transform(features).argmax(axis=1)


@dataclass(eq=False, repr=False)
class AffinityPropagation(_Clusterer):
    """Affinity propagation of the groups' words; the number of clusters is inferred.

    Parameters
    ----------
    similarity : {"euclidean", "symmetric_kl"}
        Minus the squared Euclidean distance between two rows, or minus their symmetric
        Kullback-Leibler divergence (`symmetric_kl`), which requires rows of shares.
    weighting : {"proportions", "tfidf", "counts"}
    preference : float, optional
        Preference of a group to be an exemplar; by default the median similarity.
    damping : float
        At least 0.5 and less than 1.
    max_iter : int
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : int64 (n_groups,)
        Clusters by decreasing size.
    n_clusters_ : int
    cluster_centers_ : matrix (n_clusters_, n_features)
        Rows of the exemplars; new groups are assigned to the most similar one.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.AffinityPropagation(random_state=0).fit(corpus)
    >>> model.labels_.shape, model.predict(corpus[:3]).shape
    ((40,), (3,))
    """

    similarity: str = "euclidean"
    weighting: str = "proportions"
    preference: float | None = None
    damping: float = 0.5
    max_iter: int = 200
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, features: Any) -> Int64s:
        from sklearn import cluster

        check_choice("similarity", self.similarity, SIMILARITIES)
        model = cluster.AffinityPropagation(
            affinity="precomputed",
            preference=self.preference,
            damping=self.damping,
            max_iter=check_integer("max_iter", self.max_iter, 1),
            random_state=as_seed(self.random_state),
        ).fit(-self._distances(features, features))
        labels, centers = model.labels_, model.cluster_centers_indices_
        if len(centers) == 0 or (labels < 0).any():
            # If it did not converge (scikit-learn has already warned), fall back to one cluster.
            centers, labels = np.zeros(1, np.int64), np.zeros(features.shape[0], np.int64)
        self.cluster_centers_ = features[centers]
        return labels

    def _assign(self, features: Any) -> Int64s:
        return self._distances(features, self.cluster_centers_).argmin(axis=1)

    def _distances(self, features: Any, others: Any) -> Floats:
        from sklearn.metrics import euclidean_distances

        if self.similarity == "symmetric_kl":
            return symmetric_kl(features, others)
        return euclidean_distances(features, others, squared=True)


@dataclass(eq=False, repr=False)
class TopicClusters(ClusterMixin, BaseEstimator):
    """Clusters of groups by their topics: a topic model, then a clusterer of its topic shares.

    Parameters
    ----------
    topics : estimator, optional
        With ``fit`` and ``transform``; by default `HDP`.
    clusterer : estimator, optional
        With ``fit`` and ``predict``, for rows of shares; by default affinity propagation on their
        symmetric Kullback-Leibler divergence.
    random_state : int, RandomState or None
        Seed of the default topic model and clusterer.

    Attributes
    ----------
    labels_ : int64 (n_groups,)
    n_clusters_ : int
    topics_, clusterer_ : estimators
        Fitted clones of the parameters.

    Examples
    --------
    >>> from mcsquared.baselines import LDA, KMeans, TopicClusters
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> topics = LDA(n_topics=4, n_sweeps=50, burn_in=20, random_state=0)
    >>> model = TopicClusters(topics, KMeans(n_clusters=4, random_state=0)).fit(corpus)
    >>> model.labels_.shape, model.predict(corpus[:3]).shape
    ((40,), (3,))
    """

    topics: Any = None
    clusterer: Any = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the topic model to a corpus, and the clusterer to the groups' topic shares."""
        from mcsquared.baselines.hdp import HDP

        seed = self.random_state
        topics = HDP(random_state=seed) if self.topics is None else self.topics
        by_divergence = AffinityPropagation("symmetric_kl", random_state=seed)
        self.topics_ = clone(topics)
        self.clusterer_ = clone(by_divergence if self.clusterer is None else self.clusterer)
        shares = np.asarray(self.topics_.fit(X).transform(X))
        self.labels_ = np.asarray(self.clusterer_.fit(shares).labels_)
        self.n_clusters_ = len(np.unique(self.labels_))
        return self

    def predict(self, X: Any) -> Int64s:
        """Return the cluster of each group."""
        check_is_fitted(self)
        return self.clusterer_.predict(self.topics_.transform(X))


def symmetric_kl(rows: Any, others: Any = None) -> Floats:
    """Return KL(p ‖ q) + KL(q ‖ p) for every row p of ``rows`` and q of ``others``: float64.

    Parameters
    ----------
    rows : array-like or sparse matrix of shape (n, n_topics)
        Non-negative shares; each row is divided by its sum. A share of zero is replaced by 10⁻¹².
    others : array-like of shape (m, n_topics), optional
        By default ``rows``.

    Examples
    --------
    >>> mc2.baselines.symmetric_kl([[0.5, 0.5], [0.9, 0.1]]).round(2)
    array([[0.  , 0.88],
           [0.88, 0.  ]])
    """
    first = _shares(rows)
    second = first if others is None else _shares(others)
    log_first, log_second = np.log(first), np.log(second)
    # Σ (p − q)(log p − log q), expanded into matrix products.
    self_first, self_second = (first * log_first).sum(axis=1), (second * log_second).sum(axis=1)
    cross = first @ log_second.T + log_first @ second.T
    return np.maximum(self_first[:, None] + self_second[None] - cross, 0.0)


def _shares(rows: Any) -> Floats:
    dense = as_dense(rows)
    if dense.ndim != 2 or not np.isfinite(dense).all() or (dense < 0.0).any():
        raise InputError("rows must be a matrix of finite, non-negative shares")
    total = dense.sum(axis=1, keepdims=True)
    if (total == 0.0).any():
        raise InputError("every row must have a positive sum, got a row of zeros")
    dense = np.maximum(dense / total, MIN_SHARE)
    return dense / dense.sum(axis=1, keepdims=True)
