"""Content other than words: clusters and topics given the parameters of all topics."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mcsquared.arrays import Floats, Int32s
from mcsquared.kernels.cpu.matrices import log_likelihoods_of_vectors
from mcsquared.kernels.cpu.vector_tokens import (
    VectorTokens,
    draw_vector_topics,
    natural_tokens,
    score_vector_groups,
)
from mcsquared.samplers.content import effects, python_families
from mcsquared.samplers.content.python_families import (
    GroupOrder,
    blocks_of_chunks,
    draw_clusters_by_chunk,
)
from mcsquared.samplers.threads import join_chunks
from mcsquared.samplers.types import GroupTask

TOKEN_COST = 100.0  # nanoseconds to draw the topic of a token, at least


def token_blocks(task: GroupTask) -> Iterator[tuple[int, int, VectorTokens]]:
    """Yield ranges of chunks, ``first`` and ``last``, with the likelihoods of their tokens.

    All chunks are yielded at once if a kernel computes the likelihoods.
    """
    observations, globals_ = task.observations, task.globals
    if observations.python_content is not None:
        yield from python_families.token_blocks(task)
        return
    if observations.has_wide_vectors:
        yield from _blocks_of_wide_vectors(task)
        return
    natural = observations.content_family.natural_parameters(globals_.content)
    tokens = natural_tokens(observations.content_kernel, observations.values, natural)
    yield 0, len(observations.layout.chunk_start) - 1, tokens


def _blocks_of_wide_vectors(task: GroupTask) -> Iterator[tuple[int, int, VectorTokens]]:
    """Yield blocks of tokens of many dimensions.

    Given the cluster, the likelihood of a topic is computed only as far as it matters.
    """
    observations, labels, globals_, threads = task
    family: Any = observations.content_family
    whitened, n_slots = family.whitened_parameters(globals_.content), globals_.slots[1]
    group = np.repeat(np.arange(observations.n_groups), np.diff(observations.group_start))
    for first, last, block in blocks_of_chunks(observations, n_slots):
        values, cluster = observations.values[block], labels.cluster_of_group[group[block]]
        start, log_bounds = np.zeros(len(values), np.int64), np.zeros((0, n_slots))
        if globals_.groups_vary and globals_.effects is None:
            start[:] = labels.topic_of_token[block]
            # The prior of a topic is λ τ_km + n_jm, at least λ τ_km and at most λ + n_j.
            n_tokens = np.diff(observations.group_start)[group[block], None]
            log_bounds = globals_.weights.log_shares[cluster] - np.log1p(n_tokens / globals_.lam)
        rows = np.empty((len(values), n_slots))
        arguments = (values, whitened, start, log_bounds, rows)
        threads.map(len(rows), partial(_fill_likelihoods, arguments), work=TOKEN_COST * rows.size)
        no_natural, no_statistics = np.zeros((0, n_slots)), np.zeros((0, 0))
        kind = observations.content_kernel
        tokens = VectorTokens(
            kind, observations.values, no_natural, rows, block.start, no_statistics
        )
        yield first, last, tokens


def _fill_likelihoods(arguments: tuple[Any, ...], first: int, last: int) -> None:
    log_likelihoods_of_vectors(first, last, *arguments)


def draw_clusters_and_topics(task: GroupTask) -> dict[str, Any]:
    """Draw clusters with topics summed out, then the topic of every token (λ = ∞)."""
    observations, _, globals_, threads = task
    log_shares = globals_.weights.log_shares
    order = GroupOrder(task)

    def score(tokens: VectorTokens, first: int, last: int) -> Floats:
        scores = np.zeros((last - first, len(log_shares)))
        score_vector_groups(first, last, observations.group_start, tokens, log_shares, scores)
        return scores

    parts: list[Any] = []
    for first, last, tokens in token_blocks(task):
        draw_clusters_by_chunk(task, order, partial(score, tokens), first, last)
        draw = partial(_draw_topics, task, tokens)
        parts += threads.map(last - first, draw, first, work=TOKEN_COST * observations.n_tokens)
    return {
        "topics_in_cluster": sum(topics for topics, _ in parts),
        "topic_statistics": join_chunks([statistics for _, statistics in parts]),
    }


def draw_topics(task: GroupTask, words_in_topic: Any = None) -> dict[str, Any]:
    """Draw the topic of every token in turn and sum their statistics (λ finite)."""
    parts: list[Any] = []
    work = TOKEN_COST * task.observations.n_tokens
    for first, last, tokens in token_blocks(task):
        if task.globals.effects is not None:
            with_effects = partial(effects.draw_vector_topics_by_chunk, task, tokens)
            statistics_of_parts = task.threads.map(last - first, with_effects, first, work=work)
            parts += [(None, part) for part in statistics_of_parts]
        else:
            draw = partial(_draw_topics, task, tokens)
            parts += task.threads.map(last - first, draw, first, work=work)
    return {"topic_statistics": join_chunks([statistics for _, statistics in parts])}


def _draw_topics(
    task: GroupTask, tokens: VectorTokens, first: int, last: int
) -> tuple[Int32s, Floats]:
    """Draw the topics of some chunks of groups.

    Return the tokens by cluster and topic, and the statistics by chunk and topic. The statistics of
    wide vectors are large: those of empty chunks, which a small corpus has many of, are left out.
    """
    observations, labels, globals_, _ = task
    weights = (globals_.weights.log_shares, globals_.lam)
    ranges = [(first, last)]
    if observations.has_wide_vectors:
        starts = observations.group_start[observations.layout.chunk_start[first : last + 1]]
        ranges = [(first + c, first + c + 1) for c in np.flatnonzero(np.diff(starts)).tolist()]
    n_chunks = sum(end - begin for begin, end in ranges)
    shape = (n_chunks, globals_.slots[1], observations.n_content_statistics)
    topics, statistics, done = np.zeros(globals_.slots, np.int32), np.zeros(shape), 0
    for begin, end in ranges:
        sums = (topics, statistics[done : done + end - begin])
        draw_vector_topics(
            begin, end, observations.groups, tokens, *weights, *labels, *sums, globals_.key
        )
        done += end - begin
    return topics, statistics
