"""Levels above groups: countries of speeches, schools of pupils and districts of schools."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mcsquared.arrays import Int32s, Int64s, Objects
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.values import as_list, category_label, is_missing
from mcsquared.corpus.content import object_array
from mcsquared.corpus.sources.frames import Table, name_list, table_of
from mcsquared.corpus.unit_contexts import (
    assign_contexts,
    column_of_units,
    match_rows,
    rows_or_missing,
)
from mcsquared.errors import InputError


@dataclass(frozen=True, eq=False)
class Level:
    """The units of one level above groups, with their contexts.

    Parameters
    ----------
    name : str
    unit_names : object (n_units,)
    contexts : dict from str to Column
        One row per unit.
    parent_of_child : int32 (n_children,)
        Unit of each group or, for a level above other units, of each unit of the level below; -1
        for none.

    Examples
    --------
    >>> import pandas as pd
    >>> speeches = pd.DataFrame({"text": ["war", "aid", "war", "tax"], "of": list("FFGH")})
    >>> corpus = mc2.Corpus.from_frame(speeches, "text", levels="of", max_df=1.0)
    >>> level = corpus.levels[0]
    >>> level.n_units, level.unit_names.tolist(), level.parent_of_child.tolist()
    (3, ['F', 'G', 'H'], [0, 0, 1, 2])
    >>> print(level.describe())
    of: level of 3 units, 4 of 4 groups belong to one
    >>> level.take_units(np.array([1]), np.array([-1, 0])).unit_names.tolist()
    ['G']
    """

    name: str
    unit_names: Objects
    contexts: dict[str, Column]
    parent_of_child: Int32s

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_names)

    def describe(self, children: str = "groups") -> str:
        """Return a line on the level and one on each of its contexts."""
        n_inside = int((self.parent_of_child >= 0).sum())
        n_children = len(self.parent_of_child)
        line = f"{self.name}: level of {self.n_units} units, {n_inside} of {n_children} {children} "
        contexts = [f"{self.name}, {column.describe()}" for column in self.contexts.values()]
        return "\n".join([f"{line}belong to one", *contexts])

    def take_units(self, units: Int64s, parent_of_child: Int32s) -> Level:
        """Return the level of selected units, with new children."""
        contexts = {name: column[units] for name, column in self.contexts.items()}
        return Level(self.name, self.unit_names[units], contexts, parent_of_child)


class LevelsMixin:
    """Levels above groups; a base of `Corpus`."""

    contexts: dict[str, Column]
    levels: tuple[Level, ...] = ()

    def with_levels(
        self, levels: Sequence[str] | str, level_contexts: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the corpus with contexts that name units, such as countries, as levels.

        Parameters
        ----------
        levels : str or list of str
            Categorical contexts, which become levels, the lowest first.
        level_contexts : dict from str to data frame, optional
            As in `from_frame`.

        Examples
        --------
        >>> speeches = mc2.Corpus([[1, 0], [2, 1], [0, 1]], {"country": list("FFG")})
        >>> speeches.with_levels("country")
        Corpus(3 groups, 5 tokens, 2 words, contexts: none, levels: country)
        """
        units = {}
        for name in name_list(levels, "levels"):
            column = self.contexts.get(name)
            if column is None or column.kind != "category":
                raise InputError(f"levels must name categorical contexts, got {name!r}")
            names: Any = [*column.categories, None]  # type: ignore[misc]
            units[name] = [names[code] for code in column.values]
        table = Table(units, len(self))  # type: ignore[arg-type]
        others = {name: column for name, column in self.contexts.items() if name not in units}
        found, others, notes = levels_of_table(table, list(units), level_contexts, others)
        result: Self = self.with_contexts(others)  # type: ignore[attr-defined]
        result.levels = found
        result.notes += notes  # type: ignore[attr-defined]
        return result


def describe_levels(levels: Sequence[Level]) -> list[str]:
    """Return the description of every level."""
    children = ["groups", *(f"units of {level.name}" for level in levels)]
    return list(map(Level.describe, levels, children))


