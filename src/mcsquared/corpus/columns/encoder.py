"""Labels to codes as they appear, and rows of such codes recoded to their final order."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.buffers import MemoryBudget, RowsBuffer
from mcsquared.corpus.content import LARGEST_COUNT, object_array
from mcsquared.errors import InputError


class LabelEncoder:
    """Labels numbered in order of appearance."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._code_of: defaultdict[str, int] = defaultdict()
        self._code_of.default_factory = self._code_of.__len__
        self._budget = budget

    def __len__(self) -> int:
        return len(self._code_of)

    def codes(self, labels: Sequence[str]) -> NDArray[np.int32]:
        """Return the codes of labels; a new label gets the next code."""
        before = len(self._code_of)
        codes = np.fromiter(map(self._code_of.__getitem__, labels), np.int32, len(labels))
        self._budget.take(len(self._code_of) - before, len(self._code_of))
        return codes

    def labels(self) -> NDArray[np.object_]:
        """Return the labels in the order of their codes."""
        return object_array(list(self._code_of))

    def sorted(self) -> tuple[NDArray[np.object_], NDArray[np.int32]]:
        """Return the labels in alphabetical order, and the position of each code among them."""
        # Python's sort is faster than NumPy's for strings that are nearly in order.
        names = sorted(self._code_of)
        position = np.empty(len(names), np.int32)
        position[[self._code_of[name] for name in names]] = np.arange(len(names), dtype=np.int32)
        return object_array(names), position


def recode_rows(
    raw: RowsBuffer, new_code: NDArray[np.int32], n_columns: int, final: RowsBuffer, argument: str
) -> Iterator[sparse.csr_matrix]:
    """Write rows of provisional codes again: final codes in order, duplicates added up.

    Parameters
    ----------
    raw : RowsBuffer
        Removed at the end.
    new_code : int32
        The final code of each provisional one; -1 drops it.
    n_columns : int
        Number of final codes.
    final : RowsBuffer
    argument : str
        Name of the rows in errors.

    Yields
    ------
    csr_matrix of int64 (rows of a block, n_columns)
        Each block that was written.
    """
    for first, last in raw.blocks():
        start, codes, counts = raw.read((first, last))
        codes = new_code[codes]
        counts = np.ones(len(codes), np.int64) if counts is None else counts.astype(np.int64)
        known = codes >= 0
        if not known.all():
            start = np.append(0, np.cumsum(known))[start]
            codes, counts = codes[known], counts[known]
        block = sparse.csr_matrix((counts, codes, start), shape=(last - first, n_columns))
        block.sum_duplicates()
        if block.data.max(initial=0) > LARGEST_COUNT:
            raise InputError(
                f"{argument} must hold counts <= {LARGEST_COUNT}, got {block.data.max()}"
            )
        final.append(np.diff(block.indptr), block.indices, block.data)
        yield block
    raw.remove()
