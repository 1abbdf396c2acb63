"""Contexts of units: columns of groups that are constant within units, and rows of other tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mcsquared.arrays import Int32s, Int64s, Integers
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.values import as_list, category_label, is_missing
from mcsquared.corpus.sources.frames import Table, context_columns
from mcsquared.errors import InputError
from mcsquared.markup import plural

# Share of the values of a context that may be lost: those of groups without a unit.
MAX_OUTSIDE_SHARE = 0.05


def assign_contexts(
    columns: dict[str, Column],
    names: Sequence[str],
    parents_of: Sequence[Int32s],
    n_units_of: Sequence[int],
    notes: list[str],
) -> list[dict[str, Column]]:
    """Return the contexts of the groups and those of every level, the lowest first.

    A context moves up as long as it is constant within units. ``names``, ``parents_of`` (the unit
    of each child, int32 (n_children,)) and ``n_units_of`` have one entry per level. Notes on
    contexts that move, or would move were it not for values outside units, are appended to
    ``notes``.
    """
    contexts_of: list[dict[str, Column]] = []
    level_of: dict[str, str] = {}  # of the contexts that move
    child, child_level = "group", ""
    for name, parents, n_units in zip(names, parents_of, n_units_of, strict=True):
        found = {
            context: constancy(column, parents, n_units) for context, column in columns.items()
        }
        contexts_of.append({c: column for c, column in columns.items() if not found[c].moves})
        columns = {
            c: column_of_units(columns[c], parents, n_units) for c in columns if found[c].moves
        }
        for context, constant in found.items():
            outside = f"{plural(constant.n_outside, child)}{child_level} without a {name}"
            if constant.moves:
                level_of[context] = name
            elif constant.is_constant:
                have = "has" if constant.n_outside == 1 else "have"
                notes.append(
                    f"context {context}: constant within every {name}, but not a context of the "
                    f"{name}, because {outside} {have} a value"
                )
            if constant.moves and constant.n_outside:
                notes.append(f"context {context}: the values of {outside} are not used")
        child, child_level = "unit", f" of {name}"
    notes += [
        f"context {context}: constant within every {name}, so it is a context of the {name}"
        for context, name in level_of.items()
    ]
    return [*contexts_of, columns]


def match_rows(table: Table, name: str, units: list[str], notes: list[str]) -> dict[str, Column]:
    """Return the columns of a level's frame in the order of its units.

    The units of the rows are in the column with the name of the level, or in the index.
    """
    if name in table.columns:
        keys = as_list(table.raw(name, f"level_contexts[{name!r}]"))
    elif table.row_names is not None:
        keys = table.row_names
    else:
        raise InputError(
            f"{table.source} must have a column {name!r}, or an index, with the names of the units"
        )
    row_of: dict[str, int] = {}
    for row, key in enumerate(keys):
        if is_missing(key):
            continue
        label = category_label(key)
        if label in row_of:
            raise InputError(f"{table.source} must have one row per {name}, got {label!r} twice")
        row_of[label] = row
    rows = np.array([row_of.get(unit, -1) for unit in units], np.int64)
    if (rows < 0).all():
        raise InputError(
            f"{table.source} must name units of the level, such as {units[0]!r}, got none of them"
        )
    if n_missing := int((rows < 0).sum()):
        notes.append(f"level {name}: {n_missing} of {len(units)} units have no row of contexts")
    contexts = [column for column in table.columns if column != name]
    columns = context_columns(table, contexts, None, table.n_rows)
    return {c: rows_or_missing(column, rows) for c, column in columns.items()}


def rows_or_missing(column: Column, rows: Int64s) -> Column:
    """Return selected rows of a column; a row number of -1 gives a missing value."""
    taken = column[np.maximum(rows, 0)]
    values, missing = taken.values.copy(), rows < 0
    if column.kind == "bag":
        keep = np.repeat(~missing, np.diff(values.indptr)).astype(values.dtype)
        values.data *= keep
        values.eliminate_zeros()
    else:
        values[missing] = -1 if column.kind == "category" else np.nan
    return replace(column, values=values)


def row_codes(column: Column) -> Int64s:
    """Return a number for each distinct value of a column, -1 where it is missing."""
    if column.kind == "bag":
        matrix = column.values
        keys = [
            (matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes())
            for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        ]
        code_of = {key: code for code, key in enumerate(dict.fromkeys(keys))}
        codes = np.array([code_of[key] for key in keys], np.int64)
    else:
        codes = np.unique(column.values, axis=0, return_inverse=True)[1].reshape(-1)
    return np.where(column.observed, codes, -1)


class Constancy(NamedTuple):
    """Whether a context has the same value in all groups of a unit, for all units."""

    is_constant: bool
    n_values: int
    n_outside: int  # values of groups without a unit

    @property
    def moves(self) -> bool:
        """Whether the context moves to the units; values of groups without a unit are lost."""
        return self.is_constant and self.n_outside <= MAX_OUTSIDE_SHARE * self.n_values


def constancy(column: Column, parents: Int32s, n_units: int) -> Constancy:
    """Return whether a column is constant within units; some unit must have two or more values."""
    codes = row_codes(column)
    observed = codes >= 0
    inside = observed & (parents >= 0)
    codes_inside, units = codes[inside], parents[inside]
    value = np.full(n_units, -1, np.int64)
    value[units] = codes_inside
    is_constant = bool((value[units] == codes_inside).all())
    is_constant &= bool(np.bincount(units, minlength=1).max() > 1)
    return Constancy(is_constant, int(observed.sum()), int((observed & ~inside).sum()))


def column_of_units(column: Column, parents: Integers, n_units: int) -> Column:
    """Return a column that is constant within units as a column of the units."""
    row = np.full(n_units, -1, np.int64)
    observed = np.flatnonzero(column.observed & (parents >= 0))
    row[parents[observed]] = observed
    return rows_or_missing(column, row)
