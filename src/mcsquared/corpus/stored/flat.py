"""Flat files in a scratch folder: numbers, rows of counts and strings, read back by ranges.

Files are read, not mapped: the pages of a mapped file would count as memory in use.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError

__all__ = ["FlatFile", "RowsFile", "Run", "StringsFile"]

Run = tuple[int, int]
BLOCK_ENTRIES = 2**19  # what is filled, rewritten or hashed at a time


class FlatFile:
    """Numbers of one type, ``width`` in a row, appended while writing and read by runs of rows.

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

    def read(self, *runs: Run) -> NDArray[Any]:
        """Return the rows of runs (first, last), one after another: (n,) or (n, width)."""
        row = self.width * self.dtype.itemsize
        values = np.empty(sum(last - first for first, last in runs) * self.width, self.dtype)
        left = values.view(np.uint8).data
        try:
            with open(self.path, "rb", buffering=0) as file:
                for first, last in runs:
                    file.seek(first * row)
                    size = (last - first) * row
                    while size:
                        found = file.readinto(left[:size])
                        if not found:
                            raise InputError(f"{self.path} was cut while it was in use")
                        left, size = left[found:], size - found
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read ({error}); the corpus must stay open while it is used"
            ) from error
        return values if self.width == 1 else values.reshape(-1, self.width)

    def blocks(self) -> Iterator[Run]:
        """Yield (first, last) of consecutive blocks of rows."""
        step = max(BLOCK_ENTRIES // self.width, 1)
        for first in range(0, self.n_rows, step):
            yield first, min(first + step, self.n_rows)

    def rewrite(self, table: NDArray[Any]) -> None:
        """Replace every entry ``i`` by ``table[i]``, in place."""
        with open(self.path, "r+b") as file:
            for first, last in self.blocks():
                replaced = table[self.read((first, last))].astype(self.dtype)
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

    def read(self, *runs: Run) -> tuple[NDArray[np.int64], NDArray[Any], Any]:
        """Return (start, codes, counts) of the rows of runs (first, last); start begins at 0."""
        start = self.start.read(*((first, last + 1) for first, last in runs))
        end_of_run = np.cumsum([last + 1 - first for first, last in runs])
        begin_of_run = np.append(0, end_of_run[:-1])
        entries = list(
            zip(start[begin_of_run].tolist(), start[end_of_run - 1].tolist(), strict=True)
        )
        lengths = np.delete(np.diff(start), end_of_run[:-1] - 1)  # from one run to the next
        counts = None if self.counts is None else self.counts.read(*entries)
        return np.append(0, np.cumsum(lengths)), self.codes.read(*entries), counts

    def matrix(self, n_columns: int, *runs: Run) -> sparse.csr_matrix:
        """Return rows as counts; they must be sorted and without duplicates."""
        start, codes, counts = self.read(*runs)
        found = sparse.csr_matrix((counts, codes, start), shape=(len(start) - 1, n_columns))
        found.has_sorted_indices = True
        found.has_canonical_format = True
        return found

    def blocks(self) -> Iterator[Run]:
        """Yield (first, last) of consecutive rows whose entries make a block."""
        for begin in range(0, self.n_rows, BLOCK_ENTRIES):
            end = min(begin + BLOCK_ENTRIES, self.n_rows)
            start = self.start.read((begin, end + 1))
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

    def read(self, *runs: Run) -> list[str]:
        """Return the strings of runs (first, last)."""
        start, content, _ = self.rows.read(*runs)
        whole = content.tobytes()
        places = start.tolist()
        return [whole[begin:end].decode("utf-8") for begin, end in pairwise(places)]
