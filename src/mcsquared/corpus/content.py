"""The content of groups: word counts or vectors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from mcsquared.arrays import Floats, Int64s, Integers, Objects
from mcsquared.checks import MAX_MAGNITUDE
from mcsquared.errors import InputError, input_errors

MAX_COUNT = 2**31 - 1
NOT_COUNTS = "TF-IDF, normalised or standardised values are not counts"


@dataclass(frozen=True, eq=False)
class Words:
    """Word counts of each group.

    Parameters
    ----------
    counts : scipy.sparse.csr_matrix of int32, shape (n_groups, n_words)
        Sorted indices, no duplicates, no explicit zeros. `words_from_counts` converts any matrix
        of counts to this form.
    vocabulary : ndarray of object, shape (n_words,)
        The words, which are unique.

    Examples
    --------
    >>> words = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car"]]).content
    >>> words.n_groups, words.n_words, words.n_tokens, words.tokens_per_group.tolist()
    (2, 3, 4, [3, 1])
    >>> words.word_frequency.tolist(), words.document_frequency.tolist()
    ([1, 2, 1], [1, 1, 1])
    """

    counts: sparse.csr_matrix
    vocabulary: Objects

    width = 0

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.counts.shape[0])

    @property
    def n_words(self) -> int:
        """Number of distinct words."""
        return int(self.counts.shape[1])

    @property
    def tokens_per_group(self) -> Int64s:
        """Number of tokens of each group, int64 (n_groups,)."""
        offsets = np.zeros(len(self.counts.data) + 1, np.int64)
        np.cumsum(self.counts.data, dtype=np.int64, out=offsets[1:])
        return np.diff(offsets[self.counts.indptr])

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all groups."""
        return int(self.counts.data.sum(dtype=np.int64))

    @property
    def word_frequency(self) -> Int64s:
        """Number of occurrences of each word, int64 (n_words,)."""
        counts = self.counts
        return np.bincount(counts.indices, counts.data, self.n_words).astype(np.int64)

    @property
    def document_frequency(self) -> Int64s:
        """Number of groups that contain each word, int64 (n_words,)."""
        return np.bincount(self.counts.indices, minlength=self.n_words)

    def __getitem__(self, rows: Int64s) -> "Words":
        return Words(self.counts[rows], self.vocabulary)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of numbers, stored group by group.

    Parameters
    ----------
    start : ndarray of int64, shape (n_groups + 1,)
        The vectors of group ``j`` are ``values[start[j]:start[j + 1]]``.
    values : ndarray of float64, shape (n_tokens, width), C order

    Examples
    --------
    >>> vectors = mc2.Corpus([np.zeros((3, 2)), np.ones((1, 2))]).content
    >>> vectors.n_groups, vectors.width, vectors.n_tokens, vectors.tokens_per_group.tolist()
    (2, 2, 4, [3, 1])
    """

    start: Int64s
    values: Floats

    n_words = 0
    vocabulary = word_frequency = document_frequency = None

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.start) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all groups."""
        return len(self.values)

    @property
    def width(self) -> int:
        """Dimension of the vectors."""
        return int(self.values.shape[1])

    @property
    def tokens_per_group(self) -> Int64s:
        """Number of vectors of each group, int64 (n_groups,)."""
        return np.diff(self.start)

    def __getitem__(self, rows: Int64s) -> "Vectors":
        entries, start = entries_of_rows(self.start, rows)
        return Vectors(start, np.ascontiguousarray(self.values[entries]))


class ContentSizes:
    """Numbers of groups, tokens and words of an object with ``content``."""

    content: Words | Vectors

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.content.n_groups

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all groups."""
        return self.content.n_tokens

    @property
    def n_words(self) -> int:
        """Number of distinct words; 0 for vector content."""
        return self.content.n_words

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of groups and of features, so that scikit-learn can select groups."""
        return self.n_groups, self.n_words or self.content.width

    @property
    def vocabulary(self) -> Objects | None:
        """The words, object (n_words,); None for vector content."""
        return self.content.vocabulary

    @property
    def word_frequency(self) -> Int64s | None:
        """Number of occurrences of each word, int64 (n_words,); None for vector content."""
        return self.content.word_frequency

    @property
    def document_frequency(self) -> Int64s | None:
        """Number of groups that contain each word, int64 (n_words,); None for vector content."""
        return self.content.document_frequency

    @property
    def tokens_per_group(self) -> Int64s:
        """Number of tokens of each group, int64 (n_groups,)."""
        return self.content.tokens_per_group

    def __len__(self) -> int:
        return self.n_groups


