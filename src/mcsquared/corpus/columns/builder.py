"""Build a context column from batches, in memory or on disk: ``add(batch)`` ... ``finish()``."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Bools, Floats, Int64s, Integers
from mcsquared.corpus.buffers import (
    Buffer,
    LabelEncoder,
    RowRange,
    RowsBuffer,
    Storage,
    recode_rows,
)
from mcsquared.corpus.columns.column import N_HINT_VALUES, RANGED_KINDS, Column
from mcsquared.corpus.columns.values import category_label, parse_list, prefix_errors
from mcsquared.corpus.content import check_magnitude, entries_of_rows
from mcsquared.errors import InputError

KIND_NAMES = {
    "number": "numbers",
    "boolean": "booleans",
    "date": "dates",
    "duration": "durations",
    "category": "strings",
    "unsplit": "strings",
    "bag": "lists",
    "floats": "lists of floats",
    "vector": "vectors",
}
_FLOAT_KINDS = ("number", "date", "duration", "vector")
_ENTRY_TYPES = {"bag": np.int32, "floats": np.float64, "unsplit": np.uint8}


class Batch(NamedTuple):
    """The values of one column for consecutive groups."""

    # A kind of `Column`, "duration", or a provisional kind: "floats" (lists of floats), "unsplit"
    # (strings whose separator is not known yet) or "missing" (no values).
    kind: str
    n_rows: int
    observed: bool  # whether any group has a value; otherwise the batch does not determine the kind
    # Numbers, days, vectors (NaN if missing); codes of categories (-1 if missing); or the
    # concatenated entries of bags (codes), lists (numbers) and unsplit strings (UTF-8).
    values: Any = None
    labels: Sequence[str] = ()  # the label of each code; every label occurs
    lengths: Any = None  # int64 (n_rows,), optional: number of entries of each row
    # int64 (n_entries,), optional: counts of the entries of a bag; by default 1 each
    counts: Any = None
    note: str = ""
    n_partial: int = 0  # number of vectors with some missing numbers, which are treated as missing
    # Whether categories keep the order of the labels; otherwise they are sorted.
    is_ordered: bool = False


def vector_batch(values: Floats, note: str = "") -> Batch:
    """Return a batch of vectors; one with a missing number is treated as missing."""
    missing = np.isnan(values)
    absent = missing.any(axis=1)
    n_partial = int((absent & ~missing.all(axis=1)).sum())
    values[absent] = np.nan
    return Batch("vector", len(values), not absent.all(), values, note=note, n_partial=n_partial)


def split_batch(codes: Integers, strings: list[str], separator: str) -> Batch:
    """Split strings such as "Ada; Bob" into bags; each distinct string is split once.

    ``codes`` has the index of each group's string, -1 if missing.
    """
    code_of: dict[str, int] = {}
    start, entries = [0], []
    for text in [*strings, ""]:  # the last one has code -1
        entries += [code_of.setdefault(part, len(code_of)) for part in split(text, separator)]
        start.append(len(entries))
    chosen, offsets = entries_of_rows(np.array(start), codes)
    values, lengths = np.array(entries, np.int64)[chosen], np.diff(offsets)
    return Batch("bag", len(codes), bool(code_of), values, list(code_of), lengths)


def likely_separator(n_strings: Mapping[str, int]) -> str:
    """Return ";" if a string contains it, else "|" if more strings contain it than ",", else ",".

    ``n_strings`` is the number of strings that contain each of ";", "|" and ",".
    """
    if n_strings[";"]:
        return ";"
    return "|" if n_strings["|"] > n_strings[","] else ","


def split(text: str, separator: str) -> list[str]:
    """Split a string, or read it as a list; parts are stripped, and empty ones are dropped."""
    listed = parse_list(text.strip())
    parts = text.split(separator) if listed is None else map(category_label, listed)
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True, eq=False)
class BufferedColumn:
    """A context column whose values are in buffers."""

    reference: Column  # a column without rows, with the name, kind, categories and note
    values: Buffer | RowsBuffer

    def read(self, *ranges: RowRange) -> Column:
        """Return the column of the groups in ranges (first, last)."""
        if isinstance(self.values, RowsBuffer):
            return self._with_values(self.values.matrix(self.reference.n_categories, *ranges))
        values = self.values.read(*ranges)
        return self._with_values(
            values.reshape(len(values), -1) if self.reference.kind == "vector" else values
        )

    def _with_values(self, values: Any) -> Column:
        part = copy(self.reference)  # not a new Column: batches are checked when they are added
        object.__setattr__(part, "values", values)
        return part

    def describe(self, n_groups: int) -> str:
        """Return the line that `Column.describe` returns for all groups."""
        has_range = self.reference.kind in RANGED_KINDS
        n_observed, bounds, first_values = 0, np.array([np.nan, np.nan]), np.zeros(0)
        for block in self.values.blocks():
            observed = self.read(block).observations()
            n_observed += observed.shape[0]
            if has_range and len(observed):
                n_left = N_HINT_VALUES - len(first_values)
                first_values = np.append(first_values, observed[:n_left])
                bounds = np.array(
                    [np.fmin(bounds[0], observed.min()), np.fmax(bounds[1], observed.max())]
                )
        column = self._with_values(bounds) if has_range else self.reference
        return column._description(n_observed, n_groups, first_values)


class ColumnBuilder:
    """Builds a context column from batches; the names of its files start with ``stem``."""

    def __init__(self, name: str, storage: Storage, stem: str = "") -> None:
        self._name, self._storage, self._stem = name, storage, stem
        self._encoder = LabelEncoder(storage.budget)
        self._buffer: Buffer | RowsBuffer | None = None
        self._kind = self._source = self._note = ""
        self._n_pending = self._n_partial = 0  # pending: rows before the first value
        self._unobserved: Batch | None = None
        self._is_ordered = self._is_fractional = False
        self._n_with_separator = dict.fromkeys(";|,", 0)  # strings that contain each separator
        self._widths: set[int] = set()

    def add(self, batch: Batch, source: str = "") -> None:
        """Append consecutive groups; ``source`` is the file they come from."""
        if batch.kind == "vector" and not batch.values.shape[1]:
            raise InputError(f"context {self._name!r} must contain vectors of width >= 1, got 0")
        self._n_partial += batch.n_partial
        self._note = self._note or batch.note
        if not batch.observed:
            self._unobserved = self._unobserved or batch
            self._fill(batch.n_rows)
            return
        if self._buffer is None:
            self._create_buffer(batch)
            self._source = source
        elif {batch.kind, self._kind} == {"number", "boolean"}:
            self._kind = "number"
        elif batch.kind != self._kind:
            raise InputError(
                f"context {self._name!r} must contain values of one kind, got "
                f"{KIND_NAMES[self._kind]} in {self._source} and {KIND_NAMES[batch.kind]} in "
                f"{source}"
            )
        if batch.kind in _FLOAT_KINDS:
            check_magnitude(batch.values, f"context {self._name!r}")
        with prefix_errors(f"context {self._name!r}"):
            self._append(batch)

    def _create_buffer(self, batch: Batch) -> None:
        self._kind = batch.kind
        dtype = _ENTRY_TYPES.get(batch.kind)
        if dtype is not None:
            name = f"{self._stem}.{batch.kind}"
            self._buffer = RowsBuffer(self._storage, name, batch.kind == "bag", dtype)
        else:
            width = batch.values.shape[1] if batch.kind == "vector" else 1
            dtype = np.int32 if batch.kind == "category" else np.float64
            self._buffer = self._storage.buffer(f"{self._stem}.values", dtype, width)
        n_pending, self._n_pending = self._n_pending, 0
        self._fill(n_pending)

    def _fill(self, n_rows: int) -> None:
        if self._buffer is None:
            self._n_pending += n_rows
        elif isinstance(self._buffer, RowsBuffer):
            self._buffer.fill(n_rows)
        else:
            self._buffer.fill(-1 if self._kind == "category" else np.nan, n_rows)

    def _append(self, batch: Batch) -> None:
        values = batch.values
        if isinstance(self._buffer, RowsBuffer):
            if batch.kind == "bag":
                values = self._encoder.codes(batch.labels)[values]
            elif batch.kind == "floats":
                if len(self._widths) < 2:
                    self._widths.update(np.unique(batch.lengths[batch.lengths > 0]).tolist())
                known = values[~np.isnan(values)]
                self._is_fractional = self._is_fractional or bool((known != np.floor(known)).any())
            else:  # unsplit strings; in UTF-8, no other character contains the byte of a mark
                rows = np.repeat(np.arange(batch.n_rows), batch.lengths)
                for mark in self._n_with_separator:
                    self._n_with_separator[mark] += len(np.unique(rows[values == ord(mark)]))
            self._buffer.append(batch.lengths, values, batch.counts)
            return
        assert self._buffer is not None
        if batch.kind == "category":
            self._is_ordered = batch.is_ordered
            values = np.append(self._encoder.codes(batch.labels), np.int32(-1))[values]
        elif batch.kind == "vector" and values.shape[1] != self._buffer.width:
            raise InputError(
                f"must contain vectors of one width, got {self._buffer.width} and {values.shape[1]}"
            )
        self._buffer.append(values)

    def finish(self) -> BufferedColumn:
        """Determine the kind and the order of the categories, and return the column."""
        buffer = self._buffer
        if buffer is None:
            return self._finish_unobserved()
        if self._kind in ("floats", "unsplit"):
            return self._finish_rows()
        if isinstance(buffer, RowsBuffer):
            categories, position = self._encoder.sorted()
            rows = RowsBuffer(self._storage, self._stem)
            argument = f"context {self._name!r}"
            for _ in recode_rows(buffer, position, len(categories), rows, argument):
                pass
            empty = sparse.csr_matrix((0, len(categories)), dtype=np.int32)
            return BufferedColumn(self._reference("bag", empty, categories), rows)
        if self._kind == "category":
            categories = self._encoder.labels()
            if not self._is_ordered:
                categories, position = self._encoder.sorted()
                buffer.recode(np.append(position, np.int32(-1)))
            empty = np.zeros(0, np.int32)
            return BufferedColumn(self._reference("category", empty, categories), buffer)
        kind = "number" if self._kind == "duration" else self._kind
        shape = (0, buffer.width) if kind == "vector" else 0
        return BufferedColumn(self._reference(kind, np.zeros(shape)), buffer)

    def _reference(self, kind: str, values: Any, categories: Any = None) -> Column:
        partial = f"{self._n_partial} rows with missing numbers are treated as missing"
        notes = [self._note, partial if self._n_partial else ""]
        return Column(self._name, kind, values, categories, "; ".join(filter(None, notes)))

    def _finish_unobserved(self) -> BufferedColumn:
        """Return a column without values, of the kind that its type implies or else of numbers."""
        batch = self._unobserved
        kind = "missing" if batch is None else batch.kind
        if batch is None or kind not in ("date", "duration", "vector"):
            self._note, kind = "no observations: treated as numbers", "number"
            batch = Batch(kind, 0, True)
        self._create_buffer(batch._replace(kind=kind))
        return self.finish()

    def _finish_rows(self) -> BufferedColumn:
        """Resolve a provisional kind: return vectors or bags."""
        is_vector = len(self._widths) == 1
        if self._is_fractional and not is_vector:
            raise InputError(
                f"context {self._name!r} must contain vectors of one width or lists of categories, "
                "got lists of fractional numbers of different lengths"
            )
        final = ColumnBuilder(self._name, self._storage, self._stem)
        rows = self._buffer
        assert isinstance(rows, RowsBuffer)
        for block in rows.blocks():
            if self._kind == "unsplit":
                strings = rows.strings(block)
                separator = likely_separator(self._n_with_separator)
                final.add(split_batch(np.arange(len(strings)), strings, separator))
                continue
            start, numbers, _ = rows.read(block)
            lengths = np.diff(start)
            final.add(
                _list_vectors(lengths, numbers, *self._widths)
                if is_vector
                else _list_bags(lengths, numbers)
            )
        rows.remove()
        return final.finish()


def _list_vectors(lengths: NDArray[Any], numbers: Floats, width: int) -> Batch:
    vectors = np.full((len(lengths), width), np.nan)
    vectors[lengths > 0] = numbers.reshape(-1, width)
    return vector_batch(vectors, "lists of floats of one length: treated as vectors")


def _list_bags(lengths: NDArray[Any], numbers: Floats) -> Batch:
    observed = ~np.isnan(numbers)
    distinct, codes = np.unique(numbers[observed], return_inverse=True)
    labels = [category_label(value) for value in distinct.tolist()]
    return Batch("bag", len(lengths), bool(labels), codes, labels, kept_lengths(lengths, observed))


def kept_lengths(lengths: Int64s, kept: Bools) -> Int64s:
    """Return the number of kept entries of each row."""
    row_of = np.repeat(np.arange(len(lengths)), lengths)[kept]
    return np.bincount(row_of, minlength=len(lengths))


def column_of(name: str, batch: Batch) -> Column:
    """Return the column of a single batch, in memory."""
    builder = ColumnBuilder(name, Storage())
    builder.add(batch)
    return builder.finish().read((0, batch.n_rows))
