"""Append-only arrays in memory or in files of a scratch folder, and an encoder of labels.

Files are read, not mapped: the pages of a mapped file would count as memory in use.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Int32s, Int64s, Objects
from mcsquared.corpus.content import blocks_of_rows, check_max_count, object_array
from mcsquared.errors import InputError

RowRange = tuple[int, int]  # first and last of a half-open range of rows
BLOCK_ENTRIES = 2**19  # number of entries filled, recoded or hashed at once
_BYTES_PER_STRING = 200  # ten letters, the code, and entries of dictionaries and lists


class MemoryBudget:
    """Limit on the number of distinct labels in memory, over all columns.

    The process may use ``memory`` bytes, half of them for labels; by default there is no limit.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._left = None if memory is None else memory // (2 * _BYTES_PER_STRING)

    def reserve(self, n_new: int, n_labels: int) -> None:
        """Reserve memory for ``n_new`` labels of a column that now has ``n_labels``."""
        if self._left is None:
            return
        self._left -= n_new
        if self._left < 0:
            raise InputError(
                f"has at least {n_labels} distinct values, which do not fit into memory; leave "
                "the column out or raise the limit (memory=)"
            )


class LabelEncoder:
    """Encode labels as integers, in order of first appearance."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._code_of: defaultdict[str, int] = defaultdict()
        # A lookup adds an unseen label, whose code is the number of labels so far.
        self._code_of.default_factory = self._code_of.__len__
        self._budget = budget

    def __len__(self) -> int:
        return len(self._code_of)

    def codes(self, labels: Sequence[str]) -> Int32s:
        """Return the codes of labels; a new label gets the next code."""
        before = len(self._code_of)
        codes = np.fromiter(map(self._code_of.__getitem__, labels), np.int32, len(labels))
        self._budget.reserve(len(self._code_of) - before, len(self._code_of))
        return codes

    def codes_of_groups(self, groups: Iterable[Iterable[str]]) -> tuple[list[int], Int32s]:
        """Return the number of labels in each group, and the codes of all labels."""
        before, codes, lengths = len(self._code_of), array("i"), []
        for labels in groups:
            codes_of_group = list(map(self._code_of.__getitem__, labels))
            codes.fromlist(codes_of_group)
            lengths.append(len(codes_of_group))
        self._budget.reserve(len(self._code_of) - before, len(self._code_of))
        return lengths, np.array(codes, np.int32)

    def labels(self) -> Objects:
        """Return the labels in the order of their codes."""
        return object_array(list(self._code_of))

    def sorted(self) -> tuple[Objects, Int32s]:
        """Return the labels in alphabetical order, and the position of each code among them."""
        # Python's sort is faster than NumPy's for strings that are nearly in order.
        names = sorted(self._code_of)
        position = np.empty(len(names), np.int32)
        position[[self._code_of[name] for name in names]] = np.arange(len(names), dtype=np.int32)
        return object_array(names), position


class Buffer:
    """An append-only array of rows of ``width`` numbers, read by ranges of rows.

    Rows of width 1 are read as a 1-D array.
    """

    def __init__(self, dtype: Any, width: int = 1) -> None:
        self.dtype, self.width, self.n_rows = np.dtype(dtype), width, 0
        self._parts: list[NDArray[Any]] = []

    @property
    def _values(self) -> NDArray[Any]:
        if len(self._parts) != 1:
            self._parts = [np.concatenate([np.empty(0, self.dtype), *self._parts])]
        return self._parts[0]

    def append(self, values: Any) -> None:
        """Append rows."""
        rows = np.ascontiguousarray(values, dtype=self.dtype).reshape(-1)
        self._parts.append(rows)
        self.n_rows += rows.size // self.width

    def fill(self, value: float, n_rows: int) -> None:
        """Append ``n_rows`` rows filled with ``value``."""
        step = max(BLOCK_ENTRIES // self.width, 1)
        for first in range(0, n_rows, step):
            self.append(np.full(min(step, n_rows - first) * self.width, value, self.dtype))

    def read(self, *ranges: RowRange) -> NDArray[Any]:
        """Return the rows of half-open ranges (first, last), concatenated: (n,) or (n, width)."""
        parts = [self._values[first * self.width : last * self.width] for first, last in ranges]
        return self._shaped(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _shaped(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.width == 1 else values.reshape(-1, self.width)

    def blocks(self) -> Iterator[RowRange]:
        """Yield (first, last) of consecutive blocks of rows."""
        step = max(BLOCK_ENTRIES // self.width, 1)
        for first in range(0, self.n_rows, step):
            yield first, min(first + step, self.n_rows)

    def recode(self, table: NDArray[Any]) -> None:
        """Replace every entry ``i`` by ``table[i]``, in place."""
        self._parts = [table[self._values].astype(self.dtype)]

    def remove(self) -> None:
        """Free the values."""
        self._parts.clear()


class FileBuffer(Buffer):
    """A `Buffer` whose values are in a file."""

    def __init__(self, path: Path, dtype: Any, width: int = 1) -> None:
        super().__init__(dtype, width)
        self.path = path
        with open(path, "wb"):
            pass

    def append(self, values: Any) -> None:
        """Append rows."""
        rows = np.ascontiguousarray(values, dtype=self.dtype)
        # Opened each time: the disk space of a deleted file is freed only when it is closed.
        with open(self.path, "ab") as file:
            file.write(rows.reshape(-1).view(np.uint8).data)
        self.n_rows += rows.size // self.width

    def read(self, *ranges: RowRange) -> NDArray[Any]:
        """Return the rows of half-open ranges (first, last), concatenated: (n,) or (n, width)."""
        row_bytes = self.width * self.dtype.itemsize
        values = np.empty(sum(last - first for first, last in ranges) * self.width, self.dtype)
        remaining = values.view(np.uint8).data
        try:
            with open(self.path, "rb", buffering=0) as file:
                for first, last in ranges:
                    file.seek(first * row_bytes)
                    size = (last - first) * row_bytes
                    while size:
                        n_read = file.readinto(remaining[:size])
                        if not n_read:
                            raise InputError(f"{self.path} was truncated while in use")
                        remaining, size = remaining[n_read:], size - n_read
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read ({error}); the corpus must stay open while in use"
            ) from error
        return self._shaped(values)

    def recode(self, table: NDArray[Any]) -> None:
        """Replace every entry ``i`` by ``table[i]``, in place."""
        with open(self.path, "r+b") as file:
            for first, last in self.blocks():
                replaced = table[self.read((first, last))].astype(self.dtype)
                file.seek(first * self.dtype.itemsize)
                file.write(replaced.view(np.uint8).data)

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink()


@dataclass(frozen=True, eq=False)
class Storage:
    """Creates buffers in memory, or in files of ``folder``."""

    folder: Path | None = None
    budget: MemoryBudget = field(default_factory=MemoryBudget)

    def buffer(self, name: str, dtype: Any, width: int = 1) -> Buffer:
        """Return an empty buffer; ``name`` is its file name."""
        if self.folder is None:
            return Buffer(dtype, width)
        return FileBuffer(self.folder / name, dtype, width)


class RowsBuffer:
    """Rows of different lengths in CSR layout: codes with counts, numbers, or UTF-8 bytes.

    An entry has ``width`` numbers. Without counts, each entry counts once. Files are
    ``name.start``, ``name.values`` and ``name.counts``.
    """

    def __init__(
        self,
        storage: Storage,
        name: str,
        has_counts: bool = True,
        dtype: Any = np.int32,
        width: int = 1,
    ) -> None:
        self.start = storage.buffer(f"{name}.start", np.int64)
        self.values = storage.buffer(f"{name}.values", dtype, width)
        self.counts = storage.buffer(f"{name}.counts", np.int32) if has_counts else None
        self.start.append([0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.start.n_rows - 1

    def append(self, lengths: Any, values: Any, counts: Any = None) -> None:
        """Append rows, given the number of entries of each row and all entries."""
        self.start.append(self.values.n_rows + np.cumsum(lengths, dtype=np.int64))
        self.values.append(values)
        if self.counts is not None:
            self.counts.append(np.ones(len(values), np.int32) if counts is None else counts)

    def fill(self, n_rows: int) -> None:
        """Append rows without entries."""
        self.start.fill(self.values.n_rows, n_rows)

    def read(self, *ranges: RowRange) -> tuple[Int64s, NDArray[Any], Any]:
        """Return (start, values, counts) of the rows in ranges (first, last); start begins at 0."""
        start = self.start.read(*((first, last + 1) for first, last in ranges))
        range_end = np.cumsum([last + 1 - first for first, last in ranges])
        range_begin = np.append(0, range_end[:-1])
        entries = list(zip(start[range_begin].tolist(), start[range_end - 1].tolist(), strict=True))
        lengths = np.delete(np.diff(start), range_end[:-1] - 1)  # drop the gaps between ranges
        counts = None if self.counts is None else self.counts.read(*entries)
        return np.append(0, np.cumsum(lengths)), self.values.read(*entries), counts

    def matrix(self, n_columns: int, *ranges: RowRange) -> sparse.csr_matrix:
        """Return counts as a matrix; rows must be sorted and without duplicates."""
        start, codes, counts = self.read(*ranges)
        matrix = sparse.csr_matrix((counts, codes, start), shape=(len(start) - 1, n_columns))
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def strings(self, *ranges: RowRange) -> list[str]:
        """Return rows of UTF-8 bytes as strings."""
        start, content, _ = self.read(*ranges)
        data, bounds = content.tobytes(), start.tolist()
        return [data[first:last].decode() for first, last in pairwise(bounds)]

    def blocks(self) -> Iterator[RowRange]:
        """Yield (first, last) of blocks of rows with at most BLOCK_ENTRIES entries, or one row."""
        for begin in range(0, self.n_rows, BLOCK_ENTRIES):
            end = min(begin + BLOCK_ENTRIES, self.n_rows)
            for first, last in blocks_of_rows(self.start.read((begin, end + 1)), BLOCK_ENTRIES):
                yield begin + first, begin + last

    def remove(self) -> None:
        """Free the entries, or delete the files."""
        for buffer in (self.start, self.values, self.counts):
            if buffer is not None:
                buffer.remove()


def recode_rows(
    raw: RowsBuffer, new_code: Int32s, n_columns: int, final: RowsBuffer, argument: str
) -> Iterator[sparse.csr_matrix]:
    """Copy rows from ``raw`` to ``final`` with new codes, sorted and with duplicates summed.

    ``new_code`` maps old codes to new ones; -1 drops an entry. ``argument`` is the name of the data
    in errors. Yields each block that is written, a csr_matrix of int64 (n_rows, n_columns), and
    removes ``raw`` at the end.
    """
    for first, last in raw.blocks():
        start, codes, counts = raw.read((first, last))
        codes = new_code[codes]
        counts = np.ones(len(codes), np.int64) if counts is None else counts.astype(np.int64)
        kept = codes >= 0
        if not kept.all():
            start = np.append(0, np.cumsum(kept))[start]
            codes, counts = codes[kept], counts[kept]
        block = sparse.csr_matrix((counts, codes, start), shape=(last - first, n_columns))
        block.sum_duplicates()
        check_max_count(block.data.max(initial=0), argument)
        final.append(np.diff(block.indptr), block.indices, block.data)
        yield block
    raw.remove()
