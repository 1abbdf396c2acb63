"""Text files of words and of numbers, plain or compressed by gzip: one clear sentence if broken."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.datasets.files import Folder, find_file
from mcsquared.errors import InputError

__all__ = ["count_rows", "find_text", "read_integers", "read_lines"]

BLOCK = 20_000  # lines of a wide table that are held at once, before only what is not zero is kept


def find_text(folder: Folder, name: str, source: str, layout: str) -> Path:
    """Return the path of a text file, or of the same with ``.gz``; or say what is missing."""
    try:
        return find_file(folder, name, source, layout)
    except InputError:
        try:
            return find_file(folder, f"{name}.gz", source, layout)
        except InputError:
            pass
        raise


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a text file; whatever is wrong with it becomes an `InputError`."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as opened:
                yield opened
        else:
            with path.open(encoding="utf-8", errors="replace") as opened:
                yield opened
    except InputError:
        raise
    except (OSError, EOFError, ValueError, OverflowError, zlib.error) as error:
        raise InputError(f"file {path.name} cannot be read: {error}") from error


def read_lines(path: Path, most: int | None = None) -> list[str]:
    """Return the lines of a file, or the first of them, without spaces around them.

    Empty ones at the end are left out.
    """
    with _opened(path) as opened:
        lines = [line.strip() for line in islice(opened, most)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def read_integers(path: Path, n_columns: int, n_header: int = 0) -> NDArray[np.int64]:
    """Return a table of whole numbers separated by spaces: int64 (n_rows, n_columns).

    The first ``n_header`` lines are left out.
    """
    import pandas as pd

    with _opened(path) as opened:
        for _ in range(n_header):
            next(opened, None)
        try:
            table = pd.read_csv(opened, sep=r"\s+", header=None, dtype=np.int64)
        except pd.errors.EmptyDataError:
            return np.zeros((0, n_columns), np.int64)
    if table.shape[1] != n_columns:
        raise InputError(
            f"file {path.name} has lines of {table.shape[1]} numbers, but {n_columns} are wanted"
        )
    return table.to_numpy()


def count_rows(
    path: Path, n_columns: int | None, keep: NDArray[np.bool_] | None = None
) -> sparse.csr_matrix:
    """Return a table of counts, a line a group, without its zeros: csr_matrix of int32.

    Parameters
    ----------
    n_columns : int, optional
        Numbers that each line must have.
    keep : bool (n_lines,), optional
        The lines that are wanted; there must be as many in the file.
    """
    import pandas as pd

    blocks: list[Any] = []
    n_lines = 0
    with _opened(path) as opened:
        try:
            for block in pd.read_csv(
                opened, sep=r"\s+", header=None, dtype=np.int64, chunksize=BLOCK
            ):
                chosen = slice(None) if keep is None else keep[n_lines : n_lines + len(block)]
                n_lines += len(block)
                if keep is not None and n_lines > len(keep):
                    break
                blocks.append(sparse.csr_matrix(block.to_numpy()[chosen]))
        except pd.errors.EmptyDataError:
            pass
    if not blocks or (keep is not None and n_lines != len(keep)):
        wanted = "some" if keep is None else len(keep)
        raise InputError(f"file {path.name} has {n_lines} lines or more, but {wanted} are wanted")
    counts = sparse.vstack(blocks, format="csr")
    if n_columns is not None and counts.shape[1] != n_columns:
        raise InputError(
            f"file {path.name} has lines of {counts.shape[1]} numbers, but {n_columns} are wanted"
        )
    if counts.nnz and (counts.data.min() < 0 or counts.data.max() > np.iinfo(np.int32).max):
        raise InputError(f"file {path.name} holds {counts.data.min()}, but counts are wanted")
    return counts.astype(np.int32)
