"""What the groups hold: words counted per group, or vectors listed group by group."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_VALUE",
    "Vectors",
    "Words",
    "check_values",
    "check_magnitude",
    "content_from",
    "count_matrix",
    "names_array",
    "vectors_from_arrays",
    "words_from_counts",
]

LARGEST_COUNT = 2**31 - 1
LARGEST_VALUE = 1e150  # its square is still a finite float64, and so are sums of such squares


@dataclass(frozen=True, eq=False)
class Words:
    """Counts of words per group.

    Parameters
    ----------
    counts : scipy.sparse.csr_matrix of int32, shape (n_groups, n_words)
        Sorted indices, no duplicates, no explicit zeros. `words_from_counts` makes one of any matrix.
    vocabulary : ndarray of object, shape (n_words,)
        The words as unique strings.
    """

    counts: sparse.csr_matrix
    vocabulary: NDArray[np.object_]

    @property
    def n_groups(self) -> int:
        return int(self.counts.shape[0])

    @property
    def n_words(self) -> int:
        return int(self.counts.shape[1])

    @property
    def tokens_per_group(self) -> NDArray[np.int64]:
        """Number of tokens of each group, int64 (n_groups,)."""
        total = np.zeros(len(self.counts.data) + 1, np.int64)
        np.cumsum(self.counts.data, dtype=np.int64, out=total[1:])
        return np.diff(total[self.counts.indptr])

    @property
    def n_tokens(self) -> int:
        return int(self.counts.data.sum(dtype=np.int64))

    def __getitem__(self, rows: NDArray[np.int64]) -> "Words":
        return Words(self.counts[rows], self.vocabulary)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of numbers, those of one group after another.

    Parameters
    ----------
    start : ndarray of int64, shape (n_groups + 1,)
        The vectors of group ``j`` are ``values[start[j]:start[j + 1]]``.
    values : ndarray of float64, shape (n_tokens, width), C order
    """

    start: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def n_groups(self) -> int:
        return len(self.start) - 1

    @property
    def n_tokens(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def tokens_per_group(self) -> NDArray[np.int64]:
        """Number of vectors of each group, int64 (n_groups,)."""
        return np.diff(self.start)

    def __getitem__(self, rows: NDArray[np.int64]) -> "Vectors":
        sizes = self.tokens_per_group[rows]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        source = np.arange(start[-1]) + np.repeat(self.start[rows] - start[:-1], sizes)
        return Vectors(start, np.ascontiguousarray(self.values[source]))


def content_from(
    content: Any, kind: str = "auto", vocabulary: Sequence[str] | None = None
) -> Words | Vectors:
    """Return words or vectors from a matrix or a list of arrays.

    Parameters
    ----------
    content : sparse matrix, array, list of arrays, Words or Vectors
    kind : {"auto", "counts", "vectors"}
        "auto": a sparse matrix, or a dense one of integers or booleans, holds counts; a dense one
        of floating numbers holds one vector per group; a list of 2-D arrays holds vectors.
    vocabulary : sequence of str, optional
        Names of the columns of a count matrix.
    """
    if kind not in ("auto", "counts", "vectors"):
        raise InputError(f"content is {kind!r}, but 'auto', 'counts' or 'vectors' is wanted")
    if isinstance(content, Words | Vectors):
        return content
    if sparse.issparse(content):
        if kind == "vectors":
            content = content.toarray()
        else:
            return words_from_counts(content, vocabulary)
    matrix = _matrix_or_arrays(content)
    if isinstance(matrix, list):
        if kind == "counts":
            raise InputError("content is a list of 2-D arrays, but a matrix of counts is wanted")
        return _without_vocabulary(vectors_from_arrays(matrix), vocabulary)
    if kind == "counts" or (kind == "auto" and matrix.dtype.kind in "biu"):
        return words_from_counts(matrix, vocabulary)
    return _without_vocabulary(_one_vector_per_group(matrix), vocabulary)


def words_from_counts(matrix: Any, vocabulary: Sequence[str] | None = None) -> Words:
    """Return `Words` from a sparse or dense matrix of whole numbers that are not negative."""
    counts = count_matrix(matrix, "content")
    if counts.shape[0] == 0:
        raise InputError("content has zero groups (rows), but at least one is wanted")
    if counts.shape[1] == 0:
        raise InputError(
            f"content has 0 feature(s) (shape={counts.shape}) while a minimum of 1 is required."
        )
    return Words(counts, _vocabulary(vocabulary, counts.shape[1]))


def count_matrix(matrix: Any, argument: str) -> sparse.csr_matrix:
    """Return a canonical CSR matrix of int32 counts; ``argument`` is its name in errors."""
    counts = _as_csr(matrix, argument)
    data = counts.data
    if data.dtype.kind == "f":
        _check_whole(data, argument)
    if len(data) and data.min() < 0:
        raise InputError(
            f"{argument} holds a negative count ({data.min():g}); counts must be whole numbers from 0"
        )
    if len(data) and data.max() > LARGEST_COUNT:
        raise _too_many(argument, data.max())
    counts.eliminate_zeros()
    counts = sparse.csr_matrix(
        (counts.data.astype(np.int32), counts.indices, counts.indptr), shape=counts.shape
    )
    counts.sort_indices()
    counts.has_canonical_format = True
    return counts


def vectors_from_arrays(arrays: Iterable[Any]) -> Vectors:
    """Return `Vectors` from one array of shape (n_tokens, width) per group.

    A group without tokens is an empty array; its width need not be given.
    """
    groups = [_float_array(array, f"content[{j}]") for j, array in enumerate(arrays)]
    if not groups:
        raise InputError("content has zero groups, but at least one is wanted")
    width, first = None, 0
    for j, group in enumerate(groups):
        if group.ndim == 2:
            if width is None:
                width, first = group.shape[1], j
            elif group.shape[1] != width:
                raise InputError(
                    f"content[{j}] has width {group.shape[1]}, but content[{first}] has width {width}: "
                    "all groups must have vectors of the same width"
                )
        elif group.size:
            raise InputError(
                f"content[{j}] has {group.ndim} dimension(s), but an array of shape "
                "(number of tokens, width) is wanted for each group"
            )
    if not width:
        raise InputError(
            f"content has 0 feature(s) (shape=({len(groups)}, 0)) while a minimum of 1 is required."
        )
    start = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    values = np.concatenate([group.reshape(-1, width) for group in groups])
    check_values(values, "content")
    return Vectors(start, np.ascontiguousarray(values))


def check_values(values: NDArray[np.float64], argument: str) -> None:
    """Raise `InputError` where numbers are missing, infinite or too large to be squared."""
    if np.isnan(values).any():
        raise InputError(f"{argument} holds NaN, but a number is wanted everywhere")
    check_magnitude(values, argument)


def check_magnitude(values: NDArray[np.float64], argument: str) -> None:
    """Raise `InputError` where numbers are infinite or too large to be squared; NaN passes."""
    size = np.abs(values)
    if np.isinf(size).any():
        raise InputError(f"{argument} holds an infinite value (inf), but finite numbers are wanted")
    largest = np.nanmax(size) if not np.isnan(size).all() else 0.0
    if largest > LARGEST_VALUE:
        raise InputError(
            f"{argument} holds a value of size {largest:g}, but values beyond {LARGEST_VALUE:g} overflow"
        )


def names_array(names: Any, size: int, argument: str, what: str) -> NDArray[np.object_]:
    """Return ``names`` as an object array of ``size`` strings."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"{argument} is {names!r:.60}, but a list of names is wanted")
    listed = [name if isinstance(name, str) else str(name) for name in names]
    if len(listed) != size:
        raise InputError(f"{argument} has {len(listed)} names, but there are {size} {what}")
    array = np.empty(size, dtype=object)
    array[:] = listed
    return array


def _vocabulary(vocabulary: Sequence[str] | None, n_words: int) -> NDArray[np.object_]:
    if vocabulary is None:
        return names_array(range(n_words), n_words, "vocabulary", "words")
    names = names_array(vocabulary, n_words, "vocabulary", "words (columns of content)")
    if len(set(names)) < n_words:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))
        raise InputError(f"vocabulary holds {twice!r} twice, but words must be unique")
    return names


def _without_vocabulary(vectors: Vectors, vocabulary: Sequence[str] | None) -> Vectors:
    if vocabulary is not None:
        raise InputError("vocabulary is given, but content holds vectors, which have no words")
    return vectors


def _as_csr(matrix: Any, argument: str) -> sparse.csr_matrix:
    """Return a CSR matrix of int64 or float64 without duplicates, that owns its arrays."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    _check_numeric(matrix.dtype, argument)
    if matrix.ndim != 2:
        raise InputError(
            f"{argument} has {matrix.ndim} dimension(s), but a matrix of counts is wanted"
        )
    if matrix.dtype.kind == "u" and matrix.dtype.itemsize == 8:
        # A cast to int64 would turn the largest ones negative.
        largest = matrix.max() if 0 not in matrix.shape else 0
        if largest > LARGEST_COUNT:
            raise _too_many(argument, largest)
    # Duplicates are summed in a wide type: int8 counts would overflow silently.
    wide = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64)
    try:
        counts = sparse.csr_matrix(wide, copy=True)
        counts.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise InputError(f"{argument} is not a valid sparse matrix: {error}") from error
    counts.sum_duplicates()
    return counts


