"""A coarser view: clusters or topics merged step by step, the most similar ones first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mcsquared.arrays import Floats, Int64s
from mcsquared.checks import check_choice, check_integer
from mcsquared.posterior.draws import topic_similarity
from mcsquared.posterior.names import cluster_names, topic_names

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Clusters or topics merged step by step."""

    # (n - 1, 4); as returned by ``scipy.cluster.hierarchy.linkage``: the two sets merged in each
    # step, their distance, and the number of clusters or topics in the result
    linkage: Floats
    names: list[str]
    weights: Int64s  # (n,): groups of each cluster, or tokens of each topic

    def cut(self, n: int) -> Int64s:
        """Return the set of each cluster or topic if there are ``n`` sets: int64 (n_leaves,).

        Sets are numbered by decreasing weight.

        Examples
        --------
        >>> posterior.hierarchy().cut(1).tolist() == [0] * posterior.n_clusters
        True
        """
        n_leaves = len(self.weights)
        n = min(check_integer("n", n, 1), n_leaves)
        leaves_of = {leaf: [leaf] for leaf in range(n_leaves)}
        for step, (one, other) in enumerate(self.linkage[: n_leaves - n, :2].astype(int)):
            leaves_of[n_leaves + step] = leaves_of.pop(one) + leaves_of.pop(other)
        sets = sorted(leaves_of.values(), key=lambda part: (-self.weights[part].sum(), min(part)))
        labels = np.empty(n_leaves, np.int64)
        for number, leaves in enumerate(sets):
            labels[leaves] = number
        return labels

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step: step, first, second, distance, size.

        Examples
        --------
        >>> len(posterior.hierarchy(of="topics").to_frame()) == posterior.n_listed_topics - 1
        True
        """
        frame = pd.DataFrame(self.linkage, columns=["first", "second", "distance", "size"])
        frame = frame.astype(dict.fromkeys(("first", "second", "size"), np.int64))
        frame.insert(0, "step", np.arange(len(frame)))
        return frame


def hierarchy(posterior: Posterior, of: str) -> Hierarchy:
    """Return the hierarchy of the clusters or of the topics; see `Posterior.hierarchy`."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    check_choice("of", of, ("clusters", "topics"))
    if of == "clusters":
        similarity = _cluster_similarity(posterior)
        names, weights = cluster_names(posterior), np.bincount(posterior.labels)
    else:
        draw = posterior.representative_draw
        similarity = topic_similarity(draw, draw, posterior.priors.content)
        n = posterior.n_listed_topics
        topics = posterior.topic_order[:n]
        similarity = similarity[np.ix_(topics, topics)]
        names, weights = topic_names(posterior)[:n], posterior.tokens_of_topic[:n]
    distance = np.clip(1.0 - 0.5 * (similarity + similarity.T), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    merges = np.zeros((0, 4))
    if len(distance) > 1:
        merges = linkage(squareform(distance, checks=False), "average")
    return Hierarchy(merges, names, weights.astype(np.int64))


def _cluster_similarity(posterior: Posterior) -> Floats:
    """Return the mean of two similarities of clusters: (n_clusters, n_clusters).

    The first is the cosine of the rows of `Posterior.cluster_probability`, summed by cluster: how
    easily groups of one belong to the other. Distant clusters share no group in any draw, so the
    second, Σ_m √(p_m q_m) of their topic shares, orders them.
    """
    by_cluster = np.zeros((posterior.n_clusters, posterior.n_clusters))
    np.add.at(by_cluster, posterior.labels, posterior.cluster_probability)
    by_cluster /= np.linalg.norm(by_cluster, axis=1, keepdims=True)
    if not posterior.parameters:
        return by_cluster @ by_cluster.T
    roots = np.sqrt(posterior.token_shares)
    return 0.5 * (by_cluster @ by_cluster.T + roots @ roots.T)
