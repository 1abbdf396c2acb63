"""A kept draw with its parameters: additive counts, sparse, without empty slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["ParameterDraw"]


@dataclass(frozen=True, eq=False)
class ParameterDraw:
    """The counts and weights of one kept draw. Clusters are 0..K-1, topics 0..M-1, all occupied.

    Attributes
    ----------
    draw : int
        Row of the posterior's ``cluster_of_group``.
    topics_in_cluster : csr_matrix of int32 (n_clusters, n_topics)
    content_statistics : csr_matrix of int32 (n_topics, n_words), or float64 (n_topics, n_stats)
        Word counts, or the content family's statistics.
    topic_weights : float64 (n_topics,)
    unused_weight : float
    alpha, v, eta, lam : float
    """

    draw: int
    topics_in_cluster: sparse.csr_matrix
    content_statistics: sparse.csr_matrix | NDArray[np.float64]
    topic_weights: NDArray[np.float64]
    unused_weight: float
    alpha: float
    v: float
    eta: float
    lam: float

    @property
    def n_clusters(self) -> int:
        """Number of clusters of this draw."""
        return int(self.topics_in_cluster.shape[0])

    @property
    def n_topics(self) -> int:
        """Number of topics of this draw."""
        return int(self.topics_in_cluster.shape[1])
