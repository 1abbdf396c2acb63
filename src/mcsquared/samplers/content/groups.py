"""The sweep over groups given the globals, with the clusters of varying groups and the sums."""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Float32s, Floats, Int32s
from mcsquared.kernels.cpu.contexts import sum_contexts
from mcsquared.kernels.cpu.counts import count_pairs
from mcsquared.kernels.cpu.lanes import aligned
from mcsquared.kernels.cpu.varying_groups import (
    ScoredGroups,
    resample_groups,
    resample_scored_groups,
    tabulate_log_rising_factorials,
)
from mcsquared.observations import Observations
from mcsquared.samplers.content import effects, python_families, vectors, words
from mcsquared.samplers.content.background import with_outliers
from mcsquared.samplers.content.python_families import (
    GroupOrder,
    context_statistics_by_chunk,
    is_integrated,
)
from mcsquared.samplers.steps.weights import as_float32
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import GroupTask, Sums
from mcsquared.state import TopicLabels

MAX_TABULATED = 128  # largest count of a group in a topic whose log rising factorial is tabulated
MAX_TABULATED_CELLS = 1 << 22  # 16 MB of tabulated values
MAX_SCORES = 1 << 24  # 128 MB: groups × cluster slots whose scores are kept


class GroupScores(NamedTuple):
    """Scores of all groups in all clusters, and what they were computed from."""

    groups: ScoredGroups
    # From `tabulate_factorials`
    base: Float32s
    tabulated: Float32s


class ScoredLabels(NamedTuple):
    """Labels of groups whose scores are known: topics were drawn, and clusters were not."""

    cluster_of_group: Int32s
    topic_of_token: TopicLabels
    scores: GroupScores


def sweep_groups(
    task: GroupTask, words_in_topic: Int32s | None = None, scores: GroupScores | None = None
) -> Sums:
    """Draw the topics and clusters of all groups in place, and return their sums.

    Every CPU backend calls this function, for the whole corpus or for a shard of it. For words with
    λ = ∞ it draws clusters only: topics are drawn by cell afterwards, from the summed counts.
    The labels of the task are overwritten. Where λ is finite, words are counted in
    ``words_in_topic``, int32 (n_words, topic slots), if it is given. ``scores`` are those of the
    groups given topics that were drawn before, if they are known.
    """
    content = content_of(task.observations)
    sums: dict[str, Any]
    if task.globals.groups_vary:
        # With levels above groups, topics were drawn before the types of their parents.
        sums = (
            content.draw_topics(task, words_in_topic) if task.globals.parent_weights is None else {}
        )
        if scores is not None:
            sums |= resample_groups_with_scores(task, scores)
        elif task.globals.effects is not None:
            sums |= effects.resample_groups(task)
        else:
            sums |= resample_varying_groups(task)
    else:
        sums = content.draw_clusters_and_topics(task)
    return Sums(**sums, **sum_by_cluster(task))


def content_of(observations: Observations) -> ModuleType:
    """Return the module that resamples this kind of content."""
    if observations.n_words:
        return words
    return python_families if is_integrated(observations.python_content) else vectors


def resample_varying_groups(task: GroupTask) -> dict[str, Any]:
    """Draw z_j and o_jm of every group given its tokens' topics; return fields of `Sums`."""
    observations, labels, globals_, _ = task
    layout = observations.layout
    base, tabulated = tabulate_factorials(task)
    order = GroupOrder(task)
    topic_log_likelihood = np.zeros(len(order.groups.chunk_start) - 1)
    tokens = (order.groups, labels.topic_of_token, base, tabulated.reshape(-1))
    scores = (globals_.weights.log_cluster_weights, order.contexts)

    def assign(first: int, last: int) -> tuple[Int32s, Int32s]:
        topics, tables = np.zeros(base.shape, np.int32), np.zeros(base.shape, np.int32)
        out = (labels.cluster_of_group, topics, tables, topic_log_likelihood)
        for part in order.parts(first, last):
            resample_groups(*part, *tokens, *scores, globals_.key, *out)
        return topics, tables

    work = 5.0 * observations.n_tokens + 12.0 * observations.n_groups * len(base)
    parts = order.threads.map(len(layout.chunk_start) - 1, assign, work=work)
    return _add_parts(parts, topic_log_likelihood)


def _add_parts(parts: list[tuple[Int32s, Int32s]], topic_log_likelihood: Floats) -> dict[str, Any]:
    return {
        "topics_in_cluster": sum(topics for topics, _ in parts),
        "tables_in_cluster": sum(tables for _, tables in parts),
        "topic_log_likelihood": topic_log_likelihood,
    }


