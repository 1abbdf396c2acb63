"""Functions that the split-merge step maps over the groups of every shard, and their arguments.

Each takes the observations and labels of a shard, an argument and threads, and returns the labels
and additive sums. `mcsquared.samplers.steps.split_merge` calls them through the backend.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.kernels.cpu.effects import SourceRows, fill_rest_of_entries
from mcsquared.kernels.cpu.lams import add_groups_given_lams
from mcsquared.kernels.cpu.share_tables import (
    Likelihoods,
    Moments,
    tabulate_likelihoods,
    tabulate_log_gammas,
    tabulate_moments,
)
from mcsquared.kernels.cpu.split_merge import (
    ANCHORS,
    FIXED_POINT,
    GroupBases,
    Launch,
    Pairs,
    count_topics_of_groups,
    divide_groups,
    draw_tables_of_sets,
    sum_table_moments,
    sum_topics,
)
from mcsquared.observations import Observations
from mcsquared.observations.layout import Entries
from mcsquared.samplers.content.background import with_outliers
from mcsquared.samplers.content.groups import count_children, sum_by_label
from mcsquared.samplers.threads import ThreadPool, add_in_order
from mcsquared.samplers.types import ContextDraw, Key, Labels, add_sums
from mcsquared.state import TopicLabels

SumsByName = dict[str, Any]
_NONE, _NO_COUNTS = np.zeros((0, 0)), np.zeros((0, 0, 0), np.int64)
NO_LIKELIHOODS = Likelihoods(_NONE, _NONE, np.zeros((0, 0, 0)), _NO_COUNTS)
NO_MOMENTS = Moments(_NONE, _NONE, _NO_COUNTS, _NO_COUNTS)


class DividedLabels(NamedTuple):
    """Labels of a shard while its clusters are split and merged."""

    cluster_of_group: Int32s
    topic_of_token: TopicLabels
    rows: Entries  # topics of every group, which do not change
    # (n_groups,): 2p + side for a group of pair p; 2 n_pairs for a group without a pair
    sides: Int32s
    bases: GroupBases | None = None  # from `bases_of_groups`, if labels stay in memory


class ClusterDraw(NamedTuple):
    """Parameters and key with which clusters were drawn in this sweep, if backgrounds exist."""

    contexts: ContextDraw
    key: Key


class GroupDivision(NamedTuple):
    """How `divide` divides groups between the sides of pairs."""

    mode: int  # `ANCHORS`, `SCAN` or `PROPOSAL`, see `divide_groups`
    attempt: int  # number of the division, on which its random numbers depend
    pairs: Pairs
    launch: Launch
    category_shapes: Floats  # (categories of all bags,): current Dirichlet parameters
    # (2 n_pairs, statistics of all contexts except bags): used for contexts of Python families
    statistics: Floats
    lam: float
    key: Key
    effects: SourceRows | None = None
    drawn: ClusterDraw | None = None


class GroupSets(NamedTuple):
    """Sets of groups whose tables are drawn: the sides of all pairs, then their unions."""

    shares: Floats  # (3 n_pairs, topic slots)
    is_new: Any  # bool (3 n_pairs,): whether a set is not yet a cluster
    lam: float
    key: Key
    effects: SourceRows | None = None


class ChosenGroups(NamedTuple):
    """Argument of `begin_division`: the number of topic slots, and groups in increasing order."""

    n_topic_slots: int
    chosen: Int64s


def begin_division(
    observations: Observations, labels: Labels, argument: ChosenGroups, threads: ThreadPool
) -> tuple[DividedLabels, tuple[Int32s, Floats]]:
    """Count the topics of every group; return clusters and topic counts of the chosen groups.

    Counts are float64 (groups of the shard among the chosen, topic slots).
    """
    groups, (n_slots, chosen) = observations.groups, argument

    def run(first: int, last: int) -> Any:
        return count_topics_of_groups(first, last, groups, labels.topic_of_token, n_slots)

    parts = threads.map(len(groups.chunk_start) - 1, run, work=3.0 * observations.n_tokens)
    n_topics, topic, count = (np.concatenate(found) for found in zip(*parts, strict=True))
    rows = Entries(np.concatenate([[0], np.cumsum(n_topics)]), topic, count)
    clusters, sides = labels.cluster_of_group.copy(), np.zeros(observations.n_groups, np.int32)
    first, last = np.searchsorted(chosen, observations.first_group + np.array([0, len(clusters)]))
    in_shard = chosen[first:last] - observations.first_group
    counts = np.zeros((len(in_shard), n_slots))
    for row, j in enumerate(in_shard):
        entries = slice(rows.start[j], rows.start[j + 1])
        counts[row, rows.column[entries]] = rows.count[entries]
    divided = DividedLabels(clusters, labels.topic_of_token, rows, sides)
    return divided, (clusters[in_shard], counts)


def divide(
    observations: Observations, labels: DividedLabels, division: GroupDivision, threads: ThreadPool
) -> tuple[DividedLabels, SumsByName]:
    """Divide the groups of every pair between its two sides; sum them by side."""
    n_sides, n_slots = division.launch.shares.shape
    observations = _with_outliers(observations, labels, division.drawn, threads)
    launch = division.launch._replace(scores=_python_scores(observations, labels, division))
    sides, bases = labels.sides.copy(), bases_of_groups(observations, labels, division)
    contexts = (observations.dense, observations.bags_given(division.category_shapes))
    groups = (observations.groups, labels.cluster_of_group, labels.rows, contexts)
    likelihoods = NO_LIKELIHOODS
    if bases.rest.size == 0 and division.mode != ANCHORS:
        likelihoods = tabulate_likelihoods(division.lam, launch.shares, FIXED_POINT)
    pairs = (division.pairs, launch, likelihoods, bases)
    arguments = (*division[:2], *groups, *pairs, division.key, sides)
    shapes = {"tables": (n_sides, n_slots), "log_proposal": n_sides // 2, "n_moved": 1}
    sums = _sum_chunks(observations, divide_groups, arguments, shapes, threads)
    sums |= sum_by_label(observations, sides, n_sides + 1, threads)
    return labels._replace(sides=sides, bases=bases), sums


def bases_of_groups(
    observations: Observations, labels: DividedLabels, argument: GroupDivision | GroupSets
) -> GroupBases:
    """Return the parts of each group's base measure that do not depend on the shares of its set."""
    values, lam = observations.effect_values, argument.lam
    if labels.bases is not None:
        return labels.bases
    if argument.effects is None or values is None:
        return GroupBases(lam, np.zeros(0), np.zeros(0))
    bases = GroupBases(lam, np.zeros(observations.n_groups), np.zeros(len(labels.rows.column)))
    fill_rest_of_entries(lam, labels.rows, values, argument.effects, bases.weight, bases.rest)
    return bases


