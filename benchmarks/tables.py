"""Answers as tables: for the terminal, for the documentation, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["Answer", "Target", "markdown"]

Cell = str | int | float | None


@dataclass(frozen=True)
class Target:
    """A figure with a bound that it should keep."""

    what: str
    found: float
    bound: float
    at_least: bool
    unit: str

    @property
    def met(self) -> bool:
        """Whether the bound is kept."""
        return self.found >= self.bound if self.at_least else self.found < self.bound

    def __str__(self) -> str:
        wanted = "at least" if self.at_least else "less than"
        verdict = "met" if self.met else "missed"
        bound = f"{wanted} {show(self.bound)} {self.unit}"
        return f"{self.what}: {show(self.found)} {self.unit}, {bound} wanted: {verdict}"


@dataclass(frozen=True)
class Answer:
    """What a question found: rows of figures, the targets they are held against, remarks."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    targets: Sequence[Target] = ()
    notes: Sequence[str] = field(default_factory=list)
    run: str = ""

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Answer:
        """Return what `to_dict` wrote down."""
        return cls(**{**record, "targets": [Target(**target) for target in record["targets"]]})

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return asdict(self)

    def for_terminal(self) -> RichTable:
        """Return the rows as rich shows them."""
        from rich.table import Table as RichTable

        table = RichTable(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*map(show, row))
        return table

    def for_documentation(self) -> str:
        """Return title, rows, targets and notes in Markdown."""
        lines = [f"## {self.title}", "", self.run, ""]
        lines += ["| " + " | ".join(self.columns) + " |"]
        lines += ["|" + "|".join(["---", *["---:"] * (len(self.columns) - 1)]) + "|"]
        lines += ["| " + " | ".join(map(show, row)) + " |" for row in self.rows]
        remarks = [*map(str, self.targets), *self.notes]
        return "\n".join([*lines, "", *(f"- {remark}" for remark in remarks)]).rstrip() + "\n"


def show(cell: Cell) -> str:
    """Return a cell in three digits, or a dash where there is nothing."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


INTRODUCTION = """# Benchmarks

Written by `make bench` (`python -m benchmarks`), never by hand; the same figures, unrounded, are in
`benchmarks/results/latest.json`. Speed is in CPU-seconds, every contender in the same process and
in turn with the others, so that a busy machine slows all of them: read the ratios first. Figures
are medians over sweeps; the fastest sweep is closer to what an idle machine does.
"""


def markdown(machine: Mapping[str, Any], answers: Mapping[str, Answer]) -> str:
    """Return the whole page."""
    facts = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    parts = [INTRODUCTION, facts + "\n", *(a.for_documentation() for a in answers.values())]
    return "\n".join(parts)
