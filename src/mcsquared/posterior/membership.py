"""Membership of groups in clusters: probabilities across draws, and unsettled groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from mcsquared.arrays import Bools, Floats, Int32s, Int64s
from mcsquared.posterior.consensus import contingency, numbered_by_size

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

UNSETTLED_BELOW = 0.5  # bound of the probability and of the confidence
N_CANDIDATES = 5  # clusters listed with an unsettled group
N_CHOICES = 3  # most probable clusters of a group in `likely_clusters`
_MIN_CANDIDATE = 0.01
_MAX_ROUNDS = 20


class LikelyClusters(NamedTuple):
    """The most probable clusters of each group."""

    confidence: Floats  # see `group_confidence`, (n_groups,)
    choice: Int64s  # clusters by decreasing probability, (n_groups, N_CHOICES); -1: none
    probability: Floats  # of each choice, (n_groups, N_CHOICES)

    def second_choice(self, labels: Int32s) -> Int64s:
        """Return the most probable cluster other than the group's own, or -1."""
        return np.where(self.choice[:, 0] == labels, self.choice[:, 1], self.choice[:, 0])


def membership_probabilities(
    draws: Int32s, labels: Int32s, weights: Floats | None = None
) -> Floats:
    """Return the probability that each group belongs to each cluster of a partition.

    Cluster b of a draw counts as cluster c of the partition in proportion to their cosine
    |b ∩ c| / √(|b| |c|), so neither a large cluster nor one that contains many others is favoured.
    ``draws`` are int32 (n_draws, n_groups), ``labels`` the partition. The result is float64
    (n_groups, n_clusters); rows sum to 1.
    """
    weights = np.ones(len(draws)) if weights is None else weights
    root_sizes = np.sqrt(np.maximum(np.bincount(labels), 1))
    total = np.zeros((labels.size, root_sizes.size))
    for weight, draw in zip(weights, draws, strict=True):
        cosine = contingency(draw, labels).toarray() / root_sizes
        cosine *= weight / np.maximum(cosine.sum(axis=1, keepdims=True), 1e-300)
        total += cosine[draw]
    return total / weights.sum()


def reassign_unsettled(labels: Int32s, draws: Int32s) -> Int32s:
    """Return a partition with no more clusters than the largest number of a draw, by moving groups.

    The partition with the smallest expected loss may have small clusters of groups without a
    stable cluster, which occur in no draw. Unsettled groups move to their most probable cluster,
    and empty clusters are removed. The smallest clusters beyond the largest number of a draw are
    dissolved in the same way. Clusters are numbered by size.
    """
    labels = _move_unsettled(labels, draws)
    limit = max(np.unique(draw).size for draw in draws)
    if labels.max() < limit:
        return labels
    best = membership_probabilities(draws, labels)[:, :limit].argmax(axis=1)
    labels = np.where(labels < limit, labels, best).astype(np.int32)
    return _move_unsettled(labels, draws)


def _move_unsettled(labels: Int32s, draws: Int32s) -> Int32s:
    """Move unsettled groups to their most probable cluster until none moves."""
    for _ in range(_MAX_ROUNDS):
        probability = membership_probabilities(draws, labels)
        current = np.take_along_axis(probability, labels[:, None], axis=1).ravel()
        unsettled = is_unsettled(probability, confidence_of_labels(draws, labels))
        moved = unsettled & (current < probability.max(axis=1) - 1e-12)
        if not moved.any():
            break
        labels = labels.copy()
        labels[moved] = probability[moved].argmax(axis=1)
        labels = numbered_by_size(labels)
    return numbered_by_size(labels)


def group_confidence(posterior: Posterior) -> Floats:
    """Return the confidence in each group's cluster; see `confidence_of_labels`."""
    return confidence_of_labels(
        posterior.cluster_of_group, posterior.labels, posterior.draw_weights
    )


def confidence_of_labels(draws: Int32s, labels: Int32s, weights: Floats | None = None) -> Floats:
    """Return the confidence in the cluster of each group: float64 (n_groups,).

    It is the mean probability that the group shares a cluster with another group of its cluster.
    For the only group of a cluster, it is the probability that it shares its cluster with none.
    """
    weights = np.ones(len(draws)) if weights is None else weights
    others = np.bincount(labels)[labels] - 1
    total = np.zeros(labels.size)
    for weight, draw in zip(weights, draws, strict=True):
        shared = contingency(draw, labels).toarray()
        alone = np.bincount(draw)[draw] == 1
        total += weight * np.where(others > 0, shared[draw, labels] - 1, alone)
    return total / (np.maximum(others, 1) * len(draws))


def cluster_stability(posterior: Posterior, confidence: Floats) -> Floats:
    """Return the mean confidence of each cluster's groups, given that of all groups."""
    return np.bincount(posterior.labels, weights=confidence) / np.bincount(posterior.labels)


def likely_clusters(posterior: Posterior) -> LikelyClusters:
    """Return the most probable clusters of each group, and its confidence."""
    choice = np.full((posterior.n_groups, N_CHOICES), -1, np.int64)
    probability = np.zeros((posterior.n_groups, N_CHOICES))
    by_cluster = posterior.cluster_probability
    best = np.argsort(-by_cluster, axis=1, kind="stable")[:, :N_CHOICES]
    highest = np.take_along_axis(by_cluster, best, axis=1)
    choice[:, : best.shape[1]] = np.where(highest > 0, best, -1)
    probability[:, : best.shape[1]] = highest
    return LikelyClusters(group_confidence(posterior), choice, probability)


def is_unsettled(probability: Floats, confidence: Floats) -> Bools:
    """Return whether neither a group's probabilities nor its confidence reach ½: bool (n_groups,).

    A group that shares its cluster with the same groups in half of the draws is not unsettled,
    although some draws may join its cluster with others.
    """
    return (probability.max(axis=1) < UNSETTLED_BELOW) & (confidence < UNSETTLED_BELOW)


def unsettled_table(posterior: Posterior) -> pd.DataFrame:
    """Return one row per unsettled group and candidate; see `Posterior.unsettled`."""
    groups = np.flatnonzero(
        is_unsettled(posterior.cluster_probability, group_confidence(posterior))
    )
    probability = posterior.cluster_probability[groups]
    order = np.argsort(-probability, axis=1, kind="stable")[:, :N_CANDIDATES]
    highest = np.take_along_axis(probability, order, axis=1)
    row, rank = np.nonzero(highest >= _MIN_CANDIDATE)
    return pd.DataFrame(
        {
            "group": groups[row],
            "name": posterior.group_names[groups[row]],
            "cluster": order[row, rank],
            "probability": highest[row, rank],
        }
    )
