"""Convert matrices and lists of arrays to words or vectors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats
from mcsquared.checks import check_choice
from mcsquared.corpus.content import (
    Vectors,
    Words,
    check_numeric,
    check_shape,
    check_values,
    row_offsets,
    words_from_counts,
)
from mcsquared.errors import InputError, input_errors


def content_from(
    content: Any, kind: str = "auto", vocabulary: Sequence[str] | None = None
) -> Words | Vectors:
    """Return words or vectors from a matrix or a list of arrays; check existing content.

    If ``kind`` is "auto", a sparse matrix or a dense one of integers or booleans contains counts,
    a dense one of floats contains one vector per group, and a list of 2-D arrays contains vectors.
    """
    check_choice("content", kind, ("auto", "counts", "vectors"))
    if isinstance(content, Words | Vectors):
        actual = "counts" if isinstance(content, Words) else "vectors"
        if kind not in ("auto", actual):
            raise InputError(f"content must contain {kind} (content={kind!r}), got {actual}")
        return content
    if sparse.issparse(content):
        if kind == "vectors":
            content = content.toarray()
        else:
            return words_from_counts(content, vocabulary)
    matrix = _matrix_or_arrays(content)
    if isinstance(matrix, list):
        if kind == "counts":
            raise InputError("content must be a matrix of counts, got a list of 2-D arrays")
    elif kind == "counts" or (kind == "auto" and matrix.dtype.kind in "biu"):
        return words_from_counts(matrix, vocabulary)
    if vocabulary is not None:
        raise InputError("vocabulary must be None if content contains vectors")
    return vectors_from_arrays(matrix) if isinstance(matrix, list) else _matrix_vectors(matrix)


def vectors_from_arrays(arrays: Iterable[Any]) -> Vectors:
    """Return `Vectors` from one array of shape (n_tokens, width) per group.

    A group without tokens is an empty array of any shape.
    """
    groups = [_float_array(array, f"content[{j}]") for j, array in enumerate(arrays)]
    width, first = None, 0
    for j, group in enumerate(groups):
        if group.ndim == 2:
            if width is None:
                width, first = group.shape[1], j
            elif group.shape[1] != width:
                raise InputError(
                    f"content must contain vectors of one width, got {width} in content[{first}] "
                    f"and {group.shape[1]} in content[{j}]"
                )
        elif group.size:
            raise InputError(
                f"content[{j}] must be an array of shape (number of tokens, width), got "
                f"{group.ndim} dimension(s)"
            )
    check_shape((len(groups), width or 0))
    start = row_offsets([len(group) for group in groups])
    values = np.concatenate([group.reshape(-1, width or 0) for group in groups])
    check_values(values, "content")
    return Vectors(start, np.ascontiguousarray(values))


def _matrix_or_arrays(content: Any) -> NDArray[Any] | list[Any]:
    """Return a 2-D numeric array, or a list of arrays if groups contain several vectors."""
    if isinstance(content, np.ma.MaskedArray) and np.ma.is_masked(content):
        raise InputError("content must not contain masked (missing) values")
    if isinstance(content, str):
        raise InputError("content must be a list of texts, got a single text")
    if isinstance(content, bytes | Mapping) or not (
        isinstance(content, Iterable) or hasattr(content, "__array__")
    ):
        raise InputError(
            f"content must be a matrix of counts or a list of arrays, got {type(content).__name__}"
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
            f"content must be a matrix with one row per group, got a {array.ndim}-D array. "
            "Reshape your data with array.reshape(-1, 1) or array.reshape(1, -1)."
        )
    groups = list(content)
    if not groups:
        raise InputError("content must have at least one group, got none")
    if all(sparse.issparse(group) for group in groups):
        groups = [group.toarray() for group in groups]
    if any(isinstance(group, str) for group in groups):
        raise InputError("content must contain numbers, got strings; for texts use from_texts")
    return _stacked(groups)


def _stacked(groups: list[Any]) -> NDArray[Any] | list[Any]:
    """Stack rows of equal length into a matrix; return a list that has 2-D arrays unchanged."""
    with input_errors("content must contain regular arrays", ValueError):
        arrays = [np.asarray(group) for group in groups]
    if any(array.dtype.kind in "US" for array in arrays):
        raise InputError(
            "content must contain numbers, got lists of strings; use Corpus.from_tokens for tokens"
        )
    if any(array.ndim == 0 for array in arrays):
        raise InputError(
            "content must have one row per group, got a list of single values. "
            "Reshape your data with array.reshape(-1, 1) or array.reshape(1, -1)."
        )
    if any(array.ndim > 1 for array in arrays):
        return arrays
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise InputError(
            "content must contain rows of one length, or one array of shape (number of tokens, "
            "width) per group, got 1-D arrays of different lengths"
        )
    return _numeric(np.stack(arrays))


def _numeric(array: NDArray[Any]) -> NDArray[Any]:
    """Return a 2-D array of numbers; convert an object array of numbers."""
    if array.dtype.kind == "O":
        with input_errors("content must contain numbers", TypeError, ValueError, OverflowError):
            array = np.array(array.tolist())
            if array.dtype.kind == "O":
                array = array.astype(np.float64)
    if array.ndim != 2:
        raise InputError("content must contain numbers, got lists inside its matrix")
    if array.dtype.kind in "US":
        raise InputError("content must contain numbers, got strings")
    check_numeric(array.dtype)
    return array


def _float_array(array: Any, argument: str) -> Floats:
    with input_errors(f"{argument} must contain numbers", TypeError, ValueError, OverflowError):
        array = np.asarray(array)
        if array.dtype.kind not in "biufcO":
            raise TypeError(f"entries are of type {array.dtype}")
        if array.dtype.kind == "c":
            check_numeric(array.dtype)
        array = array.astype(np.float64)
    return array


def _matrix_vectors(matrix: NDArray[Any]) -> Vectors:
    values = _float_array(matrix, "content")
    check_shape(values.shape)
    check_values(values, "content")
    return Vectors(np.arange(len(values) + 1, dtype=np.int64), np.ascontiguousarray(values))
