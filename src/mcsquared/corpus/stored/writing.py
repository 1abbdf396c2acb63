"""One pass over Parquet files, and the flat files of a corpus on disk that it writes."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsquared.corpus.stored.arrow import (
    context_piece,
    entries_of,
    is_coded,
    names_of,
    strings,
)
from mcsquared.corpus.stored.codebook import Room
from mcsquared.corpus.stored.columns import ColumnWriter
from mcsquared.corpus.stored.flat import StringsFile
from mcsquared.corpus.stored.parquet import batches
from mcsquared.corpus.stored.roles import Roles
from mcsquared.corpus.stored.store import DiskCorpus
from mcsquared.corpus.stored.words import WordsWriter
from mcsquared.errors import InputError

__all__ = ["write"]

_LEAST_BATCH, _LARGEST_BATCH = 2**22, 2**24  # bytes
_SHARE = 64  # of the memory that one batch takes before it is worked on


def write(
    roles: Roles,
    folder: Path,
    memory: int,
    vocabulary: Any,
    words_of_codes: Any,
    vectorizer: dict[str, Any],
) -> DiskCorpus:
    """Read the files once and return the corpus they hold, written to ``folder``."""
    counted = roles.sort != "lists"
    room = Room(memory)
    words = WordsWriter(
        folder, room, roles.text[0], vocabulary, words_of_codes, counted, vectorizer
    )
    contexts = {
        name: ColumnWriter(folder, room, f"context {number}", name)
        for number, name in enumerate(roles.contexts)
    }
    names = None if roles.group_names is None else StringsFile(folder, "names")
    n_bytes = min(max(memory // _SHARE, _LEAST_BATCH), _LARGEST_BATCH)
    for path in roles.files:
        for batch in batches(path, roles.columns, n_bytes):
            _add_content(words, roles, batch, path)
            for name, writer in contexts.items():
                _add_context(writer, roles, name, batch.column(name), path)
            if names is not None:
                names.append(*names_of(batch.column(roles.group_names)))
    finished = {name: writer.finish() for name, writer in contexts.items()}
    return DiskCorpus(folder, memory, words.finish(), finished, names)


def _add_content(words: WordsWriter, roles: Roles, batch: Any, path: Path) -> None:
    column = batch.column(roles.text[0])
    try:
        if roles.sort == "texts":
            words.add_texts(strings(column))
        else:
            counts = batch.column(roles.text[1]) if len(roles.text) == 2 else None
            entries = entries_of(column, counts)
            words.add_entries(entries, is_coded(column.type), column.null_count)
    except (InputError, pa.ArrowException) as error:
        text = str(error)
        if text.startswith("texts"):
            raise
        raise InputError(
            f"text names the column {roles.text[0]!r}, which {text} ({path.name})"
        ) from error


def _add_context(writer: ColumnWriter, roles: Roles, name: str, array: Any, path: Path) -> None:
    try:
        piece = context_piece(name, array, name in roles.separators, roles.separators.get(name))
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"context {name!r} cannot be read from {path.name}: {reason}") from error
    except InputError as error:
        raise InputError(f"{error} ({path.name})") from error
    writer.add(piece, path.name)
