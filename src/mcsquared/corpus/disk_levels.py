"""Levels above the groups of a corpus on disk: units in memory, the unit of each group on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcsquared.arrays import Int32s
from mcsquared.corpus.buffers import RowRange
from mcsquared.corpus.columns.builder import BufferedColumn
from mcsquared.corpus.levels import Level, levels_of_table
from mcsquared.corpus.sources.frames import Table


@dataclass(frozen=True, eq=False)
class DiskLevels:
    """The levels of a corpus on disk."""

    column: BufferedColumn  # codes of the units of the lowest level, a row per group
    unit_of_code: Int32s  # (n_codes + 1,): unit of each code; -1 at the end, for a missing value
    levels: tuple[Level, ...]  # all units; the lowest level has no children here
    notes: list[str]

    @classmethod
    def from_columns(
        cls, columns: Sequence[BufferedColumn], level_contexts: Any, contexts: Iterable[str]
    ) -> DiskLevels:
        """Return the levels of columns of unit names, the lowest first.

        Units are numbered in the order in which they appear, as in memory. The only
        contexts of units are those of ``level_contexts``; none may have the name of a context of
        the groups, ``contexts``.
        """
        names = [column.reference.name for column in columns]
        categories: list[list[Any]] = [[*column.reference.categories, None] for column in columns]  # type: ignore[misc]
        rows = _combinations(columns)
        table = Table(
            {
                name: [values[code] for code in codes]
                for name, values, codes in zip(names, categories, rows.T, strict=True)
            },
            len(rows),
        )
        levels, _, notes = levels_of_table(table, names, level_contexts, {}, contexts)
        unit_of_code = np.full(len(categories[0]), -1, np.int32)
        inside = rows[:, 0] >= 0
        unit_of_code[rows[inside, 0]] = levels[0].parent_of_child[inside]
        lowest = replace(levels[0], parent_of_child=np.zeros(0, np.int32))
        return cls(columns[0], unit_of_code, (lowest, *levels[1:]), notes)

    def read(self, *ranges: RowRange) -> tuple[Level, ...]:
        """Return the levels of the groups in ranges (first, last), with all units."""
        parents = self.unit_of_code[self.column.read(*ranges).values]
        return (replace(self.levels[0], parent_of_child=parents), *self.levels[1:])


def _combinations(columns: Sequence[BufferedColumn]) -> np.ndarray:
    """Return the distinct rows of codes in the order of appearance, int64 (n_rows, n_columns).

    If the unit of a lower level is missing (-1), those of the higher ones are set to -1 as well.
    """
    found: dict[tuple[int, ...], None] = {}
    for block in columns[0].values.blocks():
        codes = np.stack([column.read(block).values for column in columns], axis=1).astype(np.int64)
        codes[np.minimum.accumulate(codes, axis=1) < 0] = -1
        rows, first = np.unique(codes, axis=0, return_index=True)
        found |= dict.fromkeys(map(tuple, rows[np.argsort(first)].tolist()))
    return np.array(list(found), np.int64).reshape(-1, len(columns))