def _too_many(argument: str, count: float) -> InputError:
    return InputError(
        f"{argument} holds a count of {count:.0f}, but the largest count possible is {LARGEST_COUNT}"
    )


def _check_numeric(dtype: np.dtype[Any], argument: str = "content") -> None:
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {argument} holds complex numbers")
    if dtype.kind not in "biuf":
        raise InputError(f"{argument} has entries of type {dtype}, but numbers are wanted")


def _check_whole(data: NDArray[np.float64], argument: str) -> None:
    if np.isnan(data).any():
        raise InputError(f"{argument} holds NaN, but a count is wanted everywhere")
    if np.isinf(data).any():
        raise InputError(f"{argument} holds an infinite count (inf), but whole numbers are wanted")
    broken = data != np.floor(data)
    if broken.any():
        raise InputError(
            f"{argument} holds a fractional count ({data[broken][0]:g}); counts must be whole numbers "
            "(TF-IDF or normalised values are not counts)"
        )


def _matrix_or_arrays(content: Any) -> NDArray[Any] | list[Any]:
    """Return a 2-D numeric array, or a list of arrays where groups hold several vectors."""
    if isinstance(content, np.ma.MaskedArray) and np.ma.is_masked(content):
        raise InputError("content holds masked (missing) values, but a number is wanted everywhere")
    if isinstance(content, str | bytes) or not (
        isinstance(content, Iterable) or hasattr(content, "__array__")
    ):
        raise InputError(
            f"content is {type(content).__name__}, but a matrix of counts or a list of arrays is wanted"
        )
    if hasattr(content, "__array__"):
        array = np.asarray(content)
        if array.ndim == 2:
            return _numeric(array)
        if array.ndim == 3:
            return list(array)
        if array.ndim == 1 and array.dtype.kind == "O":
            return _matrix_or_arrays(list(array))
        raise InputError(
            f"content is a {array.ndim}-D array, but a matrix with one row per group is wanted. "
            "Reshape your data with array.reshape(-1, 1) or array.reshape(1, -1)."
        )
    groups = list(content)
    if not groups:
        raise InputError("content has zero groups, but at least one is wanted")
    if all(sparse.issparse(group) for group in groups):
        groups = [group.toarray() for group in groups]
    if any(isinstance(group, str) for group in groups):
        raise InputError("content is a list of strings; Corpus.from_texts makes a corpus of texts")
    return _stacked(groups)


