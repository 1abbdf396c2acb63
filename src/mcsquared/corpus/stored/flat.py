"""Flat files in a scratch folder: numbers, rows of counts and strings, read back by ranges.

A range is read with ``np.fromfile``: pages of a mapped file would count as memory in use.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError

__all__ = ["FlatFile", "RowsFile", "StringsFile"]

BLOCK_ENTRIES = 2**19  # what is filled, rewritten or hashed at a time


class FlatFile:
    """Numbers of one type, ``width`` in a row, appended while writing and read by ranges of rows.

    Parameters
    ----------
    path : Path
    dtype : NumPy's name of a type
    width : int
        Numbers in a row; rows of width 1 are read as a 1-D array.
    """

    def __init__(self, path: Path, dtype: Any, width: int = 1) -> None:
        self.path, self.dtype, self.width = path, np.dtype(dtype), width
        self.n_rows = 0
        with open(path, "wb"):
            pass

    def append(self, values: Any) -> None:
        """Write rows at the end."""
        array = np.ascontiguousarray(values, dtype=self.dtype)
        # Opened each time: a file left open keeps its space on the disk after it is removed.
        with open(self.path, "ab") as file:
            file.write(array.reshape(-1).view(np.uint8).data)
        self.n_rows += array.size // self.width

    def fill(self, value: float, n_rows: int) -> None:
        """Write one value again and again."""
        step = max(BLOCK_ENTRIES // self.width, 1)
        for first in range(0, n_rows, step):
            self.append(np.full(min(step, n_rows - first) * self.width, value, self.dtype))

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink()

    def read(self, first: int, last: int) -> NDArray[Any]:
        """Return the rows ``first:last``, (n,) or (n, width)."""
        count = (last - first) * self.width
        offset = first * self.width * self.dtype.itemsize
        try:
            values = np.fromfile(self.path, self.dtype, count, offset=offset)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read ({error}); the corpus must stay open while it is used"
            ) from error
        if len(values) < count:
            raise InputError(f"{self.path} was cut while it was in use")
        return values if self.width == 1 else values.reshape(-1, self.width)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of consecutive blocks of rows."""
        step = max(BLOCK_ENTRIES // self.width, 1)
        for first in range(0, self.n_rows, step):
            yield first, min(first + step, self.n_rows)

    def rewrite(self, table: NDArray[Any]) -> None:
        """Replace every entry ``i`` by ``table[i]``, in place."""
        with open(self.path, "r+b") as file:
            for first, last in self.blocks():
                replaced = table[self.read(first, last)].astype(self.dtype)
                file.seek(first * self.dtype.itemsize)
                file.write(replaced.view(np.uint8).data)


class RowsFile:
    """Rows of entries of different lengths: codes with counts, or numbers.

    Parameters
    ----------
    folder : Path
    name : str
        The files are ``name.start``, ``name.codes`` and ``name.counts``.
    counted : bool
        Whether entries have counts; otherwise each of them counts one.
    dtype : NumPy's name of a type
        Of the entries.
    """

    def __init__(
        self, folder: Path, name: str, counted: bool = True, dtype: Any = np.int32
    ) -> None:
        self.start = FlatFile(folder / f"{name}.start", np.int64)
        self.codes = FlatFile(folder / f"{name}.codes", dtype)
        self.counts = FlatFile(folder / f"{name}.counts", np.int32) if counted else None
        self.start.append([0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.start.n_rows - 1

    def append(self, lengths: Any, codes: Any, counts: Any = None) -> None:
        """Write rows at the end: the number of entries of each, and all entries."""
        self.start.append(self.codes.n_rows + np.cumsum(lengths, dtype=np.int64))
        self.codes.append(codes)
        if self.counts is not None:
            self.counts.append(counts)

    def fill(self, n_rows: int) -> None:
        """Write rows without entries."""
        self.start.fill(self.codes.n_rows, n_rows)

    def read(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[Any], Any]:
        """Return (start, codes, counts) of the rows ``first:last``; start begins at 0."""
        start = self.start.read(first, last + 1)
        codes = self.codes.read(int(start[0]), int(start[-1]))
        counts = None
        if self.counts is not None:
            counts = self.counts.read(int(start[0]), int(start[-1]))
        return start - start[0], codes, counts

    def matrix(self, first: int, last: int, n_columns: int) -> sparse.csr_matrix:
        """Return the rows ``first:last`` as counts; they must be sorted and without duplicates."""
        start, codes, counts = self.read(first, last)
        found = sparse.csr_matrix((counts, codes, start), shape=(last - first, n_columns))
        found.has_sorted_indices = True
        found.has_canonical_format = True
        return found

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of consecutive rows whose entries make a block."""
        for begin in range(0, self.n_rows, BLOCK_ENTRIES):
            end = min(begin + BLOCK_ENTRIES, self.n_rows)
            start = self.start.read(begin, end + 1)
            first = 0
            while first < end - begin:
                last = int(np.searchsorted(start, start[first] + BLOCK_ENTRIES, side="right")) - 1
                last = min(max(last, first + 1), end - begin)
                yield begin + first, begin + last
                first = last

    def remove(self) -> None:
        """Delete the files."""
        for file in (self.start, self.codes, self.counts):
            if file is not None:
                file.remove()


class StringsFile:
    """Strings as UTF-8, one after another, and where each of them starts."""

    def __init__(self, folder: Path, name: str) -> None:
        self.rows = RowsFile(folder, name, counted=False, dtype=np.uint8)

    def append(self, lengths: NDArray[np.int64], content: NDArray[np.uint8]) -> None:
        """Write strings at the end: the length of each, and all one after another."""
        self.rows.append(lengths, content)

    def read(self, first: int, last: int) -> list[str]:
        """Return the strings ``first:last``."""
        start, content, _ = self.rows.read(first, last)
        whole = content.tobytes()
        places = start.tolist()
        return [whole[begin:end].decode("utf-8") for begin, end in pairwise(places)]
