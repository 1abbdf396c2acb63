"""Search for the partition that minimises the expected loss, in O(groups × draws) memory.

Both losses have the same form. Let n_a be the size of cluster a of the partition, and n_ab the
number of groups it shares with cluster b of draw t, of T draws. Up to a constant, the loss is

    Σ_a φ(n_a)  −  (2/T) Σ_t Σ_ab φ(n_ab)

with φ(n) = n log n for the variation of information and φ(n) = n² for Binder's loss.

A *unit* is a maximal set of groups that are in the same cluster in every draw. There is an optimal
partition that splits no unit, because the loss is concave in the number of groups moved from one
cluster to another. Each cluster of each draw is a *row*: a list of the clusters of the partition
that share groups with it. A list can hold as many clusters as the row has units, so that no array
has units × units elements.
"""

from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit


class ContingencyTables(NamedTuple):
    """Counts n_a and n_ab of the current partition, as sparse rows; updated in place."""

    row_of_unit: np.ndarray  # int32 (n_units, n_draws): row of each unit in each draw
    weight: np.ndarray  # int64 (n_units,): number of groups in each unit
    row_start: np.ndarray  # int64 (n_rows + 1,): first entry of each row
    row_length: np.ndarray  # int32 (n_rows,): number of entries in use
    row_cluster: np.ndarray  # int32 (n_units × n_draws,): cluster of each entry
    row_count: np.ndarray  # int32 (n_units × n_draws,): number of groups shared with the row
    size: np.ndarray  # int64 (n_units,): number of groups in each cluster
    term: np.ndarray  # float64 (n_groups + 1,): φ(n) of n = 0, 1, ...
    gain: np.ndarray  # float64 (n_units,): scratch, 0 between calls
    seen: np.ndarray  # int32 (n_units,): scratch


@njit(cache=True, nogil=True)
def _add_unit(unit, cluster, tables):
    """Add a unit to a cluster, and to the entry of that cluster in each of the unit's rows."""
    weight = tables.weight[unit]
    tables.size[cluster] += weight
    for row in tables.row_of_unit[unit]:
        index = tables.row_start[row]
        end = index + tables.row_length[row]
        while index < end and tables.row_cluster[index] != cluster:
            index += 1
        if index == end:
            tables.row_cluster[index] = cluster
            tables.row_count[index] = 0
            tables.row_length[row] += 1
        tables.row_count[index] += weight


@njit(cache=True, nogil=True)
def _remove_unit(unit, cluster, tables):
    """Remove a unit from a cluster; entries that become empty are removed from their rows."""
    weight = tables.weight[unit]
    tables.size[cluster] -= weight
    for row in tables.row_of_unit[unit]:
        index = tables.row_start[row]
        while tables.row_cluster[index] != cluster:
            index += 1
        tables.row_count[index] -= weight
        if tables.row_count[index] == 0:
            tables.row_length[row] -= 1
            last = tables.row_start[row] + tables.row_length[row]
            tables.row_cluster[index] = tables.row_cluster[last]
            tables.row_count[index] = tables.row_count[last]


@njit(cache=True, nogil=True)
def _cheapest_cluster(unit, current, tables):
    """Return the cheapest cluster for an unassigned unit, its cost, and the cost of ``current``.

    Costs are relative to a new cluster. A cluster that shares no row with the unit is never
    cheaper, so only clusters in the unit's rows are considered; -1 if there are none.
    """
    term, gain, seen, size = tables.term, tables.gain, tables.seen, tables.size
    weight = tables.weight[unit]
    alone = term[weight]
    n_seen = 0
    for row in tables.row_of_unit[unit]:
        start = tables.row_start[row]
        for index in range(start, start + tables.row_length[row]):
            cluster = tables.row_cluster[index]
            if gain[cluster] == 0.0:  # not yet seen: all gains are positive
                seen[n_seen] = cluster
                n_seen += 1
            count = tables.row_count[index]
            gain[cluster] += term[count + weight] - term[count] - alone
    best, lowest, current_cost = -1, np.inf, 0.0
    for cluster in seen[:n_seen]:
        cost = term[size[cluster] + weight] - term[size[cluster]] - alone
        cost -= 2.0 / tables.row_of_unit.shape[1] * gain[cluster]
        gain[cluster] = 0.0
        if cluster == current:
            current_cost = cost
        # Ties go to the lower number, so that the order of entries does not matter.
        if cost < lowest or (cost == lowest and cluster < best):
            best, lowest = cluster, cost
    return best, lowest, current_cost


@njit(cache=True, nogil=True)
def _first_empty(tables, start):
    """Return the first empty cluster from ``start`` on."""
    while tables.size[start] > 0:
        start += 1
    return start


@njit(cache=True, nogil=True)
def clear(tables):
    """Remove all units from the tables."""
    tables.row_length[:] = 0
    tables.size[:] = 0


