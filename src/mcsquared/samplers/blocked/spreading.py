"""From a start with some groups to labels for all of them.

A chain of a large corpus begins with a sample of its groups. What it finds there are the counts
from which the first sweep draws its globals; the labels below only give that sweep something to
move. They depend on the place of a group in the corpus, not on the shard it is in.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.spreading import draw_from_sums, draw_topics_of_words
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.observations.stored import StoredObservations
from mcsquared.samplers.blocked.weights import Key
from mcsquared.state import State

__all__ = ["Spread", "groups_to_begin_with"]

MOST_TOKENS, MOST_GROUPS = 20_000_000, 400_000  # that a chain begins with


def groups_to_begin_with(
    observations: Observations, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return the groups of a large corpus that a chain begins with; None: all of them."""
    if isinstance(observations, StoredObservations):
        return observations.shown
    share = MOST_TOKENS / max(observations.n_tokens, 1)
    most = min(MOST_GROUPS, math.ceil(observations.n_groups * share))
    if most >= observations.n_groups:
        return None
    return np.sort(rng.choice(observations.n_groups, most, replace=False))


class Labels(NamedTuple):
    """The labels of a shard's groups and tokens, as in `State`."""

    clusters: NDArray[np.int32]
    topics: NDArray[Any]


class Spread:
    """First labels of any shard, by what a chain has found in its sample.

    Parameters
    ----------
    state : State
        Of the sample.
    """

    def __init__(self, state: State, n_words: int, key: Key) -> None:
        counts = state.counts
        self.key = key
        self.n_words = n_words
        self.has_topics = not (n_words and math.isinf(state.lam))
        self.clusters = np.cumsum(counts.groups_in_cluster, dtype=np.float64)
        self.topics = np.cumsum(counts.tokens_in_topic, dtype=np.float64)
        self.words = np.zeros((0, 0), np.float32)
        if n_words and self.has_topics:
            # A word that the sample does not have is as likely in any topic as tokens are.
            weights = counts.words_in_topic + np.diff(self.topics, prepend=0.0) / self.topics[-1]
            self.words = np.cumsum(weights, axis=1).astype(np.float32)

    def labels(self, shard: Observations) -> Labels:
        """Return the first labels of a shard."""
        clusters = np.zeros(shard.n_groups, np.int32)
        first = (*self.key, int(Step.FIRST_CLUSTERS), shard.first_group)
        draw_from_sums(self.clusters, *first, clusters)
        topics = np.zeros(shard.n_tokens * self.has_topics, np.uint16)
        first = (*self.key, int(Step.FIRST_TOPICS), shard.first_token)
        if len(self.words):
            draw_topics_of_words(shard.word, self.words, *first, topics)
        elif self.has_topics:
            draw_from_sums(self.topics, *first, topics)
        return Labels(clusters, topics)
