"""Simulated corpora of a given size, used to measure how the cost of a sweep scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

TOPICS_PER_GROUP = 8
ZIPF_OFFSET = 5  # added to ranks: the most frequent words have similar frequencies


@dataclass(frozen=True)
class Size:
    """Size of a corpus, and the numbers of topics, clusters and categories it is drawn from."""

    n_groups: int
    tokens_per_group: int
    n_words: int
    n_topics: int
    n_clusters: int
    n_categories: int = 0

    def scaled(self, scale: float) -> Size:
        """Return the size with ``scale`` times the groups and √scale times the words."""
        return Size(
            max(int(self.n_groups * scale), 50),
            self.tokens_per_group,
            max(int(self.n_words * scale**0.5), 100),
            self.n_topics,
            self.n_clusters,
            self.n_categories,
        )


def sized_corpus(size: Size, seed: int = 0) -> Corpus:
    """Return a simulated corpus of words with the context "year", and "place" if n_categories > 0.

    Lengths vary, word frequencies follow Zipf's law, and a group uses some topics of its cluster,
    because the repetition of words within a group determines the cost of many steps.
    """
    from mcsquared.corpus import Corpus

    rng = np.random.default_rng(seed)
    cluster = rng.integers(size.n_clusters, size=size.n_groups)
    length = rng.lognormal(np.log(size.tokens_per_group), 0.4, size.n_groups).astype(int) + 1
    group = np.repeat(np.arange(size.n_groups), length)
    topics_of_cluster = rng.integers(size.n_topics, size=(size.n_clusters, 4 * TOPICS_PER_GROUP))
    chosen = rng.integers(4 * TOPICS_PER_GROUP, size=(size.n_groups, TOPICS_PER_GROUP))
    topics_of_group = topics_of_cluster[cluster[:, None], chosen]
    topic = topics_of_group[group, rng.integers(TOPICS_PER_GROUP, size=len(group))]
    word = _words(topic, size, rng)
    ones, shape = np.ones(len(group), np.int32), (size.n_groups, size.n_words)
    contexts = {"year": 2000 + 10 * rng.normal(size=size.n_clusters)[cluster] + cluster % 3}
    contexts["year"] += rng.normal(size=size.n_groups)
    if size.n_categories:
        first = rng.integers(size.n_categories, size=size.n_clusters)[cluster]
        offset = rng.geometric(0.1, size=size.n_groups)
        contexts["place"] = ((first + offset) % size.n_categories).astype(str)
    return Corpus(sparse.csr_matrix((ones, (group, word)), shape=shape), contexts)


def _words(topic: NDArray[np.int64], size: Size, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw the words of all tokens, one topic at a time."""
    frequency = 1.0 / (ZIPF_OFFSET + np.arange(size.n_words))
    word = np.empty(len(topic), np.int32)
    by_topic = np.argsort(topic.astype(np.int16), kind="stable")
    start = np.searchsorted(topic[by_topic], np.arange(size.n_topics + 1))
    for m in range(size.n_topics):
        tokens = by_topic[start[m] : start[m + 1]]
        share = frequency * rng.gamma(0.05, size=size.n_words)
        drawn = np.repeat(
            np.arange(size.n_words, dtype=np.int32),
            rng.multinomial(len(tokens), share / share.sum()),
        )
        rng.shuffle(drawn)
        word[tokens] = drawn
    return word
