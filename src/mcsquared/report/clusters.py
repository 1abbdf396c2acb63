"""Report data of clusters and topics: sizes, shares of each other, overlap of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.posterior.tables import align_topics, token_weights
from mcsquared.report.content import N_WORDS_OF_CLUSTER, NAMING_RELEVANCE, Words
from mcsquared.report.naming import cluster_names, topic_names
from mcsquared.report.packing import pack, pack_shares

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

Floats = NDArray[np.float64]
Typical = list[list[tuple[int, float]]]  # of each cluster or topic: (group, score)

N_SHARES = 30  # topics listed with a cluster, clusters listed with a topic
MAX_OVERLAP = 60  # clusters whose overlap is computed
_MIN_SHARE = 5e-4


class TopicShares(NamedTuple):
    """Topic shares of the clusters: in the representative draw, and their range over all draws.

    Parameters
    ----------
    share, low, high : float64 (n_clusters, n_topics)
    """

    share: Floats
    low: Floats
    high: Floats


def topic_shares(posterior: Posterior) -> TopicShares:
    """Return each topic's share of each cluster's tokens."""
    share = posterior.topic_of_tokens
    low, high = share.copy(), share.copy()
    for draw, topic in zip(posterior.parameters, posterior.topic_alignment, strict=True):
        labels = posterior.cluster_of_group[draw.draw]
        found = token_weights(posterior, labels, draw.n_clusters) @ draw.token_shares()
        found = align_topics(found, topic, posterior.n_topics)
        np.minimum(low, found, out=low)
        np.maximum(high, found, out=high)
    return TopicShares(share, low, high)


def cluster_overlap(posterior: Posterior) -> Floats:
    """Return how often groups of two clusters share one: (n, n) for the n largest clusters."""
    n = min(posterior.n_clusters, MAX_OVERLAP)
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
    # Pairs of a group with itself are excluded.
    diagonal = np.diag_indices(n)
    total[diagonal] -= sizes
    pairs[diagonal] = sizes * (sizes - 1.0)
    return np.divide(total, pairs, out=np.ones_like(total), where=pairs > 0)


def cluster_data(
    posterior: Posterior,
    shares: TopicShares,
    words: Words | None,
    typical: Typical,
    stability: Floats,
    image: bool,
) -> dict[str, Any]:
    """Return the clusters' part of the report."""
    sizes = np.bincount(posterior.labels, minlength=posterior.n_clusters)
    return {
        "n": posterior.n_clusters,
        "names": cluster_names(posterior, words, shares.share),
        "size": pack(sizes),
        "tokens": pack(posterior.tokens_of_cluster),
        "stability": pack_shares(stability),
        "topics": _largest(*shares),
        "typical": typical,
        "words": words and [_distinctive_words(words, row @ words.topics) for row in shares.share],
        "images": pack(shares.share @ posterior.components) if image else None,
        "overlap": pack(cluster_overlap(posterior)),
    }


def _distinctive_words(words: Words, probability: Floats) -> list[tuple[str, float]]:
    best = words.best(probability, NAMING_RELEVANCE, N_WORDS_OF_CLUSTER)
    lift = np.round(probability[best] / words.overall[best], 2)
    return [(word, x) for word, x in zip(words.named(best), lift.tolist(), strict=True) if x > 1.05]


def _largest(share: Floats, *others: Floats) -> list[list[tuple[Any, ...]]]:
    """Return the largest entries of each row: (column, share, other values of the entry...)."""
    lists = []
    for rows in zip(share, *others, strict=True):
        order = np.argsort(-rows[0], kind="stable")[:N_SHARES]
        order = order[rows[0][order] >= _MIN_SHARE]
        lists.append([(int(i), *(round(float(row[i]), 4) for row in rows)) for i in order])
    return lists


def topic_data(
    posterior: Posterior,
    shares: TopicShares,
    words: Words | None,
    typical: Typical,
    image: bool,
) -> dict[str, Any]:
    """Return the topics' part of the report."""
    tokens = posterior.tokens_of_topic
    table = posterior.topics()
    in_cluster = shares.share * posterior.tokens_of_cluster[:, None]
    of_topic = in_cluster / np.maximum(in_cluster.sum(axis=0), 1e-300)
    return {
        "n": posterior.n_topics,
        "tokens": pack(tokens),
        "share": pack(tokens / max(tokens.sum(), 1)),
        "stability": table["stability"].round(3).tolist(),
        "coherence": None if words is None else table["coherence"].round(3).tolist(),
        "names": topic_names(posterior, words),
        "clusters": _largest(of_topic.T, shares.share.T),
        "typical": typical,
        "images": pack(posterior.components) if image else None,
    }
