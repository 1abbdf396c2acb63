"""One number for a corpus: two with the same fingerprint hold the same data."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.corpus.columns import Column
from mcsquared.corpus.content import Vectors, Words

__all__ = ["add_names", "add_values", "fingerprint"]


def fingerprint(
    content: Words | Vectors, contexts: Mapping[str, Column], group_names: Iterable[str]
) -> str:
    """Return a SHA-256, in hexadecimal, of everything a model sees of a corpus."""
    digest = hashlib.sha256()
    if isinstance(content, Words):
        _add_array(digest, content.counts)
        add_names(digest, content.vocabulary)
    else:
        _add_array(digest, content.start)
        _add_array(digest, content.values)
    for name, column in contexts.items():
        add_names(digest, [name, column.kind])
        _add_array(digest, column.values)
        add_names(digest, [] if column.categories is None else column.categories)
    add_names(digest, group_names)
    return digest.hexdigest()


def _add_array(digest: Any, array: Any) -> None:
    if sparse.issparse(array):
        add_names(digest, map(str, array.shape))
        # SciPy picks the width of its indices by size and history; the data are the same.
        for part, dtype in (
            (array.data, np.int32),
            (array.indices, np.int64),
            (array.indptr, np.int64),
        ):
            _add_array(digest, part.astype(dtype))
        return
    add_names(digest, [array.dtype.str, *map(str, array.shape)])
    add_values(digest, array)


def add_values(digest: Any, array: Any) -> None:
    """Add the values of an array, or of a part of one."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array) + 0.0  # one NaN, one zero
    digest.update(np.ascontiguousarray(array).tobytes())


def add_names(digest: Any, names: Iterable[str]) -> None:
    """Add a list of strings."""
    digest.update(json.dumps(list(names)).encode("ascii"))