def _python_scores(
    observations: Observations, labels: DividedLabels, division: GroupDivision
) -> Floats:
    """Return the log odds of contexts whose families are written in Python, (n_groups,) or (0,)."""
    if not observations.python_contexts:
        return np.zeros(0)
    scores = np.zeros(observations.n_groups)
    pair_of_group = division.pairs.pair_of_cluster[labels.cluster_of_group]
    for context, columns in observations.python_columns:
        pair_of_value = pair_of_group[context.observed]
        for p in np.unique(pair_of_value[pair_of_value >= 0]):
            chosen = np.flatnonzero(pair_of_value == p)
            both = division.statistics[2 * p : 2 * p + 2, columns]
            log_density = context.family.log_predictive(context.x[chosen], both)
            odds = np.nan_to_num(log_density[:, 0] - log_density[:, 1])
            scores[np.flatnonzero(context.observed)[chosen]] += odds
    return scores


def sum_moments(
    observations: Observations, labels: DividedLabels, sets: GroupSets, threads: ThreadPool
) -> tuple[DividedLabels, SumsByName]:
    """Sum means and variances of the numbers of tables of every set."""
    bases = bases_of_groups(observations, labels, sets)
    moments = NO_MOMENTS
    if bases.rest.size == 0:
        moments = tabulate_moments(sets.lam, sets.shares, FIXED_POINT)
    arguments = (observations.groups, labels.rows, labels.sides, bases, sets.shares, moments)
    shapes = dict.fromkeys(("means", "variances"), sets.shares.shape)
    return labels, _sum_chunks(observations, sum_table_moments, arguments, shapes, threads)


def draw_set_tables(
    observations: Observations, labels: DividedLabels, sets: GroupSets, threads: ThreadPool
) -> tuple[DividedLabels, SumsByName]:
    """Draw the tables of new sets, and sum log p(n_j | τ) of all sets."""
    bases = bases_of_groups(observations, labels, sets)
    log_gammas = np.zeros((0, 0))
    if bases.rest.size == 0:
        log_gammas = tabulate_log_gammas(sets.lam, sets.shares)
    new = (*sets[:2], log_gammas, sets.key)
    arguments = (observations.groups, labels.rows, labels.sides, bases, *new)
    shapes = {"tables": sets.shares.shape, "log_likelihood": len(sets.shares)}
    return labels, _sum_chunks(observations, draw_tables_of_sets, arguments, shapes, threads)


