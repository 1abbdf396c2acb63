"""Frequencies with which groups share a cluster, without a matrix of all pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.errors import InputError

Floats = NDArray[np.float64]

_BLOCK_ENTRIES = 2**22
_MAX_ENTRIES = 2**28


class CoClustering:
    """The share of draws in which two groups are in the same cluster, computed on demand.

    Parameters
    ----------
    cluster_of_group : int32 (n_draws, n_groups)
        The cluster of each group in each draw.
    """

    def __init__(self, cluster_of_group: NDArray[np.int32]) -> None:
        self._draws = cluster_of_group

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self._draws.shape[1])

    def __repr__(self) -> str:
        return f"CoClustering({self.n_groups} groups, {len(self._draws)} draws)"

    def among(self, groups: ArrayLike) -> CoClustering:
        """Return the co-clustering of some groups, renumbered in the order given."""
        return CoClustering(self._draws[:, np.atleast_1d(self._indices(groups, "groups"))])

    def between(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the probability that two groups share a cluster, for pairs of group indices.

        Parameters
        ----------
        first, second : int or int array
            Broadcast against each other.
        """
        one, other = self._indices(first, "first"), self._indices(second, "second")
        total = np.zeros(np.broadcast_shapes(one.shape, other.shape))
        for draw in self._draws:
            total += draw[one] == draw[other]
        return total / len(self._draws)

    def rows(self, groups: ArrayLike) -> Floats:
        """Return the rows of some groups: float64 (len(groups), n_groups)."""
        chosen = np.atleast_1d(self._indices(groups, "groups"))
        return self.between(chosen[:, None], np.arange(self.n_groups)[None, :])

    def to_dense(self, groups: ArrayLike) -> Floats:
        """Return the square matrix of some groups."""
        chosen = np.atleast_1d(self._indices(groups, "groups"))
        return self.between(chosen[:, None], chosen[None, :])

    def to_sparse(self, minimum: float = 0.5) -> sparse.csr_matrix:
        """Return the matrix of all groups without the entries below ``minimum``.

        Parameters
        ----------
        minimum : float
            In (0, 1]; the matrix of all pairs would be dense.
        """
        if not 0.0 < minimum <= 1.0:
            raise InputError(f"minimum must be in (0, 1], got {minimum!r}")
        blocks: list[sparse.csr_matrix] = []
        n_entries = 0
        step = max(1, _BLOCK_ENTRIES // max(self.n_groups, 1))
        for start in range(0, self.n_groups, step):
            share = self.rows(np.arange(start, min(start + step, self.n_groups)))
            share[share < minimum - 1e-12] = 0.0
            blocks.append(sparse.csr_matrix(share))
            n_entries += blocks[-1].nnz
            if n_entries > _MAX_ENTRIES:
                raise InputError(
                    f"minimum must be higher: more than {_MAX_ENTRIES} pairs have probability "
                    f"{minimum} or more; alternatively use rows"
                )
        return sparse.vstack(blocks, format="csr")

    def _indices(self, groups: ArrayLike, argument: str) -> NDArray[np.int64]:
        indices = np.asarray(groups)
        if indices.dtype == bool and indices.shape == (self.n_groups,):
            indices = np.flatnonzero(indices)
        if indices.size and indices.dtype.kind not in "iu":
            raise InputError(f"{argument} must be group indices, got {indices.dtype}")
        indices = indices.astype(np.int64)
        if indices.size and not -self.n_groups <= indices.min() <= indices.max() < self.n_groups:
            wrong = indices.max() if indices.max() > 0 else indices.min()
            raise InputError(f"{argument} must be indices below {self.n_groups}, got {wrong}")
        return indices
