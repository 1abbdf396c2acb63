"""Content other than words in the blocked sampler: parameters of all topics, then the tokens."""

from __future__ import annotations

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
from mcsquared.samplers.blocked.members import place_members
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.blocked.workers import Workers
from mcsquared.state import State

__all__ = ["move_groups", "move_members"]

TOPICS = int(Step.TOPICS)


def draw_topics(state: State, observations: Observations, key: Key) -> VectorTokens:
    """Draw the parameters of every topic slot; return the tokens with their likelihoods."""
    family = observations.content_family
    rng = key.generator(Step.CONTENT)
    parameters = family.sample_parameters(state.counts.topic_statistics, rng)
    natural = family.natural_parameters(parameters)
    return natural_tokens(observations.content_kind, observations.values, natural)


def move_groups(
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> None:
    """Draw clusters with topics summed out, then the topic of every token: λ = ∞."""
    tokens, bounds = draw_topics(state, observations, key), observations.layout.chunk_start

    def place(first: int, last: int) -> None:
        for chunk in range(first, last):
            begin, end = bounds[chunk], bounds[chunk + 1]
            scores = np.zeros((end - begin, len(weights.log_clusters)))
            score_vector_groups(
                begin, end, observations.group_start, tokens, weights.log_shares, scores
            )
            draw_clusters_by_scores(
                begin,
                end,
                scores,
                weights.log_clusters,
                observations.dense,
                observations.bags,
                contexts,
                *key,
                state.cluster_of_group,
            )

    def draw(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
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
        )
        return topics, statistics

    workers.map(len(bounds) - 1, place)
    parts = workers.map(len(bounds) - 1, draw)
    state.take_topics(sum(topics for topics, _ in parts))
    _sum_statistics(state, [statistics for _, statistics in parts])


def move_members(
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> float:
    """Draw topics of tokens, clusters of groups and their tables: λ finite.

    Returns what `place_members` does.
    """
    tokens, bounds = draw_topics(state, observations, key), observations.layout.chunk_start

    def visit(first: int, last: int) -> NDArray[np.float64]:
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
        )
        return statistics

    _sum_statistics(state, workers.map(len(bounds) - 1, visit))
    return place_members(state, observations, weights, contexts, key, workers)


def _room(
    state: State, observations: Observations, n_chunks: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return room for counts per cluster and topic, and for statistics of each chunk's topics."""
    n_slots = len(state.topic_weights)
    topics = np.zeros((len(state.counts.groups_in_cluster), n_slots), np.int32)
    return topics, np.zeros((n_chunks, n_slots, observations.n_content_statistics))


def _sum_statistics(state: State, parts: list[NDArray[np.float64]]) -> None:
    total = np.zeros_like(state.counts.topic_statistics)
    for part in parts:
        for chunk in part:  # one after another: the order decides how the sum is rounded
            total += chunk
    state.counts.topic_statistics = total
