"""Read CSV, TSV, JSONL and Parquet files into tables."""

import codecs
import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from mcsquared.checks import check_choice
from mcsquared.corpus.columns.values import interpret, interpret_dates
from mcsquared.corpus.sources.frames import Table, table_of
from mcsquared.errors import InputError, import_optional, input_errors

_FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_LENGTH, _SAMPLE_ROWS = 1_000_000, 50  # characters and lines that reveal the separator
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
    text, notes = _read_text(path, encoding)
    if kind == "jsonl":
        table = _read_json_lines(path, text)
    else:
        default = "\t" if kind == "tsv" else ","
        delimiter = _checked_separator(sep) if sep else detect_separator(text, default)
        if sep is None and delimiter != default:
            notes.append(f"the fields of {path.name} are separated by {delimiter!r}")
        table = _read_delimited(path, text, delimiter)
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
        raise InputError(
            f"path must end in {', '.join(_FORMAT_OF_SUFFIX)} unless format= is given, got "
            f"{path.name}"
        )
    return kind


def _check_readable(path: Path, kind: str) -> None:
    with input_errors(f"{path} cannot be read", OSError, ValueError):
        if path.is_dir():
            if kind != "parquet" or not any(path.glob("*.parquet")):
                raise InputError(f"{path} must be a file or contain Parquet files, got a folder")
        elif not path.exists():
            raise InputError(f"{path} does not exist")
        elif path.is_file() and path.stat().st_size == 0:
            raise InputError(f"{path} must have one row per group, but is empty")


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
    best, most = default, 1
    sample = text[:_SAMPLE_LENGTH]
    for separator in (default, *(mark for mark in _SEPARATORS if mark != default)):
        try:
            with _long_fields():
                rows = [row for row in csv.reader(io.StringIO(sample), delimiter=separator) if row]
        except csv.Error:  # a field that is too long
            continue
        if len(sample) < len(text):
            rows = rows[:-1] or rows  # the last may be incomplete
        widths = {len(row) for row in rows[:_SAMPLE_ROWS]}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = separator, width
    return best


def _read_text(path: Path, encoding: str | None) -> tuple[str, list[str]]:
    """Return the text of a file, and a note if its encoding is not certain."""
    message = f"{path} cannot be read and may be truncated"
    with input_errors(message, OSError, EOFError, ValueError, zlib.error):
        content = path.read_bytes()
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
    notes = []
    if encoding is None:
        encoding = _detected_encoding(content)
        if encoding != "utf-8":
            notes.append(
                f"{path.name} is not in UTF-8 and was read as {encoding}; if letters are wrong, "
                "pass encoding= (--encoding in mc2)"
            )
    try:
        # Spreadsheets write a byte order mark, which is not part of the first name.
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeError as error:
        position = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(
            f"{path} is not encoded in {encoding}{position}; pass its encoding (encoding=, or "
            "--encoding in mc2)"
        ) from error
    except LookupError as error:
        raise InputError(f"encoding must be a known encoding, got {encoding!r}") from error
    if "\0" in text:
        raise InputError(f"{path} is not a text file in {encoding}: it contains zero bytes")
    if not text.strip():
        raise InputError(f"{path} must have one row per group, but is empty")
    return text, notes


def _detected_encoding(content: bytes) -> str:
    """Return the encoding of a text: by its byte order mark, else UTF-8, cp1252 or Latin-1."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _read_delimited(path: Path, text: str, delimiter: str) -> Table:
    """Return the table of a delimited file; every row must have as many fields as the header."""
    with _long_fields():
        # Strict: a quote that is never closed is an error, not one long last field.
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(line for line in lines if line)]
            columns: list[list[str]] = [[] for _ in header]
            for row in lines:
                if not row:
                    continue
                if len(row) != len(header):
                    raise InputError(
                        f"{path} must have {len(header)} fields per line as in its header, got "
                        f"{len(row)} in line {lines.line_num}; it may be truncated or have another "
                        "separator (sep=, or --sep in mc2)"
                    )
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
        except csv.Error as error:
            raise InputError(
                f"{path} cannot be read at line {lines.line_num}: {error}; it may be truncated"
            ) from error
    names = [name or f"column {i + 1}" for i, name in enumerate(header)]
    check_unique(path, names)
    if not columns[0]:
        raise InputError(f"{path} must have at least one group, got a header without rows")
    by_name = dict(zip(names, columns, strict=True))
    return Table(by_name, len(columns[0]), path.name, interpret=interpret)


@contextmanager
def _long_fields() -> Iterator[None]:
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
    return Table(columns, len(rows), path.name, interpret=interpret_dates)


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
    check_unique(path, frame.column_names)
    if frame.num_rows == 0:
        raise InputError(f"{path} must have at least one group, got zero rows")
    return table_of(frame, path.name)


def parquet_errors(path: Path) -> AbstractContextManager[None]:
    """Raise errors of pyarrow, which may be of any type, as an `InputError` on a damaged file."""
    return input_errors(f"{path} is not a complete Parquet file", Exception)
