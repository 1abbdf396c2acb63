"""Messages of groups to the units above them: their log-likelihoods by type, summed by parent."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mcsquared.arrays import Floats, Int32s
from mcsquared.kernels.cpu.messages import (
    add_messages,
    keep_scores,
    score_contexts,
    score_groups_of_words,
    score_varying_groups,
)
from mcsquared.kernels.cpu.vector_tokens import VectorTokens, score_vector_groups
from mcsquared.observations import Observations
from mcsquared.samplers.content.groups import (
    GroupScores,
    ScoredLabels,
    content_of,
    count_children,
    empty_scores,
    tabulate_factorials,
)
from mcsquared.samplers.content.python_families import GroupOrder
from mcsquared.samplers.content.vectors import token_blocks
from mcsquared.samplers.content.words import tabulate_words
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Globals, GroupTask, Labels

GROUPS_PER_BATCH = 1024  # groups whose likelihoods are in memory at a time, per thread

# Writes the log-likelihood of groups first:last in every cluster.
ScoreFunction = Callable[[int, int, Floats], None]


class TypeWeights(NamedTuple):
    """Argument of `sum_messages`."""

    globals: Globals
    log_rows: Floats  # (type slots, cluster slots): log Π
    n_units: int
    # If given, these counts are overwritten, see `content.groups.sweep_groups`, and labels as well.
    words_in_topic: Int32s | None = None


def sum_messages(
    observations: Observations, labels: Labels, argument: TypeWeights, threads: ThreadPool
) -> tuple[Labels | ScoredLabels, dict[str, Any]]:
    """Draw the topics of all tokens if λ is finite, and sum the messages of groups by parent.

    The result has the fields of `Sums` that the topics of tokens determine, and ``messages``,
    int64 (n_units, type slots). Labels are returned with the scores of the groups, if possible.
    """
    globals_, log_rows, n_units, words_in_topic = argument
    if globals_.groups_vary and words_in_topic is None:
        labels = Labels(labels.cluster_of_group, labels.topic_of_token.copy())
    task = GroupTask(observations, labels, globals_, threads)
    sums: dict[str, Any] = {}
    if globals_.groups_vary:
        sums = content_of(observations).draw_topics(task, words_in_topic)
    rows = np.ascontiguousarray(np.exp(log_rows).T)
    chunk_start, n_clusters = observations.layout.chunk_start, globals_.slots[0]
    kept = empty_scores(task)

    def send(score: ScoreFunction, first_chunk: int, last_chunk: int) -> Any:
        messages = np.zeros((n_units, len(log_rows)), np.int64)
        first, end = int(chunk_start[first_chunk]), int(chunk_start[last_chunk])
        while first < end:
            last = min(first + GROUPS_PER_BATCH, end)
            if kept is None:
                scores = np.zeros((last - first, n_clusters))
            else:
                scores = kept.groups.scores[first:last]
            score(first, last, scores)
            add_messages(first, scores, log_rows, rows, observations.parent_of_group, messages)
            first = last
        return messages

    messages = np.zeros((n_units, len(log_rows)), np.int64)
    for first, last, score in scorers(task, kept):
        messages += sum(threads.map(last - first, partial(send, score), first, even=True))
    sums |= {"messages": messages}
    return (labels if kept is None else ScoredLabels(*labels, kept)), sums


class UnitCount(NamedTuple):
    """Argument of `count_by_unit`: the numbers of units and of cluster slots."""

    n_units: int
    n_clusters: int


def count_by_unit(
    observations: Observations, labels: Labels, argument: UnitCount, threads: ThreadPool
) -> tuple[Labels, dict[str, Any]]:
    """Count groups by parent and cluster: ``children``, int32 (n_units + 1, cluster slots).

    The last row has the groups without a parent.
    """
    units = np.arange(argument.n_units + 1, dtype=np.int32)
    clusters = labels.cluster_of_group
    return labels, {"children": count_children(observations, clusters, units, argument.n_clusters)}


def scorers(task: GroupTask, kept: GroupScores | None) -> Iterator[tuple[int, int, ScoreFunction]]:
    """Yield ranges of chunks, ``first`` and ``last``, with the `ScoreFunction` of their groups."""
    observations, labels, globals_, _ = task
    n_chunks = len(observations.layout.chunk_start) - 1
    contexts = GroupOrder(task).contexts
    if globals_.groups_vary:
        base, tabulated = tabulate_factorials(task) if kept is None else kept[1:]
        tokens = (observations.groups, labels.topic_of_token, base, tabulated.reshape(-1), contexts)
        if kept is not None:
            yield 0, n_chunks, lambda first, last, _: keep_scores(first, last, *tokens, kept.groups)
            return
        yield 0, n_chunks, lambda first, last, out: score_varying_groups(first, last, *tokens, out)
    elif observations.n_words:
        words = (observations.layout.words_of_group, tabulate_words(task).reshape(-1), contexts)
        yield 0, n_chunks, lambda first, last, out: score_groups_of_words(first, last, *words, out)
    else:
        for first_chunk, last_chunk, tokens_of_block in token_blocks(task):
            yield first_chunk, last_chunk, partial(score_vectors, task, tokens_of_block, contexts)


def score_vectors(
    task: GroupTask, tokens: VectorTokens, contexts: Any, first: int, last: int, scores: Floats
) -> None:
    """Write the log-likelihood of vectors, topics summed out, and of contexts (λ = ∞)."""
    log_shares, start = task.globals.weights.log_shares, task.observations.group_start
    score_vector_groups(first, last, start, tokens, log_shares, scores)
    score_contexts(first, last, contexts, scores)
