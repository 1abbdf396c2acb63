"""Read folders of Parquet files: select columns, read rows in batches, build the corpus."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet, types

from mcsquared.corpus.buffers import MemoryBudget, RowsBuffer, Storage
from mcsquared.corpus.columns.builder import ColumnBuilder
from mcsquared.corpus.disk import DiskCorpus, ParquetFolder
from mcsquared.corpus.disk_levels import DiskLevels
from mcsquared.corpus.levels import check_level_name
from mcsquared.corpus.sources import arrow
from mcsquared.corpus.sources.files import check_unique, parquet_errors
from mcsquared.corpus.sources.frames import Table, bag_separators, name_list
from mcsquared.corpus.sources.texts import WordsBuilder
from mcsquared.errors import InputError, input_errors

_SUFFIXES = (".parquet", ".pq")
_LISTS = ("lists of words", "lists of codes", "empty lists", "nulls")
_INDEX_NAME = re.compile(r"__index_level_\d+__")  # how pandas stores an index without a name
_MAX_BATCH_ROWS = 2**18
_PROBE_ROWS = 256  # rows from which the size of a row is estimated
_READ_BUFFER = 2**20
_MIN_BATCH_BYTES, _MAX_BATCH_BYTES = 2**22, 2**24
_BATCH_MEMORY_SHARE = 1 / 64  # of the memory limit, for a batch before it is processed


@dataclass(frozen=True, eq=False)
class ColumnMapping:
    """The files of a corpus, and the role of each column."""

    files: list[Path]
    text: tuple[str, ...]  # the column of the content, or those of its words and of their counts
    contexts: list[str]
    # Separators of contexts whose strings are split; None if not given.
    separators: dict[str, str | None]
    group_names: str | None
    levels: list[str]  # columns that name the unit of each group, the lowest level first
    content_form: str = ""  # "texts", "lists" of words, or "counts" of words

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys(name for name, _ in self.arguments))

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """Pairs of a column and the argument that names it."""
        named = [(name, "text") for name in self.text]
        named += [(name, "contexts") for name in self.contexts]
        named += [(name, "levels") for name in self.levels]
        return [*named, *([(self.group_names, "group_names")] if self.group_names else [])]


def map_columns(folder: ParquetFolder) -> ColumnMapping:
    """Return the mapping of the columns; every file must have them, with content of one type."""
    files = parquet_files(folder.path)
    n_groups, file_of_type = 0, dict[str, Path]()
    mapping: ColumnMapping | None = None
    for file, schema, n_rows in schemas(files):
        n_groups += n_rows
        if mapping is None:
            mapping = _first_mapping(folder, files, schema)
        table = Table(dict.fromkeys(schema.names), n_rows, file.name)
        for name, argument in mapping.arguments:
            table.raw(name, argument)
        others = _remaining(schema, mapping.columns)
        if _is_all(folder.contexts) and others:
            raise InputError(
                f"{file.name} must have the columns of {files[0].name} if contexts='all', got the "
                f"additional column {others[0]!r}; list the contexts (contexts=)"
            )
        content_type = _content_type(mapping.text, file, schema)
        _check_same_type(file_of_type, content_type, file, mapping.text)
    if mapping is None or not n_groups:
        raise InputError(f"{folder.path} must contain at least one group, got zero rows")
    form = "texts" if "texts" in file_of_type else "lists"
    if len(mapping.text) == 2 or "counts" in file_of_type:
        form = "counts"
    return replace(mapping, content_form=form)


def _first_mapping(folder: ParquetFolder, files: list[Path], schema: Any) -> ColumnMapping:
    content, names = _content_columns(schema, files[0], folder.text), folder.group_names
    if names is not None and not isinstance(names, str):
        raise InputError(f"group_names must be the name of a column, got {type(names).__name__}")
    levels = name_list(folder.levels, "levels")
    contexts = (
        _remaining(schema, [*content, *levels, names])
        if _is_all(folder.contexts)
        else name_list(folder.contexts, "contexts")
    )
    for name in levels:
        check_level_name(name, contexts)
    separators = bag_separators(folder.bags, contexts)
    return ColumnMapping(files, content, contexts, separators, names, levels)


def _is_all(contexts: Any) -> bool:
    return isinstance(contexts, str) and contexts == "all"


def _remaining(schema: Any, taken: Sequence[str | None]) -> list[str]:
    return [name for name in schema.names if name not in taken and not _INDEX_NAME.fullmatch(name)]


def _content_columns(schema: Any, file: Path, text: Any) -> tuple[str, ...]:
    if isinstance(text, str):
        return (text,)
    if text is not None:
        if isinstance(text, Sequence) and len(text) == 2 and all(isinstance(n, str) for n in text):
            return tuple(text)
        raise InputError(
            f"text must be the name of a column, or of a column of words and one of counts, got "
            f"{text!r:.60}"
        )
    names = schema.names
    for name in ("tokens", "text"):
        if name in names:
            return (name,)
    if "words" in names and "counts" in names:
        return ("words", "counts")
    if "counts" in names and types.is_map(schema.field("counts").type):
        return ("counts",)
    raise InputError(
        f"{file.name} must have a column 'tokens' or 'text', columns 'words' and 'counts', or a "
        f"column 'counts' of maps, got {', '.join(names[:20]) or 'none'}; name the content (text=)"
    )


def _content_type(text: tuple[str, ...], file: Path, schema: Any) -> str:
    """Return the type of content of one file; see `arrow.content_type`."""
    dtype = schema.field(text[0]).type
    content_type = arrow.content_type(dtype)
    if content_type is None and _is_vector(dtype):
        raise InputError(
            f"text must name a column of words, got {text[0]!r}, which contains vectors ({dtype}) "
            f"in {file.name}; vectors cannot be read from a folder: use Corpus"
        )
    if content_type is None:
        raise InputError(
            "text must name a column of texts, of lists of words or codes, or of maps from word to "
            f"count, got {text[0]!r} of type {dtype} in {file.name}"
        )
    if len(text) == 2:
        counts = schema.field(text[1]).type
        if content_type not in _LISTS or not _is_count_list(counts):
            raise InputError(
                "text must name a column of lists of words and one of lists of integers, got "
                f"{text[0]!r} of type {dtype} and {text[1]!r} of type {counts} in {file.name}"
            )
    return content_type


def _check_same_type(
    file_of_type: dict[str, Path], content_type: str, file: Path, text: tuple[str, ...]
) -> None:
    file_of_type.setdefault(content_type, file)
    decided = [found for found in file_of_type if found not in ("nulls", "empty lists")]
    if "empty lists" in file_of_type and decided and decided[0] not in _LISTS:
        decided.append("empty lists")
    if len(decided) > 1:
        one, other = decided[:2]
        raise InputError(
            f"column {text[0]!r} must have content of one type, got {one} in "
            f"{file_of_type[one].name} and {other} in {file_of_type[other].name}"
        )


def _is_vector(dtype: Any) -> bool:
    if types.is_floating(dtype):
        return True
    value = getattr(dtype, "value_type", None)
    return value is not None and not types.is_dictionary(dtype) and _is_vector(value)


def _is_count_list(dtype: Any) -> bool:
    if types.is_null(dtype):
        return True
    value = getattr(dtype, "value_type", None)
    if value is None or not types.is_nested(dtype) or types.is_map(dtype):
        return False
    return bool(types.is_integer(value) or types.is_floating(value) or types.is_null(value))


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, or ``path`` if a file."""
    with input_errors(f"{path} cannot be read", OSError, ValueError):
        if path.is_file():
            return [path]
        if not path.is_dir():
            raise InputError(f"{path} must be a folder of Parquet files, but does not exist")
        found = [
            file
            for file in sorted(path.iterdir())
            if file.suffix.lower() in _SUFFIXES
            and not file.name.startswith((".", "_"))
            and file.is_file()
        ]
    if not found:
        raise InputError(f"{path} must contain at least one Parquet file, got none")
    return found


