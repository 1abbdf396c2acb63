"""A kept draw with its parameters: sparse additive counts of occupied clusters and topics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.model.parameters import Concentrations

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ParameterDraw(Concentrations):
    """The counts and weights of one kept draw. Clusters 0..K-1 and topics 0..M-1 are occupied.

    Attributes
    ----------
    draw : int
        Row of the posterior's ``cluster_of_group``.
    topics_in_cluster : csr_matrix of int32 (n_clusters, n_topics)
        Tokens.
    content_statistics : csr_matrix of int32 (n_topics, n_words), or float64 (n_topics, n_stats)
        Word counts, or the content family's statistics.
    topic_weights : float64 (n_topics,)
    unused_weight : float
    alpha, v, eta, lam : float
    tables_in_cluster : csr_matrix of int32 (n_clusters, n_topics), optional
        Tables that the groups of a cluster have opened for a topic: between 1 and the number of
        tokens if there are tokens. None if ``lam`` is infinite: then every token counts.
    """

    draw: int
    topics_in_cluster: sparse.csr_matrix
    content_statistics: sparse.csr_matrix | NDArray[np.float64]
    topic_weights: NDArray[np.float64]
    unused_weight: float
    tables_in_cluster: sparse.csr_matrix | None = None

    def __post_init__(self) -> None:
        if (self.tables_in_cluster is None) != math.isinf(self.lam):
            found = "None" if self.tables_in_cluster is None else "a matrix"
            raise InputError(
                f"tables_in_cluster must be given if and only if lam is finite, got {found} with "
                f"lam={self.lam:g}"
            )

    @property
    def n_clusters(self) -> int:
        """Number of clusters of this draw."""
        return int(self.topics_in_cluster.shape[0])

    @property
    def n_topics(self) -> int:
        """Number of topics of this draw."""
        return int(self.topics_in_cluster.shape[1])

    @property
    def drawn_from_cluster(self) -> sparse.csr_matrix:
        """Number of draws of each topic from a cluster's weights: τ_k ~ Dir(v ε + O_k).

        With a finite λ only a new table of a group draws its topic from the cluster; the other
        tokens follow the group. With an infinite λ every token draws from the cluster.
        """
        if self.tables_in_cluster is None:
            return self.topics_in_cluster
        return self.tables_in_cluster

    @property
    def tokens_of_topic(self) -> NDArray[np.int64]:
        """Number of tokens of each topic: int64 (n_topics,)."""
        return np.asarray(self.topics_in_cluster.sum(axis=0, dtype=np.int64)).ravel()

    def content_means(self, family: ConjugateFamily) -> Floats:
        """Return the mean content of each topic; see `content_means`."""
        return content_means(self.content_statistics, self.tokens_of_topic, family)

    def topic_given_cluster(self) -> Floats:
        """Return E[τ_km] ∝ O_km + v ε_m, float64 (n_clusters, n_topics); rows sum to 1.

        O_km is the number of tables, or of tokens if λ is infinite. The weight v ε_new of
        unoccupied topics is excluded.
        """
        weights = self.drawn_from_cluster.toarray() + self.v * self.topic_weights
        totals = weights.sum(axis=1, keepdims=True)
        # With a tiny v all weights of an empty cluster may underflow.
        uniform = np.full_like(weights, 1.0 / max(self.n_topics, 1))
        return np.divide(weights, totals, out=uniform, where=totals > 0)

    def token_shares(self) -> Floats:
        """Return each topic's share of each cluster's tokens, (n_clusters, n_topics).

        Rows sum to 1. With an infinite λ tokens follow τ_k, whose mean is returned. With a finite
        λ they follow their groups, and a few long groups may have most of a topic's tokens.
        """
        weights = self.topic_given_cluster()
        if self.tables_in_cluster is None:
            return weights
        tokens = self.topics_in_cluster.toarray().astype(np.float64)
        totals = tokens.sum(axis=1, keepdims=True)
        return np.divide(tokens, totals, out=weights, where=totals > 0)


def content_means(
    statistics: sparse.csr_matrix | Floats, n_tokens: NDArray[np.int64], family: ConjugateFamily
) -> Floats:
    """Return the mean content of each topic: float64 (n_topics, n_words or width).

    For words the mean probabilities (n_mw + β) / (n_m + V β), for vectors the mean of each
    dimension. For a family without a known mean, the statistics per token.

    Parameters
    ----------
    statistics : csr_matrix of int32 (n_topics, n_words), or float64 (n_topics, n_stats)
    n_tokens : int64 (n_topics,)
    family : ConjugateFamily
    """
    if isinstance(statistics, np.ndarray) and len(statistics) == 0:
        return np.zeros((0, family.n_dimensions or 1))
    means = family.mean_observation(statistics)
    return statistics / np.maximum(n_tokens, 1)[:, None] if means is None else means
