"""Infer the kind of a column from the type of its values, and convert them to a batch."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import compress
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats
from mcsquared.corpus.buffers import LabelEncoder, MemoryBudget
from mcsquared.corpus.columns.builder import (
    KIND_NAMES,
    Batch,
    column_of,
    kept_lengths,
    likely_separator,
    split,
    vector_batch,
)
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.values import (
    DAY,
    array_days,
    as_list,
    category_label,
    date_days,
    is_missing,
    prefix_errors,
)
from mcsquared.corpus.content import MAX_COUNT
from mcsquared.errors import InputError, input_errors

DURATION_NOTE = "durations are in days"


def column_from(name: str, values: Any) -> Column:
    """Build a column from an array, list, sparse matrix, series or Column; infer its kind.

    Numbers become "number", dates "date", booleans "boolean", strings and categories "category",
    lists and sparse rows "bag", 2-D numbers (and lists of floats of equal length) "vector". A
    column without observed values becomes "number".
    """
    if isinstance(values, Column):
        return replace(values, name=name)
    if sparse.issparse(values) and values.shape[1]:
        return Column(name, "bag", values)
    with prefix_errors(f"context {name!r}"):
        batch = batch_from(values)
    return column_of(name, batch)


def bag_from(name: str, values: Any, separator: str | None) -> Column:
    """Build a bag column; split strings at a separator, by default the most likely one."""
    if isinstance(values, Column) or sparse.issparse(values) or getattr(values, "ndim", 1) == 2:
        return column_from(name, values)
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise InputError(
            f"bags: the separator of {name!r} must be a non-empty string such as ';', got "
            f"{separator!r}"
        )
    with prefix_errors(f"context {name!r}"):
        batch = bag_batch(values, separator)
    return column_of(name, batch)


def bag_batch(values: Any, separator: str | None) -> Batch:
    """Return a batch of bags from delimited strings, lists and single values."""
    listed = as_list(values)
    if separator is None:
        strings = [value for value in listed if isinstance(value, str)]
        separator = likely_separator({m: sum(m in text for text in strings) for m in ";|,"})
    return _lists([_as_row(value, separator) for value in listed])


def _as_row(value: Any, separator: str) -> Any:
    if isinstance(value, str):
        return split(value, separator)
    if is_missing(value):
        return None
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return value
    return [value]  # such as a single number


def batch_from(values: Any) -> Batch:
    """Return the values of an array, a list or a series of any library as a batch."""
    if sparse.issparse(values):
        return Batch("missing", values.shape[0], False)
    not_a_column = isinstance(values, str | bytes | Mapping | set | frozenset)
    if not_a_column or not isinstance(values, Iterable):
        raise InputError(f"must be a column of values, got {type(values).__name__}")
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), values.data.astype(object)
        values[masked] = None
    if not isinstance(values, np.ndarray | list | tuple | range):
        return _from_series(values)
    if isinstance(values, np.ndarray):
        return _from_array(values)
    return _from_objects(list(values))


def _as_float64(series: Any) -> Floats:
    """Return a series of numbers as float64, NaN where a value is missing."""
    import narwhals as nw

    try:
        return series.cast(nw.Float64).to_numpy().astype(np.float64)
    except ValueError:  # Arrow does not convert integers that no float represents exactly
        return np.array([np.nan if x is None else x for x in series.to_list()], np.float64)


def _from_series(values: Any) -> Batch:
    """Return a batch from a series of any library, or from another iterable."""
    import narwhals as nw

    if type(values).__module__.split(".")[0] == "pandas" and not hasattr(values, "iloc"):
        import pandas as pd

        if isinstance(values, pd.MultiIndex):
            return _from_objects(values.to_list())
        values = pd.Series(values)  # an index, a Categorical or another pandas array
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        is_array = hasattr(values, "__array__")
        return _from_array(np.asarray(values)) if is_array else _from_objects(list(values))
    dtype = series.dtype
    if dtype.is_numeric():
        return _from_array(_as_float64(series))
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _from_array(series.to_numpy().astype("datetime64[us]"))
    if isinstance(dtype, nw.Categorical | nw.Enum):
        order = getattr(getattr(values, "cat", None), "categories", None)  # pandas only
        if order is None and isinstance(dtype, nw.Enum):
            order = dtype.categories
        if order is not None:
            return _category(series.to_list(), order=list(order))
    if isinstance(dtype, nw.Array) and len(dtype.shape) == 1 and dtype.inner.is_numeric():
        missing = [None] * dtype.shape[0]
        rows = [missing if row is None else row for row in series.to_list()]
        return _from_array(np.array(rows, dtype=np.float64).reshape(len(rows), len(missing)))
    if dtype == nw.Unknown and hasattr(values, "sparse"):  # pandas' sparse numbers
        return _from_array(np.asarray(values))
    return _from_objects(series.to_list())


def _from_array(values: NDArray[Any]) -> Batch:
    kind = values.dtype.kind
    if kind == "V" and values.dtype.names:
        values = _structured(values)
        kind = values.dtype.kind
    if values.ndim not in (1, 2):
        raise InputError(f"must have 1 or 2 dimensions, got {values.ndim}")
    if values.ndim == 2:
        if kind not in "biuf":
            return _from_objects([row.tolist() for row in values])
        return vector_batch(values.astype(np.float64))
    if kind in "biuf":
        return _floats("boolean" if kind == "b" else "number", values.astype(np.float64))
    if kind == "M":
        return _floats("date", array_days(values))
    if kind == "m":
        return _floats("duration", values / np.timedelta64(1, "D"), DURATION_NOTE)
    return _from_objects(values.tolist())


def _floats(kind: str, values: Floats, note: str = "") -> Batch:
    return Batch(kind, len(values), not np.isnan(values).all(), values, note=note)


def _structured(values: NDArray[Any]) -> NDArray[Any]:
    from numpy.lib.recfunctions import structured_to_unstructured

    with input_errors("must have numeric fields", TypeError, ValueError, NotImplementedError):
        values = structured_to_unstructured(values).astype(np.float64)
    return values


def _from_objects(values: list[Any]) -> Batch:
    kinds = [_kind_of(value) for value in values]
    present = set(kinds) - {"missing"}
    if not present:
        return Batch("missing", len(values), False)
    if present == {"bag"}:
        return _lists(values)
    if present <= {"number", "boolean"}:
        kind = "number" if "number" in present else "boolean"
        return _floats(kind, _numbers(values, kinds))
    if present == {"date"}:
        return _floats("date", np.array([date_days(value) for value in values]))
    if present == {"duration"}:
        days = [np.nan if is_missing(value) else value / DAY for value in values]
        return _floats("duration", np.array(days, dtype=np.float64), DURATION_NOTE)
    listed = " and ".join(sorted(KIND_NAMES[kind] for kind in present))
    if present <= {"category", "number", "boolean"}:
        batch = _category(values)
        note = "" if present == {"category"} else f"mixes {listed}: treated as categories"
        return batch._replace(note=note)
    raise InputError(f"must contain values of one kind, got {listed}")


def _kind_of(value: Any) -> str:
    """Return the kind of column that a single value implies."""
    if isinstance(value, str | bytes):
        return "category"
    if is_missing(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return "duration"
    if isinstance(value, Real | Decimal):
        return "number"
    if isinstance(value, datetime.date | np.datetime64) or type(value).__name__ == "Period":
        return "date"
    if sparse.issparse(value) or (isinstance(value, Iterable) and hasattr(value, "__len__")):
        return "bag"
    raise InputError(
        f"must contain numbers, dates, booleans, strings or lists, got a {type(value).__name__}"
    )


def _numbers(values: list[Any], kinds: list[str]) -> Floats:
    pairs = zip(values, kinds, strict=True)
    with input_errors("contains a number that is too large", OverflowError, ValueError, TypeError):
        floats = [np.nan if kind == "missing" else float(value) for value, kind in pairs]
    return np.array(floats)


def _category(values: list[Any], order: list[Any] | None = None) -> Batch:
    """Encode the labels that occur, in order of first appearance or in the given order."""
    labels = [None if is_missing(value) else _label(value) for value in values]
    used = dict.fromkeys(label for label in labels if label is not None)
    if order is not None:
        used = dict.fromkeys(label for item in order if (label := _label(item)) in used)
    code_of: dict[str | None, int] = {label: code for code, label in enumerate(used)}
    codes = np.array([code_of.get(label, -1) for label in labels], np.int64)
    return Batch(
        "category", len(codes), bool(used), codes, list(used), is_ordered=order is not None
    )


def _label(item: Any) -> str:
    if isinstance(item, Iterable) and not isinstance(item, str | bytes):
        raise InputError("must contain lists of categories, got lists inside lists")
    try:
        return category_label(item)
    except UnicodeDecodeError as error:
        raise InputError(f"contains bytes that are not UTF-8: {error}") from error


def _lists(rows: list[Any]) -> Batch:
    """Return a batch of bags or of lists of floats; None and empty lists are missing.

    Rows are lists, tuples, sets, arrays, sparse rows, or mappings from category to count.
    """
    pairs = [_entries(row) for row in rows]
    flat = [item for entries, _ in pairs for item in entries]
    lengths = np.array([len(entries) for entries, _ in pairs], np.int64)
    if all(item is None or isinstance(item, float | np.floating) for item in flat):
        numbers = np.array([np.nan if item is None else item for item in flat], np.float64)
        if not np.isnan(numbers).all():
            return Batch("floats", len(rows), True, numbers, lengths=lengths)
    # Most items are strings, and a function call for each would be slow.
    labels: list[Any] = [
        item if type(item) is str else None if is_missing(item) else _label(item) for item in flat
    ]
    entry_counts = None
    if any(counts is not None for _, counts in pairs):
        filled = (counts or [1] * len(entries) for entries, counts in pairs)
        entry_counts = np.array([count for counts in filled for count in counts], np.int64)
    kept = np.array([label is not None for label in labels], bool)
    if entry_counts is not None:
        kept &= entry_counts > 0
    if not kept.all():
        lengths, labels = kept_lengths(lengths, kept), list(compress(labels, kept))
        entry_counts = None if entry_counts is None else entry_counts[kept]
    encoder = LabelEncoder(MemoryBudget())
    codes = encoder.codes(labels)
    distinct = encoder.labels().tolist()
    return Batch("bag", len(rows), bool(distinct), codes, distinct, lengths, entry_counts)


def _entries(row: Any) -> tuple[list[Any], list[int] | None]:
    """Return the entries of one list and their counts; None if each entry counts once."""
    if is_missing(row):
        return [], None
    if sparse.issparse(row):
        row = row.toarray().ravel()
        codes = np.flatnonzero(row).tolist()
        return codes, [_count(row[code]) for code in codes]
    if isinstance(row, Mapping):
        counts = {item: _count(count) for item, count in row.items() if not is_missing(count)}
        return list(counts), list(counts.values())
    if isinstance(row, np.ndarray):
        if row.ndim != 1:
            raise InputError(f"must contain 1-D arrays in its rows, got {row.ndim} dimensions")
        row = row.tolist()
    return list(row), None


def _count(count: Any) -> int:
    is_whole = isinstance(count, Integral) or (hasattr(count, "is_integer") and count.is_integer())
    if not is_whole or not 0 <= count <= MAX_COUNT:
        raise InputError(f"must contain bags with integer counts >= 0, got {count!r:.40}")
    return int(count)
