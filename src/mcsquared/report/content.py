"""What topics and clusters are made of: words, pixels of an image, or vectors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.report.packing import clipped, pack, pack_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcsquared.posterior import Posterior

__all__ = ["Words", "content_data", "image_shape_of", "vector_data", "word_data"]

Floats = NDArray[np.float64]

N_WORDS = 30  # of a topic, at every place of the relevance slider
N_WORDS_OF_CLUSTER = 18
N_TOPICS_OF_WORD = 5
NAMING_RELEVANCE = 0.4  # words that name a topic are rather its own than frequent ones
_MOST_WORDS = 50_000  # in the search; the rarer ones are left out
_LONGEST_WORD = 60
_PIXEL = re.compile(r"r(\d+)c(\d+)")
_WORDLIKE = re.compile(r"[^\W\d_]{2,}([-'’ _][^\W\d_]+)*")


def image_shape_of(vocabulary: NDArray[np.object_]) -> tuple[int, int] | None:
    """Return height and width if the words are all pixels of one image, row after row: r0c0, ..."""
    found = [_PIXEL.fullmatch(word) for word in vocabulary]
    if not found or not all(found):
        return None
    places = [(int(match[1]), int(match[2])) for match in found if match]
    height, width = (max(place[axis] for place in places) + 1 for axis in range(2))
    whole = [(row, column) for row in range(height) for column in range(width)]
    return (height, width) if places == whole else None


class Words:
    """Words of a model: their probabilities in topics, in clusters and overall.

    Parameters
    ----------
    posterior : Posterior
        With a vocabulary.
    """

    def __init__(self, posterior: Posterior) -> None:
        self.vocabulary: NDArray[np.object_] = np.asarray(posterior.vocabulary)
        self.topics = posterior.components
        weight = posterior.tokens_of_topic / max(posterior.tokens_of_topic.sum(), 1)
        self.overall = np.maximum(weight @ self.topics, 1e-300)
        frequency = posterior.word_frequency
        self.frequency = (
            np.zeros(len(self.vocabulary), np.int64) if frequency is None else frequency
        )
        sample = self.vocabulary[np.argsort(-self.frequency, kind="stable")[:200]]
        named = [bool(_WORDLIKE.fullmatch(word)) for word in sample]
        # "vw12" or "sift7" say nothing to a reader and name nothing.
        self.readable = bool(np.mean(named) > 0.6) if named else False

    def best(self, probability: Floats, relevance: float, most: int) -> NDArray[np.int64]:
        """Return the words of the greatest relevance, λ ln p(w) + (1 − λ) ln (p(w) / p)."""
        if len(probability) == 0:
            return np.zeros(0, np.int64)
        log_p = np.log(np.maximum(probability, 1e-300))
        score = log_p - (1.0 - relevance) * np.log(self.overall)
        # A word that hardly occurs has the greatest lift and the least meaning.
        score = np.where(probability * len(probability) > 0.5, score, -np.inf)
        most = min(most, len(score))
        best = np.argpartition(-score, most - 1)[:most]
        return best[np.lexsort((best, -score[best]))]

    def named(self, words: NDArray[np.int64]) -> list[str]:
        """Return words by their numbers, cut where they are very long."""
        return [clipped(self.vocabulary[w], _LONGEST_WORD) for w in words]

    def name(self, probability: Floats, n_words: int = 3) -> str:
        """Return a few words that stand for a topic or a cluster; empty if none would help."""
        if not self.readable:
            return ""
        chosen: list[str] = []
        for word in self.named(self.best(probability, NAMING_RELEVANCE, 4 * n_words)):
            if len(chosen) < n_words and not any(_same_stem(word, other) for other in chosen):
                chosen.append(word)
        return ", ".join(chosen)


def _same_stem(one: str, other: str) -> bool:
    """Say whether two words are forms of one: unit and units, policy and policies."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common >= max(3, shorter - 2)


def word_data(posterior: Posterior, words: Words) -> dict[str, Any]:
    """Return the words of all topics for every place of the slider, and topics of all words."""
    places = np.linspace(0.0, 1.0, 11)
    lists, shares, lengths = [], [], []
    for probability in words.topics:
        chosen = np.unique(
            np.concatenate([words.best(probability, place, N_WORDS) for place in places])
        )
        lists.append(chosen)
        shares.append(probability[chosen])
        lengths.append(len(chosen))
    used = np.unique(np.concatenate(lists)) if lists else np.zeros(0, np.int64)
    order = np.argsort(-words.frequency, kind="stable")[:_MOST_WORDS]
    listed = np.union1d(used, order).astype(np.int64)
    joint = words.topics[:, listed] * posterior.tokens_of_topic[:, None]
    topic_of_word = np.argsort(-joint, axis=0, kind="stable")[:N_TOPICS_OF_WORD].T
    share = np.take_along_axis((joint / np.maximum(joint.sum(axis=0), 1e-300)).T, topic_of_word, 1)
    flat = np.concatenate(lists) if lists else np.zeros(0, np.int64)
    return {
        "vocabulary": words.named(listed),
        "left_out": len(words.vocabulary) - len(listed),
        "frequency": pack(words.frequency[listed]),
        "overall": pack(words.overall[listed]),
        "topic_of_word": pack(topic_of_word),
        "topic_share": pack_shares(share),
        "n_topics_of_word": int(topic_of_word.shape[1]),
        "lengths": pack(np.array(lengths, np.int64)),
        "words": pack(np.searchsorted(listed, flat)),
        "shares": pack(np.concatenate(shares) if shares else np.zeros(0)),
    }


def content_data(
    posterior: Posterior,
    image_shape: tuple[int, int] | None,
    dimension_names: Sequence[str] | None,
) -> dict[str, Any]:
    """Return what the page calls the content, and how it draws it."""
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
        "dimensions": [clipped(name, _LONGEST_WORD) for name in names[:width]],
    }


def vector_data(posterior: Posterior) -> dict[str, Any]:
    """Return mean, and where the family tells it spread, of each topic, of each cluster, of all."""
    means = posterior.components
    covariance = _covariances(posterior)
    shares = posterior.topic_of_tokens
    weight = posterior.tokens_of_topic / max(posterior.tokens_of_topic.sum(), 1)
    mixed = np.vstack([shares, weight])
    mixed_means = mixed @ means
    data: dict[str, Any] = {
        "width": int(means.shape[1]),
        "topic_mean": pack(means),
        "cluster_mean": pack(mixed_means[:-1]),
        "overall_mean": pack(mixed_means[-1]),
        "topic_sd": None,
    }
    if covariance is None:
        return data
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    squares = mixed @ (variance + np.square(means)) - np.square(mixed_means)
    spread = np.sqrt(np.maximum(squares, 0.0))
    data |= {
        "topic_sd": pack(np.sqrt(variance)),
        "cluster_sd": pack(spread[:-1]),
        "overall_sd": pack(spread[-1]),
    }
    if means.shape[1] >= 2:
        # Of the first two dimensions, for ellipses.
        data["topic_covariance"] = pack(covariance[:, 0, 1])
    return data


def _covariances(posterior: Posterior) -> Floats | None:
    """Return the expected covariance of each topic: (n_topics, width, width); None: unknown."""
    statistics = np.asarray(posterior.representative_draw.content_statistics)
    covariance = posterior.priors.content.mean_covariance(statistics)
    return None if covariance is None else covariance[posterior.topic_order]
