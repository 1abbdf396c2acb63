"""Options ``--level`` and ``--level-context``, and levels of the groups of a fitted model."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcsquared.cli.guard import print_message
from mcsquared.corpus import Column, Corpus, ParquetFolder
from mcsquared.corpus.levels import levels_of_table, move_contexts_to_levels
from mcsquared.corpus.sources import files
from mcsquared.corpus.sources.frames import Table
from mcsquared.errors import InputError
from mcsquared.markup import plural
from mcsquared.model.priors import all_contexts
from mcsquared.posterior import Posterior

if TYPE_CHECKING:
    from mcsquared.cli.reading import ContextOption


def read_level_contexts(
    options: Sequence[str], levels: Sequence[str], requirement: str = "of a --level"
) -> dict[str, Table]:
    """Read the files of contexts of the levels: ``country=countries.csv:region,gdp``.

    Without columns, all columns of the file are read. The column with the name of the level
    contains the names of the units. ``requirement`` describes ``levels`` in an error message.
    """
    found: dict[str, Table] = {}
    for option in options:
        name, equals, rest = option.partition("=")
        if not equals or not name or not rest:
            raise InputError(f"--level-context must be LEVEL=FILE[:COLUMNS], got {option!r}")
        if name not in levels:
            listed = ", ".join(levels) or "none"
            raise InputError(f"--level-context must be {requirement} ({listed}), got {name!r}")
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
        unit_contexts = [c for name, table in tables.items() for c in table.columns if c != name]
        return dict.fromkeys(unit_contexts, "auto") | declared
    columns = all_contexts(corpus)
    used = {name: family for name, family in declared.items() if name in columns}
    for name, column in columns.items():
        if name not in corpus.contexts and name not in declared and not column.is_distinct:
            used[name] = "auto"
    return used


@dataclass(frozen=True)
class KnownLevels:
    """The levels of a model that a file has."""

    names: list[str]
    posterior: Posterior

    def read_contexts(self, options: Sequence[str]) -> dict[str, Table]:
        """Read the files of contexts of these levels."""
        return read_level_contexts(options, self.names, "of a level of the model and the file")

    def contexts_in(self, table: Table) -> dict[str, Column]:
        """Return the training columns of those contexts of units that a file has."""
        levels = self.posterior.units[: len(self.names)]
        columns = {name: column for units in levels for name, column in units.contexts.items()}
        return {name: column for name, column in columns.items() if name in table.columns}

    def known_contexts(self, level_contexts: Mapping[str, Table]) -> dict[str, Table]:
        """Return the tables of contexts of units, with only the columns that the model has."""
        found = {}
        for units in self.posterior.units:
            if (table := level_contexts.get(units.name)) is not None:
                known = [c for c in table.columns if c == units.name or c in units.contexts]
                columns = {column: table.columns[column] for column in known}
                found[units.name] = replace(table, columns=columns)
        return found

    def notes(self, corpus: Corpus) -> list[str]:
        """Return a note on each level that has units not seen in training."""
        notes = []
        for level, units in zip(corpus.levels, self.posterior.units, strict=False):
            n_new = len(set(level.unit_names) - set(units.unit_names))
            if n_new:
                units_of_level = f"{plural(level.n_units, 'unit')} of {level.name}"
                notes.append(
                    f"{n_new} of {units_of_level} not seen in training: types are predicted"
                )
        return notes


def known_levels(posterior: Posterior, path: Path, columns: Container[str]) -> KnownLevels:
    """Return the levels of a model that a file with these columns has, up to the first it lacks."""
    found: list[str] = []
    for units in posterior.units:
        if units.name not in columns:
            print_message(
                f"note: {path} has no column {units.name!r}, so the {units.name} of a group "
                "is not known"
            )
            break
        found.append(units.name)
    return KnownLevels(found, posterior)


def with_levels_of_model(
    corpus: Corpus,
    levels: KnownLevels,
    table: Table,
    level_contexts: Mapping[str, Table],
    labels: str | None,
) -> Corpus:
    """Return new groups with their units, and with contexts where the model has them.

    The levels of contexts are those of the model, because a column of few groups may be constant
    within units by chance. ``labels`` is a column that stays with the groups.
    """
    given = levels.known_contexts(level_contexts)
    columns = {
        name: column
        for name, column in corpus.contexts.items()
        if not any(name in frame.columns for frame in given.values())
    }
    found, _, notes = levels_of_table(table, levels.names, given, {})
    label_column = {} if labels is None else {labels: corpus.contexts[labels]}
    contexts_of: dict[str | None, list[str]] = {}
    contexts_of |= {units.name: list(units.contexts) for units in levels.posterior.units}
    columns, found = move_contexts_to_levels(columns, found, contexts_of)
    result = corpus.with_contexts(columns | label_column)
    result.levels = found
    result.notes = [*corpus.notes, *notes]
    return result