def schemas(files: Sequence[Path]) -> Iterator[tuple[Path, Any, int]]:
    """Yield each file with its Arrow schema and its number of rows."""
    for path in files:
        with parquet_errors(path), parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        check_unique(path, schema.names)
        yield path, schema, n_rows


def batches(path: Path, columns: Sequence[str], n_bytes: int) -> Iterator[Any]:
    """Yield the rows of a file as record batches of about ``n_bytes`` each."""
    with parquet_errors(path):
        file = parquet.ParquetFile(path, buffer_size=_READ_BUFFER)
    with file:
        probe = next(_read_batches(file, path, columns, _PROBE_ROWS), None)
        if probe is None:
            return
        row_bytes = max(1, probe.nbytes // max(1, probe.num_rows))
        n_rows = min(max(n_bytes // row_bytes, 1), _MAX_BATCH_ROWS)
        for batch in _read_batches(file, path, columns, n_rows):
            yield from _parts(batch, n_bytes)


def _read_batches(file: Any, path: Path, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
    row_groups: list[Any] = [None]
    if any(_has_nested_dictionary(file.schema_arrow.field(name).type) for name in columns):
        # pyarrow cannot concatenate lists whose dictionaries differ between row groups.
        row_groups = [[index] for index in range(file.num_row_groups)]
    for indices in row_groups:
        reader = file.iter_batches(
            n_rows, row_groups=indices, columns=list(columns), use_threads=False
        )
        while True:
            with parquet_errors(path):
                batch = next(reader, None)
                if batch is not None:
                    batch.validate(full=True)  # a damaged page may go unnoticed otherwise
            if batch is None:
                break
            yield batch


def _has_nested_dictionary(dtype: Any) -> bool:
    return bool(types.is_nested(dtype)) and any(
        types.is_dictionary(dtype.field(i).type) or _has_nested_dictionary(dtype.field(i).type)
        for i in range(dtype.num_fields)
    )


def _parts(batch: Any, n_bytes: int) -> Iterator[Any]:
    """Split a batch whose rows are larger than those at the beginning of the file."""
    n_parts = max(1, batch.nbytes // (2 * n_bytes))
    step = max(1, -(-batch.num_rows // n_parts))
    for first in range(0, batch.num_rows, step):
        yield batch.slice(first, step)


def read_folder(folder: ParquetFolder, mapping: ColumnMapping, scratch: Path) -> DiskCorpus:
    """Read the files once and return the corpus they contain, written to ``scratch``."""
    storage = Storage(scratch, MemoryBudget(folder.memory))
    words = WordsBuilder(
        storage,
        f"column {mapping.text[0]!r}",
        folder.vocabulary,
        folder.words_of_codes,
        has_counts=mapping.content_form != "lists",
        vectorizer=folder.vectorizer,
    )
    contexts = {
        name: ColumnBuilder(name, storage, f"context {number}")
        for number, name in enumerate(mapping.contexts)
    }
    levels = [
        ColumnBuilder(name, storage, f"level {number}")
        for number, name in enumerate(mapping.levels)
    ]
    names = None
    if mapping.group_names is not None:
        names = RowsBuffer(storage, "names", has_counts=False, dtype="uint8")
    n_bytes = min(max(int(folder.memory * _BATCH_MEMORY_SHARE), _MIN_BATCH_BYTES), _MAX_BATCH_BYTES)
    for path in mapping.files:
        for batch in batches(path, mapping.columns, n_bytes):
            _add_content(words, mapping, batch, path)
            for name, builder in contexts.items():
                _add_context(builder, mapping, name, batch.column(name), path)
            for name, builder in zip(mapping.levels, levels, strict=True):
                _add_context(builder, mapping, name, arrow.unit_names(batch.column(name)), path)
            if names is not None:
                names.append(*arrow.utf8_names(batch.column(mapping.group_names)))
    columns = {name: builder.finish() for name, builder in contexts.items()}
    above = None
    if levels:
        units = [builder.finish() for builder in levels]
        above = DiskLevels.from_columns(units, folder.level_contexts, columns)
    return DiskCorpus(scratch, folder.memory, words.finish(), columns, names, above)


def _add_content(words: WordsBuilder, mapping: ColumnMapping, batch: Any, path: Path) -> None:
    column = batch.column(mapping.text[0])
    try:
        if mapping.content_form == "texts":
            words.add_texts(column.to_pylist())
        else:
            counts = batch.column(mapping.text[1]) if len(mapping.text) == 2 else None
            tokens = arrow.tokens_batch(column, counts)
            words.add_batch(tokens, arrow.is_coded(column.type), column.null_count)
    except (InputError, pa.ArrowException) as error:
        name = f"column {mapping.text[0]!r}"
        message = str(error) if str(error).startswith(name) else f"{name} {error}"
        raise InputError(f"{message} ({path.name})") from error


def _add_context(
    builder: ColumnBuilder, mapping: ColumnMapping, name: str, array: Any, path: Path
) -> None:
    try:
        is_bag, separator = name in mapping.separators, mapping.separators.get(name)
        builder.add(arrow.context_batch(array, is_bag, separator), path.name)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"context {name!r} cannot be read from {path.name}: {reason}") from error
    except InputError as error:
        message = str(error) if "context" in str(error) else f"context {name!r} {error}"
        suffix = "" if path.name in message else f" ({path.name})"
        raise InputError(message + suffix) from error
