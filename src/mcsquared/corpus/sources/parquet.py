"""Parquet files: their rows in batches, and the corpus they hold."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet, types

from mcsquared.corpus.buffers import MemoryBudget, RowsBuffer, Storage
from mcsquared.corpus.columns.builder import ColumnBuilder
from mcsquared.corpus.disk import DiskCorpus
from mcsquared.corpus.sources.arrow import (
    context_batch,
    is_coded,
    names_of,
    strings,
    tokens_batch,
)
from mcsquared.corpus.sources.files import whole_parquet
from mcsquared.corpus.sources.mapping import ColumnMapping
from mcsquared.corpus.sources.texts import WordsBuilder
from mcsquared.errors import InputError

_MAX_ROWS = 2**18
_PROBE = 256  # rows from which the size of a row is estimated
_READ_BUFFER = 2**20
_MIN_BATCH, _MAX_BATCH = 2**22, 2**24  # bytes
_BATCHES_IN_MEMORY = 64  # a batch takes this share of the memory before it is processed


def batches(path: Path, columns: Sequence[str], n_bytes: int) -> Iterator[Any]:
    """Yield the rows of a file as record batches of about ``n_bytes`` each."""
    with whole_parquet(path):
        file = parquet.ParquetFile(path, buffer_size=_READ_BUFFER)
    with file:
        probe = next(_rows(file, path, columns, _PROBE), None)
        if probe is None:
            return
        size = max(1, probe.nbytes // max(1, probe.num_rows))
        for batch in _rows(file, path, columns, min(max(n_bytes // size, 1), _MAX_ROWS)):
            yield from _parts(batch, n_bytes)


def _rows(file: Any, path: Path, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
    groups: list[Any] = [None]
    if any(_is_encoded_inside(file.schema_arrow.field(name).type) for name in columns):
        # pyarrow cannot join lists whose dictionary differs between row groups.
        groups = [[group] for group in range(file.num_row_groups)]
    for group in groups:
        reader = file.iter_batches(
            n_rows, row_groups=group, columns=list(columns), use_threads=False
        )
        while True:
            with whole_parquet(path):
                batch = next(reader, None)
                if batch is not None:
                    batch.validate(full=True)  # a damaged page may go unnoticed otherwise
            if batch is None:
                break
            yield batch


def _is_encoded_inside(kind: Any) -> bool:
    return bool(types.is_nested(kind)) and any(
        types.is_dictionary(kind.field(i).type) or _is_encoded_inside(kind.field(i).type)
        for i in range(kind.num_fields)
    )


def _parts(batch: Any, n_bytes: int) -> Iterator[Any]:
    """Yield a batch in parts if its rows are longer than those at the beginning of the file."""
    n_parts = max(1, batch.nbytes // (2 * n_bytes))
    step = max(1, -(-batch.num_rows // n_parts))
    for first in range(0, batch.num_rows, step):
        yield batch.slice(first, step)


def read_folder(
    mapping: ColumnMapping,
    folder: Path,
    memory: int,
    vocabulary: Any,
    words_of_codes: Any,
    vectorizer: dict[str, Any],
) -> DiskCorpus:
    """Read the files once and return the corpus they hold, written to ``folder``."""
    storage = Storage(folder, MemoryBudget(memory))
    is_counted = mapping.kind != "lists"
    argument = f"column {mapping.text[0]!r}"
    words = WordsBuilder(storage, argument, vocabulary, words_of_codes, is_counted, vectorizer)
    contexts = {
        name: ColumnBuilder(name, storage, f"context {number}")
        for number, name in enumerate(mapping.contexts)
    }
    names = None
    if mapping.group_names is not None:
        names = RowsBuffer(storage, "names", counted=False, dtype="uint8")
    n_bytes = min(max(memory // _BATCHES_IN_MEMORY, _MIN_BATCH), _MAX_BATCH)
    for path in mapping.files:
        for batch in batches(path, mapping.columns, n_bytes):
            _add_content(words, mapping, batch, path)
            for name, builder in contexts.items():
                _add_context(builder, mapping, name, batch.column(name), path)
            if names is not None:
                names.append(*names_of(batch.column(mapping.group_names)))
    columns = {name: builder.finish() for name, builder in contexts.items()}
    return DiskCorpus(folder, memory, words.finish(), columns, names)


def _add_content(words: WordsBuilder, mapping: ColumnMapping, batch: Any, path: Path) -> None:
    column = batch.column(mapping.text[0])
    try:
        if mapping.kind == "texts":
            words.add_texts(strings(column))
        else:
            counts = batch.column(mapping.text[1]) if len(mapping.text) == 2 else None
            tokens = tokens_batch(column, counts)
            words.add_tokens(tokens, is_coded(column.type), column.null_count)
    except (InputError, pa.ArrowException) as error:
        if str(error).startswith("texts"):
            raise
        raise InputError(f"column {mapping.text[0]!r} {error} ({path.name})") from error


def _add_context(
    builder: ColumnBuilder, mapping: ColumnMapping, name: str, array: Any, path: Path
) -> None:
    try:
        is_bag, separator = name in mapping.separators, mapping.separators.get(name)
        builder.add(context_batch(name, array, is_bag, separator), path.name)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"context {name!r} cannot be read from {path.name}: {reason}") from error
    except InputError as error:
        message = str(error) if "context" in str(error) else f"context {name!r} {error}"
        suffix = "" if path.name in message else f" ({path.name})"
        raise InputError(message + suffix) from error
