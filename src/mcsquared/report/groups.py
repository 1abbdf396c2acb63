"""Report data of groups: their clusters with probabilities, topics and positions on the maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.posterior.tables import membership
from mcsquared.report.layout import Discs, place_groups, topic_map
from mcsquared.report.packing import pack, pack_shares, shorten

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_CHOICES = 3  # most probable clusters of a group
N_TOPICS_OF_GROUP = 6
_MAX_NAME = 160
_MANY, _MAX_NAME_OF_MANY = 20_000, 70  # names are shorter if there are many groups


@dataclass(frozen=True)
class Membership:
    """Distribution of each group over the clusters of the consensus, across draws.

    Attributes
    ----------
    confidence : float64 (n_groups,)
        Mean probability of sharing a cluster with the other groups of its cluster.
    choice : int64 (n_groups, N_CHOICES)
        The most frequent clusters of the group over the draws; -1 if there are fewer.
    share : float64 (n_groups, N_CHOICES)
        The share of the draws in each of them.
    """

    confidence: Floats
    choice: Integers
    share: Floats

    def second_choice(self, labels: NDArray[np.int32]) -> Integers:
        """Return the most frequent cluster other than the group's own, or -1."""
        first = np.where(self.choice[:, 0] == labels, self.choice[:, 1], self.choice[:, 0])
        return np.where(first == labels, self.choice[:, 2], first)


def memberships(posterior: Posterior) -> Membership:
    """Return how often each group is in which cluster of the consensus.

    A cluster of a draw counts as the consensus cluster with which it shares most groups.
    """
    labels = posterior.labels.astype(np.int64)
    n, n_clusters = posterior.n_groups, posterior.n_clusters
    pairs = np.empty((posterior.n_draws, n), np.int64)
    for row, draw in zip(pairs, posterior.cluster_of_group, strict=True):
        together, counts = np.unique(
            draw.astype(np.int64) * n_clusters + labels, return_counts=True
        )
        # In this order the last entry of each cluster is the one with most groups.
        order = np.lexsort((counts, together // n_clusters))
        consensus = np.zeros(int(draw.max()) + 1, np.int64)
        consensus[together[order] // n_clusters] = together[order] % n_clusters
        row[:] = np.arange(n) * n_clusters + consensus[draw]
    found, counts = np.unique(pairs, return_counts=True)
    group, cluster = found // n_clusters, found % n_clusters
    order = np.lexsort((cluster, -counts, group))
    group, cluster, counts = group[order], cluster[order], counts[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    kept = rank < N_CHOICES
    choice = np.full((n, N_CHOICES), -1, np.int64)
    share = np.zeros((n, N_CHOICES))
    choice[group[kept], rank[kept]] = cluster[kept]
    share[group[kept], rank[kept]] = counts[kept] / posterior.n_draws
    return Membership(membership(posterior), choice, share)


def typical_groups(
    scores: Floats | NDArray[np.float32], tokens: Integers, limit: int
) -> list[list[tuple[int, float]]]:
    """Return the groups with the highest scores of each column; among equal scores, long ones.

    Parameters
    ----------
    scores : float (n_groups, n_columns)
    tokens : int64 (n_groups,)
    """
    lists = []
    # Short groups may consist of one topic by chance.
    reliability = tokens / (tokens + max(1.0, float(np.median(tokens)) / 4.0))
    for column in np.asarray(scores).T:
        weighted = column * reliability
        best = np.argpartition(-weighted, min(limit, len(weighted) - 1))[:limit]
        # The report lists the scores, so they must decrease.
        best = best[np.lexsort((best, -weighted[best], -np.round(column[best], 2)))]
        lists.append([(int(j), round(float(column[j]), 4)) for j in best if column[j] > 0])
    return lists


def group_data(
    posterior: Posterior,
    membership: Membership,
    discs: Discs,
    groups: Integers,
    shares: Floats | NDArray[np.float32],
    from_content: bool,
) -> dict[str, Any]:
    """Return the groups' part of the report.

    Parameters
    ----------
    groups : int64 (n_listed,)
        The groups in the report.
    shares : float (n_groups, n_topics)
        Topic shares, of the groups' content (``from_content``) or of their clusters.
    """
    labels = posterior.labels.astype(np.int64)
    tokens = posterior.tokens_per_group
    points = place_groups(
        discs,
        labels,
        membership.confidence,
        membership.second_choice(posterior.labels),
        np.log1p(tokens),
    )
    limit = _MAX_NAME_OF_MANY if len(groups) > _MANY else _MAX_NAME
    top = _largest(shares[groups], N_TOPICS_OF_GROUP)
    data: dict[str, Any] = {
        "n": len(groups),
        "numbers": pack(groups) if len(groups) < posterior.n_groups else None,
        "names": [shorten(name, limit) for name in posterior.group_names[groups]],
        "cluster": pack(labels[groups]),
        "confidence": pack_shares(membership.confidence[groups]),
        "choice": pack(membership.choice[groups] + 1),
        "choice_share": pack_shares(membership.share[groups]),
        "tokens": pack(tokens[groups]),
        "topic": pack(top),
        "topic_share": pack_shares(np.take_along_axis(shares[groups], top, axis=1)),
        "own_shares": from_content,
        "maps": {"clusters": _packed_points(points[groups])},
    }
    if from_content:
        data["maps"]["topics"] = _packed_points(
            topic_map(shares[groups].astype(np.float64), posterior.seed % 2**31)
        )
    return data


def _largest(shares: NDArray[Any], limit: int) -> Integers:
    """Return the columns with the largest entries of each row, largest first."""
    n_columns = shares.shape[1]
    if n_columns > limit:
        best = np.argpartition(-shares, limit - 1, axis=1)[:, :limit]
    else:
        best = np.tile(np.arange(n_columns), (len(shares), 1))
    order = np.argsort(-np.take_along_axis(shares, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1).astype(np.int64)


def _packed_points(points: Floats) -> dict[str, Any]:
    """Return coordinates as 16-bit integers with a common scale, and how to invert them."""
    low = points.min(axis=0)
    scale = float(np.ptp(points, axis=0).max()) or 1.0
    small = np.round((points - low) / scale * 65535.0).astype(np.uint16)
    return {
        "x": pack(small[:, 0]),
        "y": pack(small[:, 1]),
        "low": low.tolist(),
        "scale": scale,
    }
