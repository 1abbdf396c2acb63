"""The files of a folder of Parquet, and the roles of their columns; no row is read here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyarrow import parquet, types

from mcsquared.corpus.sources.arrow import content_kind
from mcsquared.corpus.sources.files import check_unique, whole_parquet
from mcsquared.corpus.sources.frames import Table, bag_separators, name_list
from mcsquared.errors import InputError

_SUFFIXES = (".parquet", ".pq")
_LISTS = ("lists of words", "lists of codes", "empty lists", "nothing")
_INDEX = re.compile(r"__index_level_\d+__")  # row labels without a name, as pandas stores them


@dataclass(frozen=True, eq=False)
class ColumnMapping:
    """The files of a corpus, and the columns that are read.

    Parameters
    ----------
    files : list of Path
    text : tuple of str
        The column of the content, or those of its words and of their counts.
    contexts : list of str
    separators : dict from str to str or None
        Contexts whose strings are split.
    group_names : str or None
    kind : str
        Of the content: "texts", "lists" or "counts".
    """

    files: list[Path]
    text: tuple[str, ...]
    contexts: list[str]
    separators: dict[str, str | None]
    group_names: str | None
    kind: str = ""

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys(name for name, _ in self.arguments))

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """Columns, and the arguments that name them."""
        named = [(name, "text") for name in self.text]
        named += [(name, "contexts") for name in self.contexts]
        return [*named, *([(self.group_names, "group_names")] if self.group_names else [])]


def map_columns(path: Path, text: Any, contexts: Any, bags: Any, group_names: Any) -> ColumnMapping:
    """Return the roles of the columns; every file must have them, with content of one kind."""
    files = parquet_files(path)
    takes_all = isinstance(contexts, str) and contexts == "all"
    n_groups, file_of_kind = 0, dict[str, Path]()
    mapping: ColumnMapping | None = None
    for file, schema, n_rows in schemas(files):
        n_groups += n_rows
        if mapping is None:
            mapping = _first_mapping(files, schema, text, contexts, bags, group_names)
        table = Table(dict.fromkeys(schema.names), n_rows, file.name)
        for name, argument in mapping.arguments:
            table.raw(name, argument)
        others = [
            name
            for name in schema.names
            if name not in mapping.columns and not _INDEX.fullmatch(name)
        ]
        if takes_all and others:
            raise InputError(
                f"{file.name} has the column {others[0]!r}, which {files[0].name} does not have; "
                "name the contexts (contexts=)"
            )
        _check_agreement(file_of_kind, _kind(mapping.text, file, schema), file, mapping.text)
    if mapping is None or not n_groups:
        raise InputError(f"{path} must hold at least one group, got zero rows")
    kind = "texts" if "texts" in file_of_kind else "lists"
    return replace(
        mapping, kind="counts" if len(mapping.text) == 2 or "counts" in file_of_kind else kind
    )


def _first_mapping(
    files: list[Path], schema: Any, text: Any, contexts: Any, bags: Any, group_names: Any
) -> ColumnMapping:
    content = _content_columns(schema, files[0], text)
    if group_names is not None and not isinstance(group_names, str):
        raise InputError(
            f"group_names must be the name of a column, got {type(group_names).__name__}"
        )
    if isinstance(contexts, str) and contexts == "all":
        taken = {*content, group_names}
        names = [name for name in schema.names if name not in taken and not _INDEX.fullmatch(name)]
    else:
        names = name_list(contexts, "contexts")
    return ColumnMapping(files, content, names, bag_separators(bags, names), group_names)


def _content_columns(schema: Any, file: Path, text: Any) -> tuple[str, ...]:
    if isinstance(text, str):
        return (text,)
    if text is not None:
        if isinstance(text, Sequence) and len(text) == 2 and all(isinstance(n, str) for n in text):
            return tuple(text)
        raise InputError(
            f"text must be the name of a column, or of one of words and one of counts, got "
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
        f"{file.name} must have a column tokens, text, words with counts, or counts (a map), got "
        f"{', '.join(names[:20]) or 'none'}; name the column of the content (text=)"
    )


def _kind(text: tuple[str, ...], file: Path, schema: Any) -> str:
    """Return what the content of one file is."""
    dtype = schema.field(text[0]).type
    kind = content_kind(dtype)
    if kind is None and _is_vector(dtype):
        raise InputError(
            f"text names the column {text[0]!r}, which holds vectors ({dtype}) in {file.name}; "
            "vectors as content are not read from a folder, use Corpus"
        )
    if kind is None:
        raise InputError(
            f"text names the column {text[0]!r}, which must hold texts, lists of words or of "
            f"codes, or maps from word to count, got {dtype} in {file.name}"
        )
    if len(text) == 2:
        counts = schema.field(text[1]).type
        if kind not in _LISTS or not _is_count_list(counts):
            raise InputError(
                f"text names the columns {text[0]!r} and {text[1]!r}, which must hold lists of "
                f"words and lists of integers, got {dtype} and {counts} in {file.name}"
            )
    return kind


def _check_agreement(
    file_of_kind: dict[str, Path], kind: str, file: Path, text: tuple[str, ...]
) -> None:
    file_of_kind.setdefault(kind, file)
    decided = [known for known in file_of_kind if known not in ("nothing", "empty lists")]
    if "empty lists" in file_of_kind and decided and decided[0] not in _LISTS:
        decided.append("empty lists")
    if len(decided) > 1:
        one, other = decided[:2]
        raise InputError(
            f"text names the column {text[0]!r}, which must hold content of one kind, got {one} in "
            f"{file_of_kind[one].name} and {other} in {file_of_kind[other].name}"
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
    try:
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
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {error}") from error
    if not found:
        raise InputError(f"{path} must hold at least one Parquet file, got none")
    return found


def schemas(files: Sequence[Path]) -> Iterator[tuple[Path, Any, int]]:
    """Yield each file with its Arrow schema and its number of rows."""
    for path in files:
        with whole_parquet(path), parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        check_unique(path, schema.names)
        yield path, schema, n_rows
