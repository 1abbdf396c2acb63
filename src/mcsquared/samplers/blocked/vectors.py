"""Content other than words in the blocked sampler: parameters of all topics, then the tokens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.given_contexts import ContextParameters, draw_clusters_by_scores
from mcsquared.kernels.cpu.vector_likelihood import VectorTokens, natural_tokens
from mcsquared.kernels.cpu.vector_tokens import (
    draw_vector_topics,
    score_vector_groups,
    sweep_vector_groups,
)
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.blocked import own
from mcsquared.samplers.blocked.members import place_members
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.workers import Workers, add_in_order
from mcsquared.state import State

__all__ = ["move_groups", "move_members"]

TOPICS = int(Step.TOPICS)


class Moved(NamedTuple):
    """What a move leaves by chunk of groups, beside what it writes to the state.

    ``log_rising`` is what `place_members` returns, None where λ = ∞; ``statistics`` float64
    (n_chunks, topic slots, n_stats), None where topics have no parameters drawn.
    """

    log_rising: NDArray[np.float64] | None
    statistics: NDArray[np.float64] | None


def token_blocks(
    state: State, observations: Observations, key: Key
) -> Iterator[tuple[int, int, VectorTokens]]:
    """Draw the parameters of every topic slot; yield chunks of groups with their likelihoods.

    All chunks at once where kernels compute the likelihoods.
    """
    if observations.python_content is not None:
        yield from own.token_blocks(state, observations, key)
        return
    family = observations.content_family
    rng = key.generator(Step.CONTENT)
    parameters = family.sample_parameters(state.counts.topic_statistics, rng)
    natural = family.natural_parameters(parameters)
    tokens = natural_tokens(observations.content_kind, observations.values, natural)
    yield 0, len(observations.layout.chunk_start) - 1, tokens


def move_groups(
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> Moved:
    """Draw clusters with topics summed out, then the topic of every token: λ = ∞."""
    if own.integrates(observations.python_content):
        move_groups_in_turn(state, observations, weights, contexts, key, workers)
        return Moved(None, None)
    bounds = observations.layout.chunk_start
    visits = own.Visits(state, observations, contexts, workers)

    def place(tokens: VectorTokens, first: int, last: int) -> None:
        for chunk in _occupied(bounds, first, last):
            begin, end = bounds[chunk], bounds[chunk + 1]
            scores = np.zeros((end - begin, len(weights.log_clusters)))
            score_vector_groups(
                begin, end, observations.group_start, tokens, weights.log_shares, scores
            )
            _draw_clusters(chunk, scores, state, observations, weights, contexts, key, visits)

    def draw(
        tokens: VectorTokens, first: int, last: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        topics, statistics = _room(state, observations, last - first)
        draw_vector_topics(
            first,
            last,
            bounds,
            observations.group_start,
            tokens,
            weights.log_shares,
            state.cluster_of_group,
            state.topic_of_token,
            topics,
            statistics,
            *key,
            TOPICS,
            observations.first_token,
        )
        return topics, statistics

    parts: list[Any] = []
    for first, last, tokens in token_blocks(state, observations, key):
        visits.workers.map(last - first, partial(place, tokens), first)
        parts += workers.map(last - first, partial(draw, tokens), first)
    state.take_topics(sum(topics for topics, _ in parts))
    statistics = np.concatenate([part for _, part in parts])
    state.counts.topic_statistics = add_in_order(statistics)
    return Moved(None, statistics)


def move_groups_in_turn(
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> None:
    """Draw topics token by token, then clusters given topics: λ = ∞, no parameters of topics."""
    own.resample_topics(state, observations, weights, key)
    bounds = observations.layout.chunk_start
    visits = own.Visits(state, observations, contexts, workers)

    def place(first: int, last: int) -> None:
        for chunk in _occupied(bounds, first, last):
            begin, end = bounds[chunk], bounds[chunk + 1]
            scores = own.score_given_topics(begin, end, state, observations, weights.log_shares)
            _draw_clusters(chunk, scores, state, observations, weights, contexts, key, visits)

    visits.workers.map(len(bounds) - 1, place)
    topics = np.zeros((len(weights.log_clusters), len(state.topic_weights)), np.int32)
    cluster_of_token = np.repeat(state.cluster_of_group, np.diff(observations.group_start))
    np.add.at(topics, (cluster_of_token, state.topic_of_token), 1)
    state.take_topics(topics)


def _occupied(bounds: NDArray[np.int64], first: int, last: int) -> list[int]:
    """Return the chunks that have groups: in a small corpus most have none."""
    return [chunk for chunk in range(first, last) if bounds[chunk] < bounds[chunk + 1]]


def _draw_clusters(
    chunk: int,
    scores: NDArray[np.float64],
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    visits: own.Visits,
) -> None:
    """Draw the clusters of a chunk's groups, whose content has been scored."""
    begin = observations.layout.chunk_start[chunk]
    for part in visits.parts(chunk, chunk + 1):
        first, last = (visits.bounds[bound] for bound in part)
        draw_clusters_by_scores(
            first,
            last,
            scores[first - begin : last - begin],
            weights.log_clusters,
            observations.dense,
            observations.bags,
            contexts,
            *key,
            observations.first_group,
            state.cluster_of_group,
        )


def move_members(
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> Moved:
    """Draw topics of tokens, clusters of groups and their tables: λ finite."""
    bounds = observations.layout.chunk_start

    def visit(tokens: VectorTokens, first: int, last: int) -> NDArray[np.float64]:
        topics, statistics = _room(state, observations, last - first)
        sweep_vector_groups(
            first,
            last,
            bounds,
            observations.group_start,
            tokens,
            weights.log_shares,
            state.lam,
            state.cluster_of_group,
            state.topic_of_token,
            topics,
            statistics,
            *key,
            TOPICS,
            observations.first_token,
        )
        return statistics

    statistics = None
    if own.integrates(observations.python_content):
        own.resample_topics(state, observations, weights, key)
    else:
        parts: list[NDArray[np.float64]] = []
        for first, last, tokens in token_blocks(state, observations, key):
            parts += workers.map(last - first, partial(visit, tokens), first)
        statistics = np.concatenate(parts)
        state.counts.topic_statistics = add_in_order(statistics)
    log_rising = place_members(state, observations, weights, contexts, key, workers)
    return Moved(log_rising, statistics)


def _room(
    state: State, observations: Observations, n_chunks: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return room for counts per cluster and topic, and for statistics of each chunk's topics."""
    n_slots = len(state.topic_weights)
    topics = np.zeros((len(state.counts.groups_in_cluster), n_slots), np.int32)
    return topics, np.zeros((n_chunks, n_slots, observations.n_content_statistics))
