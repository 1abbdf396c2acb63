"""Options ``--level`` and ``--level-context`` of ``mc2 fit``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsquared.corpus import Corpus, ParquetFolder
from mcsquared.corpus.sources import files
from mcsquared.corpus.sources.frames import Table
from mcsquared.errors import InputError
from mcsquared.model.priors import all_contexts

if TYPE_CHECKING:
    from mcsquared.cli.reading import ContextOption


def read_level_contexts(options: Sequence[str], levels: Sequence[str]) -> dict[str, Table]:
    """Read the files of contexts of the levels: ``country=countries.csv:region,gdp``.

    Without columns, all of the file are read. The column with the name of the level names the
    units.
    """
    found: dict[str, Table] = {}
    for option in options:
        name, equals, rest = option.partition("=")
        if not equals or not name or not rest:
            raise InputError(f"--level-context must be LEVEL=FILE[:COLUMNS], got {option!r}")
        if name not in levels:
            listed = ", ".join(levels) or "none"
            raise InputError(f"--level-context must be of a --level ({listed}), got {name!r}")
        if name in found:
            raise InputError(f"--level-context must name each level once, got {name!r} twice")
        path, columns = _split(rest)
        table = files.read_table(path)
        if name not in table.columns:
            raise InputError(f"{path} must have a column {name!r} with the names of the units")
        if columns:
            chosen = {column: table.raw(column, "--level-context") for column in columns}
            table = replace(table, columns={name: table.columns[name], **chosen})
        found[name] = table
    return found


def _split(text: str) -> tuple[Path, list[str]]:
    """Split FILE[:COLUMNS]; a path may contain ":" itself."""
    path, colon, columns = text.rpartition(":")
    if not colon or Path(text).exists() or not columns:
        return Path(text), []
    return Path(path), [column.strip() for column in columns.split(",") if column.strip()]


def families_of_contexts(
    corpus: Corpus | ParquetFolder, options: Sequence[ContextOption]
) -> dict[str, Any]:
    """Return the families of all contexts that a fit uses, those of the levels included."""
    declared = {option.name: option.family for option in options}
    if not isinstance(corpus, Corpus):
        tables: Any = corpus.level_contexts or {}
        of_units = [c for name, table in tables.items() for c in table.columns if c != name]
        return dict.fromkeys(of_units, "auto") | declared
    columns = all_contexts(corpus)
    used = {name: family for name, family in declared.items() if name in columns}
    for name, column in columns.items():
        if name not in corpus.contexts and name not in declared and not column.is_distinct:
            used[name] = "auto"
    return used
