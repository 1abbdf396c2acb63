"""Read CSV, TSV, JSONL and Parquet files into tables."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from mcsquared.checks import check_choice
from mcsquared.corpus.columns.values import interpret, interpret_dates
from mcsquared.corpus.sources.decoding import read_text
from mcsquared.corpus.sources.frames import Table, table_of
from mcsquared.corpus.sources.margins import is_footer, is_total, margin_note, n_rows_above
from mcsquared.errors import InputError, import_optional, input_errors
from mcsquared.markup import plural

_FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",  # a delimited table
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SEPARATORS = (",", ";", "\t", "|")
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n')  # the first line of tables for Excel
_SAMPLE_LENGTH, _SAMPLE_ROWS = 1_000_000, 50  # characters and lines used to detect the separator
_MAX_FIELD_LENGTH = 2**31 - 1  # texts may exceed the 128 KB that csv allows by default


def read_table(
    path: str | PathLike[str],
    format: str | None = None,
    encoding: str | None = None,
    sep: str | None = None,
) -> Table:
    """Return the columns of a file; see `Corpus.read`.

    Files other than Parquet may be gzipped. A folder of Parquet files is read as one table.
    """
    with input_errors(f"path must be the path of a file, got {path!r:.60}", TypeError):
        path = Path(path)
    kind = _format(path, format)
    _check_readable(path, kind)
    if kind == "parquet":
        return _read_parquet(path)
    text, notes = read_text(path, encoding)
    if kind == "jsonl":
        table = _read_json_lines(path, text)
    else:
        default = "\t" if kind == "tsv" else ","
        separator_line = _SEPARATOR_LINE.match(text)
        text = text if separator_line is None else text[separator_line.end() :]
        if not text.strip():
            raise InputError(f"{path} must have one row per group, got only a separator line")
        if sep is not None:
            delimiter = _checked_separator(sep)
        elif separator_line is not None:
            delimiter = separator_line[1]
        else:
            delimiter = detect_separator(text, default)
        if sep is None and delimiter != default:
            notes.append(f"the fields of {path.name} are separated by {delimiter!r}")
        table = _read_delimited(path, text, delimiter, notes)
    return replace(table, notes=notes)


def _format(path: Path, format: str | None) -> str:
    if format is not None:
        check_choice("format", format, sorted(set(_FORMAT_OF_SUFFIX.values())))
        return format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = _FORMAT_OF_SUFFIX.get(suffixes[-1]) if suffixes else None
    if kind is None and path.is_dir():
        kind = "parquet"
    if kind is None:
        is_spreadsheet = path.suffix.lower() in _SPREADSHEETS
        raise InputError(
            f"path must end in {', '.join(_FORMAT_OF_SUFFIX)} unless format= is given, got "
            f"{path.name}" + ("; export the sheet as CSV" if is_spreadsheet else "")
        )
    return kind


def _check_readable(path: Path, kind: str) -> None:
    with input_errors(f"{path} cannot be read", OSError, ValueError):
        if path.is_dir():
            if kind != "parquet" or not any(path.glob("*.parquet")):
                raise InputError(f"{path} must be a file or contain Parquet files, got a folder")
        elif not path.exists():
            near = get_close_matches(path.name, _names_in(path.parent), n=1)
            hint = f"; did you mean {str(path.with_name(near[0]))!r}?" if near else ""
            raise InputError(f"{path} does not exist{hint}")
        elif path.is_file() and path.stat().st_size == 0:
            raise InputError(f"{path} must have one row per group, got an empty file")


def _names_in(folder: Path) -> list[str]:
    """Return the names of the files in a folder that can be read; none if it does not exist."""
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if entry.suffix.lower() in _FORMAT_OF_SUFFIX]


def _checked_separator(sep: str) -> str:
    sep = {"\\t": "\t", "tab": "\t"}.get(sep, sep)
    if len(sep) != 1:
        raise InputError(f"sep must be one character, got {sep!r}")
    return sep


def detect_separator(text: str, default: str) -> str:
    r"""Return the separator with the most fields per line, the same number in every line.

    >>> detect_separator("year;text\n1990;one, two\n", ",")
    ';'
    """
    best, most = None, 1
    sample = text[:_SAMPLE_LENGTH]
    for separator in (default, *(mark for mark in _SEPARATORS if mark != default)):
        try:
            rows = _first_rows(sample, separator)
        except csv.Error:  # a field that is too long
            continue
        if len(sample) < len(text):
            rows = rows[:-1] or rows  # the last may be incomplete
        rows = rows[n_rows_above(rows) :]
        while len(rows) > 2 and is_footer(rows[-1], len(rows[0])):
            rows.pop()
        n = len(rows[0]) if rows else 0
        widths = {len(row) if any(row[n:]) else min(len(row), n) for row in rows}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = separator, width
    header = sample.lstrip().partition("\n")[0]
    if best is None and default not in header:  # lines of different lengths, an error later
        best = max(_SEPARATORS, key=header.count)
        return best if best in header else default
    return best or default


def _first_rows(text: str, separator: str) -> list[list[str]]:
    """Return the fields of the first lines that are not empty."""
    with _allow_long_fields():
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return list(islice((row for row in lines if row), _SAMPLE_ROWS))


def _read_delimited(path: Path, text: str, delimiter: str, notes: list[str]) -> Table:
    """Return the table of a delimited file; every row must have as many fields as the header.

    Empty fields beyond the header, repetitions of the header, and lines above and below the table
    are dropped.
    """
    n_repeated_headers, below = 0, []
    with _allow_long_fields():
        # Strict: a quote that is never closed is an error, not one long last field.
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            rows = (row for row in lines if row)
            above = list(islice(rows, n_rows_above(_first_rows(text[:_SAMPLE_LENGTH], delimiter))))
            header = [name.strip() for name in next(rows)]
            columns: list[list[str]] = [[] for _ in header]
            for row in rows:
                if is_footer(row, len(header)) and text.endswith("\n"):
                    below.append((row, lines.line_num))
                    continue
                if below or len(row) < len(header) or any(map(str.strip, row[len(header) :])):
                    row, line = below[0] if below else (row, lines.line_num)
                    raise InputError(
                        f"{path} must have {len(header)} fields per line as in its header, got "
                        f"{len(row)} in line {line}; it may be truncated or have another "
                        "separator (sep=, or --sep in mc2)"
                    )
                if len(header) > 1 and [field.strip() for field in row[: len(header)]] == header:
                    n_repeated_headers += 1
                    continue
                for column, value in zip(columns, row, strict=False):
                    column.append(value)
        except csv.Error as error:
            raise InputError(
                f"{path} cannot be read at line {lines.line_num}: {error}; it may be truncated"
            ) from error
    footers = [row for row, _ in below]
    while len(columns[0]) > 1 and is_total(last := [column[-1] for column in columns]):
        footers.insert(0, last)
        for column in columns:
            column.pop()
    if note := margin_note(path.name, above, footers):
        notes.append(note)
    if n_repeated_headers:
        repetitions = plural(n_repeated_headers, "repetition")
        notes.append(f"dropped {repetitions} of the header of {path.name}")
    names = [name or f"column {i + 1}" for i, name in enumerate(header)]
    if not columns[0]:
        raise InputError(f"{path} must have at least one group, got a header without rows")
    by_name = dict(zip(names, columns, strict=True))
    repeated = frozenset(name for name, count in Counter(names).items() if count > 1)
    return Table(by_name, len(columns[0]), path.name, duplicated=repeated, interpret=interpret)


@contextmanager
def _allow_long_fields() -> Iterator[None]:
    before = csv.field_size_limit(_MAX_FIELD_LENGTH)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def check_unique(path: Path, names: list[str]) -> None:
    """Raise `InputError` if two columns of a file have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{path} must have unique column names, got {name!r} twice")