class LamCandidates(NamedTuple):
    """Argument of `sum_given_lams`: τ (cluster slots, topic slots), values of λ, and a key.

    If ``draws``, tables are drawn given the first λ. Otherwise ``lams`` are in increasing order.
    """

    shares: Floats
    lams: Floats
    draws: bool
    key: Key


def sum_given_lams(
    observations: Observations, labels: DividedLabels, argument: LamCandidates, threads: ThreadPool
) -> tuple[DividedLabels, SumsByName]:
    """Sum log p(n_j | λ, τ) over all groups for every λ, or draw the tables of all groups."""
    arguments = (observations.groups, labels.rows, labels.cluster_of_group, *argument)
    shapes = {"tables": argument.shares.shape, "log_likelihood": len(argument.lams)}
    return labels, _sum_chunks(observations, add_groups_given_lams, arguments, shapes, threads)


class RowCount(NamedTuple):
    """Argument of `count_rows`: rows of units, see `ParentWeights`, and the number of sides."""

    row_of_unit: Int32s
    n_sides: int


def count_rows(
    observations: Observations, labels: DividedLabels, argument: RowCount, threads: ThreadPool
) -> tuple[DividedLabels, SumsByName]:
    """Count groups by row of their parent and by side of a pair: (rows, n_sides)."""
    return labels, {"rows": count_children(observations, labels.sides, *argument)}


class NewClusters(NamedTuple):
    """Argument of `end_division`."""

    slots: tuple[int, int]  # numbers of cluster slots and topic slots
    # (2 n_pairs,): cluster of the groups of every side; empty if there are no pairs
    cluster_of_side: Int32s
    # Rows of units, if groups are to be counted by row of their parent.
    row_of_unit: Int32s | None = None
    drawn: ClusterDraw | None = None


def end_division(
    observations: Observations, labels: DividedLabels, argument: NewClusters, threads: ThreadPool
) -> tuple[Labels, SumsByName]:
    """Move the groups of every side to its cluster; return plain labels and sums of clusters."""
    slots, cluster_of_side, row_of_unit, drawn = argument
    observations = _with_outliers(observations, labels, drawn, threads)
    inside = labels.sides < len(cluster_of_side)
    clusters = labels.cluster_of_group.copy()
    clusters[inside] = cluster_of_side[labels.sides[inside]]
    arguments, shapes = (observations.groups, labels.rows, clusters), {"topics_in_cluster": slots}
    sums = _sum_chunks(observations, sum_topics, arguments, shapes, threads, np.int32)
    sums |= sum_by_label(observations, clusters, slots[0], threads)
    if row_of_unit is not None:
        sums["children"] = count_children(observations, clusters, row_of_unit, slots[0])
    return Labels(clusters, labels.topic_of_token), sums


def _with_outliers(
    observations: Observations,
    labels: DividedLabels,
    drawn: ClusterDraw | None,
    threads: ThreadPool,
) -> Observations:
    """Return the observations with outliers marked as when the groups were swept."""
    contexts, key = (None, Key(0, 0, 0)) if drawn is None else drawn
    return with_outliers(observations, labels.cluster_of_group, contexts, key, threads)


def _sum_chunks(
    observations: Observations,
    kernel: Callable[..., None],
    arguments: tuple[Any, ...],
    shapes: dict[str, Any],
    threads: ThreadPool,
    dtype: type = np.int64,
) -> SumsByName:
    """Call a kernel for all chunks of groups; return the arrays that it adds to, by name.

    The kernel takes a range of chunks, ``arguments``, and an array of each shape.
    """

    def run(first: int, last: int) -> SumsByName:
        sums = {name: np.zeros(shape, dtype) for name, shape in shapes.items()}
        kernel(first, last, *arguments, *sums.values())
        return sums

    n_chunks = len(observations.layout.chunk_start) - 1
    work = 3.0 * observations.n_tokens + 100.0 * observations.n_groups
    return add_sums(threads.map(n_chunks, run, even=True, work=work, name=kernel.__name__))


def summed_chunks(sums: SumsByName) -> SumsByName:
    """Return sums with their chunk sums added."""
    return sums | {"context_statistics": add_in_order(sums["context_statistics"])}
