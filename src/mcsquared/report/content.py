"""Report data of clusters, topics and their content: words, pixels of images, or vectors."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus import Column
from mcsquared.posterior import Posterior
from mcsquared.posterior.consensus import contingency
from mcsquared.posterior.tables import (
    align_topics,
    cluster_given_topic,
    token_share_of_topic,
    token_weights,
)
from mcsquared.report.packing import pack, pack_lists, pack_shares, shorten

N_SHARES = 30  # topics listed with a cluster, clusters listed with a topic
N_WORDS = 30  # per topic and position of the relevance slider
N_WORDS_OF_CLUSTER = 18
N_TOPICS_OF_WORD = 5
N_PHRASES = 2  # in the name of a cluster
NAMING_RELEVANCE = 0.4  # prefers distinctive words to frequent ones
MAX_OVERLAP_CLUSTERS = 60  # overlaps are computed for the largest clusters
_MIN_LISTED_SHARE = 5e-4
_MAX_WORDS = 50_000  # only the most frequent words can be searched
_MAX_WORD_LENGTH, _MAX_VALUE_LENGTH = 60, 40  # characters
# A value names a cluster if most of its groups have it, and clearly more than in other clusters.
_MIN_SHARE, _MIN_LIFT = 0.5, 1.2
_MIN_DEVIATION = 0.5  # standard deviations between a low or high mean and the overall mean
_PIXEL = re.compile(r"r(\d+)c(\d+)")
_WORDLIKE = re.compile(r"[^\W\d_]{2,}([-'’ _][^\W\d_]+)*")


def image_shape_of(vocabulary: NDArray[np.object_]) -> tuple[int, int] | None:
    """Return height and width if the words are the pixels of an image: r0c0, r0c1, ..."""
    found = [_PIXEL.fullmatch(word) for word in vocabulary]
    if not found or not all(found):
        return None
    pixels = [(int(match[1]), int(match[2])) for match in found if match]
    height, width = (max(pixel[axis] for pixel in pixels) + 1 for axis in range(2))
    grid = [(row, column) for row in range(height) for column in range(width)]
    return (height, width) if pixels == grid else None


class TopicWords:
    """The words of a model with their probabilities in topics and overall."""

    def __init__(self, posterior: Posterior) -> None:
        self.vocabulary: NDArray[np.object_] = np.asarray(posterior.vocabulary)
        self.topics = posterior.components
        self.overall = np.maximum(token_share_of_topic(posterior) @ self.topics, 1e-300)
        frequency = posterior.word_frequency
        self.frequency = np.zeros_like(self.overall, np.int64) if frequency is None else frequency
        sample = self.vocabulary[np.argsort(-self.frequency, kind="stable")[:200]]
        wordlike = [bool(_WORDLIKE.fullmatch(word)) for word in sample]
        # Codes such as "vw12" or "sift7" are not names.
        self.readable = bool(np.mean(wordlike) > 0.6) if wordlike else False

    def relevant(self, probability: Floats, r: float, limit: int) -> Int64s:
        """Return the words with the largest r ln p(w) + (1 − r) ln (p(w) / overall(w))."""
        if len(probability) == 0:
            return np.zeros(0, np.int64)
        log_p = np.log(np.maximum(probability, 1e-300))
        score = log_p - (1.0 - r) * np.log(self.overall)
        # Rare words have the highest lift, but are not representative.
        score = np.where(probability * len(probability) > 0.5, score, -np.inf)
        limit = min(limit, len(score))
        best = np.argpartition(-score, limit - 1)[:limit]
        return best[np.lexsort((best, -score[best]))]

    def texts(self, words: Int64s) -> list[str]:
        """Return the shortened words with these indices."""
        return [shorten(self.vocabulary[w], _MAX_WORD_LENGTH) for w in words]

    def name(self, probability: Floats, n_words: int = 3) -> str:
        """Return a few words as the name of a topic or a cluster; empty if words are codes."""
        if not self.readable:
            return ""
        chosen: list[str] = []
        for word in self.texts(self.relevant(probability, NAMING_RELEVANCE, 4 * n_words)):
            if len(chosen) < n_words and not any(_same_stem(word, other) for other in chosen):
                chosen.append(word)
        return ", ".join(chosen)


def _same_stem(one: str, other: str) -> bool:
    """Return whether two words share a stem: unit and units, policy and policies."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common >= max(3, shorter - 2)


def word_data(posterior: Posterior, words: TopicWords) -> dict[str, Any]:
    """Return the words of each topic for all positions of the slider, and the topics of words."""
    positions = np.linspace(0.0, 1.0, 11)
    lists = [
        np.unique(np.concatenate([words.relevant(row, x, N_WORDS) for x in positions]))
        for row in words.topics
    ]
    frequent = np.argsort(-words.frequency, kind="stable")[:_MAX_WORDS]
    listed = np.unique(np.concatenate([frequent, *lists])).astype(np.int64)
    joint = words.topics[:, listed] * posterior.tokens_of_topic[:, None]
    topic_of_word = np.argsort(-joint, axis=0, kind="stable")[:N_TOPICS_OF_WORD].T
    share = np.take_along_axis((joint / np.maximum(joint.sum(axis=0), 1e-300)).T, topic_of_word, 1)
    return {
        "vocabulary": words.texts(listed),
        "left_out": len(words.vocabulary) - len(listed),
        "frequency": pack(words.frequency[listed]),
        "overall": pack(words.overall[listed]),
        "topic_of_word": pack(topic_of_word),
        "topic_share": pack_shares(share),
        "n_topics_of_word": int(topic_of_word.shape[1]),
        **pack_lists(
            [np.searchsorted(listed, chosen) for chosen in lists],
            [row[chosen] for row, chosen in zip(words.topics, lists, strict=True)],
        ),
    }


