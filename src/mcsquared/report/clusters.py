"""Clusters and topics on the page: sizes, shares in each other, and what may be mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.posterior.tables import token_weights
from mcsquared.report.content import N_WORDS_OF_CLUSTER, NAMING_RELEVANCE, Words
from mcsquared.report.naming import cluster_names, topic_names
from mcsquared.report.packing import pack, pack_shares

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

__all__ = ["Spread", "cluster_data", "mixed_up", "topic_data", "topic_spread"]

Floats = NDArray[np.float64]

N_SHARES = 30  # topics listed with a cluster, clusters listed with a topic
N_MIXED = 5
MOST_IN_MATRIX = 60
_SMALLEST_SHARE = 5e-4


class Spread:
    """Topic shares of clusters: of the representative draw, the least and the greatest of all.

    Attributes
    ----------
    share, low, high : float64 (n_clusters, n_topics)
    """

    def __init__(self, share: Floats, low: Floats, high: Floats) -> None:
        self.share, self.low, self.high = share, low, high


def topic_spread(posterior: Posterior) -> Spread:
    """Return how the tokens of each consensus cluster are shared out, in every draw."""
    share = posterior.topic_of_tokens
    low, high = share.copy(), share.copy()
    for draw, aligned in zip(posterior.parameters, posterior.topic_alignment, strict=True):
        labels = posterior.cluster_of_group[draw.draw]
        found = token_weights(posterior, labels, draw.n_clusters) @ draw.token_shares()
        here = np.zeros_like(share)
        known = aligned >= 0
        here[:, aligned[known]] = found[:, known]
        np.minimum(low, here, out=low)
        np.maximum(high, here, out=high)
    return Spread(share, low, high)


def mixed_up(posterior: Posterior) -> Floats:
    """Return how often groups of two clusters are together: (n, n) for the n largest clusters."""
    n = min(posterior.n_clusters, MOST_IN_MATRIX)
    labels = posterior.labels
    chosen = labels < n
    sizes = np.bincount(labels[chosen], minlength=n).astype(np.float64)
    total = np.zeros((n, n))
    for draw in posterior.cluster_of_group:
        counts = sparse.coo_matrix(
            (np.ones(int(chosen.sum())), (labels[chosen], draw[chosen])),
            shape=(n, int(draw.max()) + 1),
        ).tocsr()
        total += (counts @ counts.T).toarray()
    total /= posterior.n_draws
    pairs = sizes[:, None] * sizes[None, :]
    # A group is always with itself, which says nothing of the others.
    own = np.diag_indices(n)
    total[own] -= sizes
    pairs[own] = sizes * (sizes - 1.0)
    return np.divide(total, pairs, out=np.ones_like(total), where=pairs > 0)


def cluster_data(
    posterior: Posterior,
    spread: Spread,
    words: Words | None,
    typical: list[list[tuple[int, float]]],
    stability: Floats,
    image: bool,
) -> dict[str, Any]:
    """Return the clusters' part of the page."""
    sizes = np.bincount(posterior.labels, minlength=posterior.n_clusters)
    data: dict[str, Any] = {
        "n": posterior.n_clusters,
        "names": cluster_names(posterior, words, spread.share),
        "size": pack(sizes),
        "tokens": pack(posterior.tokens_of_cluster),
        "stability": pack_shares(stability),
        "topics": _ranked_shares(spread),
        "typical": typical,
        "words": None,
        "images": None,
    }
    if words is not None:
        chosen = [_own_words(words, row @ words.topics) for row in spread.share]
        data["words"] = chosen
    if image:
        data["images"] = pack(spread.share @ posterior.components)
    return data


def _own_words(words: Words, probability: Floats) -> list[tuple[str, float]]:
    best = words.best(probability, NAMING_RELEVANCE, N_WORDS_OF_CLUSTER)
    lift = np.round(probability[best] / words.overall[best], 2)
    return [(word, x) for word, x in zip(words.named(best), lift.tolist(), strict=True) if x > 1.05]


def _ranked_shares(spread: Spread) -> list[list[tuple[int, float, float, float]]]:
    """Return the largest topics of each cluster: topic, share, least and greatest of the draws."""
    lists = []
    for share, low, high in zip(spread.share, spread.low, spread.high, strict=True):
        order = np.argsort(-share, kind="stable")[:N_SHARES]
        lists.append(
            [
                (int(m), *(round(float(x), 4) for x in (share[m], low[m], high[m])))
                for m in order
                if share[m] >= _SMALLEST_SHARE
            ]
        )
    return lists  # type: ignore[return-value]


def topic_data(
    posterior: Posterior,
    spread: Spread,
    words: Words | None,
    typical: list[list[tuple[int, float]]],
    image: bool,
) -> dict[str, Any]:
    """Return the topics' part of the page."""
    tokens = posterior.tokens_of_topic
    table = posterior.topics()
    data: dict[str, Any] = {
        "n": posterior.n_topics,
        "tokens": pack(tokens),
        "share": pack(tokens / max(tokens.sum(), 1)),
        "stability": table["stability"].round(3).tolist(),
        "coherence": None,
        "names": topic_names(posterior, words),
        "clusters": _clusters_of_topics(posterior, spread.share),
        "typical": typical,
        "images": None,
    }
    if words is not None:
        data["coherence"] = table["coherence"].round(3).tolist()
    if image:
        data["images"] = pack(posterior.components)
    return data


def _clusters_of_topics(
    posterior: Posterior, share: Floats
) -> list[list[tuple[int, float, float]]]:
    """Return the clusters that use each topic: cluster, its part of the topic, the topic's in it.

    The first are parts of the topic's tokens, the second of the cluster's.
    """
    tokens = share * posterior.tokens_of_cluster[:, None]
    part = tokens / np.maximum(tokens.sum(axis=0), 1e-300)
    lists = []
    for m in range(share.shape[1]):
        order = np.argsort(-part[:, m], kind="stable")[:N_SHARES]
        lists.append(
            [
                (int(k), round(float(part[k, m]), 4), round(float(share[k, m]), 4))
                for k in order
                if part[k, m] >= _SMALLEST_SHARE
            ]
        )
    return lists
