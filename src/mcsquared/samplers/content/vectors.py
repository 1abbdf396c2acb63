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
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.content import python_families
from mcsquared.samplers.content.python_families import GroupOrder, draw_clusters_by_chunk
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Globals, Labels

TOPICS = int(Step.TOPICS)


def token_blocks(
    observations: Observations, given: Globals
) -> Iterator[tuple[int, int, VectorTokens]]:
    """Yield chunks of groups with the likelihoods of their tokens.

    All chunks at once where a kernel computes the likelihoods.
    """
    if observations.python_content is not None:
        yield from python_families.token_blocks(observations, given)
        return
    natural = observations.content_family.natural_parameters(given.content)
    tokens = natural_tokens(observations.content_kind, observations.values, natural)
    yield 0, len(observations.layout.chunk_start) - 1, tokens


def draw_clusters_and_topics(
    observations: Observations, labels: Labels, given: Globals, threads: ThreadPool
) -> dict[str, Any]:
    """Draw clusters with topics summed out, then the topic of every token: λ = ∞."""
    bounds, log_shares = observations.layout.chunk_start, given.weights.log_shares
    order = GroupOrder(observations, labels.clusters, given.contexts, len(log_shares), threads)

    def score(tokens: VectorTokens, first: int, last: int) -> NDArray[np.float64]:
        scores = np.zeros((last - first, len(log_shares)))
        score_vector_groups(first, last, observations.group_start, tokens, log_shares, scores)
        return scores

    def draw(
        tokens: VectorTokens, first: int, last: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        topics, statistics = _empty_sums(observations, given, last - first)
        draw_vector_topics(
            first,
            last,
            bounds,
            observations.group_start,
            tokens,
            log_shares,
            *labels,
            topics,
            statistics,
            *given.key,
            TOPICS,
            observations.first_token,
        )
        return topics, statistics

    parts: list[Any] = []
    for first, last, tokens in token_blocks(observations, given):
        draw_clusters_by_chunk(
            observations, labels, given, order, partial(score, tokens), first, last
        )
        parts += threads.map(last - first, partial(draw, tokens), first)
    return {
        "topics": sum(topics for topics, _ in parts),
        "topic_statistics": np.concatenate([statistics for _, statistics in parts]),
    }


def draw_topics(
    observations: Observations,
    labels: Labels,
    given: Globals,
    threads: ThreadPool,
    words_in_topic: Any = None,
) -> dict[str, Any]:
    """Draw the topic of every token in turn and sum their statistics: λ finite."""

    def visit(tokens: VectorTokens, first: int, last: int) -> NDArray[np.float64]:
        topics, statistics = _empty_sums(observations, given, last - first)
        sweep_vector_groups(
            first,
            last,
            observations.layout.chunk_start,
            observations.group_start,
            tokens,
            given.weights.log_shares,
            given.lam,
            *labels,
            topics,
            statistics,
            *given.key,
            TOPICS,
            observations.first_token,
        )
        return statistics

    parts: list[NDArray[np.float64]] = []
    for first, last, tokens in token_blocks(observations, given):
        parts += threads.map(last - first, partial(visit, tokens), first)
    return {"topic_statistics": np.concatenate(parts)}


def _empty_sums(
    observations: Observations, given: Globals, n_chunks: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return zeros for counts by cluster and topic, and for statistics by chunk and topic."""
    shape = (n_chunks, given.slots[1], observations.n_content_statistics)
    return np.zeros(given.slots, np.int32), np.zeros(shape)
