"""The fingerprint of a corpus on disk, block by block: the number its data would have in memory."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from mcsquared.corpus.fingerprint import add_names, add_values
from mcsquared.corpus.stored.columns import StoredColumn
from mcsquared.corpus.stored.flat import FlatFile, RowsFile, Run
from mcsquared.corpus.stored.words import StoredWords

__all__ = ["fingerprint"]

_BLOCK_NAMES = 2**16


def fingerprint(
    words: StoredWords,
    columns: Mapping[str, StoredColumn],
    n_groups: int,
    names: Callable[[Run], Iterable[str]],
) -> str:
    """Return what `mcsquared.corpus.fingerprint.fingerprint` returns for the same data.

    Parameters
    ----------
    names : callable
        Gives the names of the groups of a run (first, last).
    """
    digest = hashlib.sha256()
    _add_rows(digest, words.rows, len(words.vocabulary))
    add_names(digest, words.vocabulary)
    for name, column in columns.items():
        reference = column.reference
        add_names(digest, [name, reference.kind])
        if isinstance(column.values, RowsFile):
            _add_rows(digest, column.values, reference.n_categories)
        else:
            width = () if reference.kind != "vector" else (reference.values.shape[1],)
            _add_file(digest, column.values, column.values.dtype, (n_groups, *width))
        add_names(digest, [] if reference.categories is None else reference.categories)
    _add_group_names(digest, n_groups, names)
    return digest.hexdigest()


def _add_rows(digest: Any, rows: RowsFile, n_columns: int) -> None:
    add_names(digest, [str(rows.n_rows), str(n_columns)])
    assert rows.counts is not None
    for file, dtype in (
        (rows.counts, np.int32),
        (rows.codes, np.int64),
        (rows.start, np.int64),
    ):
        _add_file(digest, file, np.dtype(dtype), (file.n_rows,))


def _add_file(digest: Any, file: FlatFile, dtype: Any, shape: tuple[int, ...]) -> None:
    add_names(digest, [dtype.str, *map(str, shape)])
    for first, last in file.blocks():
        add_values(digest, file.read((first, last)).astype(dtype))


def _add_group_names(digest: Any, n_groups: int, names: Callable[[Run], Iterable[str]]) -> None:
    """Add the names as one list, without ever having it."""
    for first in range(0, n_groups, _BLOCK_NAMES):
        some = json.dumps(list(names((first, min(first + _BLOCK_NAMES, n_groups)))))
        digest.update((("[" if not first else ", ") + some[1:-1]).encode("ascii"))
    digest.update(b"]")