def content_data(
    posterior: Posterior,
    image_shape: tuple[int, int] | None,
    dimension_names: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the kind of the content, its unit, and how to plot it."""
    if posterior.vocabulary is not None:
        shape = image_shape or image_shape_of(posterior.vocabulary)
        unit = "pixels" if shape else "words"
        return {"kind": "words", "unit": unit, "image": shape, "dimensions": None}
    width = posterior.components.shape[1]
    names = [*(dimension_names or ())][:width]
    names += [f"dimension {d}" for d in range(len(names), width)]
    short = [shorten(name, _MAX_WORD_LENGTH) for name in names]
    return {"kind": "vectors", "unit": "vectors", "image": image_shape, "dimensions": short}


def vector_data(posterior: Posterior) -> dict[str, Any]:
    """Return means, and sds if the family has them, of each topic, each cluster and overall."""
    means = posterior.components
    statistics = np.asarray(posterior.representative_draw.content_statistics)
    covariance = posterior.priors.content.mean_covariance(statistics)
    mixture = np.vstack([posterior.token_shares, token_share_of_topic(posterior)])
    mixture_means = mixture @ means
    data: dict[str, Any] = {"width": int(means.shape[1]), "topic_sd": None}
    arrays = {"topic_mean": means}
    arrays |= {"cluster_mean": mixture_means[:-1], "overall_mean": mixture_means[-1]}
    if covariance is not None:
        covariance = covariance[posterior.topic_order]
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        squares = mixture @ (variance + np.square(means)) - np.square(mixture_means)
        sd = np.sqrt(np.maximum(squares, 0.0))
        arrays |= {"topic_sd": np.sqrt(variance), "cluster_sd": sd[:-1], "overall_sd": sd[-1]}
        if means.shape[1] >= 2:  # to plot ellipses of the first two dimensions
            arrays["topic_covariance"] = covariance[:, 0, 1]
    return data | {name: pack(values) for name, values in arrays.items()}


class TopicShares(NamedTuple):
    """Topic shares of the clusters, float64 (n_clusters, n_topics), and their range over draws."""

    share: Floats
    low: Floats
    high: Floats


def topic_shares(posterior: Posterior) -> TopicShares:
    """Return each topic's share of each cluster's tokens."""
    share = posterior.token_shares
    low, high = share.copy(), share.copy()
    for draw, topic in zip(posterior.parameters, posterior.topic_alignment, strict=True):
        found = token_weights(posterior, draw) @ draw.token_shares()
        found = align_topics(found, topic, posterior.n_topics)
        np.minimum(low, found, out=low)
        np.maximum(high, found, out=high)
    return TopicShares(share, low, high)


def cluster_overlap(posterior: Posterior) -> Floats:
    """Return how often groups of two clusters share a cluster: float64 (n, n) for the n largest."""
    n = min(posterior.n_clusters, MAX_OVERLAP_CLUSTERS)
    labels = posterior.labels
    chosen = labels < n
    sizes = np.bincount(labels[chosen], minlength=n).astype(np.float64)
    total = np.zeros((n, n))
    for weight, draw in zip(posterior.draw_weights, posterior.cluster_of_group, strict=True):
        counts = contingency(labels[chosen], draw[chosen])
        total += weight * (counts @ counts.T).toarray()
    total /= posterior.n_draws
    pairs = sizes[:, None] * sizes[None, :]
    # Pairs of a group with itself are excluded.
    diagonal = np.diag_indices(n)
    total[diagonal] -= sizes
    pairs[diagonal] = sizes * (sizes - 1.0)
    return np.divide(total, pairs, out=np.ones_like(total), where=pairs > 0)


def cluster_data(
    posterior: Posterior, shares: TopicShares, words: TopicWords | None, image: bool
) -> dict[str, Any]:
    """Return the clusters' part of the report that depends on their content."""
    return {
        "n": posterior.n_clusters,
        "names": cluster_names(posterior, words, shares.share),
        "size": pack(np.bincount(posterior.labels)),
        "tokens": pack(posterior.tokens_of_cluster),
        "topics": _largest_shares(*shares),
        "words": words and [_distinctive_words(words, row @ words.topics) for row in shares.share],
        "images": pack(shares.share @ posterior.components) if image else None,
        "overlap": pack(cluster_overlap(posterior)),
    }


def _distinctive_words(words: TopicWords, probability: Floats) -> list[tuple[str, float]]:
    best = words.relevant(probability, NAMING_RELEVANCE, N_WORDS_OF_CLUSTER)
    lift = np.round(probability[best] / words.overall[best], 2)
    return [(word, x) for word, x in zip(words.texts(best), lift.tolist(), strict=True) if x > 1.05]


def _largest_shares(share: Floats, *others: Floats) -> list[list[tuple[Any, ...]]]:
    """Return the largest entries of each row: (column, share, other values of the entry...)."""
    lists = []
    for rows in zip(share, *others, strict=True):
        order = np.argsort(-rows[0], kind="stable")[:N_SHARES]
        order = order[rows[0][order] >= _MIN_LISTED_SHARE]
        lists.append([(int(i), *(round(float(row[i]), 4) for row in rows)) for i in order])
    return lists


def topic_data(
    posterior: Posterior, shares: TopicShares, words: TopicWords | None, image: bool
) -> dict[str, Any]:
    """Return the topics' part of the report, except for their typical groups."""
    table = posterior.topics()
    return {
        "n": posterior.n_topics,
        "tokens": pack(posterior.tokens_of_topic),
        "share": pack(token_share_of_topic(posterior)),
        "stability": table["stability"].round(3).tolist(),
        "coherence": None if words is None else table["coherence"].round(3).tolist(),
        "names": topic_names(posterior, words),
        "clusters": _largest_shares(cluster_given_topic(posterior).T, shares.share.T),
        "images": pack(posterior.components) if image else None,
    }


def cluster_names(posterior: Posterior, words: TopicWords | None, shares: Floats) -> list[str]:
    """Return a short name for each cluster; empty if nothing is distinctive."""
    if words is not None and words.readable:
        return [words.name(row @ words.topics) for row in shares]
    bag = _first_bag(posterior)
    if bag is not None:
        table = posterior.context_given_cluster(bag).to_numpy()
        return _names_by_items(posterior.contexts[bag], table, np.bincount(posterior.labels))
    of_context = [_phrases(posterior, name, column) for name, column in posterior.contexts.items()]
    phrases = zip(*of_context, strict=True) if of_context else [()] * posterior.n_clusters
    return [", ".join([phrase for phrase in found if phrase][:N_PHRASES]) for found in phrases]


def topic_names(posterior: Posterior, words: TopicWords | None) -> list[str]:
    """Return a short name for each topic: its words, or the items of a bag it occurs with."""
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


def _names_by_items(column: Column, table: Floats, weight: Int64s) -> list[str]:
    """Return the items that distinguish each column of a table from the mean of all columns."""
    overall = np.maximum(table @ (weight / max(weight.sum(), 1)), 1e-300)
    gain = table * np.log(np.maximum(table, 1e-300) / overall[:, None])
    best = np.argsort(-gain, axis=0, kind="stable")[:N_PHRASES].T
    names: Any = column.categories
    lifted = table > _MIN_LIFT * overall[:, None]
    return [
        ", ".join(
            shorten(names[v], _MAX_VALUE_LENGTH) for v in row if v < len(names) and lifted[v, k]
        )
        for k, row in enumerate(best)
    ]


def _phrases(posterior: Posterior, name: str, column: Column) -> list[str]:
    """Return a phrase about a context for each cluster: a value, or low or high; may be empty."""
    short = shorten(name, _MAX_VALUE_LENGTH)
    if column.kind in ("category", "boolean"):
        values = [f"not {short}", short]
        if column.categories is not None:
            values = [shorten(value, _MAX_VALUE_LENGTH) for value in column.categories]
        shares = posterior.context_given_cluster(name).to_numpy().T
        return _majority_values(shares, np.bincount(posterior.labels), values)
    if column.kind == "vector":
        return [""] * posterior.n_clusters
    ends = ("early", "late") if column.kind == "date" else ("low", "high")
    return [f"{ends[int(sign > 0)]} {short}" if sign else "" for sign in _signs(posterior, column)]


def _majority_values(shares: Floats, sizes: Int64s, values: list[str]) -> list[str]:
    """Return the value of most groups of each cluster, or "" if it is nearly as common overall."""
    overall = (sizes / max(sizes.sum(), 1)) @ shares
    best = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), np.int64)
    return [
        values[v] if v < len(values) and row[v] >= max(_MIN_SHARE, _MIN_LIFT * overall[v]) else ""
        for v, row in zip(best, shares, strict=True)
    ]


def _signs(posterior: Posterior, column: Column) -> Int64s:
    """Return −1 if the mean of a cluster is clearly low, 1 if it is high, otherwise 0."""
    values = np.asarray(column.observations(), np.float64)
    labels = posterior.labels[column.observed]
    sd = float(values.std()) if len(values) else 0.0
    if not sd > 0:
        return np.zeros(posterior.n_clusters, np.int64)
    counts = np.bincount(labels, minlength=posterior.n_clusters)
    sums = np.bincount(labels, values - values.mean(), minlength=posterior.n_clusters)
    deviation = sums / np.maximum(counts, 1) / sd
    clear = np.abs(deviation) >= _MIN_DEVIATION
    return np.where(clear, np.sign(deviation), 0.0).astype(np.int64)
