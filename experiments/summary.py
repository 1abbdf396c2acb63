"""Summaries over seeds: means and standard errors, and tables with the paper's numbers.

`paper_numbers.json` has ``{"where", "note", "rows"}`` for every experiment. Its rows use the same
names of keys and measures, as far as the paper gives them. A row of the paper matches every row of
a summary with the same values of the keys it has; rows without a match (of data sets that are not
available) have a separate table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "cells",
    "markdown",
    "paper_numbers",
    "plain",
    "rounded",
    "summarise",
    "tables",
]

Row = dict[str, Any]
PAPER = Path(__file__).with_name("paper_numbers.json")
NOT_MEASURES = ("seed",)


def plain(value: Any) -> Any:
    """Return a JSON-compatible value: plain numbers, None if not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def rounded(values: Any) -> Any:
    """Return nested lists, with numbers rounded to four significant digits."""
    listed = plain(values)
    if isinstance(listed, list):
        return [rounded(item) for item in listed]
    return float(f"{listed:.4g}") if isinstance(listed, float) else listed


def summarise(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return one row per combination of keys, in the order in which they first appear.

    A measure becomes ``{"mean", "standard_error", "n"}``; the standard error is None for one
    seed. Text is that of the first seed.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return [
        dict(zip(keys, values, strict=True)) | _measures(rows_of_key, keys)
        for values, rows_of_key in groups.items()
    ]


def _measures(rows: Sequence[Row], keys: Sequence[str]) -> Row:
    names = dict.fromkeys(name for row in rows for name in row)
    result: Row = {}
    for name in names:
        if name in keys or name in NOT_MEASURES:
            continue
        values = [row[name] for row in rows if row.get(name) is not None]
        if values and all(_is_number(value) for value in values):
            result[name] = _summary(values)
        else:
            result[name] = values[0] if values else None
    return result


def _summary(values: Sequence[float]) -> Row:
    n = len(values)
    error = None
    if n > 1:
        # The mean of equal values may differ from them by rounding.
        same = min(values) == max(values)
        error = 0.0 if same else float(np.std(values, ddof=1) / math.sqrt(n))
    return {"mean": float(np.mean(values)), "standard_error": error, "n": n}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def paper_numbers(name: str) -> Row:
    """Return the numbers of the paper for an experiment: where, note, rows."""
    numbers = json.loads(PAPER.read_text(encoding="utf-8"))
    return numbers.get(name, {"where": "", "note": "", "rows": []})


def cells(record: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of the table, with the paper's numbers in brackets."""
    keys = list(record["keys"])
    summary = record["summary"]
    columns = keys + list(
        dict.fromkeys(name for row in summary for name in row if name not in keys)
    )
    paper = record["paper"]["rows"]
    lines = []
    for row in summary:
        matches = [known for known in paper if _matches(known, row, keys)]
        lines.append([_cell(name, row, matches, keys) for name in columns])
    return columns, lines


def tables(record: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return all tables of a record: caption, columns, cells."""
    result = [(record["title"], *cells(record))]
    keys, paper = record["keys"], record["paper"]
    unmatched = [
        known
        for known in paper["rows"]
        if not any(_matches(known, row, keys) for row in record["summary"])
    ]
    if unmatched:
        columns = list(dict.fromkeys(name for row in unmatched for name in row))
        lines = [[_number(row.get(name)) for name in columns] for row in unmatched]
        result.append((f"Numbers of the paper: {paper['where']}", columns, lines))
    return result


def markdown(record: Mapping[str, Any]) -> str:
    """Return the tables of a record as Markdown, with the command to reproduce it."""
    parts = []
    for caption, columns, lines in tables(record):
        head = f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"
        parts.append("\n".join([f"**{caption}**", "", head, *(_line(line) for line in lines)]))
    seeds = len(record["seeds"])
    foot = [
        f"Mean ± standard error over {seeds} seed{'s' if seeds > 1 else ''} (no ±: equal for "
        f"all); [in brackets] the paper's number. `{record['command']}`, {record['date']}, "
        f"{record['seconds']:.0f} s on {record['machine']}."
    ]
    if record["paper"]["note"]:
        foot.insert(0, f"The paper's numbers: {record['paper']['note']}")
    return "\n\n".join(parts + foot) + "\n"


def _line(line: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in line)} |"


def _matches(known: Row, row: Row, keys: Sequence[str]) -> bool:
    named = [key for key in keys if key in known]
    return bool(named) and all(known[key] == row.get(key) for key in named)


def _cell(name: str, row: Row, matches: Sequence[Row], keys: Sequence[str]) -> str:
    value = row.get(name)
    if name in keys:
        return f"{value:g}" if _is_number(value) else str(value)
    if value is not None and not isinstance(value, dict):
        return _number(value)
    text = _number(value and value["mean"])
    if value and value["standard_error"]:  # None for one seed, 0 if all are equal
        text += f" ± {value['standard_error']:.2g}"
    numbers = [_number(known[name]) for known in matches if known.get(name) is not None]
    return f"{text} [{', '.join(numbers)}]" if numbers else text


def _number(value: Any) -> str:
    if value is None:
        return "–"
    if not _is_number(value) or isinstance(value, int):
        return str(value)
    if abs(value) >= 100 or float(value).is_integer():
        return f"{value:.1f}"
    return f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.3g}"
