"""Report data of clusters, topics and their content: words, pixels of images, or vectors."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.markup import shorten
from mcsquared.posterior import Posterior
from mcsquared.posterior.consensus import contingency
from mcsquared.posterior.names import (
    MAX_WORD_LENGTH,
    NAMING_RELEVANCE,
    TopicWords,
    cluster_names,
    topic_names,
)
from mcsquared.posterior.tables import (
    align_topics,
    cluster_given_topic,
    token_share_of_topic,
    token_weights,
)
from mcsquared.report.packing import pack, pack_lists, pack_shares

N_SHARES = 30  # topics listed with a cluster, clusters listed with a topic
N_WORDS = 30  # per topic and position of the relevance slider
N_WORDS_OF_CLUSTER = 18
N_TOPICS_OF_WORD = 5
MAX_OVERLAP_CLUSTERS = 60  # overlaps are computed for the largest clusters
_MIN_LISTED_SHARE = 5e-4
_MAX_WORDS = 50_000  # only the most frequent words can be searched
_PIXEL = re.compile(r"r(\d+)c(\d+)")


def image_shape_of(vocabulary: NDArray[np.object_]) -> tuple[int, int] | None:
    """Return height and width if the words are the pixels of an image: r0c0, r0c1, ..."""
    matches = [_PIXEL.fullmatch(word) for word in vocabulary]
    if not matches or not all(matches):
        return None
    pixels = [(int(match[1]), int(match[2])) for match in matches if match]
    height, width = (max(pixel[axis] for pixel in pixels) + 1 for axis in range(2))
    grid = [(row, column) for row in range(height) for column in range(width)]
    return (height, width) if pixels == grid else None


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
    listed_joint = joint[: posterior.n_listed_topics]
    topic_of_word = np.argsort(-listed_joint, axis=0, kind="stable")[:N_TOPICS_OF_WORD].T
    share = np.take_along_axis((joint / np.maximum(joint.sum(axis=0), 1e-300)).T, topic_of_word, 1)
    return {
        "vocabulary": words.texts(listed),
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
    short = [shorten(name, MAX_WORD_LENGTH) for name in names]
    return {"kind": "vectors", "unit": "vectors", "image": image_shape, "dimensions": short}


def vector_data(posterior: Posterior) -> dict[str, Any]:
    """Return means of each topic, each cluster and overall, and sds if the family has them."""
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
        drawn = token_weights(posterior, draw) @ draw.token_shares()
        drawn = align_topics(drawn, topic, posterior.n_topics)
        np.minimum(low, drawn, out=low)
        np.maximum(high, drawn, out=high)
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
    posterior: Posterior,
    shares: TopicShares,
    words: TopicWords | None,
    has_images: bool,
    dimensions: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the clusters' part of the report that depends on their content."""
    return {
        "n": posterior.n_clusters,
        "names": cluster_names(posterior, dimensions),
        "size": pack(np.bincount(posterior.labels)),
        "tokens": pack(posterior.tokens_of_cluster),
        "topics": _largest_shares(*(part[:, : posterior.n_listed_topics] for part in shares)),
        "words": words and _words_of_clusters(posterior, words, shares.share),
        "images": pack(shares.share @ posterior.components) if has_images else None,
        "overlap": pack(cluster_overlap(posterior)),
    }


def _words_of_clusters(
    posterior: Posterior, words: TopicWords, shares: Floats
) -> list[list[tuple[Any, ...]]]:
    """Return the characteristic words of each cluster: word, lift, share of its groups.

    Without the content of the clusters, lifts are those of their topics, and shares are omitted.
    """
    content = posterior.cluster_content
    if content is None or posterior.document_frequency is None:
        return [_distinctive_words(words, row @ words.topics) for row in shares]
    overall = posterior.document_frequency / posterior.n_fitted
    sizes = np.bincount(posterior.labels)
    lists = []
    for listed, n_with_word, size in zip(content.words, content.n_groups, sizes, strict=True):
        word = listed[listed >= 0]
        share = n_with_word[listed >= 0] / size
        lift = share / np.maximum(overall[word], 1e-300)
        chosen = np.flatnonzero((lift > 1.05) & (share >= min(0.1, 2 / size)))
        order = chosen[np.argsort(-(share * np.log(lift))[chosen], kind="stable")]
        order = order[:N_WORDS_OF_CLUSTER]
        lists.append(
            [
                (text, round(float(lift[i]), 2), round(float(share[i]), 3))
                for text, i in zip(words.texts(word[order]), order, strict=True)
            ]
        )
    return lists


def _distinctive_words(words: TopicWords, probability: Floats) -> list[tuple[Any, ...]]:
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
    posterior: Posterior,
    shares: TopicShares,
    words: TopicWords | None,
    has_images: bool,
    dimensions: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the topics' part of the report, except for their typical groups."""
    table = posterior.topics(include_small=True)
    return {
        "n": posterior.n_listed_topics,
        "n_unlisted": posterior.n_topics - posterior.n_listed_topics,
        "tokens": pack(posterior.tokens_of_topic),
        "share": pack(token_share_of_topic(posterior)),
        "stability": table["stability"].round(3).tolist(),
        "coherence": None if words is None else table["coherence"].round(3).tolist(),
        "names": topic_names(posterior, dimensions),
        "clusters": _largest_shares(cluster_given_topic(posterior).T, shares.share.T),
        "images": pack(posterior.components) if has_images else None,
    }
