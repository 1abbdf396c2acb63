"""A kept draw with its parameters: additive counts, sparse, without empty slots."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.model.parameters import Concentrations

__all__ = ["ParameterDraw"]


@dataclass(frozen=True, eq=False)
class ParameterDraw(Concentrations):
    """The counts and weights of one kept draw. Clusters are 0..K-1, topics 0..M-1, all occupied.

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
        Tables that the groups of a cluster have opened for a topic, at least one where there are
        tokens and no more than those. None where ``lam`` is infinite: then every token counts.
    """

    draw: int
    topics_in_cluster: sparse.csr_matrix
    content_statistics: sparse.csr_matrix | NDArray[np.float64]
    topic_weights: NDArray[np.float64]
    unused_weight: float
    tables_in_cluster: sparse.csr_matrix | None = None

    def __post_init__(self) -> None:
        if (self.tables_in_cluster is None) != math.isinf(self.lam):
            found = "missing" if self.tables_in_cluster is None else "given"
            raise InputError(
                f"tables_in_cluster is {found}, but lam is {self.lam:g}: "
                "tables belong to a finite lam"
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
        """How often each topic was drawn from a cluster's weights: τ_k ~ Dir(v ε + O_k).

        Where groups vary inside their cluster only a new table of theirs asks the cluster for a
        topic; the other tokens follow the group. Otherwise every token asks.
        """
        if self.tables_in_cluster is None:
            return self.topics_in_cluster
        return self.tables_in_cluster
