"""Clusterings of groups by their words or topics, based on scikit-learn.

Clusters are numbered by decreasing size, as in MC2. Groups without words are assigned to the
largest cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from mcsquared.baselines.rows import RowTransformer, squared_distances, symmetric_kl
from mcsquared.checks import as_seed, check_whole
from mcsquared.errors import InputError

Labels = NDArray[np.int64]

SIMILARITIES = {"euclidean": squared_distances, "symmetric_kl": symmetric_kl}


class _Clusterer(ClusterMixin, BaseEstimator, ABC):
    """Base class: groups as rows; subclasses cluster rows and assign new ones."""

    weighting: str
    random_state: Any

    @abstractmethod
    def _cluster(self, rows: Any) -> Labels:
        """Return a label for each row."""

    @abstractmethod
    def _assign(self, rows: Any) -> Labels:
        """Return the labels of new rows, numbered as by `_cluster`."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the groups.

        Parameters
        ----------
        X : Corpus, list of str, list of lists of str, matrix of counts, or of rows
            A dense matrix of floats has one row of features per group, which is used unchanged.
        y : ignored

        Examples
        --------
        >>> model.fit(corpus[:20]).labels_.shape
        (20,)
        """
        self._rows = RowTransformer(self.weighting).fit(X)
        rows, known = self._rows.transform(X)
        if not known.any():
            raise InputError("X must have at least one word, got none")
        found = self._cluster(rows[np.flatnonzero(known)])
        names, sizes = np.unique(found, return_counts=True)
        self._order = names[np.argsort(-sizes, kind="stable")]
        self.n_clusters_ = len(names)
        self.labels_ = self._numbered(found, known)
        return self

    def predict(self, X: Any) -> Labels:
        """Return the cluster of each group.

        Examples
        --------
        >>> model.predict(corpus[:3]).shape
        (3,)
        """
        check_is_fitted(self)
        rows, known = self._rows.transform(X)
        if not known.any():
            return np.zeros(len(known), np.int64)
        return self._numbered(self._assign(rows[np.flatnonzero(known)]), known)

    def _numbered(self, found: Labels, known: NDArray[np.bool_]) -> Labels:
        """Return labels by decreasing size in training, 0 for groups without words."""
        rank = np.zeros(int(self._order.max()) + 1, np.int64)
        rank[self._order] = np.arange(len(self._order))
        labels = np.zeros(len(known), np.int64)
        labels[known] = rank[found]
        return labels


def _check_n_clusters(n_clusters: Any, rows: Any) -> int:
    if check_whole("n_clusters", n_clusters, 1) > rows.shape[0]:
        raise InputError(
            "n_clusters must be at most the number of groups with words "
            f"({rows.shape[0]}), got {n_clusters}"
        )
    return int(n_clusters)


@dataclass(eq=False, repr=False)
class KMeans(_Clusterer):
    """k-means of the groups' words by scikit-learn.

    Parameters
    ----------
    n_clusters : int
    weighting : {"proportions", "tfidf", "counts"}
        Content of a group's row: each word's share of its tokens, tf-idf (rows of length 1), or
        counts.
    n_init : int
        Number of starts; the best result is kept.
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
    >>> len(model.labels_)
    40
    """

    n_clusters: int = 8
    weighting: str = "proportions"
    n_init: int = 10
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, rows: Any) -> Labels:
        from sklearn import cluster

        self.model_ = cluster.KMeans(
            _check_n_clusters(self.n_clusters, rows),
            n_init=check_whole("n_init", self.n_init, 1),
            random_state=as_seed(self.random_state),
        ).fit(rows)
        return self.model_.labels_.astype(np.int64)

    def _assign(self, rows: Any) -> Labels:
        return self.model_.predict(rows).astype(np.int64)


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
    >>> len(model.labels_)
    40
    """

    n_clusters: int = 8
    weighting: str = "proportions"
    max_iter: int = 500
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, rows: Any) -> Labels:
        from sklearn import decomposition

        least = rows.min()
        if least < 0:
            raise InputError(f"X must not have negative values, got {least:g}")
        self.model_ = decomposition.NMF(
            _check_n_clusters(self.n_clusters, rows),
            max_iter=check_whole("max_iter", self.max_iter, 1),
            random_state=as_seed(self.random_state),
        )
        return self.model_.fit_transform(rows).argmax(axis=1).astype(np.int64)

    def _assign(self, rows: Any) -> Labels:
        factor = self.model_.transform(rows).argmax(axis=1)
        # Factors that are not clusters in training are replaced by the largest cluster.
        factor[~np.isin(factor, self._order)] = self._order[0]
        return factor.astype(np.int64)


@dataclass(eq=False, repr=False)
class AffinityPropagation(_Clusterer):
    """Affinity propagation of the groups' words by scikit-learn; the number of clusters is free.

    Parameters
    ----------
    similarity : {"euclidean", "symmetric_kl"}
        Minus the squared Euclidean distance of two rows, or minus their symmetric Kullback-Leibler
        divergence (`symmetric_kl`), which requires rows of shares.
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
    >>> len(model.labels_)
    40
    """

    similarity: str = "euclidean"
    weighting: str = "proportions"
    preference: float | None = None
    damping: float = 0.5
    max_iter: int = 200
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, rows: Any) -> Labels:
        from sklearn import cluster

        if self.similarity not in SIMILARITIES:
            known = " or ".join(map(repr, SIMILARITIES))
            raise InputError(f"similarity must be {known}, got {self.similarity!r}")
        model = cluster.AffinityPropagation(
            affinity="precomputed",
            preference=self.preference,
            damping=self.damping,
            max_iter=check_whole("max_iter", self.max_iter, 1),
            random_state=as_seed(self.random_state),
        ).fit(-SIMILARITIES[self.similarity](rows, rows))
        labels = model.labels_.astype(np.int64)
        centers = model.cluster_centers_indices_
        if len(centers) == 0 or (labels < 0).any():
            # Not converged, with a warning from scikit-learn: one cluster.
            centers, labels = np.zeros(1, np.int64), np.zeros(rows.shape[0], np.int64)
        self.cluster_centers_ = rows[centers]
        return labels

    def _assign(self, rows: Any) -> Labels:
        distances = SIMILARITIES[self.similarity](rows, self.cluster_centers_)
        return distances.argmin(axis=1).astype(np.int64)


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
    >>> len(model.labels_)
    40
    """

    topics: Any = None
    clusterer: Any = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the topic model to a corpus, and the clusterer to the groups' topic shares.

        Examples
        --------
        >>> model.fit(corpus[:20]).labels_.shape
        (20,)
        """
        self.topics_ = clone(self._default_topics() if self.topics is None else self.topics)
        if self.clusterer is None:
            self.clusterer_ = AffinityPropagation("symmetric_kl", random_state=self.random_state)
        else:
            self.clusterer_ = clone(self.clusterer)
        shares = np.asarray(self.topics_.fit(X).transform(X))
        self.labels_ = np.asarray(self.clusterer_.fit(shares).labels_)
        self.n_clusters_ = len(np.unique(self.labels_))
        return self

    def predict(self, X: Any) -> Labels:
        """Return the cluster of each group.

        Examples
        --------
        >>> model.predict(corpus[:3]).shape
        (3,)
        """
        check_is_fitted(self)
        return self.clusterer_.predict(self.topics_.transform(X))

    def _default_topics(self) -> Any:
        from mcsquared.baselines.hdp import HDP

        return HDP(random_state=self.random_state)