def _read_json_lines(path: Path, text: str) -> Table:
    """Return the table of a file of JSON objects, one per line; absent keys are missing values."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_unique_keys)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path} has invalid JSON in line {number} ({error}); it may be truncated"
            ) from error
        if not isinstance(row, dict):
            raise InputError(
                f"{path} must contain JSON objects, got a {type(row).__name__} in line {number}"
            )
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return Table(_without_objects(columns), len(rows), path.name, interpret=interpret_dates)


def _without_objects(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Replace columns of JSON objects, or of lists of them, by columns of their parts.

    The parts of "seller" are "seller.name" and so on. Objects that contain only numbers are bags,
    with the count of each item, and remain unless they are in lists.
    """
    result: dict[str, list[Any]] = {}
    for name, values in columns.items():
        listed = [value for value in values if isinstance(value, list)]
        objects = [value for value in values if isinstance(value, dict)]
        objects += [item for value in listed for item in value if isinstance(item, dict)]
        if any(isinstance(item, list) for value in listed for item in value):
            values = [_flat(value) for value in values]
        are_numbers = all(type(part) in (int, float) for one in objects for part in one.values())
        if not objects or (are_numbers and not listed):
            result[name] = values
            continue
        keys = dict.fromkeys(key for one in objects for key in one)
        parts = {f"{name}.{key}": [_part(value, key) for value in values] for key in keys}
        result |= {part: x for part, x in _without_objects(parts).items() if part not in columns}
    return result


def _flat(value: Any) -> Any:
    """Return a list whose items are strings or lists of strings as one list; others unchanged."""
    if not isinstance(value, list):
        return value
    items = [item for inner in value for item in (inner if isinstance(inner, list) else [inner])]
    return items if all(isinstance(item, str) for item in items) else value


def _part(value: Any, key: str) -> Any:
    """Return the part of an object, or the parts of the objects of a list; None without objects."""
    if isinstance(value, list):
        return [item[key] for item in value if isinstance(item, dict) and key in item]
    return value.get(key) if isinstance(value, dict) else None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("duplicate key")
    return row


def _read_parquet(path: Path) -> Table:
    parquet = import_optional("pyarrow.parquet", "pyarrow", "reading Parquet files")
    with parquet_errors(path):
        frame = parquet.read_table(path)
        frame.validate(full=True)  # a damaged page may go unnoticed otherwise
    while any(str(kind).startswith("struct<") for kind in frame.schema.types):
        frame = frame.flatten()  # "seller.name" for the part of a column of structures
    check_unique(path, frame.column_names)
    if frame.num_rows == 0:
        raise InputError(f"{path} must have at least one group, got zero rows")
    return table_of(frame, path.name)


def parquet_errors(path: Path) -> AbstractContextManager[None]:
    """Convert errors of pyarrow, which may be of any type, to `InputError`."""
    return input_errors(f"{path} is not a complete Parquet file", Exception)