class LevelParts(NamedTuple):
    """The parts of all levels that the fingerprint of a corpus depends on."""

    parents: list[Int32s]
    columns: list[tuple[Column, Any]]
    names: list[Objects]


def level_parts(levels: Sequence[Level]) -> LevelParts:
    """Return parents, contexts and names of the units of all levels."""
    contexts = [column for level in levels for column in level.contexts.values()]
    return LevelParts(
        [level.parent_of_child for level in levels],
        [(column, column.values) for column in contexts],
        [level.unit_names for level in levels],
    )


def take_groups(levels: Sequence[Level], groups: Int64s) -> tuple[Level, ...]:
    """Return the levels of selected groups; units and levels without groups are dropped."""
    kept, children = [], groups
    for level in levels:
        parents = level.parent_of_child[children]
        units = np.unique(parents[parents >= 0]).astype(np.int64)
        if not len(units):
            break
        kept.append(level.take_units(units, _renumbered(parents, units, level.n_units)))
        children = units
    return tuple(kept)


def _renumbered(parents: Int32s, units: Int64s, n_units: int) -> Int32s:
    """Return the positions of parents among the selected units; -1 stays."""
    number = np.full(n_units + 1, -1, np.int32)
    number[units] = np.arange(len(units))
    return number[parents]


def levels_of_table(
    table: Table,
    levels: Any,
    level_contexts: Any,
    columns: dict[str, Column],
    others: Iterable[str] = (),
) -> tuple[tuple[Level, ...], dict[str, Column], list[str]]:
    """Return the levels of a table, the contexts left to the groups, and notes.

    ``levels`` are the columns that name the unit of each row, the lowest level first. ``columns``
    are contexts of the groups; those that are constant within all units of a level move there,
    unless many groups without a unit have them. ``others`` are the names of further contexts of the
    groups. No column of ``level_contexts`` may have the name of a context of the groups.
    """
    names = name_list(levels, "levels")
    given = _given_contexts(level_contexts, names, [*columns, *others])
    notes: list[str] = []
    parents_of: list[Int32s] = []
    units_of: list[list[str]] = []
    child_of_row = np.arange(table.n_rows, dtype=np.int32)
    for number, name in enumerate(names):
        check_level_name(name, columns)
        unit_of_row, units = _units(table, name)
        lower = (names[number - 1], units_of[-1]) if number else ("group", [])
        parents_of.append(_parents(child_of_row, unit_of_row, (name, units), lower))
        units_of.append(units)
        if number and (n_lost := int(((child_of_row < 0) & (unit_of_row >= 0)).sum())):
            notes.append(
                f"{n_lost} groups have a {name} but no {lower[0]}: it is not used for them"
            )
        child_of_row = unit_of_row
    contexts_of = assign_contexts(columns, names, parents_of, [len(u) for u in units_of], notes)
    result = []
    for name, parents, units, unit_contexts in zip(
        names, parents_of, units_of, contexts_of[1:], strict=True
    ):
        matched = match_rows(given[name], name, units, notes) if name in given else {}
        result.append(Level(name, object_array(units), unit_contexts | matched, parents))
    return tuple(result), contexts_of[0], notes


def check_level_name(name: str, contexts: Container[str]) -> None:
    """Raise `InputError` if a column is both a level and a context."""
    if name in contexts:
        raise InputError(f"levels and contexts must not share a column, got {name!r} in both")


def _units(table: Table, name: str) -> tuple[Int32s, list[str]]:
    """Return the unit of each row, -1 if missing, and the names of the units."""
    typed, raw = as_list(table.typed(name, "levels")), as_list(table.raw(name, "levels"))
    labels = [
        None if is_missing(value) else category_label(text)
        for value, text in zip(typed, raw, strict=True)
    ]
    units = list(dict.fromkeys(label for label in labels if label is not None))
    if not units:
        raise InputError(f"levels must name columns with values, got {name!r} without any")
    code_of = {label: code for code, label in enumerate(units)}
    return np.array([-1 if label is None else code_of[label] for label in labels], np.int32), units


