"""One partition for all draws: their consensus, and how often groups share a cluster."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.posterior.consensus import CoClustering, Loss, consensus
from mcsquared.posterior.membership import (
    confidence_of_labels,
    is_unsettled,
    membership_probabilities,
    settle,
)
from mcsquared.posterior.weights import WeightedDraws


class ConsensusPartition(WeightedDraws):
    """The consensus of the draws and its uncertainty; a base class of `Posterior`."""

    tokens_per_group: Int64s

    @cached_property
    def labels(self) -> Int32s:
        """The consensus of the draws: int32 (n_groups,), clusters by decreasing size."""
        return self._consensus("vi")

    def _consensus(self, loss: Loss) -> Int32s:
        draws = self.draws_by_weight
        labels = consensus(draws, loss)
        limit = max(np.unique(draw).size for draw in draws)
        if labels.max() >= limit:
            labels = consensus(draws, loss, max_clusters=limit)
        return settle(labels, draws)

    @cached_property
    def cluster_probability(self) -> Floats:
        """Probability of each cluster for each group: float64 (n_groups, n_clusters).

        Cluster b of a draw counts as cluster c of the consensus in proportion to
        |b ∩ c| / √(|b| |c|). Rows sum to 1.
        """
        return membership_probabilities(self.cluster_of_group, self.labels, self.draw_weights)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the consensus."""
        return int(self.labels.max()) + 1

    @cached_property
    def tokens_of_cluster(self) -> Int64s:
        """Tokens of each cluster of the consensus: int64 (n_clusters,)."""
        return np.bincount(self.labels, self.tokens_per_group).astype(np.int64)

    def consensus(self, loss: Loss = "vi", mark_unsettled: bool = False) -> Int32s:
        """Return the partition with the smallest expected loss over all draws.

        It has at most as many clusters as the draws. Unsettled groups (see `unsettled`) are in
        their most probable cluster.

        Parameters
        ----------
        loss : "vi" or "binder"
            Variation of information, as for `labels`, or the number of pairs of groups on which
            partitions disagree.
        mark_unsettled : bool
            Whether unsettled groups have the label -1 instead.

        Examples
        --------
        >>> posterior.consensus("binder").shape
        (40,)
        """
        labels = self.labels if loss == "vi" else self._consensus(loss)
        if not mark_unsettled:
            return labels
        draws, weights = self.cluster_of_group, self.draw_weights
        probability = membership_probabilities(draws, labels, weights)
        unsettled = is_unsettled(probability, confidence_of_labels(draws, labels, weights))
        return np.where(unsettled, np.int32(-1), labels)

    def coclustering(self, groups: ArrayLike | None = None) -> CoClustering:
        """Return how often groups share a cluster, computed on demand.

        Parameters
        ----------
        groups : int array, optional
            Restrict to these groups, renumbered in this order.

        Examples
        --------
        >>> posterior.coclustering([0, 1, 30]).to_dense([0, 1, 2]).shape
        (3, 3)
        """
        together = CoClustering(self.cluster_of_group, self.draw_weights)
        return together if groups is None else together.among(groups)
