"""Collect the vectors of groups, from batches (in files of a scratch folder) or from lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus.buffers import Buffer, RowRange, RowsBuffer, Storage
from mcsquared.corpus.content import Vectors, check_magnitude
from mcsquared.corpus.sources.arrays import vectors_from_arrays
from mcsquared.errors import InputError, input_errors

_LISTS, _FLOATS = (list, tuple, np.ndarray), (float, np.floating, Decimal)


@dataclass(frozen=True, eq=False)
class BufferedVectors:
    """Vectors of each group, in buffers."""

    rows: RowsBuffer  # vectors of each group
    lengths: Buffer  # number of vectors of each group, int32
    width: int
    notes: Sequence[str] = ()

    vocabulary = word_frequency = document_frequency = None

    @property
    def n_tokens(self) -> int:
        """Number of vectors of all groups."""
        return self.rows.values.n_rows

    @property
    def parts(self) -> list[Buffer]:
        """The buffers that a fingerprint depends on."""
        return [self.rows.start, self.rows.values]

    def read(self, *ranges: RowRange) -> Vectors:
        """Return the vectors of the groups in half-open ranges (first, last)."""
        start, values, _ = self.rows.read(*ranges)
        return Vectors(start, values.reshape(-1, self.width))

    def without_rows(self) -> Vectors:
        """Return an empty set of vectors of the same width."""
        return Vectors(np.zeros(1, np.int64), np.zeros((0, self.width)))


class VectorsBuilder:
    """Collects vectors; the first one determines the width of all.

    ``argument`` is the name of the vectors in errors.
    """

    def __init__(self, storage: Storage, argument: str) -> None:
        self._storage, self._argument = storage, argument
        self._lengths = storage.buffer("lengths", np.int32)
        self._rows: RowsBuffer | None = None

    def add(self, lengths: Int64s, values: Floats) -> None:
        """Add groups, given the number of vectors of each and all vectors (n_vectors, width)."""
        before = self._lengths.n_rows
        self._lengths.append(lengths)
        if len(values) and self._rows is None:
            width = values.shape[1]
            self._rows = RowsBuffer(self._storage, "vectors", False, np.float64, width)
            self._rows.fill(before)
        if self._rows is None:
            return
        width = self._rows.values.width
        if len(values) and values.shape[1] != width:
            raise InputError(
                f"{self._argument} must contain vectors of one width, got {width} and "
                f"{values.shape[1]}"
            )
        if np.isnan(values).any():
            raise InputError(f"{self._argument} must not contain missing numbers or NaN")
        check_magnitude(values, self._argument)
        self._rows.append(lengths, values)

    def finish(self) -> BufferedVectors:
        """Return the vectors of all groups."""
        if self._rows is None:
            raise InputError(f"{self._argument} must contain at least one vector, got none")
        return BufferedVectors(self._rows, self._lengths, self._rows.values.width)


def vectors_from_lists(values: Sequence[Any]) -> Vectors | None:
    """Return the vectors of groups given as lists of vectors, or as one list of floats each.

    Missing values and empty lists are groups without vectors. Return None if the lists contain
    something else, such as words or integer codes, or if all are empty.
    """
    lists = [value for value in values if isinstance(value, _LISTS) and len(value)]
    entries = (entry for value in lists for entry in value)
    first = next((entry for entry in entries if entry is not None), None)
    if first is None or isinstance(first, str):
        return None
    is_nested = isinstance(first, _LISTS)
    # JSON writes whole numbers among floats as integers.
    if not is_nested and not any(isinstance(x, _FLOATS) for value in lists for x in value):
        return None
    return vectors_from_arrays(_array(value, is_nested, j) for j, value in enumerate(values))


def _array(value: Any, is_nested: bool, j: int) -> Floats:
    """Return the vectors of one group (n_vectors, width); a 1-D array if there are none."""
    if not isinstance(value, _LISTS) or not len(value):
        return np.zeros(0)
    rows = value if is_nested else [value]
    with input_errors(
        f"content[{j}] must consist of vectors of numbers, all of one width", TypeError, ValueError
    ):
        return np.stack([np.array(row, np.float64) for row in rows])