def row_offsets(sizes: ArrayLike) -> Int64s:
    """Return the offsets of consecutive rows of the given sizes, int64 (n_rows + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def blocks_of_rows(start: Integers, max_entries: int) -> Iterator[tuple[int, int]]:
    """Yield bounds of blocks of rows: at most ``max_entries`` entries each, or a single row."""
    first, n_rows = 0, len(start) - 1
    while first < n_rows:
        last = int(np.searchsorted(start, start[first] + max_entries, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield first, last
        first = last


def entries_of_rows(start: Int64s, rows: Integers) -> tuple[Int64s, Int64s]:
    """Return the indices of the entries of selected rows, and the offsets of these rows."""
    sizes = np.diff(start)[rows]
    offsets = row_offsets(sizes)
    return np.arange(offsets[-1]) + np.repeat(start[rows] - offsets[:-1], sizes), offsets


def words_from_counts(matrix: Any, vocabulary: Iterable[str] | None = None) -> Words:
    """Return `Words` from a sparse or dense matrix of integers >= 0."""
    counts = canonical_counts(matrix, "content")
    check_shape(counts.shape)
    return Words(counts, _vocabulary(vocabulary, counts.shape[1]))


def canonical_counts(matrix: Any, argument: str) -> sparse.csr_matrix:
    """Return a canonical CSR matrix of int32 counts; ``argument`` is its name in errors."""
    counts = _as_csr(matrix, argument)
    data = counts.data
    if data.dtype.kind == "f":
        _check_integers(data, argument, sparse.issparse(matrix))
    if len(data) and data.min() < 0:
        raise InputError(
            f"{argument} must contain integer counts >= 0, got a negative count ({data.min():g}); "
            f"{NOT_COUNTS}"
        )
    check_max_count(data.max(initial=0), argument)
    counts.eliminate_zeros()
    counts = sparse.csr_matrix(
        (counts.data.astype(np.int32, copy=False), counts.indices, counts.indptr),
        shape=counts.shape,
    )
    counts.sort_indices()
    counts.has_canonical_format = True
    return counts


def check_values(values: Floats, argument: str) -> None:
    """Raise `InputError` if a number is missing, infinite or too large to be squared."""
    if np.isnan(values).any():
        raise InputError(f"{argument} must not contain NaN")
    check_magnitude(values, argument)


def check_magnitude(values: Floats, argument: str) -> None:
    """Raise `InputError` if a number is infinite or too large to be squared; allow NaN."""
    size = np.abs(values)
    if np.isinf(size).any():
        raise InputError(f"{argument} must contain finite numbers, got an infinite value (inf)")
    largest = np.nanmax(size) if not np.isnan(size).all() else 0.0
    if largest > MAX_MAGNITUDE:
        raise InputError(f"{argument} must be <= {MAX_MAGNITUDE:g} in magnitude, got {largest:g}")


def names_array(names: Any, size: int, argument: str, item: str) -> Objects:
    """Return ``names`` as an object array of ``size`` strings, one per ``item``."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"{argument} must be a list of names, got {names!r:.60}")
    listed = [name if isinstance(name, str) else str(name) for name in names]
    if len(listed) != size:
        raise InputError(f"{argument} must have one name per {item} ({size}), got {len(listed)}")
    return object_array(listed)


def object_array(items: Sequence[Any]) -> Objects:
    """Return a 1-D object array of items, which may be sequences."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _vocabulary(vocabulary: Iterable[str] | None, n_words: int) -> Objects:
    if vocabulary is None:
        return names_array(range(n_words), n_words, "vocabulary", "word")
    names = names_array(vocabulary, n_words, "vocabulary", "word")
    if len(set(names)) < n_words:
        duplicate = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"vocabulary must contain unique words, got {duplicate!r} twice")
    return names


def _as_csr(matrix: Any, argument: str) -> sparse.csr_matrix:
    """Return a copy as a CSR matrix without duplicates."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    check_numeric(matrix.dtype, argument)
    if matrix.ndim != 2:
        raise InputError(f"{argument} must be a 2-D matrix of counts, got {matrix.ndim} dimensions")
    if matrix.dtype.kind == "u" and matrix.dtype.itemsize == 8:
        # A cast to int64 would make the largest counts negative.
        check_max_count(matrix.max() if 0 not in matrix.shape else 0, argument)
    # Duplicates are summed in a wide type: int8 counts would overflow silently.
    wide = np.float64 if matrix.dtype.kind == "f" else np.int64
    is_csr = sparse.issparse(matrix) and matrix.format == "csr"
    with input_errors(f"{argument} is not a valid sparse matrix", ValueError, IndexError):
        counts = sparse.csr_matrix(matrix if is_csr else matrix.astype(wide))
        counts.check_format(full_check=True)
    counts = counts.copy() if counts.has_canonical_format else counts.astype(wide)
    counts.sum_duplicates()
    return counts


def check_max_count(count: float, argument: str) -> None:
    """Raise `InputError` if a count does not fit into 32 bits."""
    if count > MAX_COUNT:
        raise InputError(f"{argument} must contain counts <= {MAX_COUNT}, got {count:.0f}")


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise `InputError` if a matrix has no rows or no columns."""
    if shape[0] == 0:
        raise InputError("content must have at least one group (row), got none")
    if shape[1] == 0:
        raise InputError(
            f"content has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def check_numeric(dtype: np.dtype[Any], argument: str = "content") -> None:
    """Raise `InputError` if the entries of an array are not real numbers."""
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {argument} contains complex numbers")
    if dtype.kind not in "biuf":
        raise InputError(f"{argument} must contain numbers, got type {dtype}")


def _check_integers(data: Floats, argument: str, is_sparse: bool) -> None:
    if np.isnan(data).any():
        raise InputError(f"{argument} must contain integer counts, got NaN")
    if np.isinf(data).any():
        raise InputError(f"{argument} must contain integer counts, got an infinite count (inf)")
    fractional = data != np.floor(data)
    if fractional.any():
        matrix = " in a sparse matrix" if is_sparse else ""
        raise InputError(
            f"{argument} must contain integer counts{matrix}, got a fractional count "
            f"({data[fractional][0]:g}); {NOT_COUNTS}"
        )
