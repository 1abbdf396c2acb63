"""SHA-256 fingerprints of corpora: equal for equal data, in memory or on disk."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.buffers import Buffer, RowsBuffer
from mcsquared.corpus.columns.column import Column


def fingerprint(
    content: Iterable[Any],
    vocabulary: Iterable[str] | None,
    columns: Iterable[tuple[Column, Any]],
    names: Iterable[Iterable[str]],
) -> str:
    """Return a SHA-256, in hexadecimal, of everything a model sees of a corpus.

    Parameters
    ----------
    content : iterable of array, CSR matrix or RowsBuffer
    vocabulary : iterable of str, optional
    columns : iterable of (Column, values)
        The column may be without rows; values are an array, a CSR matrix or a buffer.
    names : iterable of iterable of str
        Names of the groups, in blocks.
    """
    digest = hashlib.sha256()
    words = None if vocabulary is None else list(vocabulary)
    for part in content:
        _add(digest, part, None if words is None else len(words))
    if words is not None:
        _add_strings(digest, words)
    for column, values in columns:
        _add_strings(digest, [column.name, column.kind])
        is_vector = column.kind == "vector"
        _add(digest, values, column.values.shape[1] if is_vector else column.n_categories)
        _add_strings(digest, [] if column.categories is None else column.categories)
    for number, block in enumerate(names):  # one list, in blocks
        text = json.dumps(list(block))[1:-1]
        digest.update((("[" if not number else ", ") + text).encode("ascii"))
    digest.update(b"]")
    return digest.hexdigest()


def _add_strings(digest: Any, strings: Iterable[str]) -> None:
    digest.update(json.dumps(list(strings)).encode("ascii"))


def _add(digest: Any, data: Any, n_columns: int | None) -> None:
    """Add an array, a CSR matrix, or a buffer with ``n_columns``."""
    if not isinstance(data, RowsBuffer) and not sparse.issparse(data):
        _add_values(digest, data, data.dtype, n_columns)
        return
    if isinstance(data, RowsBuffer):
        shape, parts = (data.n_rows, n_columns), (data.counts, data.values, data.start)
    else:
        shape, parts = data.shape, (data.data, data.indices, data.indptr)
    _add_strings(digest, map(str, shape))
    # SciPy chooses the width of its indices by size and history; the data are the same.
    for part, dtype in zip(parts, (np.int32, np.int64, np.int64), strict=True):
        _add_values(digest, part, np.dtype(dtype))


def _add_values(digest: Any, data: Any, dtype: Any, width: int | None = None) -> None:
    blocks: Iterable[NDArray[Any]] = [data]
    shape = getattr(data, "shape", ())
    if isinstance(data, Buffer):
        shape = (data.n_rows, width) if width and dtype.kind == "f" else (data.n_rows,)
        blocks = (data.read(run) for run in data.blocks())
    _add_strings(digest, [dtype.str, *map(str, shape)])
    for block in blocks:
        array = block.astype(dtype)
        if dtype.kind == "f":
            array = np.where(np.isnan(array), np.nan, array) + 0.0  # one NaN, one zero
        digest.update(np.ascontiguousarray(array).tobytes())