@njit(cache=True, nogil=True)
def assign(labels, tables):
    """Set the partition: ``labels`` int32 (n_units,), the cluster of each unit."""
    clear(tables)
    for unit in range(labels.size):
        _add_unit(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def remove(units, labels, tables):
    """Remove units from their clusters; `allocate` adds them again."""
    for unit in units:
        _remove_unit(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def allocate(order, labels, tables, max_clusters):
    """Add unassigned units to their cheapest clusters, one after another.

    Parameters
    ----------
    order : int64 (n,)
        Units in the order in which they are visited.
    labels : int32 (n_units,)
        Output: the clusters of these units.
    max_clusters : int
        Once it is reached, a unit joins an existing cluster, or cluster 0, and never a new one.
    """
    n_clusters = np.count_nonzero(tables.size)
    free = 0
    for unit in order:
        best, lowest, _ = _cheapest_cluster(unit, -1, tables)
        if lowest >= 0.0 and n_clusters < max_clusters:
            best = free = _first_empty(tables, free)
            n_clusters += 1
        labels[unit] = max(best, 0)
        _add_unit(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def sweep(order, labels, tables, max_clusters):
    """Move each unit to its cheapest cluster, perhaps a new one; return the number of moves.

    ``labels`` int32 (n_units,) are updated; for the others see `allocate`.
    """
    n_clusters = np.count_nonzero(tables.size)
    free = 0
    moves = 0
    for unit in order:
        old = labels[unit]
        _remove_unit(unit, old, tables)
        if tables.size[old] == 0:
            n_clusters -= 1
            free = min(free, old)
        best, lowest, current_cost = _cheapest_cluster(unit, old, tables)
        if lowest >= 0.0 and n_clusters < max_clusters:
            best, lowest = -1, 0.0
        # A unit moves only if the gain is clear, so that rounding errors cannot cause cycles.
        if lowest < current_cost - 1e-9 * (1.0 + abs(current_cost)):
            moves += 1
            if best < 0:
                best = free = _first_empty(tables, free)
        else:
            best = old
        n_clusters += tables.size[best] == 0
        labels[unit] = best
        _add_unit(unit, best, tables)
    return moves


@njit(cache=True, nogil=True)
def _best_merge(cluster, units, visited, tables, highest):
    """Return the best cluster to merge with ``cluster``, and the change of the loss.

    The cluster is -1, and the change is ``highest``, unless a merge changes the loss by less than
    ``highest``. ``units`` are those of the cluster; ``visited``, int64 (n_rows,), is scratch.
    """
    term, gain, seen, size = tables.term, tables.gain, tables.seen, tables.size
    n_draws = tables.row_of_unit.shape[1]
    n_seen = 0
    for unit in units:
        for row in tables.row_of_unit[unit]:
            if visited[row] == cluster:
                continue
            visited[row] = cluster
            start, end = tables.row_start[row], tables.row_start[row] + tables.row_length[row]
            index = start
            while tables.row_cluster[index] != cluster:
                index += 1
            shared = tables.row_count[index]
            for index in range(start, end):
                other = tables.row_cluster[index]
                if other != cluster:
                    if gain[other] == 0.0:
                        seen[n_seen] = other
                        n_seen += 1
                    count = tables.row_count[index]
                    gain[other] += term[shared + count] - term[shared] - term[count]
    best, lowest = -1, highest
    for other in seen[:n_seen]:
        change = term[size[cluster] + size[other]] - term[size[cluster]] - term[size[other]]
        change -= 2.0 / n_draws * gain[other]
        gain[other] = 0.0
        if change < lowest or (change == lowest and other < best):
            best, lowest = other, change
    return best, lowest


@njit(cache=True, nogil=True)
def _move_all(units, cluster, target, labels, tables):
    """Move all units of a cluster to another one."""
    for unit in units:
        _remove_unit(unit, cluster, tables)
        _add_unit(unit, target, tables)
        labels[unit] = target


@njit(cache=True, nogil=True)
def merge(labels, tables):
    """Merge each cluster with another if that reduces the loss; return the number of merges.

    Moves of single units cannot merge two large clusters, because the loss would increase first.
    ``labels`` int32 (n_units,) are updated.
    """
    by_cluster = np.argsort(labels, kind="mergesort")
    start = np.searchsorted(labels[by_cluster], np.arange(labels.size + 1))
    visited = np.full(tables.row_length.size, -1, np.int64)
    grown = np.zeros(labels.size, np.bool_)
    n_merges = 0
    for cluster in range(labels.size):
        # The list of units is outdated for a cluster that has grown in this pass.
        if tables.size[cluster] == 0 or grown[cluster]:
            continue
        units = by_cluster[start[cluster] : start[cluster + 1]]
        highest = -1e-9 * (1.0 + tables.term[tables.size[cluster]])
        best, _ = _best_merge(cluster, units, visited, tables, highest)
        if best >= 0:
            n_merges += 1
            grown[best] = True
            _move_all(units, cluster, best, labels, tables)
    return n_merges


@njit(cache=True, nogil=True)
def merge_closest(labels, tables):
    """Merge the two clusters for which the loss is then lowest; return whether two were merged.

    Clusters that have no row in common are not merged: that could only increase the loss.
    ``labels`` int32 (n_units,) are updated.
    """
    by_cluster = np.argsort(labels, kind="mergesort")
    start = np.searchsorted(labels[by_cluster], np.arange(labels.size + 1))
    visited = np.full(tables.row_length.size, -1, np.int64)
    source, target, lowest = -1, -1, np.inf
    for cluster in range(labels.size):
        if tables.size[cluster] > 0:
            units = by_cluster[start[cluster] : start[cluster + 1]]
            best, change = _best_merge(cluster, units, visited, tables, lowest)
            if best >= 0:
                source, target, lowest = cluster, best, change
    if source >= 0:
        units = by_cluster[start[source] : start[source + 1]]
        _move_all(units, source, target, labels, tables)
    return source >= 0


@njit(cache=True, nogil=True)
def loss(tables):
    """Return Σ_a φ(n_a) − (2/T) Σ_t Σ_ab φ(n_ab) of the current partition."""
    shared = 0.0
    for row in range(tables.row_length.size):
        start = tables.row_start[row]
        for count in tables.row_count[start : start + tables.row_length[row]]:
            shared += tables.term[count]
    total = 0.0
    for count in tables.size:
        total += tables.term[count]
    return total - 2.0 / tables.row_of_unit.shape[1] * shared
