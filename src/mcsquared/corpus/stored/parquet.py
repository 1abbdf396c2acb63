"""Parquet files: which ones a folder has, what their columns are, and their rows in batches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import parquet, types

from mcsquared.corpus.readers import check_unique
from mcsquared.errors import InputError

__all__ = ["batches", "parquet_files", "schemas"]

_SUFFIXES = (".parquet", ".pq")
_MOST_ROWS = 2**18
_PROBE = 256  # rows by which the size of a row is judged
_READ_BUFFER = 2**20


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder by name, or the one file that ``path`` is."""
    try:
        if path.is_file():
            return [path]
        if not path.is_dir():
            raise InputError(f"{path} does not exist, but a folder of Parquet files is wanted")
        found = [
            file
            for file in sorted(path.iterdir())
            if file.suffix.lower() in _SUFFIXES
            and not file.name.startswith((".", "_"))
            and file.is_file()
        ]
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {error}") from error
    if not found:
        raise InputError(f"{path} is a folder without Parquet files, but at least one is wanted")
    return found


def schemas(files: Sequence[Path]) -> Iterator[tuple[Path, Any, int]]:
    """Yield each file with its Arrow schema and its number of rows."""
    for path in files:
        with _whole(path), parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        check_unique(path, schema.names)
        yield path, schema, n_rows


def batches(path: Path, columns: Sequence[str], n_bytes: int) -> Iterator[Any]:
    """Yield the rows of a file as record batches of about ``n_bytes`` each."""
    with _whole(path):
        file = parquet.ParquetFile(path, buffer_size=_READ_BUFFER)
    with file:
        probe = next(_rows(file, path, columns, _PROBE), None)
        if probe is None:
            return
        size = max(1, probe.nbytes // max(1, probe.num_rows))
        for batch in _rows(file, path, columns, min(max(n_bytes // size, 1), _MOST_ROWS)):
            yield from _parts(batch, n_bytes)


def _rows(file: Any, path: Path, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
    groups: list[Any] = [None]
    if any(_numbered_inside(file.schema_arrow.field(name).type) for name in columns):
        # pyarrow cannot join lists that are numbered differently in each row group.
        groups = [[group] for group in range(file.num_row_groups)]
    for group in groups:
        reader = file.iter_batches(
            n_rows, row_groups=group, columns=list(columns), use_threads=False
        )
        while True:
            with _whole(path):
                batch = next(reader, None)
                if batch is not None:
                    batch.validate(full=True)  # a damaged page is otherwise noticed late or never
            if batch is None:
                break
            yield batch


def _numbered_inside(kind: Any) -> bool:
    return bool(types.is_nested(kind)) and any(
        types.is_dictionary(kind.field(i).type) or _numbered_inside(kind.field(i).type)
        for i in range(kind.num_fields)
    )


def _parts(batch: Any, n_bytes: int) -> Iterator[Any]:
    """Yield a batch whose rows are longer than those at the beginning of the file in parts."""
    n_parts = max(1, batch.nbytes // (2 * n_bytes))
    step = max(1, -(-batch.num_rows // n_parts))
    for first in range(0, batch.num_rows, step):
        yield batch.slice(first, step)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say of whatever pyarrow raises that the file is not whole."""
    try:
        yield
    except Exception as error:  # pyarrow raises many kinds, down to OSError and MemoryError
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a whole Parquet file: {reason}") from error
