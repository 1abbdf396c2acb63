"""Search for the partition nearest to many draws; memory is linear in groups × draws.

Both losses have the same form. With n_a the size of a sought cluster, n_ab the groups it shares
with cluster b of draw t, and T draws, the expected loss of a partition is, up to a constant,

    Σ_a φ(n_a)  −  (2/T) Σ_t Σ_ab φ(n_ab)

with φ(n) = n log n for the variation of information and φ(n) = n² for Binder's loss.

A *unit* is a set of groups that are together in every draw. No best partition splits one: the loss
is concave in the number of its groups that are in one of two clusters. Every cluster of every draw
is a *row*, with a list of the sought clusters that share groups with it. The capacity of a list is
the number of units of its row, so that no array has size units × units.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Tables", "allocate", "assign", "clear", "loss", "merge", "remove", "sweep"]


class Tables(NamedTuple):
    """Data structures of the search.

    Parameters
    ----------
    row_of_unit : int32 (n_units, n_draws)
        The row each unit is in, in each draw.
    weight : int64 (n_units,)
        Number of groups of each unit.
    row_start : int64 (n_rows + 1,)
        The list of row r is ``row_start[r]:row_start[r] + row_length[r]``.
    row_length : int32 (n_rows,)
    row_cluster, row_count : int32 (n_units * n_draws,)
        The sought clusters in each list, and the number of groups they share with the row.
    size : int64 (n_units,)
        Groups in each sought cluster.
    phi : float64 (n_groups + 1,)
        φ(n) of the loss.
    gain, seen : float64, int32 (n_units,)
        Work space; ``gain`` is zero between calls.
    """

    row_of_unit: np.ndarray
    weight: np.ndarray
    row_start: np.ndarray
    row_length: np.ndarray
    row_cluster: np.ndarray
    row_count: np.ndarray
    size: np.ndarray
    phi: np.ndarray
    gain: np.ndarray
    seen: np.ndarray


@njit(cache=True, nogil=True)
def _add_unit(unit, cluster, tables):
    """Add a unit to a cluster: one entry in the list of each of its rows increases."""
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
    """Remove a unit from a cluster; entries that become 0 are deleted from their lists."""
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
def _best(unit, current, tables):
    """Return the cheapest cluster for an unassigned unit, its cost, and that of ``current``.

    Costs are relative to a separate cluster for the unit. A cluster that shares no row with the
    unit is never cheaper, so only those in the rows of the unit are examined; -1 if there are none.
    """
    phi, gain, seen, size = tables.phi, tables.gain, tables.seen, tables.size
    weight = tables.weight[unit]
    alone = phi[weight]
    n_seen = 0
    for row in tables.row_of_unit[unit]:
        start = tables.row_start[row]
        for index in range(start, start + tables.row_length[row]):
            cluster = tables.row_cluster[index]
            if gain[cluster] == 0.0:  # not seen: every term is positive
                seen[n_seen] = cluster
                n_seen += 1
            count = tables.row_count[index]
            gain[cluster] += phi[count + weight] - phi[count] - alone
    best, lowest, now = -1, np.inf, 0.0
    for cluster in seen[:n_seen]:
        cost = phi[size[cluster] + weight] - phi[size[cluster]] - alone
        cost -= 2.0 / tables.row_of_unit.shape[1] * gain[cluster]
        gain[cluster] = 0.0
        if cluster == current:
            now = cost
        # Ties go to the lower number, so that the result does not depend on the order of a list.
        if cost < lowest or (cost == lowest and cluster < best):
            best, lowest = cluster, cost
    return best, lowest, now


@njit(cache=True, nogil=True)
def _n_clusters(tables):
    """Return the number of non-empty clusters."""
    n_clusters = 0
    for size in tables.size:
        n_clusters += size > 0
    return n_clusters


@njit(cache=True, nogil=True)
def _free(tables, start):
    """Return the first empty cluster at or after ``start``."""
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
    """Fill the tables with a partition: the cluster of each unit, int32 below n_units."""
    clear(tables)
    for unit in range(labels.size):
        _add_unit(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def remove(units, labels, tables):
    """Remove these units from their clusters; `allocate` assigns them again."""
    for unit in units:
        _remove_unit(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def allocate(order, labels, tables, most):
    """Assign unassigned units, each to the cluster with the lowest cost at that moment.

    Parameters
    ----------
    order : int64
        The units in the order they come.
    labels : int32 (n_units,)
        Output: the cluster of each of them.
    most : int
        As many clusters as there may be; what would open one more joins another, or cluster 0.
    """
    n_clusters = _n_clusters(tables)
    free = 0
    for unit in order:
        best, lowest, _ = _best(unit, -1, tables)
        if lowest >= 0.0 and n_clusters < most:
            best = free = _free(tables, free)
            n_clusters += 1
        labels[unit] = max(best, 0)
        _add_unit(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def sweep(order, labels, tables, most):
    """Move each unit to the cluster with the lowest cost, possibly a new one; count the moves.

    Parameters
    ----------
    order : int64 (n_units,)
        The units in the order they are visited.
    labels : int32 (n_units,)
        The cluster of each unit, changed in step with the tables.
    most : int
        As many clusters as there may be.
    """
    n_clusters = _n_clusters(tables)
    free = 0
    moves = 0
    for unit in order:
        old = labels[unit]
        _remove_unit(unit, old, tables)
        if tables.size[old] == 0:
            n_clusters -= 1
            free = min(free, old)
        best, lowest, now = _best(unit, old, tables)
        if lowest >= 0.0 and n_clusters < most:
            best, lowest = -1, 0.0
        # Only a clear gain moves a unit: rounding must not make two partitions alternate.
        if lowest < now - 1e-9 * (1.0 + abs(now)):
            moves += 1
            if best < 0:
                best = free = _free(tables, free)
        else:
            best = old
        n_clusters += tables.size[best] == 0
        labels[unit] = best
        _add_unit(unit, best, tables)
    return moves


@njit(cache=True, nogil=True)
def _units_by_cluster(labels):
    """Return the units sorted by cluster, and the start of each cluster."""
    start = np.zeros(labels.size + 1, np.int64)
    for label in labels:
        start[label + 1] += 1
    start = np.cumsum(start)
    index = start.copy()
    units = np.empty(labels.size, np.int64)
    for unit in range(labels.size):
        units[index[labels[unit]]] = unit
        index[labels[unit]] += 1
    return units, start


@njit(cache=True, nogil=True)
def _partner(cluster, units, visited, tables):
    """Return the cluster whose merger with this one lowers the loss most, or -1 for none."""
    phi, gain, seen, size = tables.phi, tables.gain, tables.seen, tables.size
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
                    gain[other] += phi[shared + count] - phi[shared] - phi[count]
    best, lowest = -1, -1e-9 * (1.0 + phi[size[cluster]])
    for other in seen[:n_seen]:
        change = phi[size[cluster] + size[other]] - phi[size[cluster]] - phi[size[other]]
        change -= 2.0 / n_draws * gain[other]
        gain[other] = 0.0
        if change < lowest or (change == lowest and other < best):
            best, lowest = other, change
    return best


@njit(cache=True, nogil=True)
def merge(labels, tables):
    """Merge each cluster with another one if that lowers the loss; count the mergers.

    Moves of single units cannot merge two large clusters: intermediate partitions cost more.

    Parameters
    ----------
    labels : int32 (n_units,)
        The cluster of each unit, changed in step with the tables.
    """
    units, start = _units_by_cluster(labels)
    visited = np.full(tables.row_length.size, -1, np.int64)
    grown = np.zeros(labels.size, np.bool_)
    joins = 0
    for cluster in range(labels.size):
        # A cluster that has grown in this pass has more units than are listed: next pass.
        if tables.size[cluster] == 0 or grown[cluster]:
            continue
        cluster_units = units[start[cluster] : start[cluster + 1]]
        best = _partner(cluster, cluster_units, visited, tables)
        if best >= 0:
            joins += 1
            grown[best] = True
            for unit in cluster_units:
                _remove_unit(unit, cluster, tables)
                _add_unit(unit, best, tables)
                labels[unit] = best
    return joins


@njit(cache=True, nogil=True)
def loss(tables):
    """Return Σ_a φ(n_a) − (2/T) Σ_t Σ_ab φ(n_ab) of the partition in the tables."""
    shared = 0.0
    for row in range(tables.row_length.size):
        start = tables.row_start[row]
        for count in tables.row_count[start : start + tables.row_length[row]]:
            shared += tables.phi[count]
    total = 0.0
    for count in tables.size:
        total += tables.phi[count]
    return total - 2.0 / tables.row_of_unit.shape[1] * shared
