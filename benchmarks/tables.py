"""Answers as tables: for the terminal, for the documentation, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["Answer", "Target", "Unavailable", "markdown", "picture_of"]

Cell = str | int | float | None


class Unavailable(Exception):  # noqa: N818 - it is no error
    """A question that cannot be asked here; why is its text."""


@dataclass(frozen=True)
class Target:
    """A figure with a bound that it should keep; None where it was never reached."""

    what: str
    found: float | None
    bound: float
    at_least: bool
    unit: str

    @property
    def met(self) -> bool:
        """Whether the bound is kept."""
        if self.found is None:
            return False
        return self.found >= self.bound if self.at_least else self.found <= self.bound

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What, found, wanted and verdict, as a table shows them."""
        unit = f" {self.unit}" if self.unit else ""
        wanted = f"at {'least' if self.at_least else 'most'} {show(self.bound)}{unit}"
        found = "never" if self.found is None else f"{show(self.found)}{unit}"
        return self.what, found, wanted, "met" if self.met else "missed"

    def __str__(self) -> str:
        what, found, wanted, verdict = self.cells
        return f"{what}: {found}, {wanted} wanted: {verdict}"


@dataclass(frozen=True)
class Answer:
    """What a question found: rows of figures, the targets they are held against, remarks.

    ``curves`` are the lines of a plot, by name, as (CPU-seconds, figure); ``machine`` is what
    `benchmarks.machine` says, where it is not the page's.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    targets: Sequence[Target] = ()
    notes: Sequence[str] = field(default_factory=list)
    run: str = ""
    curves: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)

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

    def for_documentation(self, picture: str = "") -> str:
        """Return title, picture, rows and notes in Markdown; targets are at the top of the page."""
        lines = [f"## {self.title}", "", self.run, ""]
        if self.machine:
            lines += [*(f"- {name}: {value}" for name, value in self.machine.items()), ""]
        if self.curves and picture:
            lines += [f"![{self.title}]({picture})", ""]
        lines += ["| " + " | ".join(self.columns) + " |"]
        lines += ["|" + "|".join(["---", *["---:"] * (len(self.columns) - 1)]) + "|"]
        lines += ["| " + " | ".join(map(show, row)) + " |" for row in self.rows]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]).rstrip() + "\n"


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

`make bench QUESTIONS="throughput quality"` asks some questions alone (all of them take about an
hour), `make bench QUESTIONS=--quick` looks whether everything runs. MALLET takes part where
`MCSQUARED_MALLET` names its folder.
"""


def markdown(machine: Mapping[str, Any], answers: Mapping[str, Answer]) -> str:
    """Return the whole page: what was wanted and found, then the answers one by one."""
    facts = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    parts = [INTRODUCTION, facts + "\n", _summary(answers)]
    parts += [answer.for_documentation(picture_of(name)) for name, answer in answers.items()]
    return "\n".join(part for part in parts if part)


def picture_of(question: str) -> str:
    """Return the path of a question's plot, from the page."""
    return f"images/{question}.png"


def _summary(answers: Mapping[str, Answer]) -> str:
    targets = [(name, target) for name, answer in answers.items() for target in answer.targets]
    if not targets:
        return ""
    lines = ["## What was wanted", "", "| question | figure | found | wanted | |"]
    lines += ["|---|---|---:|---:|---|"]
    lines += ["| " + " | ".join((name, *target.cells)) + " |" for name, target in targets]
    return "\n".join(lines) + "\n"
