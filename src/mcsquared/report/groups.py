"""What the page knows of each group: its cluster, how sure that is, its topics and its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.posterior.tables import membership, topic_given_group
from mcsquared.report.layout import Discs, place_groups, topic_map
from mcsquared.report.packing import clipped, pack, pack_shares

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

__all__ = ["Membership", "group_data", "memberships", "shares_from_draws", "typical_groups"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_CHOICES = 3  # clusters that a group may belong to, most probable first
N_TOPICS_OF_GROUP = 6
_LONGEST_NAME, _LONGEST_OF_MANY = 160, 70
_MANY = 20_000


@dataclass(frozen=True)
class Membership:
    """How the draws share a group among the clusters of the consensus.

    Attributes
    ----------
    confidence : float64 (n_groups,)
        Mean probability of being together with the other groups of the cluster.
    choice : int64 (n_groups, N_CHOICES)
        The clusters whose groups it is with, most often first; -1 where there is none.
    share : float64 (n_groups, N_CHOICES)
        In which share of the draws.
    """

    confidence: Floats
    choice: Integers
    share: Floats

    def leaning(self, labels: NDArray[np.int32]) -> Integers:
        """Return the most frequent cluster that is not the group's own, or -1."""
        first = np.where(self.choice[:, 0] == labels, self.choice[:, 1], self.choice[:, 0])
        return np.where(first == labels, self.choice[:, 2], first)


def memberships(posterior: Posterior) -> Membership:
    """Return how often each group is with which cluster of the consensus.

    A cluster of a draw counts as the consensus cluster with which it shares the most groups.
    """
    labels = posterior.labels.astype(np.int64)
    n, n_clusters = posterior.n_groups, posterior.n_clusters
    pairs = np.empty((posterior.n_draws, n), np.int64)
    for row, draw in zip(pairs, posterior.cluster_of_group, strict=True):
        together, counts = np.unique(
            draw.astype(np.int64) * n_clusters + labels, return_counts=True
        )
        # The last of each draw's cluster in this order is the one with the most groups.
        order = np.lexsort((counts, together // n_clusters))
        meant = np.zeros(int(draw.max()) + 1, np.int64)
        meant[together[order] // n_clusters] = together[order] % n_clusters
        row[:] = np.arange(n) * n_clusters + meant[draw]
    found, counts = np.unique(pairs, return_counts=True)
    group, cluster = found // n_clusters, found % n_clusters
    order = np.lexsort((cluster, -counts, group))
    group, cluster, counts = group[order], cluster[order], counts[order]
    place = np.arange(len(group)) - np.searchsorted(group, group)
    kept = place < N_CHOICES
    choice = np.full((n, N_CHOICES), -1, np.int64)
    share = np.zeros((n, N_CHOICES))
    choice[group[kept], place[kept]] = cluster[kept]
    share[group[kept], place[kept]] = counts[kept] / posterior.n_draws
    return Membership(membership(posterior), choice, share)


def shares_from_draws(posterior: Posterior) -> NDArray[np.float32]:
    """Return topic shares of the clusters each group was in, averaged over draws.

    What the model alone knows of a group's topics: float32 (n_groups, n_topics).
    """
    total = topic_given_group(posterior, np.float32)
    sums = total.sum(axis=1, keepdims=True)
    return np.divide(total, sums, out=total, where=sums > 0)


def typical_groups(
    scores: Floats | NDArray[np.float32], tokens: Integers, most: int
) -> list[list[tuple[int, float]]]:
    """Return for each column the groups with the highest scores, long ones first among equals.

    Parameters
    ----------
    scores : float (n_groups, n_columns)
    tokens : int64 (n_groups,)
    """
    lists = []
    # A few words can be of one topic by chance; what a group says at length is typical.
    trusted = tokens / (tokens + max(1.0, float(np.median(tokens)) / 4.0))
    for column in np.asarray(scores).T:
        weighted = column * trusted
        best = np.argpartition(-weighted, min(most, len(weighted) - 1))[:most]
        # The page shows the scores, so they run downwards on it.
        best = best[np.lexsort((best, -weighted[best], -np.round(column[best], 2)))]
        lists.append([(int(j), round(float(column[j]), 4)) for j in best if column[j] > 0])
    return lists


def group_data(
    posterior: Posterior,
    member: Membership,
    discs: Discs,
    shown: Integers,
    shares: Floats | NDArray[np.float32],
    own_shares: bool,
) -> dict[str, Any]:
    """Return the groups' part of the page.

    Parameters
    ----------
    shown : int64 (n_shown,)
        The groups that the page holds.
    shares : float (n_groups, n_topics)
        Topic shares, of the groups themselves (``own_shares``) or of their clusters.
    """
    labels = posterior.labels.astype(np.int64)
    tokens = posterior.tokens_per_group
    points = place_groups(
        discs, labels, member.confidence, member.leaning(posterior.labels), np.log1p(tokens)
    )
    longest = _LONGEST_OF_MANY if len(shown) > _MANY else _LONGEST_NAME
    top = _largest(shares[shown], N_TOPICS_OF_GROUP)
    data: dict[str, Any] = {
        "n": len(shown),
        "numbers": pack(shown) if len(shown) < posterior.n_groups else None,
        "names": [clipped(name, longest) for name in posterior.group_names[shown]],
        "cluster": pack(labels[shown]),
        "confidence": pack_shares(member.confidence[shown]),
        "choice": pack(member.choice[shown] + 1),
        "choice_share": pack_shares(member.share[shown]),
        "tokens": pack(tokens[shown]),
        "topic": pack(top),
        "topic_share": pack_shares(np.take_along_axis(shares[shown], top, axis=1)),
        "own_shares": own_shares,
        "maps": {"clusters": _packed_points(points[shown])},
    }
    if own_shares:
        data["maps"]["topics"] = _packed_points(
            topic_map(shares[shown].astype(np.float64), posterior.seed % 2**31)
        )
    return data


def _largest(shares: NDArray[Any], most: int) -> Integers:
    """Return the columns with the largest entries of each row, largest first."""
    n_columns = shares.shape[1]
    if n_columns > most:
        best = np.argpartition(-shares, most - 1, axis=1)[:, :most]
    else:
        best = np.tile(np.arange(n_columns), (len(shares), 1))
    order = np.argsort(-np.take_along_axis(shares, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1).astype(np.int64)


def _packed_points(points: Floats) -> dict[str, Any]:
    """Return points in 16 bits each way, the aspect kept, and what they were before."""
    low = points.min(axis=0)
    scale = float(np.ptp(points, axis=0).max()) or 1.0
    small = np.round((points - low) / scale * 65535.0).astype(np.uint16)
    return {
        "x": pack(small[:, 0]),
        "y": pack(small[:, 1]),
        "low": low.tolist(),
        "scale": scale,
    }
