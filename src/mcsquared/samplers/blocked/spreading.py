"""From a start with some groups to labels for all of them.

A chain of a large corpus begins with a sample of its groups. What it finds there are the globals by
which all groups get their first labels, in the way of λ = ∞: clusters with topics summed out, then
topics. They depend on the place of a group in the corpus, not on the shard it is in.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.spreading import draw_first_topics
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked import vectors, words
from mcsquared.samplers.blocked.contexts import draw_contexts
from mcsquared.samplers.blocked.own import integrates
from mcsquared.samplers.blocked.psi import Psi
from mcsquared.samplers.blocked.weights import Key, Weights, draw_shares
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = ["Labels", "Spread", "groups_to_begin_with"]

MOST_TOKENS, MOST_GROUPS = 20_000_000, 20_000  # of a corpus that a chain begins with as a whole
SAMPLED_GROUPS = 10_000  # of a larger one


def groups_to_begin_with(
    observations: Observations, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return the groups of a large corpus that a chain begins with; None: all of them."""
    shown, n_groups, n_tokens = observations.sampled, observations.n_groups, observations.n_tokens
    few = n_tokens <= MOST_TOKENS and n_groups <= MOST_GROUPS
    if shown is None and (few or integrates(observations.python_content)):
        return None
    known = np.arange(n_groups) if shown is None else shown
    most = min(SAMPLED_GROUPS, math.ceil(n_groups * MOST_TOKENS / max(n_tokens, 1)), len(known))
    return np.sort(rng.choice(known, most, replace=False))


class Labels(NamedTuple):
    """The labels of a shard's groups and tokens, as in `State`."""

    clusters: NDArray[np.int32]
    topics: NDArray[Any]


class Spread:
    """First labels of any shard, by what a chain has found in its sample.

    Parameters
    ----------
    state : State
        Of the sample. Slots that are empty there stay empty.
    observations : Observations
        Any that have the families of all.
    """

    def __init__(self, state: State, observations: Observations, priors: Priors, key: Key) -> None:
        counts = state.counts
        with np.errstate(divide="ignore"):
            log_clusters = np.log(counts.groups_in_cluster) - np.log(counts.groups_in_cluster.sum())
        self._state, self._key = state, key
        self._weights = Weights(
            topics=state.topic_weights,
            log_clusters=log_clusters,
            log_shares=draw_shares(state, state.topic_weights, key, ONE),
        )
        self._contexts = draw_contexts(state, observations, key, ONE)
        if observations.n_words:
            self._variates, sums = Psi(state, observations, priors, key, ONE).variates()
            self._shares = words.divided_shares(self._weights, sums)

    def labels(self, shard: Observations, workers: Workers = ONE) -> Labels:
        """Draw the first labels of a shard."""
        given = (self._weights, self._contexts, self._key, workers)
        clusters = np.zeros(shard.n_groups, np.int32)
        is_words, topics = shard.n_words > 0, np.zeros(0, np.uint16)
        if not is_words or not math.isinf(self._state.lam):
            topics = np.zeros(shard.n_tokens, np.uint16)
        state = replace(
            self._state,
            cluster_of_group=clusters,
            topic_of_token=topics,
            counts=replace(self._state.counts),  # a move puts new ones in their place
        )
        if not is_words:
            vectors.move_groups(state, shard, *given)
            return Labels(clusters, topics)
        words.draw_clusters(state, shard, self._variates, self._shares, *given)
        if len(topics):
            self._draw_topics(shard, clusters, topics, workers)
        return Labels(clusters, topics)

    def _draw_topics(
        self,
        shard: Observations,
        clusters: NDArray[np.int32],
        topics: NDArray[np.uint16],
        workers: Workers,
    ) -> None:
        bounds = shard.layout.chunk_start

        def draw(first: int, last: int) -> None:
            draw_first_topics(
                bounds[first],
                bounds[last],
                shard.group_start,
                shard.word,
                clusters,
                self._shares,
                self._variates,
                *self._key,
                int(Step.FIRST_TOPICS),
                shard.first_token,
                topics,
            )

        workers.map(len(bounds) - 1, draw)
