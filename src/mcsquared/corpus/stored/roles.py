"""Which column of a folder of Parquet files plays which part, checked before any row is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import types

from mcsquared.corpus.stored.arrow import content_sort
from mcsquared.corpus.stored.parquet import parquet_files, schemas
from mcsquared.corpus.tables import Table, bag_separators, name_list
from mcsquared.errors import InputError

__all__ = ["Roles", "roles_of"]

_LISTS = ("lists of words", "lists of codes", "empty lists", "nothing")
_INDEX = re.compile(r"__index_level_\d+__")  # how pandas stores row labels that have no name
_WANTED = "texts, lists of words or of codes, or maps from word to count"


@dataclass(frozen=True, eq=False)
class Roles:
    """The files of a corpus, and the columns that are read.

    Parameters
    ----------
    files : list of Path
    text : tuple of str
        The column of the content, or those of its words and of their counts.
    sort : str
        "texts", "lists" or "counts".
    contexts : list of str
    separators : dict from str to str or None
        Contexts whose strings are split.
    group_names : str or None
    """

    files: list[Path]
    text: tuple[str, ...]
    sort: str
    contexts: list[str]
    separators: dict[str, str | None]
    group_names: str | None

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        names = [*self.text, *self.contexts]
        return list(dict.fromkeys([*names, *([self.group_names] if self.group_names else [])]))


def roles_of(path: Path, text: Any, contexts: Any, bags: Any, group_names: Any) -> Roles:
    """Return the parts that the columns play; every file must have them, of the same sort."""
    files = parquet_files(path)
    n_groups = 0
    first: Roles | None = None
    seen: dict[str, Path] = {}
    for file, schema, n_rows in schemas(files):
        table = Table(dict.fromkeys(schema.names), n_rows, file.name)
        if first is None:
            first = _first_roles(files, schema, text, contexts, bags, group_names)
        for name, argument in _arguments(first):
            table.raw(name, argument)
        if isinstance(contexts, str) and contexts == "all":
            _check_no_others(first, file, schema)
        sort = _sort(first.text, file, schema)
        _agree(seen, sort, file, first.text)
        n_groups += n_rows
    if not n_groups:
        raise InputError(f"{path} has zero rows, but at least one group is wanted")
    assert first is not None
    return Roles(
        files,
        first.text,
        _settled_sort(first.text, seen),
        first.contexts,
        first.separators,
        first.group_names,
    )


def _first_roles(
    files: list[Path],
    schema: Any,
    text: Any,
    contexts: Any,
    bags: Any,
    group_names: Any,
) -> Roles:
    content = _content_columns(schema, files[0], text)
    if group_names is not None and not isinstance(group_names, str):
        raise InputError(
            f"group_names is {type(group_names).__name__}, but the name of a column is wanted"
        )
    if isinstance(contexts, str) and contexts == "all":
        taken = {*content, group_names}
        names = [name for name in schema.names if name not in taken and not _INDEX.fullmatch(name)]
    else:
        names = name_list(contexts, "contexts")
    return Roles(files, content, "", names, bag_separators(bags, names), group_names)


def _content_columns(schema: Any, file: Path, text: Any) -> tuple[str, ...]:
    if isinstance(text, str):
        return (text,)
    if text is not None:
        if isinstance(text, Sequence) and len(text) == 2 and all(isinstance(n, str) for n in text):
            return tuple(text)
        raise InputError(
            f"text is {text!r:.60}, but the name of a column, or of one of words and one of "
            "counts, is wanted"
        )
    names = schema.names
    for name in ("tokens", "text"):
        if name in names:
            return (name,)
    if "words" in names and "counts" in names:
        return ("words", "counts")
    if "counts" in names and types.is_map(schema.field("counts").type):
        return ("counts",)
    known = ", ".join(names[:20])
    raise InputError(
        f"{file.name} has no column tokens, text, words with counts, or counts (a map), but "
        f"{known or 'none'}; name the column of the content (text=)"
    )


def _arguments(roles: Roles) -> list[tuple[str, str]]:
    named = [(name, "text") for name in roles.text]
    named += [(name, "contexts") for name in roles.contexts]
    return [*named, *([(roles.group_names, "group_names")] if roles.group_names else [])]


def _check_no_others(roles: Roles, file: Path, schema: Any) -> None:
    for name in schema.names:
        if name not in roles.columns and not _INDEX.fullmatch(name):
            raise InputError(
                f"{file.name} has the column {name!r}, which {roles.files[0].name} does not have; "
                "name the contexts that are wanted (contexts=)"
            )


# ------------------------------------------------------------------------------ content


def _sort(text: tuple[str, ...], file: Path, schema: Any) -> str:
    """Return what the content of one file is."""
    kind = schema.field(text[0]).type
    sort = content_sort(kind)
    if sort is None:
        if _is_vector(kind):
            raise InputError(
                f"text names the column {text[0]!r}, which holds vectors ({kind}) in {file.name}, "
                "but vectors as content are not read from a folder; Corpus takes them in memory"
            )
        raise InputError(
            f"text names the column {text[0]!r}, which holds {kind} in {file.name}, but {_WANTED} "
            "are wanted"
        )
    if len(text) == 2:
        counts = schema.field(text[1]).type
        if sort not in _LISTS or not _is_count_list(counts):
            raise InputError(
                f"text names the columns {text[0]!r} and {text[1]!r}, which hold {kind} and "
                f"{counts} in {file.name}, but lists of words and lists of whole numbers are "
                "wanted"
            )
    return sort


def _agree(seen: dict[str, Path], sort: str, file: Path, text: tuple[str, ...]) -> None:
    seen.setdefault(sort, file)
    decided = [known for known in seen if known not in ("nothing", "empty lists")]
    if "empty lists" in seen and decided and decided[0] not in _LISTS:
        decided.append("empty lists")
    if len(decided) > 1:
        one, other = decided[:2]
        raise InputError(
            f"text names the column {text[0]!r}, which holds {one} in {seen[one].name}, but "
            f"{other} in {seen[other].name}; content of one sort is wanted"
        )


def _settled_sort(text: tuple[str, ...], seen: dict[str, Path]) -> str:
    if len(text) == 2 or "counts" in seen:
        return "counts"
    return "texts" if "texts" in seen else "lists"


def _is_vector(kind: Any) -> bool:
    if types.is_floating(kind):
        return True
    value = getattr(kind, "value_type", None)
    return value is not None and not types.is_dictionary(kind) and (_is_vector(value))


def _is_count_list(kind: Any) -> bool:
    if types.is_null(kind):
        return True
    value = getattr(kind, "value_type", None)
    if value is None or not types.is_nested(kind) or types.is_map(kind):
        return False
    return bool(types.is_integer(value) or types.is_floating(value) or types.is_null(value))
