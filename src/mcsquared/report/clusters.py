"""Report data of clusters and topics: names, sizes, shares of each other, overlap."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats
from mcsquared.corpus import Column
from mcsquared.posterior import Posterior
from mcsquared.posterior.tables import align_topics, token_weights
from mcsquared.report.content import N_WORDS_OF_CLUSTER, NAMING_RELEVANCE, Words
from mcsquared.report.packing import pack, pack_shares, shorten

Typical = list[list[tuple[int, float]]]  # of each cluster or topic: (group, score)

N_SHARES = 30  # topics listed with a cluster, clusters listed with a topic
MAX_OVERLAP = 60  # clusters whose overlap is computed
_MIN_SHARE = 5e-4


class TopicShares(NamedTuple):
    """Topic shares of the clusters, float64 (n_clusters, n_topics), and their range over draws."""

    share: Floats
    low: Floats
    high: Floats


def topic_shares(posterior: Posterior) -> TopicShares:
    """Return each topic's share of each cluster's tokens."""
    share = posterior.topic_of_tokens
    low, high = share.copy(), share.copy()
    for draw, topic in zip(posterior.parameters, posterior.topic_alignment, strict=True):
        found = token_weights(posterior, draw) @ draw.token_shares()
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
        index = (labels[chosen], draw[chosen])
        counts = sparse.csr_matrix((np.ones(len(index[0])), index), (n, int(draw.max()) + 1))
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
    return {
        "n": posterior.n_clusters,
        "names": cluster_names(posterior, words, shares.share),
        "size": pack(np.bincount(posterior.labels)),
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


N_PHRASES = 2
_MAX_LENGTH = 40
# A value names a cluster if most of its groups have it, and clearly more than in other clusters.
_MOST, _MIN_LIFT = 0.5, 1.2
_MIN_DEVIATION = 0.5  # from the overall mean, in standard deviations, to be low or high


def cluster_names(posterior: Posterior, words: Words | None, shares: Floats) -> list[str]:
    """Return a short name for each cluster; empty if nothing is distinctive."""
    if words is not None and words.readable:
        return [words.name(row @ words.topics) for row in shares]
    bag = _first_bag(posterior)
    if bag is not None:
        table = posterior.context_given_cluster(bag).to_numpy()
        return _names_by_items(posterior.contexts[bag], table, np.bincount(posterior.labels))
    phrases: list[list[str]] = [[] for _ in range(posterior.n_clusters)]
    for name, column in posterior.contexts.items():
        for found, phrase in zip(phrases, _phrases(posterior, name, column), strict=True):
            if phrase:
                found.append(phrase)
    return [", ".join(found[:N_PHRASES]) for found in phrases]


def topic_names(posterior: Posterior, words: Words | None) -> list[str]:
    """Return a few words for each topic: its words, or the items of a bag it occurs with."""
    if words is not None and words.readable:
        return [words.name(row) for row in words.topics]
    bag = _first_bag(posterior)
    if bag is None:
        return [""] * posterior.n_topics
    table = posterior.context_given_topic(bag).to_numpy()
    names = _names_by_items(posterior.contexts[bag], table, posterior.tokens_of_topic)
    return [f"with {values}" if values else "" for values in names]


def _first_bag(posterior: Posterior) -> str | None:
    return next((name for name, column in posterior.contexts.items() if column.kind == "bag"), None)


def _names_by_items(column: Column, table: Floats, weight: NDArray[np.int64]) -> list[str]:
    """Return the items that distinguish each column of a table from their mixture."""
    overall = np.maximum(table @ (weight / max(weight.sum(), 1)), 1e-300)
    gain = table * np.log(np.maximum(table, 1e-300) / overall[:, None])
    best = np.argsort(-gain, axis=0, kind="stable")[:N_PHRASES].T
    names: Any = column.categories
    lifted = table > _MIN_LIFT * overall[:, None]
    return [
        ", ".join(shorten(names[v], _MAX_LENGTH) for v in row if v < len(names) and lifted[v, k])
        for k, row in enumerate(best)
    ]


def _phrases(posterior: Posterior, name: str, column: Column) -> list[str]:
    """Return a phrase on a context for each cluster: a value, or low or high; often empty."""
    short = shorten(name, _MAX_LENGTH)
    if column.kind in ("category", "boolean"):
        names = column.categories
        values = (
            [f"not {short}", short] if names is None else [shorten(x, _MAX_LENGTH) for x in names]
        )
        shares = posterior.context_given_cluster(name).to_numpy().T
        return _values_of_most(shares, np.bincount(posterior.labels), values)
    if column.kind == "vector":
        return [""] * posterior.n_clusters
    ends = ("early", "late") if column.kind == "date" else ("low", "high")
    return [f"{ends[int(side > 0)]} {short}" if side else "" for side in _sides(posterior, column)]


def _values_of_most(shares: Floats, sizes: NDArray[np.int64], values: list[str]) -> list[str]:
    """Return the value that most groups of each cluster have, but fewer of the others."""
    overall = (sizes / max(sizes.sum(), 1)) @ shares
    best = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), np.int64)
    return [
        values[v] if v < len(values) and row[v] >= max(_MOST, _MIN_LIFT * overall[v]) else ""
        for v, row in zip(best, shares, strict=True)
    ]


def _sides(posterior: Posterior, column: Column) -> NDArray[np.int64]:
    """Return −1 if the mean of a cluster is clearly low, 1 if it is high, otherwise 0."""
    values = np.asarray(column.observations(), np.float64)
    labels = posterior.labels[column.observed]
    spread = float(values.std()) if len(values) else 0.0
    if not spread > 0:
        return np.zeros(posterior.n_clusters, np.int64)
    counts = np.bincount(labels, minlength=posterior.n_clusters)
    sums = np.bincount(labels, values - values.mean(), minlength=posterior.n_clusters)
    deviation = sums / np.maximum(counts, 1) / spread
    clear = np.abs(deviation) >= _MIN_DEVIATION
    return np.where(clear, np.sign(deviation), 0.0).astype(np.int64)
