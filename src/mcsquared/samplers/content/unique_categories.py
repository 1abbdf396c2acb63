"""Functions that propose clusters for groups with unique categories, mapped over all shards."""

from typing import NamedTuple

import numpy as np

from mcsquared.arrays import Bools, Floats, Int32s, Int64s
from mcsquared.kernels.cpu.contexts import BagContexts
from mcsquared.kernels.cpu.unique_categories import propose_clusters
from mcsquared.observations import Observations, take_bags
from mcsquared.samplers.content.groups import tabulate_factorials
from mcsquared.samplers.content.python_families import GroupOrder
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Globals, GroupTask, Labels


class UniqueCategories(NamedTuple):
    """Argument of `propose_moves`."""

    globals: Globals
    is_unique: Bools  # (categories of all bags,): whether a category occurs once
    shapes: Floats  # (categories of all bags,): current Dirichlet parameters


class Proposals(NamedTuple):
    """Groups of a shard that have a unique category."""

    groups: Int64s  # (n,): indices in the corpus, increasing
    clusters: Int32s  # (n,)
    proposed: Int32s  # (n,): clusters drawn without the bags
    bags: BagContexts  # of these groups


class Moves(NamedTuple):
    """Argument of `apply_moves`: the groups that move, and their new clusters."""

    groups: Int64s  # (n,): indices in the corpus, increasing
    clusters: Int32s  # (n,)


def propose_moves(
    observations: Observations, labels: Labels, argument: UniqueCategories, threads: ThreadPool
) -> tuple[Labels, Proposals]:
    """Draw a cluster for every group with a unique category, regardless of its bags."""
    chosen = groups_with_categories(observations.bags, argument.is_unique)
    task = GroupTask(observations, labels, argument.globals, threads)
    base, tabulated = tabulate_factorials(task)
    contexts = GroupOrder(task).contexts
    no_bags = contexts.bags._replace(smoothing=contexts.bags.smoothing[:0])
    tokens = (chosen, observations.groups, labels.topic_of_token, base, tabulated.reshape(-1))
    weights = (argument.globals.weights.log_cluster_weights, contexts._replace(bags=no_bags))
    proposed = np.empty(len(chosen), np.int32)

    def run(first: int, last: int) -> None:
        propose_clusters(first, last, *tokens, *weights, argument.globals.key, proposed)

    share = len(chosen) / max(observations.n_groups, 1)
    # In nanoseconds, per token and per cluster of a group.
    work = 5.0 * observations.n_tokens * share + 12.0 * len(chosen) * len(base)
    threads.map(len(chosen), run, work=work)
    clusters = labels.cluster_of_group[chosen]
    groups = observations.first_group + chosen
    bags_of_groups = take_bags(observations.bags_given(argument.shapes), chosen)
    return labels, Proposals(groups, clusters, proposed, bags_of_groups)


def groups_with_categories(bags: BagContexts, is_chosen: Bools) -> Int64s:
    """Return the groups that have at least one of the chosen categories, increasing."""
    groups = [np.zeros(0, np.int64)]
    for start in bags.start:
        entries = np.flatnonzero(is_chosen[bags.category[start[0] : start[-1]]])
        groups.append(np.searchsorted(start, start[0] + entries, side="right") - 1)
    return np.unique(np.concatenate(groups))


def apply_moves(
    observations: Observations, labels: Labels, moves: Moves, threads: ThreadPool
) -> tuple[Labels, int]:
    """Set the clusters of the groups that have moved; return their number."""
    clusters = labels.cluster_of_group.copy()
    bounds = observations.first_group + np.array([0, len(clusters)])
    first, last = np.searchsorted(moves.groups, bounds)
    clusters[moves.groups[first:last] - observations.first_group] = moves.clusters[first:last]
    return labels._replace(cluster_of_group=clusters), int(last - first)
