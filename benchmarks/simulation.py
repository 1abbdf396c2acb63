"""Simulate documents with hundreds of millions of tokens, directly as arrays of the samplers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numba import njit, prange

from mcsquared.kernels.rng import random_uint32s, unit_float32

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.observations import Observations

MEAN_COUNT = 1.5  # of a word in a document that contains it


@dataclass(frozen=True)
class Simulated:
    """Simulated documents.

    ``corpus`` contains only the vocabulary, from which priors are made. ``clusters`` are the true
    clusters, int32 (n_groups,).
    """

    corpus: Corpus
    observations: Observations
    clusters: np.ndarray


def simulate(
    n_groups: int, n_tokens: int, n_words: int, n_clusters: int, n_topics: int, seed: int = 0
) -> Simulated:
    """Return documents of clusters that mix topics, which share a few frequent words.

    The number of tokens is approximate, within a few per cent.
    """
    rng = np.random.default_rng(seed)
    shares = np.cumsum(rng.dirichlet(np.full(n_topics, 0.1), n_clusters), axis=1)
    clusters = rng.integers(0, n_clusters, n_groups).astype(np.int32)
    lengths = np.maximum(rng.gamma(2.0, n_tokens / MEAN_COUNT / n_groups / 2, n_groups), 1.0)
    start = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
    word, count = np.empty(start[-1], np.int32), np.empty(start[-1], np.int32)
    _fill(start, clusters, shares, n_words, seed, word, count)
    corpus, observations = _observed(n_words, start, word, count)
    return Simulated(corpus, observations, clusters)


@njit(parallel=True)
def _fill(start, clusters, shares, n_words, seed, word, count):
    n_topics = shares.shape[1]
    for j in prange(start.size - 1):
        cumulative = shares[clusters[j]]
        for e in range(start[j], start[j + 1]):
            numbers = random_uint32s((seed, 0, 0), 0, e, 0)
            topic = min(np.searchsorted(cumulative, unit_float32(numbers[0])), n_topics - 1)
            # Ranks follow Zipf's law; topics differ in their frequent words.
            rank = np.int64(math.exp(unit_float32(numbers[1]) * math.log(n_words)) - 1.0)
            word[e] = (rank * (1 + rank % 7) + topic * (n_words // n_topics)) % n_words
            more = math.log(unit_float32(numbers[2])) / math.log(1.0 - 1.0 / MEAN_COUNT)
            count[e] = 1 + np.int32(more)


def _observed(
    n_words: int, start: np.ndarray, word: np.ndarray, count: np.ndarray
) -> tuple[Corpus, Observations]:
    """Return the entries as observations, without the copies that a corpus would make."""
    from mcsquared.corpus import Corpus
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe
    from mcsquared.observations.layout import Entries

    corpus = Corpus(np.ones((2, n_words), np.int64))
    one = observe(corpus, Priors.for_corpus(corpus))
    none = replace(one, word=one.word[:0], group_start=np.zeros(3, np.int64))
    tokens = np.add.reduceat(count, start[:-1], dtype=np.int64)
    observations = replace(
        none.take(np.zeros(len(start) - 1, np.int64)),
        group_start=np.concatenate([[0], np.cumsum(tokens)]),
        word=np.repeat(word, count),
    )
    observations.layout.__dict__["words_of_group"] = Entries(start, word, count)
    return corpus, observations
