"""Strings and sparse matrices as plain arrays, and validation of arrays read from a file.

Files are not trusted: every array is checked for its type, its shape and the range of its values,
and sizes are taken from the arrays themselves, never from numbers in the file.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import ModelFileError
from mcsquared.storage.files import Tensors

MAX_FLOAT = float(np.finfo(np.float64).max)
# Errors of a file with values of the wrong type or impossible ones: JSON may contain anything, and
# families validate their own fields.
INVALID = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError)


def pack_strings(name: str, strings: Iterable[str]) -> Tensors:
    """Return strings as concatenated UTF-8 bytes and the end of each string."""
    # Lone surrogates, from file names and broken encodings, are preserved.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return {f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.ends": ends}


def pack_csr(name: str, matrix: sparse.csr_matrix) -> Tensors:
    """Return a matrix of counts as the three arrays of a CSR matrix, sorted and without zeros."""
    matrix = sparse.csr_matrix(matrix, dtype=np.int32, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return {
        f"{name}.indptr": matrix.indptr.astype(np.int64),
        f"{name}.indices": matrix.indices.astype(np.int32),
        f"{name}.data": matrix.data,
    }


class Reader:
    """Access to the tensors of a file, each validated when it is read."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._tensors = tensors

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def array(
        self,
        name: str,
        dtype: type,
        shape: tuple[int | None, ...],
        low: float | None = None,
        high: float | None = None,
    ) -> NDArray[Any]:
        """Return a tensor of this type and shape (None: any size), with values in [low, high].

        With a bound, NaN is rejected as well.
        """
        if name not in self._tensors:
            raise ModelFileError(f"the array {name!r} is missing")
        found = self._tensors[name]
        expected = tuple("any" if size is None else size for size in shape)
        matches = found.ndim == len(shape) and all(
            size in ("any", actual) for size, actual in zip(expected, found.shape, strict=True)
        )
        if found.dtype != np.dtype(dtype) or not matches:
            raise ModelFileError(
                f"the array {name!r} must be {np.dtype(dtype)} of shape {expected}, "
                f"got {found.dtype} of shape {found.shape}"
            )
        if found.size:
            # Comparisons with NaN are false, so NaN fails any bound.
            above = low is None or bool((found >= low).all())
            below = high is None or bool((found <= high).all())
            if not (above and below):
                raise ModelFileError(
                    f"the values of the array {name!r} must be between "
                    f"{'-inf' if low is None else low} and {'inf' if high is None else high}"
                )
        return found

    def strings(self, name: str, n: int | None = None) -> NDArray[np.object_]:
        """Return an object array of ``n`` strings (None: any number)."""
        content = self.array(f"{name}.bytes", np.uint8, (None,))
        ends = self.array(f"{name}.ends", np.int64, (n,), 0, content.size)
        last = int(ends[-1]) if ends.size else 0
        if last != content.size or (np.diff(ends) < 0).any():
            raise ModelFileError(f"the offsets of the strings {name!r} are inconsistent")
        data, start = content.tobytes(), 0
        strings = np.empty(len(ends), dtype=object)
        for i, end in enumerate(ends.tolist()):
            try:
                strings[i] = data[start:end].decode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise ModelFileError(f"the strings {name!r} are not UTF-8") from error
            start = end
        return strings

    def csr(self, name: str, n_rows: int, n_columns: int) -> sparse.csr_matrix:
        """Return a sparse matrix of positive counts, int32 (n_rows, n_columns)."""
        data = self.array(f"{name}.data", np.int32, (None,), 1)
        indices = self.array(f"{name}.indices", np.int32, (data.size,), 0, n_columns - 1)
        indptr = self.array(f"{name}.indptr", np.int64, (n_rows + 1,), 0, data.size)
        steps = np.diff(indptr)
        if indptr[0] != 0 or indptr[-1] != data.size or (steps < 0).any():
            raise ModelFileError(f"the offsets of the sparse array {name!r} are inconsistent")
        row = np.repeat(np.arange(steps.size), steps)
        if ((np.diff(indices) <= 0) & (np.diff(row) == 0)).any():
            raise ModelFileError(f"the indices of the sparse array {name!r} are not sorted")
        return sparse.csr_matrix((data, indices, indptr), shape=(steps.size, n_columns))