def _parents(
    child_of_row: Int32s,
    unit_of_row: Int32s,
    level: tuple[str, list[str]],
    lower: tuple[str, list[str]],
) -> Int32s:
    """Return the unit of each child; raise `InputError` if the rows of a child disagree.

    ``level`` and ``lower`` are the names of a level and of its units, and those of the level below.
    """
    n_children = len(lower[1]) or len(child_of_row)
    parents = np.full(n_children, -1, np.int32)
    known = (child_of_row >= 0) & (unit_of_row >= 0)
    parents[child_of_row[known]] = unit_of_row[known]
    differs = np.flatnonzero(known)[parents[child_of_row[known]] != unit_of_row[known]]
    if len(differs):
        row = differs[0]
        child, (name, units) = child_of_row[row], level
        both = sorted((units[unit_of_row[row]], units[parents[child]]))
        raise InputError(
            f"levels must be nested, the lowest first: every {lower[0]} must have one {name}, got "
            f"{lower[1][child]!r} with {both[0]!r} and {both[1]!r}"
        )
    return parents


def _given_contexts(
    level_contexts: Any, names: list[str], group_contexts: Iterable[str]
) -> dict[str, Table]:
    """Return the data frames of ``level_contexts`` as tables; check the names of their columns."""
    if level_contexts is None:
        return {}
    if not isinstance(level_contexts, Mapping):
        raise InputError(
            "level_contexts must be a dict from level to data frame, got "
            f"{type(level_contexts).__name__}"
        )
    tables: dict[str, Table] = {}
    seen = dict.fromkeys(group_contexts, "the groups")
    for name, frame in level_contexts.items():
        if name not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise InputError(f"level_contexts must be of levels ({listed}), got {name!r}")
        table = table_of(frame, f"level_contexts[{name!r}]")
        table.check_unique()
        for column in table.columns:
            if column in seen:
                raise InputError(
                    f"contexts must have different names at all levels, got {column!r} for "
                    f"{seen[column]} and for the level {name!r}"
                )
            if column != name:
                seen[column] = f"the level {name!r}"
        tables[name] = table
    return tables


def move_contexts_to_levels(
    columns: Mapping[str, Column],
    levels: Sequence[Level],
    contexts_of_level: Mapping[str | None, Sequence[str]],
) -> tuple[dict[str, Column], tuple[Level, ...]]:
    """Move contexts to the levels where a model has them; return those of groups, and the levels.

    The levels are those of the model, because a column of a few new groups may be constant within
    units by chance, or vary within them. ``contexts_of_level`` are the names of the contexts of
    each level, None for the groups.
    """
    n_groups = len(levels[0].parent_of_child)
    unit_of_group = np.arange(n_groups)
    group_columns, units_by_level = dict(columns), []
    for level in levels:
        unit_of_group = np.where(unit_of_group >= 0, level.parent_of_child[unit_of_group], -1)
        units_by_level.append(unit_of_group)
        for name, column in level.contexts.items():
            group_columns.setdefault(name, rows_or_missing(column, unit_of_group))
    placed = []
    for level, unit_of_group in zip(levels, units_by_level, strict=True):
        names = [name for name in contexts_of_level.get(level.name, ()) if name in group_columns]
        contexts = {
            name: level.contexts[name]
            if name in level.contexts
            else column_of_units(group_columns[name], unit_of_group, level.n_units)
            for name in names
        }
        placed.append(replace(level, contexts=contexts))
    moved = {name for level in levels for name in contexts_of_level.get(level.name, ())}
    remaining = {
        name: column
        for name, column in group_columns.items()
        if name in contexts_of_level.get(None, ()) or (name in columns and name not in moved)
    }
    return remaining, tuple(placed)
