"""Report data of the content: words, pixels of images, or vectors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.posterior import Posterior
from mcsquared.report.packing import pack, pack_lists, pack_shares, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence


N_WORDS = 30  # of a topic, at every position of the relevance slider
N_WORDS_OF_CLUSTER = 18
N_TOPICS_OF_WORD = 5
NAMING_RELEVANCE = 0.4  # prefers distinctive words to frequent ones
_MAX_WORDS = 50_000  # most frequent words in the search
_MAX_LENGTH = 60  # of a word
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


class Words:
    """The words of a model with their probabilities in topics and overall."""

    def __init__(self, posterior: Posterior) -> None:
        self.vocabulary: NDArray[np.object_] = np.asarray(posterior.vocabulary)
        self.topics = posterior.components
        weight = posterior.tokens_of_topic / max(posterior.tokens_of_topic.sum(), 1)
        self.overall = np.maximum(weight @ self.topics, 1e-300)
        frequency = posterior.word_frequency
        self.frequency = np.zeros_like(self.overall, np.int64) if frequency is None else frequency
        sample = self.vocabulary[np.argsort(-self.frequency, kind="stable")[:200]]
        named = [bool(_WORDLIKE.fullmatch(word)) for word in sample]
        # Codes such as "vw12" or "sift7" are not names.
        self.readable = bool(np.mean(named) > 0.6) if named else False

    def best(self, probability: Floats, relevance: float, limit: int) -> NDArray[np.int64]:
        """Return the words of the highest relevance, λ ln p(w) + (1 − λ) ln (p(w) / p)."""
        if len(probability) == 0:
            return np.zeros(0, np.int64)
        log_p = np.log(np.maximum(probability, 1e-300))
        score = log_p - (1.0 - relevance) * np.log(self.overall)
        # Rare words have the highest lift, but are not representative.
        score = np.where(probability * len(probability) > 0.5, score, -np.inf)
        limit = min(limit, len(score))
        best = np.argpartition(-score, limit - 1)[:limit]
        return best[np.lexsort((best, -score[best]))]

    def named(self, words: NDArray[np.int64]) -> list[str]:
        """Return words by their indices, shortened."""
        return [shorten(self.vocabulary[w], _MAX_LENGTH) for w in words]

    def name(self, probability: Floats, n_words: int = 3) -> str:
        """Return a few words as the name of a topic or a cluster; empty if words are codes."""
        if not self.readable:
            return ""
        chosen: list[str] = []
        for word in self.named(self.best(probability, NAMING_RELEVANCE, 4 * n_words)):
            if len(chosen) < n_words and not any(_same_stem(word, other) for other in chosen):
                chosen.append(word)
        return ", ".join(chosen)


def _same_stem(one: str, other: str) -> bool:
    """Return whether two words share a stem: unit and units, policy and policies."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common >= max(3, shorter - 2)


def word_data(posterior: Posterior, words: Words) -> dict[str, Any]:
    """Return the words of each topic for all positions of the slider, and the topics of words."""
    positions = np.linspace(0.0, 1.0, 11)
    lists = [
        np.unique(np.concatenate([words.best(row, position, N_WORDS) for position in positions]))
        for row in words.topics
    ]
    frequent = np.argsort(-words.frequency, kind="stable")[:_MAX_WORDS]
    listed = np.unique(np.concatenate([frequent, *lists])).astype(np.int64)
    joint = words.topics[:, listed] * posterior.tokens_of_topic[:, None]
    topic_of_word = np.argsort(-joint, axis=0, kind="stable")[:N_TOPICS_OF_WORD].T
    share = np.take_along_axis((joint / np.maximum(joint.sum(axis=0), 1e-300)).T, topic_of_word, 1)
    return {
        "vocabulary": words.named(listed),
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
    """Return the kind of the content, its unit, and how to draw it."""
    if posterior.vocabulary is not None:
        shape = image_shape or image_shape_of(posterior.vocabulary)
        unit = "pixels" if shape else "words"
        return {"kind": "words", "unit": unit, "image": shape, "dimensions": None}
    names = list(dimension_names or ())
    width = posterior.components.shape[1]
    names += [f"dimension {d}" for d in range(len(names), width)]
    return {
        "kind": "vectors",
        "unit": "vectors",
        "image": image_shape,
        "dimensions": [shorten(name, _MAX_LENGTH) for name in names[:width]],
    }


def vector_data(posterior: Posterior) -> dict[str, Any]:
    """Return mean, and sd if the family has one, of each topic, of each cluster and overall."""
    means = posterior.components
    statistics = np.asarray(posterior.representative_draw.content_statistics)
    covariance = posterior.priors.content.mean_covariance(statistics)
    weight = posterior.tokens_of_topic / max(posterior.tokens_of_topic.sum(), 1)
    mixture = np.vstack([posterior.topic_of_tokens, weight])
    mixture_means = mixture @ means
    data: dict[str, Any] = {
        "width": int(means.shape[1]),
        "topic_mean": pack(means),
        "cluster_mean": pack(mixture_means[:-1]),
        "overall_mean": pack(mixture_means[-1]),
        "topic_sd": None,
    }
    if covariance is None:
        return data
    covariance = covariance[posterior.topic_order]
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    squares = mixture @ (variance + np.square(means)) - np.square(mixture_means)
    sd = np.sqrt(np.maximum(squares, 0.0))
    data |= {
        "topic_sd": pack(np.sqrt(variance)),
        "cluster_sd": pack(sd[:-1]),
        "overall_sd": pack(sd[-1]),
    }
    if means.shape[1] >= 2:
        # Of the first two dimensions, to draw ellipses.
        data["topic_covariance"] = pack(covariance[:, 0, 1])
    return data
