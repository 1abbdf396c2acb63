"""One partition for all draws: their consensus, and how often groups share a cluster."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.posterior.consensus import CoClustering, Loss, consensus
from mcsquared.posterior.membership import (
    confidence_of_labels,
    is_unsettled,
    membership_probabilities,
    reassign_unsettled,
)
from mcsquared.posterior.weights import WeightedDraws

N_DIVISIONS = 3  # of the chains into two halves
MAX_COMPARED_GROUPS = 1000


class ConsensusPartition(WeightedDraws):
    """The consensus of the draws and its uncertainty; a base class of `Posterior`."""

    tokens_per_group: Int64s

    @cached_property
    def labels(self) -> Int32s:
        """The consensus of the draws: int32 (n_groups,), clusters by decreasing size."""
        draws = self.draws_by_weight
        return reassign_unsettled(bounded_consensus(draws, "vi"), draws)

    @cached_property
    def split_half_agreement(self) -> float:
        """Agreement of the clusters found by one half of the chains with those of the other half.

        Mean adjusted Rand index between the consensus of the two halves over three random divisions
        of the chains, for at most 1,000 random groups; NaN for a single chain. It indicates how
        similar the labels of a fit with another seed would be: as `labels` are the consensus of all
        chains, they usually agree better.

        Examples
        --------
        >>> posterior.split_half_agreement  # of a single chain
        nan
        """
        # Imported here: scikit-learn is loaded only where it is needed.
        from sklearn.metrics import adjusted_rand_score

        chains = np.unique(self.chain_of_draw)
        if len(chains) < 2:
            return math.nan
        rng = np.random.default_rng(0)
        size = min(self.n_groups, MAX_COMPARED_GROUPS)
        draws = self.cluster_of_group[:, rng.choice(self.n_groups, size, replace=False)]
        values = []
        for _ in range(N_DIVISIONS):
            first = np.isin(self.chain_of_draw, rng.permutation(chains)[: len(chains) // 2])
            halves = [bounded_consensus(draws[half], "vi") for half in (first, ~first)]
            values.append(adjusted_rand_score(*halves))
        return float(np.mean(values))

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

        It has no more clusters than the largest number of a draw. Unsettled groups (see
        `unsettled`) are in their most probable cluster.

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
        draws = self.draws_by_weight
        labels = self.labels
        if loss != "vi":
            labels = reassign_unsettled(bounded_consensus(draws, loss), draws)
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
        coclustering = CoClustering(self.cluster_of_group, self.draw_weights)
        return coclustering if groups is None else coclustering.among(groups)


def bounded_consensus(draws: Int32s, loss: Loss) -> Int32s:
    """Return the consensus of draws with no more clusters than the largest number of a draw."""
    labels = consensus(draws, loss)
    limit = max(np.unique(draw).size for draw in draws)
    return consensus(draws, loss, max_clusters=limit) if labels.max() >= limit else labels
