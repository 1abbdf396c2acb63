"""Read folders of Parquet files: select columns, read rows in batches, build the corpus."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from mcsquared.corpus.sources.vectors import VectorsBuilder
from mcsquared.errors import InputError, input_errors

_SUFFIXES = (".parquet", ".pq")
_LISTS = ("lists of words", "lists of codes", "empty lists", "nulls")
_VECTORS = ("vectors", "lists of vectors")
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
    # The column of the content, those of its words and of their counts, or those of its numbers.
    content: tuple[str, ...]
    contexts: list[str]
    # Separators of contexts whose strings are split; None if not given.
    separators: dict[str, str | None]
    group_names: str | None
    levels: list[str]  # columns that name the unit of each group, the lowest level first
    content_argument: str = "text"  # or "content": columns of numbers, one vector per group
    content_form: str = ""  # "texts", "lists" of words, "counts" of words, or "vectors"

    @property
    def content_name(self) -> str:
        """Name of the content in errors."""
        return "content" if self.content_argument == "content" else f"column {self.content[0]!r}"

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys(name for name, _ in self.arguments))

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """Pairs of a column and the argument that names it."""
        named = [(name, self.content_argument) for name in self.content]
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
        if mapping.content_argument == "content":
            content_type = _type_of_numbers(mapping.content, file, schema)
        else:
            content_type = _content_type(mapping.content, file, schema)
        _check_same_type(file_of_type, content_type, file, mapping.content)
    if mapping is None or not n_groups:
        raise InputError(f"{folder.path} must contain at least one group, got zero rows")
    form = _content_form(folder, mapping, file_of_type)
    return replace(mapping, content_form=form)


def _content_form(
    folder: ParquetFolder, mapping: ColumnMapping, file_of_type: dict[str, Path]
) -> str:
    """Return the form of the content, given the types of content that the files have."""
    if not file_of_type.keys().isdisjoint(_VECTORS):
        _check_no_words(folder, mapping)
        return "vectors"
    if mapping.content_argument == "content":
        raise InputError(
            "content must have at least one column of floats, got integers: counts of words are "
            "read from lists or maps (text=)"
        )
    if folder.text is None and mapping.content == ("vectors",):
        found, file = next(iter(file_of_type.items()))
        raise InputError(
            f"column 'vectors' must contain vectors of floats, got {found} in {file.name}; name "
            "the content (text=) if it is another column, or if these are words"
        )
    if len(mapping.content) == 2 or "counts" in file_of_type:
        return "counts"
    return "texts" if "texts" in file_of_type else "lists"


def _check_no_words(folder: ParquetFolder, mapping: ColumnMapping) -> None:
    """Raise `InputError` if arguments that concern words are given with vectors."""
    name = mapping.content_name
    if folder.words_of_codes is not None:
        raise InputError(f"vocabulary must be None if {name} contains vectors")
    if folder.vocabulary is not None:  # that of a model
        raise InputError(f"{name} must contain words as in training, got vectors")
    if folder.vectorizer:
        given = ", ".join(folder.vectorizer)
        raise InputError(f"{given} must not be given if {name} contains vectors")


def _first_mapping(folder: ParquetFolder, files: list[Path], schema: Any) -> ColumnMapping:
    argument, names = "text" if folder.content is None else "content", folder.group_names
    if argument == "text":
        content = _content_columns(schema, files[0], folder.text)
    else:
        content = _numeric_columns(folder)
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
    return ColumnMapping(files, content, contexts, separators, names, levels, argument)


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
    if "vectors" in names:
        return ("vectors",)
    raise InputError(
        f"{file.name} must have a column 'tokens', 'text' or 'vectors', columns 'words' and "
        f"'counts', or a column 'counts' of maps, got {', '.join(names[:20]) or 'none'}; name the "
        "content (text=)"
    )


def _numeric_columns(folder: ParquetFolder) -> tuple[str, ...]:
    if folder.text is not None:
        raise InputError("text and content must not both be given")
    columns = tuple(name_list(folder.content, "content"))
    if not columns:
        raise InputError("content must have at least one column, got none")
    return columns


def _type_of_numbers(columns: tuple[str, ...], file: Path, schema: Any) -> str:
    """Return the type of content in columns of numbers, together one vector per group."""
    dtypes = [schema.field(name).type for name in columns]
    for name, dtype in zip(columns, dtypes, strict=True):
        if not arrow.is_numeric(dtype):
            raise InputError(
                f"content must consist of columns of numbers, got {name!r} of type {dtype} in "
                f"{file.name}"
            )
    # Integers may be counts: like nulls, they do not determine the type of the content.
    return "nulls" if all(types.is_integer(dtype) for dtype in dtypes) else "vectors"


def _content_type(text: tuple[str, ...], file: Path, schema: Any) -> str:
    """Return the type of content of one file; see `arrow.content_type`."""
    dtype = schema.field(text[0]).type
    content_type = arrow.content_type(dtype)
    if content_type is None:
        raise InputError(
            "text must name a column of texts, of lists of words or codes, of maps from word to "
            f"count, or of vectors, got {text[0]!r} of type {dtype} in {file.name}"
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
    if "empty lists" in file_of_type and decided and decided[0] not in (*_LISTS, *_VECTORS):
        decided.append("empty lists")
    if len(decided) > 1:
        one, other = decided[:2]
        raise InputError(
            f"column {text[0]!r} must have content of one type, got {one} in "
            f"{file_of_type[one].name} and {other} in {file_of_type[other].name}"
        )


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
    content, add_content = _content_builder(folder, mapping, storage)
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
            _add_content(add_content, mapping, batch, path)
            for name, builder in contexts.items():
                _add_context(builder, mapping, name, batch.column(name), path)
            for name, builder in zip(mapping.levels, levels, strict=True):
                _add_context(builder, mapping, name, arrow.unit_names(batch.column(name)), path)
            if names is not None:
                names.append(*arrow.utf8_names(batch.column(mapping.group_names)))
    columns = {name: builder.finish() for name, builder in contexts.items()}
    disk_levels = None
    if levels:
        units = [builder.finish() for builder in levels]
        disk_levels = DiskLevels.from_columns(units, folder.level_contexts, columns)
    return DiskCorpus(scratch, folder.memory, content.finish(), columns, names, disk_levels)


def _content_builder(
    folder: ParquetFolder, mapping: ColumnMapping, storage: Storage
) -> tuple[WordsBuilder | VectorsBuilder, Callable[[Any], None]]:
    """Return the builder of the content, and a function that adds a batch of rows to it."""
    if mapping.content_form == "vectors":
        vectors = VectorsBuilder(storage, mapping.content_name)
        return vectors, partial(_add_vectors, vectors, mapping)
    words = WordsBuilder(
        storage,
        mapping.content_name,
        folder.vocabulary,
        folder.words_of_codes,
        has_counts=mapping.content_form != "lists",
        vectorizer=folder.vectorizer,
    )
    return words, partial(_add_words, words, mapping)


def _add_vectors(vectors: VectorsBuilder, mapping: ColumnMapping, batch: Any) -> None:
    columns = [batch.column(name) for name in mapping.content]
    is_numbers = mapping.content_argument == "content"
    read = arrow.vectors_of_columns(columns) if is_numbers else arrow.vectors_of_lists(*columns)
    vectors.add(*read)


def _add_words(words: WordsBuilder, mapping: ColumnMapping, batch: Any) -> None:
    column = batch.column(mapping.content[0])
    if mapping.content_form == "texts":
        words.add_texts(column.to_pylist())
        return
    counts = batch.column(mapping.content[1]) if len(mapping.content) == 2 else None
    tokens = arrow.tokens_batch(column, counts)
    words.add_batch(tokens, arrow.is_coded(column.type), column.null_count)


def _add_content(
    add: Callable[[Any], None], mapping: ColumnMapping, batch: Any, path: Path
) -> None:
    try:
        add(batch)
    except (InputError, pa.ArrowException) as error:
        name = mapping.content_name
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
