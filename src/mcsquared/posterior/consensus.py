"""The consensus of the draws: the partition with the smallest expected loss.

The search starts from the draws closest to all others and from greedy allocations, then moves
units, merges clusters and dissolves clusters until there is no improvement. It is deterministic,
and its memory is linear in groups × draws. The terms *unit*, *row*, *list* and the function φ are
defined in `mcsquared.kernels.cpu.consensus`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.errors import InputError

Loss = Literal["vi", "binder"]

# The function φ of the losses.
_TERMS: dict[str, Callable[[NDArray[Any]], Floats]] = {
    "vi": lambda count: count * np.log(np.maximum(count, 1)),
    "binder": lambda count: np.square(count, dtype=np.float64),
}

_MAX_TABLE_SIZE = 20_000_000  # groups × draws: 160 MB

# Work is measured in list entries read (about 4 ns each); finding a list costs eight entries.
# The first two starts, the best draw and a greedy one, always run; others run within the first
# budget. The best of them is then improved within the second.
_START_BUDGET = 1_000_000_000
_IMPROVEMENT_BUDGET = 3_000_000_000
_MAX_PASS_COST = 250_000_000
_LIST_COST = 8
_MAX_STARTS = 24
_N_AGREEING = 5  # the search stops after this many starts with the same final loss
_MAX_ROUNDS = 30
_MIN_ROUNDS = 6
_MIN_DRAWS = 25
_MAX_DISSOLVED = 200
_MAX_MERGES = 5  # without a lower loss

# The number of clusters is bounded by four times the largest number in a draw, or this if larger.
_MIN_CLUSTER_BOUND = 64

# Sizes of a sparse co-clustering matrix.
_ENTRIES_PER_BLOCK = 2**22
_MAX_ENTRIES = 2**28


def consensus(draws: Int32s, loss: Loss = "vi", max_clusters: int | None = None) -> Int32s:
    """Return the partition with the smallest expected loss, clusters by decreasing size: int32.

    ``draws`` has the cluster of each group in each draw, in 0..n_groups - 1: (n_draws, n_groups).
    The loss is the variation of information, or ("binder") the number of pairs of groups on which
    two partitions disagree. ``max_clusters`` must be at least the number of clusters of every draw.
    """
    term = _term_of_size(loss)
    n_draws, n_groups = draws.shape
    chosen = evenly_spaced(n_draws, max(_MAX_TABLE_SIZE // n_groups, _MIN_DRAWS))
    # Clusters are renumbered, so that the result does not depend on their labels in the draws.
    draws = np.stack([numbered_by_size(draws[draw]) for draw in chosen])
    search = _Search(draws, term, max_clusters)
    # If the draws disagree, lists are long: use fewer draws.
    if search.pass_cost > _MAX_PASS_COST:
        limit = int(len(draws) * _MAX_PASS_COST / search.pass_cost)
        chosen = evenly_spaced(len(draws), max(limit, _MIN_DRAWS))
        search = _Search(draws[chosen], term, max_clusters)
    return numbered_by_size(search.run()[search.unit_of_group])


def expected_loss(labels: Int32s, draws: Int32s, loss: Loss = "vi") -> float:
    """Return the mean loss between a partition and the draws, int32 (n_draws, n_groups).

    The loss "vi" is in nats, "binder" is a share of all pairs of groups.
    """
    term, total = _term_of_size(loss), 0.0
    for draw in draws:
        total += term(np.bincount(labels)).sum() + term(np.bincount(draw)).sum()
        total -= 2.0 * term(contingency(labels, draw).data).sum()
    n_groups = labels.size
    scale = n_groups if loss == "vi" else max(n_groups * (n_groups - 1), 1)
    return max(float(total) / (len(draws) * scale), 0.0)


def contingency(
    rows: NDArray[Any],
    columns: NDArray[Any],
    weight: NDArray[Any] | None = None,
    n_columns: int | None = None,
) -> sparse.csr_matrix:
    """Cross-tabulate two labellings of the groups, by count or weight: (n_rows, n_columns)."""
    values = np.ones(len(rows)) if weight is None else weight
    n_columns = int(columns.max()) + 1 if n_columns is None else n_columns
    return sparse.csr_matrix((values, (rows, columns)), (int(rows.max()) + 1, n_columns))


def share_of_consensus(draw: Int32s, consensus: Int32s) -> Floats:
    """Return |k ∩ c| / |k| for clusters k of a draw and c of the consensus; 0 if k is empty."""
    both = contingency(draw, consensus).toarray()
    return both / np.maximum(both.sum(axis=1, keepdims=True), 1.0)


def numbered_by_size(labels: Int32s) -> Int32s:
    """Renumber clusters 0, 1, ... by decreasing size; ties are ordered by their first group."""
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.argsort(np.lexsort((first, -counts))).astype(np.int32)
    return rank[inverse]


def _term_of_size(loss: str) -> Callable[[NDArray[Any]], Floats]:
    if loss not in _TERMS:
        raise InputError(f"loss must be 'vi' or 'binder', got {loss!r}")
    return _TERMS[loss]


def evenly_spaced(n: int, limit: int) -> Int64s:
    """Return at most ``limit`` of the indices 0..n - 1, evenly spaced."""
    return np.linspace(0, n - 1, min(n, limit)).round().astype(np.int64)


class _Search:
    """Search for the partition of the units with the smallest expected loss, within a budget."""

    def __init__(
        self, draws: Int32s, term: Callable[[NDArray[Any]], Floats], max_clusters: int | None = None
    ) -> None:
        from mcsquared.kernels.cpu import consensus as kernels

        columns = np.ascontiguousarray(draws.T)
        as_bytes = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1]))).ravel()
        _, first, self.unit_of_group, weight = np.unique(
            as_bytes, return_index=True, return_inverse=True, return_counts=True
        )
        units = columns[first]
        offset = np.concatenate([[0], np.cumsum(units.max(axis=0).astype(np.int64) + 1)[:-1]])
        row_of_unit = (units + offset).astype(np.int32)
        self.n_units, self.n_draws = units.shape
        self.capacity = np.bincount(row_of_unit.ravel())  # of the list of each row: its units
        self.tables = kernels.ContingencyTables(
            row_of_unit=row_of_unit,
            weight=weight.astype(np.int64),
            row_start=np.concatenate([[0], np.cumsum(self.capacity)]).astype(np.int64),
            row_length=np.zeros(self.capacity.size, np.int32),
            row_cluster=np.zeros(row_of_unit.size, np.int32),
            row_count=np.zeros(row_of_unit.size, np.int32),
            size=np.zeros(self.n_units, np.int64),
            term=term(np.arange(weight.sum() + 1, dtype=np.float64)),
            gain=np.zeros(self.n_units),
            seen=np.zeros(self.n_units, np.int32),
        )
        self.kernels = kernels
        n_clusters = max(np.unique(rows).size for rows in row_of_unit.T)
        bound = max(4 * n_clusters, _MIN_CLUSTER_BOUND)
        self.max_clusters = min(bound if max_clusters is None else max_clusters, self.n_units)
        self.rng = np.random.default_rng(0)
        self.budget = _START_BUDGET
        self.best = np.zeros(self.n_units, np.int32)
        self.lowest_loss = np.inf
        self.n_agreeing = 0
        kernels.assign(self._partition_of_draw(self.n_draws // 2), self.tables)

    @property
    def pass_cost(self) -> int:
        """Cost of one pass over all units, given the current tables."""
        return int(self.capacity @ (self.tables.row_length + _LIST_COST))

    def run(self) -> Int32s:
        """Return the best partition of the units found within the budget."""
        for number, labels in enumerate(self._starts()):
            if (self.budget <= 0 and number >= 2) or self.n_agreeing >= _N_AGREEING:
                break
            if labels is not None:
                self.kernels.assign(labels, self.tables)
            else:
                labels = np.zeros(self.n_units, np.int32)
                self.kernels.clear(self.tables)
                order = self.rng.permutation(self.n_units)
                self.kernels.allocate(order, labels, self.tables, self.max_clusters)
                self.budget -= self.pass_cost
            self._descend(labels)
        before, self.budget = np.inf, _IMPROVEMENT_BUDGET
        while self.lowest_loss < before and self.budget > 0:
            before = self.lowest_loss
            self._dissolve()
            self._coarsen()
        return self.best

    def _starts(self) -> list[Int32s | None]:
        """Return the best draws as starting partitions, alternating with None for greedy starts."""
        affordable = max(self.budget // (4 * self.pass_cost), 8)
        tried = np.unique(evenly_spaced(self.n_draws, affordable))
        losses = []
        for draw in tried:
            self.kernels.assign(self._partition_of_draw(draw), self.tables)
            self.budget -= self.pass_cost
            losses.append(self.kernels.loss(self.tables))
        starts: list[Int32s | None] = []
        for draw in tried[np.argsort(losses, kind="stable")][: _MAX_STARTS // 2]:
            starts += [self._partition_of_draw(draw), None]
        return starts + [None] * (_MAX_STARTS - len(starts))

    def _partition_of_draw(self, draw: int) -> Int32s:
        rows = self.tables.row_of_unit[:, draw]
        return np.unique(rows, return_inverse=True)[1].astype(np.int32)

    def _descend(self, labels: Int32s) -> None:
        """Move units and merge clusters until convergence; keep the result if it is better."""
        for number in range(_MAX_ROUNDS):
            if self.budget <= 0 and number >= _MIN_ROUNDS:
                break
            order = self.rng.permutation(self.n_units)
            changes = self.kernels.sweep(order, labels, self.tables, self.max_clusters)
            self.budget -= 3 * self.pass_cost
            if changes == 0:
                changes = self.kernels.merge(labels, self.tables)
                self.budget -= self.pass_cost
            if changes == 0:
                break
        loss = self.kernels.loss(self.tables)
        tolerance = 1e-9 * (1.0 + abs(loss))
        if loss < self.lowest_loss - tolerance:
            self.lowest_loss, self.best = loss, numbered_by_size(labels)
            self.n_agreeing = 0
        self.n_agreeing += loss < self.lowest_loss + tolerance

    def _dissolve(self) -> None:
        """Dissolve the clusters of the best partition one at a time, and search from there.

        Splitting a cluster may reduce the loss although no move of a single unit does. The search
        stops after a round over all clusters without improvement.
        """
        without_gain = 0
        for attempt in range(_MAX_DISSOLVED):
            n_clusters = int(self.best.max()) + 1
            if self.budget <= 0 or without_gain >= n_clusters:
                break
            labels, before = self.best.copy(), self.lowest_loss
            units = np.flatnonzero(labels == attempt % n_clusters)
            without_gain += 1
            if units.size > 1:
                order = self.rng.permutation(units)
                self.kernels.assign(labels, self.tables)
                self.kernels.remove(order, labels, self.tables)
                self.kernels.allocate(order, labels, self.tables, self.max_clusters)
                self.budget -= 2 * self.pass_cost
                self._descend(labels)
            if self.lowest_loss < before:
                without_gain = 0

    def _coarsen(self) -> None:
        """Merge the clusters of the best partition two by two, and search from each partition.

        Two merges, with moves of units in between, may reduce the loss although neither does alone.
        """
        labels, without_gain = self.best.copy(), 0
        self.kernels.assign(labels, self.tables)
        while self.budget > 0 and without_gain < _MAX_MERGES:
            before = self.lowest_loss
            self.budget -= self.pass_cost
            if not self.kernels.merge_closest(labels, self.tables):
                break
            n_clusters, bound = np.unique(labels).size, self.max_clusters
            self.max_clusters = n_clusters
            self._descend(labels)
            self.max_clusters = bound
            without_gain = 0 if self.lowest_loss < before else without_gain + 1


class CoClustering:
    """The share of draws in which two groups are in the same cluster, computed on demand.

    Parameters
    ----------
    cluster_of_group : int32 (n_draws, n_groups)
        The cluster of each group in each draw.
    weights : float64 (n_draws,), optional
        Weights of the draws, relative to their mean; equal by default.
    """

    def __init__(self, cluster_of_group: Int32s, weights: Floats | None = None) -> None:
        self._draws = cluster_of_group
        self._weights = np.ones(len(cluster_of_group)) if weights is None else weights

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self._draws.shape[1])

    def __repr__(self) -> str:
        return f"CoClustering({self.n_groups} groups, {len(self._draws)} draws)"

    def among(self, groups: ArrayLike) -> CoClustering:
        """Return the co-clustering of some groups, renumbered in the order given."""
        chosen = np.atleast_1d(self._indices(groups, "groups"))
        return CoClustering(self._draws[:, chosen], self._weights)

    def between(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the probability that two groups share a cluster, for pairs of group indices.

        Parameters
        ----------
        first, second : int or int array
            Broadcast against each other.
        """
        one, other = self._indices(first, "first"), self._indices(second, "second")
        total = np.zeros(np.broadcast_shapes(one.shape, other.shape))
        for weight, draw in zip(self._weights, self._draws, strict=True):
            total += weight * (draw[one] == draw[other])
        return total / len(self._draws)

    def rows(self, groups: ArrayLike) -> Floats:
        """Return the rows of some groups: float64 (len(groups), n_groups)."""
        chosen = np.atleast_1d(self._indices(groups, "groups"))
        return self.between(chosen[:, None], np.arange(self.n_groups)[None, :])

    def to_dense(self, groups: ArrayLike) -> Floats:
        """Return the square matrix of some groups: float64 (len(groups), len(groups))."""
        chosen = np.atleast_1d(self._indices(groups, "groups"))
        return self.between(chosen[:, None], chosen[None, :])

    def to_sparse(self, minimum: float = 0.5) -> sparse.csr_matrix:
        """Return the matrix of all groups without the entries below ``minimum``.

        Parameters
        ----------
        minimum : float
            In (0, 1]: with all pairs, the matrix would be dense.
        """
        if not 0.0 < minimum <= 1.0:
            raise InputError(f"minimum must be in (0, 1], got {minimum!r}")
        blocks: list[sparse.csr_matrix] = []
        n_entries = 0
        step = max(1, _ENTRIES_PER_BLOCK // max(self.n_groups, 1))
        for start in range(0, self.n_groups, step):
            share = self.rows(np.arange(start, min(start + step, self.n_groups)))
            share[share < minimum - 1e-12] = 0.0
            blocks.append(sparse.csr_matrix(share))
            n_entries += blocks[-1].nnz
            if n_entries > _MAX_ENTRIES:
                raise InputError(
                    f"minimum must be larger: more than {_MAX_ENTRIES} pairs have probability "
                    f">= {minimum}; alternatively, use rows"
                )
        return sparse.vstack(blocks, format="csr")

    def _indices(self, groups: ArrayLike, argument: str) -> Int64s:
        indices = np.asarray(groups)
        if indices.dtype == bool and indices.shape == (self.n_groups,):
            indices = np.flatnonzero(indices)
        if indices.size and indices.dtype.kind not in "iu":
            raise InputError(f"{argument} must be group indices, got {indices.dtype}")
        indices = indices.astype(np.int64)
        if indices.size and not -self.n_groups <= indices.min() <= indices.max() < self.n_groups:
            wrong = indices.max() if indices.max() >= self.n_groups else indices.min()
            raise InputError(f"{argument} must be indices below {self.n_groups}, got {wrong}")
        return indices