def empty_scores(task: GroupTask) -> GroupScores | None:
    """Return arrays for the scores of all groups, if they are kept until clusters are drawn.

    They are not if λ = ∞, if there are too many, or if contexts of Python families add to them.
    """
    observations, n_clusters = task.observations, task.globals.slots[0]
    is_large = observations.n_groups * n_clusters > MAX_SCORES
    if not task.globals.groups_vary or is_large or observations.python_contexts:
        return None
    shape = (observations.n_groups, n_clusters)
    most = np.minimum(np.diff(observations.group_start), task.globals.slots[1])
    lists = np.empty((2, int(most.sum())), np.int32)
    start, n_topics = np.cumsum(most) - most, np.empty(len(most), np.int32)
    scores = (np.empty(shape), np.empty(shape, np.float32))
    return GroupScores(ScoredGroups(*scores, start, n_topics, *lists), *tabulate_factorials(task))


def resample_groups_with_scores(task: GroupTask, scores: GroupScores) -> dict[str, Any]:
    """Draw the same as `resample_varying_groups`, given the scores and the types of the parents."""
    observations, labels, globals_, threads = task
    groups, parents = observations.groups, globals_.parent_weights
    assert parents is not None
    topic_log_likelihood = np.zeros(len(groups.chunk_start) - 1)
    rows = (parents.log_rows, parents.row_of_unit[observations.parent_of_group])
    arguments = (groups, scores.base, scores.groups, *rows, globals_.key)

    def assign(first: int, last: int) -> tuple[Int32s, Int32s]:
        topics, tables = np.zeros((2, *scores.base.shape), np.int32)
        out = (labels.cluster_of_group, topics, tables, topic_log_likelihood)
        resample_scored_groups(first, last, *arguments, *out)
        return topics, tables

    work = 5.0 * observations.n_tokens + 6.0 * observations.n_groups * len(scores.base)
    parts = threads.map(len(groups.chunk_start) - 1, assign, work=work)
    return _add_parts(parts, topic_log_likelihood)


def tabulate_factorials(task: GroupTask) -> tuple[Float32s, Float32s]:
    """Return λτ and a table of its log rising factorials.

    Both are float32: (cluster slots, topic slots) and (topic slots, largest count + 1, cluster
    slots).
    """
    globals_, longest = task.globals, task.observations.layout.longest
    base = as_float32(globals_.lam * np.exp(globals_.weights.log_shares))
    n_cluster_slots, n_slots = base.shape
    n_tabulated = max(min(MAX_TABULATED, MAX_TABULATED_CELLS // base.size - 1, longest), 1)
    tabulated = aligned(n_slots, n_tabulated + 1, n_cluster_slots)

    def tabulate(first: int, last: int) -> None:
        tabulate_log_rising_factorials(first, last, base, tabulated)

    task.threads.map(n_slots, tabulate, work=3.0 * tabulated.size)
    return base, tabulated


def sum_by_cluster(task: GroupTask) -> dict[str, Any]:
    """Count the groups of every cluster and sum their contexts; return fields of `Sums`."""
    observations, labels, globals_, threads = task
    clusters, n_slots = labels.cluster_of_group, globals_.slots[0]
    observations = with_outliers(observations, clusters, globals_.contexts, globals_.key, threads)
    sums = sum_by_label(observations, clusters, n_slots, threads)
    if globals_.parent_weights is not None:
        row_of_unit = globals_.parent_weights.row_of_unit
        sums["children"] = count_children(observations, clusters, row_of_unit, n_slots)
    return sums


def count_children(
    observations: Observations, cluster_of_group: Int32s, row_of_unit: Int32s, n_clusters: int
) -> Int32s:
    """Count groups by row of their parent and cluster: int32 (rows, cluster slots).

    ``row_of_unit`` has the row of every unit and, at the end, that of groups without a parent,
    which is the last row.
    """
    children = np.zeros((int(row_of_unit[-1]) + 1, n_clusters), np.int32)
    count_pairs(row_of_unit[observations.parent_of_group], cluster_of_group, children)
    return children


def sum_by_label(
    observations: Observations, label_of_group: Int32s, n_labels: int, threads: ThreadPool
) -> dict[str, Any]:
    """Count the groups of every label and sum their contexts; return fields of `Sums`."""
    chunk_start = observations.layout.chunk_start
    n_chunks = len(chunk_start) - 1
    statistics = np.zeros((n_chunks, n_labels, observations.n_context_statistics))
    contexts = (chunk_start, label_of_group, observations.dense, observations.bags)

    def run(first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        groups = np.zeros(n_labels, np.int32)
        categories = np.zeros((observations.n_categories, n_labels), np.int32)
        totals = np.zeros((n_labels, len(observations.bag_families)), np.int64)
        sum_contexts(first, last, *contexts, groups, statistics, categories, totals)
        return groups, categories, totals

    counts, *others = threads.map(n_chunks, run, even=True, work=70.0 * observations.n_groups)
    for other in others:
        for total, part in zip(counts, other, strict=True):
            total += part
    context_statistics_by_chunk(observations, label_of_group, statistics)
    sums = zip(("groups", "categories", "totals"), counts, strict=True)
    return {**dict(sums), "context_statistics": statistics}
