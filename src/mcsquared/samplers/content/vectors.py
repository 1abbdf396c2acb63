"""Content other than words: clusters and topics given the parameters of all topics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.vector_likelihood import VectorTokens, natural_tokens
from mcsquared.kernels.cpu.vector_tokens import (
    draw_vector_topics,
    score_vector_groups,
    sweep_vector_groups,
)
from mcsquared.samplers.content import python_families
from mcsquared.samplers.content.python_families import GroupOrder, draw_clusters_by_chunk
from mcsquared.samplers.types import GroupTask


def token_blocks(task: GroupTask) -> Iterator[tuple[int, int, VectorTokens]]:
    """Yield chunks of groups with the likelihoods of their tokens.

    All chunks at once where a kernel computes the likelihoods.
    """
    observations, given = task.observations, task.given
    if observations.python_content is not None:
        yield from python_families.token_blocks(task)
        return
    natural = observations.content_family.natural_parameters(given.content)
    tokens = natural_tokens(observations.content_kind, observations.values, natural)
    yield 0, len(observations.layout.chunk_start) - 1, tokens


def draw_clusters_and_topics(task: GroupTask) -> dict[str, Any]:
    """Draw clusters with topics summed out, then the topic of every token: λ = ∞."""
    observations, labels, given, threads = task
    log_shares = given.weights.log_shares
    order = GroupOrder(task)

    def score(tokens: VectorTokens, first: int, last: int) -> NDArray[np.float64]:
        scores = np.zeros((last - first, len(log_shares)))
        score_vector_groups(first, last, observations.group_start, tokens, log_shares, scores)
        return scores

    def draw(
        tokens: VectorTokens, first: int, last: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        topics, statistics = _empty_sums(task, last - first)
        out = (*labels, topics, statistics)
        draw_vector_topics(first, last, observations.groups, tokens, log_shares, *out, given.key)
        return topics, statistics

    parts: list[Any] = []
    for first, last, tokens in token_blocks(task):
        draw_clusters_by_chunk(task, order, partial(score, tokens), first, last)
        parts += threads.map(last - first, partial(draw, tokens), first)
    return {
        "topics": sum(topics for topics, _ in parts),
        "topic_statistics": np.concatenate([statistics for _, statistics in parts]),
    }


def draw_topics(task: GroupTask, words_in_topic: Any = None) -> dict[str, Any]:
    """Draw the topic of every token in turn and sum their statistics: λ finite."""
    observations, labels, given, threads = task

    def visit(tokens: VectorTokens, first: int, last: int) -> NDArray[np.float64]:
        topics, statistics = _empty_sums(task, last - first)
        weights = (given.weights.log_shares, given.lam)
        out = (*labels, topics, statistics)
        sweep_vector_groups(first, last, observations.groups, tokens, *weights, *out, given.key)
        return statistics

    parts: list[NDArray[np.float64]] = []
    for first, last, tokens in token_blocks(task):
        parts += threads.map(last - first, partial(visit, tokens), first)
    return {"topic_statistics": np.concatenate(parts)}


def _empty_sums(task: GroupTask, n_chunks: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return zeros for counts by cluster and topic, and for statistics by chunk and topic."""
    slots = task.given.slots
    shape = (n_chunks, slots[1], task.observations.n_content_statistics)
    return np.zeros(slots, np.int32), np.zeros(shape)
