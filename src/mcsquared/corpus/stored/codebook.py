"""Codes given as names appear, and rows of such codes brought into their final form."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from mcsquared.corpus.content import LARGEST_COUNT
from mcsquared.corpus.stored.flat import RowsFile
from mcsquared.errors import InputError

__all__ = ["Codebook", "Room", "settled"]

_BYTES_OF_A_NAME = 200  # a string of ten letters, its number, its places in tables and lists


class Room:
    """How many different names there is memory for, in all codebooks together.

    Parameters
    ----------
    memory : int
        Bytes that the whole program may use; half of them may go to names.
    """

    def __init__(self, memory: int) -> None:
        self._left = memory // (2 * _BYTES_OF_A_NAME)

    def take(self, n_new: int, n_names: int) -> None:
        """Make room for new names of a codebook that has ``n_names`` then."""
        self._left -= n_new
        if self._left < 0:
            raise InputError(
                f"holds {n_names} different values or more, for which memory has no room; leave "
                "the column out, or allow more memory (memory=)"
            )


class Codebook:
    """Names numbered in the order they appear.

    Parameters
    ----------
    room : Room
    """

    def __init__(self, room: Room) -> None:
        self._code_of: dict[str, int] = {}
        self._room = room

    def __len__(self) -> int:
        return len(self._code_of)

    def codes(self, names: Iterable[str]) -> NDArray[np.int32]:
        """Return the codes of names; one that is new gets the next."""
        code_of = self._code_of
        before = len(code_of)
        codes = np.array([code_of.setdefault(name, len(code_of)) for name in names], np.int32)
        self._room.take(len(code_of) - before, len(code_of))
        return codes

    def names(self) -> NDArray[np.object_]:
        """Return the names in the order of their codes."""
        found = np.empty(len(self._code_of), dtype=object)
        found[:] = list(self._code_of)
        return found

    def in_order(self) -> tuple[NDArray[np.object_], NDArray[np.int32]]:
        """Return the names sorted, and the place of each code among them."""
        names = self.names()
        order: NDArray[np.int64] = np.argsort(names)
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return names[order], place


def settled(
    raw: RowsFile, place: NDArray[np.int32], n_columns: int, final: RowsFile, argument: str
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]]:
    """Write rows of provisional codes again: final codes, sorted in a row, duplicates added up.

    Parameters
    ----------
    raw : RowsFile
        Removed at the end.
    place : int32
        The final code of each provisional one; -1 drops it.
    n_columns : int
        Number of final codes.
    final : RowsFile
    argument : str
        What errors call the rows.

    Yields
    ------
    n_rows, row_of, codes, counts
        Of each block that was written: its rows, and its entries with the row of each, counted
        from the first of the block.
    """
    for first, last in raw.blocks():
        start, codes, counts = raw.read((first, last))
        row_of = np.repeat(np.arange(last - first), np.diff(start))
        new = place[codes]
        if len(new) and new.min() < 0:
            known = new >= 0
            row_of, new = row_of[known], new[known]
            counts = None if counts is None else counts[known]
        row_of, new, merged = _merged(row_of * n_columns + new, counts, n_columns)
        if merged.max(initial=0) > LARGEST_COUNT:
            raise InputError(
                f"{argument} holds a count of {merged.max()}, but the largest count possible is "
                f"{LARGEST_COUNT}"
            )
        final.append(np.bincount(row_of, minlength=last - first), new, merged)
        yield last - first, row_of, new, merged
    raw.remove()


def _merged(
    key: NDArray[np.int64], counts: NDArray[np.int32] | None, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return rows, columns and counts of the different keys, in order."""
    if counts is None:
        key = np.sort(key)
    else:
        order = np.argsort(key, kind="stable")
        key, counts = key[order], counts[order]
    is_first = np.ones(len(key), dtype=bool)
    is_first[1:] = key[1:] != key[:-1]
    first = np.flatnonzero(is_first)
    if counts is None:
        merged = np.diff(first, append=len(key))
    elif len(first):
        merged = np.add.reduceat(counts, first, dtype=np.int64)
    else:
        merged = np.zeros(0, np.int64)
    row_of, column = np.divmod(key[first], n_columns)
    return row_of, column.astype(np.int32), merged