def _stacked(groups: list[Any]) -> NDArray[Any] | list[Any]:
    """Stack rows of one length to a matrix; leave 2-D arrays as they are."""
    try:
        arrays = [np.asarray(group) for group in groups]
    except ValueError as error:
        raise InputError(f"content holds a group that is not a regular array: {error}") from error
    if any(array.dtype.kind in "US" for array in arrays):
        raise InputError(
            "content holds lists of strings; Corpus.from_tokens makes a corpus of those"
        )
    if any(array.ndim == 0 for array in arrays):
        raise InputError(
            "content is a list of single values, but one row per group is wanted. "
            "Reshape your data with array.reshape(-1, 1) or array.reshape(1, -1)."
        )
    if any(array.ndim > 1 for array in arrays):
        return arrays
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise InputError(
            "content holds 1-D arrays of different lengths; for groups of several vectors give each group "
            "an array of shape (number of tokens, width)"
        )
    return _numeric(np.stack(arrays))


def _numeric(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers, also from an array of objects that are numbers."""
    if array.dtype.kind == "O":
        try:
            array = np.array(array.tolist())
            if array.dtype.kind == "O":
                array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"content holds something that is not a number: {error}") from error
    if array.ndim != 2:
        raise InputError("content holds lists inside its matrix, but numbers are wanted")
    if array.dtype.kind in "US":
        raise InputError("content holds strings, but numbers are wanted")
    _check_numeric(array.dtype)
    return array


def _float_array(array: Any, argument: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(array)
        if array.dtype.kind not in "biufcO":
            raise TypeError(f"entries are of type {array.dtype}")
        _check_numeric(array.dtype if array.dtype.kind == "c" else np.dtype(float))
        return array.astype(np.float64)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{argument} cannot be read as numbers: {error}") from error


def _one_vector_per_group(matrix: NDArray[Any]) -> Vectors:
    values = _float_array(matrix, "content")
    if values.shape[0] == 0:
        raise InputError("content has zero groups (rows), but at least one is wanted")
    if values.shape[1] == 0:
        raise InputError(
            f"content has 0 feature(s) (shape={values.shape}) while a minimum of 1 is required."
        )
    check_values(values, "content")
    return Vectors(np.arange(len(values) + 1, dtype=np.int64), np.ascontiguousarray(values))
