"""Search for the partition nearest to many draws, in memory linear in groups times draws.

Both losses have one form. With n_a the size of a sought cluster, n_ab the groups it shares with
cluster b of draw t, and T draws, the expected loss of a partition is, up to a constant,

    Σ_a φ(n_a)  −  (2/T) Σ_t Σ_ab φ(n_ab)

with φ(n) = n log n for the variation of information and φ(n) = n² for Binder's loss.

A *unit* is a set of groups that are together in every draw. No best partition splits one: as a
function of how many of its groups are in one of two clusters the loss is concave. Every cluster
of every draw is a *row*, with a list of the sought clusters it shares groups with; a list has
room for the row's units and no more, so that no array is ever units × units.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Tables", "allocate", "assign", "clear", "loss", "merge", "remove", "sweep"]


class Tables(NamedTuple):
    """What the search reads and keeps in step.

    Parameters
    ----------
    row_of_unit : int32 (n_units, n_draws)
        The row each unit is in, in each draw.
    weight : int64 (n_units,)
        How many groups a unit stands for.
    row_start : int64 (n_rows + 1,)
        The list of row r is ``row_start[r]:row_start[r] + row_length[r]``.
    row_length : int32 (n_rows,)
    row_cluster, row_count : int32 (n_units * n_draws,)
        The sought clusters in each list, and how many groups they share with the row.
    size : int64 (n_units,)
        Groups in each sought cluster.
    phi : float64 (n_groups + 1,)
        The loss's function of a count.
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
def _put(unit, cluster, tables):
    """Put a unit into a cluster: one entry in the list of each of its rows grows."""
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
def _take(unit, cluster, tables):
    """Take a unit out of a cluster; an entry that falls to nothing leaves its list."""
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
    """Return the cheapest cluster for a unit that is in none, its cost, and that of `current`.

    Costs are relative to a cluster of its own. A cluster that shares no row with the unit is never
    cheaper than that, so only those in the unit's rows are looked at; -1 where there are none.
    """
    phi, gain, seen, size = tables.phi, tables.gain, tables.seen, tables.size
    own = tables.weight[unit]
    alone = phi[own]
    n_seen = 0
    for row in tables.row_of_unit[unit]:
        start = tables.row_start[row]
        for index in range(start, start + tables.row_length[row]):
            cluster = tables.row_cluster[index]
            if gain[cluster] == 0.0:  # what is added to it is always positive
                seen[n_seen] = cluster
                n_seen += 1
            count = tables.row_count[index]
            gain[cluster] += phi[count + own] - phi[count] - alone
    best, lowest, now = -1, np.inf, 0.0
    for cluster in seen[:n_seen]:
        cost = phi[size[cluster] + own] - phi[size[cluster]] - alone
        cost -= 2.0 / tables.row_of_unit.shape[1] * gain[cluster]
        gain[cluster] = 0.0
        if cluster == current:
            now = cost
        # Ties go to the lower number, so that the order inside a list never decides.
        if cost < lowest or (cost == lowest and cluster < best):
            best, lowest = cluster, cost
    return best, lowest, now


@njit(cache=True, nogil=True)
def _n_clusters(tables):
    """Return the number of clusters that hold something."""
    n_clusters = 0
    for size in tables.size:
        n_clusters += size > 0
    return n_clusters


@njit(cache=True, nogil=True)
def _free(tables, start):
    """Return the first empty cluster from `start` on."""
    while tables.size[start] > 0:
        start += 1
    return start


@njit(cache=True, nogil=True)
def clear(tables):
    """Take everything out of the tables."""
    tables.row_length[:] = 0
    tables.size[:] = 0


@njit(cache=True, nogil=True)
def assign(labels, tables):
    """Fill the tables with a partition: the cluster of each unit, int32 below n_units."""
    clear(tables)
    for unit in range(labels.size):
        _put(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def remove(units, labels, tables):
    """Take these units out of their clusters; `allocate` puts them back."""
    for unit in units:
        _take(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def allocate(order, labels, tables, most):
    """Put units that are in no cluster where each costs least at that moment.

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
        _put(unit, labels[unit], tables)


@njit(cache=True, nogil=True)
def sweep(order, labels, tables, most):
    """Move each unit once to where it costs least, a new cluster included; count the moves.

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
        _take(unit, old, tables)
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
        _put(unit, best, tables)
    return moves


@njit(cache=True, nogil=True)
def _units_by_cluster(labels):
    """Return the units sorted by cluster, and where each cluster's begin."""
    start = np.zeros(labels.size + 1, np.int64)
    for label in labels:
        start[label + 1] += 1
    start = np.cumsum(start)
    index = start.copy()
    members = np.empty(labels.size, np.int64)
    for unit in range(labels.size):
        members[index[labels[unit]]] = unit
        index[labels[unit]] += 1
    return members, start


@njit(cache=True, nogil=True)
def _partner(cluster, members, visited, tables):
    """Return the cluster that this one gains most by joining, or -1 for none."""
    phi, gain, seen, size = tables.phi, tables.gain, tables.seen, tables.size
    n_draws = tables.row_of_unit.shape[1]
    n_seen = 0
    for unit in members:
        for row in tables.row_of_unit[unit]:
            if visited[row] == cluster:
                continue
            visited[row] = cluster
            start, end = tables.row_start[row], tables.row_start[row] + tables.row_length[row]
            index = start
            while tables.row_cluster[index] != cluster:
                index += 1
            own = tables.row_count[index]
            for index in range(start, end):
                other = tables.row_cluster[index]
                if other != cluster:
                    if gain[other] == 0.0:
                        seen[n_seen] = other
                        n_seen += 1
                    count = tables.row_count[index]
                    gain[other] += phi[own + count] - phi[own] - phi[count]
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
    """Join each cluster to another where the whole of it gains; count the joins.

    Moving units one by one cannot join two large clusters: halfway through it costs more.

    Parameters
    ----------
    labels : int32 (n_units,)
        The cluster of each unit, changed in step with the tables.
    """
    members, start = _units_by_cluster(labels)
    visited = np.full(tables.row_length.size, -1, np.int64)
    grown = np.zeros(labels.size, np.bool_)
    joins = 0
    for cluster in range(labels.size):
        # A cluster that has grown in this pass has more members than are listed: next pass.
        if tables.size[cluster] == 0 or grown[cluster]:
            continue
        own = members[start[cluster] : start[cluster + 1]]
        best = _partner(cluster, own, visited, tables)
        if best >= 0:
            joins += 1
            grown[best] = True
            for unit in own:
                _take(unit, cluster, tables)
                _put(unit, best, tables)
                labels[unit] = best
    return joins


@njit(cache=True, nogil=True)
def loss(tables):
    """Return Σ_a φ(n_a) − (2/T) Σ_t Σ_ab φ(n_ab) of the partition the tables hold."""
    shared = 0.0
    for row in range(tables.row_length.size):
        start = tables.row_start[row]
        for count in tables.row_count[start : start + tables.row_length[row]]:
            shared += tables.phi[count]
    total = 0.0
    for count in tables.size:
        total += tables.phi[count]
    return total - 2.0 / tables.row_of_unit.shape[1] * shared
