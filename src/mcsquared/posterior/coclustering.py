"""How often groups are together in one cluster, without a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.errors import InputError

__all__ = ["CoClustering"]

Floats = NDArray[np.float64]

_BLOCK_ENTRIES = 2**22
_MOST_ENTRIES = 2**28


class CoClustering:
    """The share of draws in which two groups are in one cluster, on demand.

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
        """Return the same of some groups, which are then numbered by their place here."""
        return CoClustering(self._draws[:, np.atleast_1d(self._numbers(groups, "groups"))])

    def between(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the probability that two groups are together, for pairs of group numbers.

        Parameters
        ----------
        first, second : int
            Single numbers or arrays that broadcast against each other.
        """
        one, other = self._numbers(first, "first"), self._numbers(second, "second")
        total = np.zeros(np.broadcast_shapes(one.shape, other.shape))
        for draw in self._draws:
            total += draw[one] == draw[other]
        return total / len(self._draws)

    def rows(self, groups: ArrayLike) -> Floats:
        """Return the rows of the matrix that belong to these groups: (len(groups), n_groups)."""
        chosen = np.atleast_1d(self._numbers(groups, "groups"))
        return self.between(chosen[:, None], np.arange(self.n_groups)[None, :])

    def to_dense(self, groups: ArrayLike) -> Floats:
        """Return the square matrix among these groups."""
        chosen = np.atleast_1d(self._numbers(groups, "groups"))
        return self.between(chosen[:, None], chosen[None, :])

    def to_sparse(self, minimum: float = 0.5) -> sparse.csr_matrix:
        """Return the matrix of all groups, entries below ``minimum`` left out.

        Parameters
        ----------
        minimum : float
            Above 0: a matrix with every pair in it would be dense.
        """
        if not 0.0 < minimum <= 1.0:
            raise InputError(f"minimum is {minimum!r}, but a share above 0 and up to 1 is wanted")
        blocks: list[sparse.csr_matrix] = []
        n_entries = 0
        for block in self._blocks():
            share = self.rows(block)
            share[share < minimum - 1e-12] = 0.0
            blocks.append(sparse.csr_matrix(share))
            n_entries += blocks[-1].nnz
            if n_entries > _MOST_ENTRIES:
                raise InputError(
                    f"more than {_MOST_ENTRIES} pairs are together with probability {minimum}, "
                    "too many for one matrix; ask for a higher minimum or for rows"
                )
        return sparse.vstack(blocks, format="csr")

    def _blocks(self) -> Iterator[NDArray[np.int64]]:
        step = max(1, _BLOCK_ENTRIES // max(self.n_groups, 1))
        for start in range(0, self.n_groups, step):
            yield np.arange(start, min(start + step, self.n_groups))

    def _numbers(self, groups: ArrayLike, argument: str) -> NDArray[np.int64]:
        numbers = np.asarray(groups)
        if numbers.dtype == bool and numbers.shape == (self.n_groups,):
            numbers = np.flatnonzero(numbers)
        if numbers.size and numbers.dtype.kind not in "iu":
            raise InputError(f"{argument} holds {numbers.dtype}, but numbers of groups are wanted")
        numbers = numbers.astype(np.int64)
        if numbers.size and not -self.n_groups <= numbers.min() <= numbers.max() < self.n_groups:
            raise InputError(
                f"{argument} holds {numbers.max() if numbers.max() > 0 else numbers.min()}, "
                f"but there are {self.n_groups} groups"
            )
        return numbers
