"""From the values of a column to its kind: what people put into frames is taken for what."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.bags import bag_of_lists
from mcsquared.corpus.columns import Column, code_label
from mcsquared.corpus.missing import is_missing
from mcsquared.errors import InputError

__all__ = ["column_from", "date_days", "nothing_observed"]

_WORDING = {
    "boolean": "truth values",
    "number": "numbers",
    "text": "text",
    "date": "dates",
    "duration": "durations",
    "list": "lists",
}
_DAY = datetime.timedelta(days=1)
_EPOCH = datetime.datetime(1970, 1, 1)


def column_from(name: str, values: Any) -> Column:
    """Return the column of these values, its kind by their type.

    Parameters
    ----------
    name : str
    values : array, list, sparse matrix, pandas, polars or pyarrow series, or Column
        Numbers become "number", dates "date", truth values "boolean", strings and categories
        "category", lists and sparse rows "bag", 2-D numbers (and lists of floating numbers, all of
        one length) "vector". A column without any observation becomes "number".
    """
    if isinstance(values, Column):
        return replace(values, name=name)
    if sparse.issparse(values):
        return (
            Column(name, "bag", values)
            if values.shape[1]
            else nothing_observed(name, values.shape[0])
        )
    unordered = isinstance(values, str | bytes | Mapping | set | frozenset)
    if unordered or not isinstance(values, Iterable):
        raise InputError(
            f"context {name!r} is {type(values).__name__}, but a column of values is wanted"
        )
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), values.data.astype(object)
        values[masked] = None
    if not isinstance(values, np.ndarray | list | tuple | range):
        values, categories = _series_values(values)
        if categories is not None:
            return _category(name, values, order=categories)
    if isinstance(values, np.ndarray):
        return _from_array(name, values)
    return _from_objects(name, list(values))


def nothing_observed(name: str, n_groups: int) -> Column:
    """Return the column of a context that no group has: of unknown kind, so a number."""
    return Column(
        name, "number", np.full(n_groups, np.nan), note="nothing observed: taken for a number"
    )


def _series_values(values: Any) -> tuple[Any, list[Any] | None]:
    """Return the values of a series of any library, and its categories if it has some."""
    import narwhals as nw

    if type(values).__module__.split(".")[0] == "pandas" and not hasattr(values, "iloc"):
        import pandas as pd

        if isinstance(values, pd.MultiIndex):
            return values.to_list(), None
        values = pd.Series(values)  # an index, a Categorical or another array of pandas
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return (np.asarray(values), None) if hasattr(values, "__array__") else (list(values), None)
    dtype = series.dtype
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64), None
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return series.to_numpy().astype("datetime64[us]"), None
    if isinstance(dtype, nw.Categorical | nw.Enum):
        own = getattr(getattr(values, "cat", None), "categories", None)  # pandas keeps their order
        if own is None and isinstance(dtype, nw.Enum):
            own = dtype.categories
        return series.to_list(), None if own is None else list(own)
    if isinstance(dtype, nw.Array) and len(dtype.shape) == 1 and dtype.inner.is_numeric():
        missing = [None] * dtype.shape[0]
        rows = [missing if row is None else row for row in series.to_list()]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(missing)), None
    if dtype == nw.Unknown and hasattr(values, "sparse"):  # pandas' sparse numbers
        return np.asarray(values), None
    return series.to_list(), None


def _from_array(name: str, values: NDArray[Any]) -> Column:
    kind = values.dtype.kind
    if kind == "V" and values.dtype.names:
        values = _structured(name, values)
        kind = values.dtype.kind
    if values.ndim == 0 or values.ndim > 2:
        raise InputError(f"context {name!r} has {values.ndim} dimensions, but 1 or 2 are wanted")
    if values.ndim == 2 and kind in "biuf":
        return _vector(name, values.astype(np.float64))
    if values.ndim == 2:
        return _from_objects(name, [row.tolist() for row in values])
    if kind in "iuf":
        return _number(name, values.astype(np.float64))
    if kind == "b":
        return Column(name, "boolean", values.astype(np.float64))
    if kind == "M":
        return Column(name, "date", _array_days(name, values))
    if kind == "m":
        return _duration(name, values / np.timedelta64(1, "D"))
    return _from_objects(name, values.tolist())


def _structured(name: str, values: NDArray[Any]) -> NDArray[Any]:
    from numpy.lib.recfunctions import structured_to_unstructured

    try:
        return structured_to_unstructured(values).astype(np.float64)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"context {name!r} has fields that are not all numbers: {error}"
        ) from error


def _from_objects(name: str, values: list[Any]) -> Column:
    families = [_sort_of(name, value) for value in values]
    present = set(families) - {"missing"}
    if not present:
        return nothing_observed(name, len(values))
    if present == {"list"}:
        column = bag_of_lists(name, values)
        return column if column is not None else nothing_observed(name, len(values))
    if present == {"boolean"}:
        return Column(name, "boolean", _floats(name, values, families))
    if present <= {"number", "boolean"}:
        return _number(name, _floats(name, values, families))
    if present == {"date"}:
        return Column(name, "date", np.array([date_days(name, value) for value in values]))
    if present == {"duration"}:
        days = [
            np.nan if sort == "missing" else value / _DAY
            for value, sort in zip(values, families, strict=True)
        ]
        return _duration(name, np.array(days, dtype=np.float64))
    if present <= {"text", "number", "boolean"}:
        column = _category(name, values)
        if present == {"text"}:
            return column
        return replace(column, note=f"mixes {_listed(present)}: taken for categories")
    raise InputError(
        f"context {name!r} mixes {_listed(present)}, but values of one kind are wanted"
    )


def _listed(sorts: set[str]) -> str:
    return " and ".join(sorted(_WORDING[sort] for sort in sorts))


def _sort_of(name: str, value: Any) -> str:
    """Say what a single value is."""
    if isinstance(value, str | bytes):
        return "text"
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
    if isinstance(value, list | tuple | set | frozenset | np.ndarray | Mapping) or sparse.issparse(
        value
    ):
        return "list"
    if isinstance(value, Iterable) and hasattr(value, "__len__"):
        return "list"
    raise InputError(
        f"context {name!r} holds a {type(value).__name__}, but numbers, dates, truth values, "
        "strings or lists are wanted"
    )


def _floats(name: str, values: list[Any], sorts: list[str]) -> NDArray[np.float64]:
    try:
        return np.array(
            [
                np.nan if sort == "missing" else float(value)
                for value, sort in zip(values, sorts, strict=True)
            ],
            dtype=np.float64,
        )
    except (OverflowError, ValueError, TypeError) as error:
        raise InputError(f"context {name!r} holds a number that is too large: {error}") from error


def _number(name: str, values: NDArray[np.float64]) -> Column:
    if np.isnan(values).all():
        return nothing_observed(name, len(values))
    return Column(name, "number", values)


def _duration(name: str, days: NDArray[np.float64]) -> Column:
    return Column(name, "number", days, note="durations are counted in days")


def _vector(name: str, values: NDArray[np.float64]) -> Column:
    broken = np.isnan(values).any(axis=1)
    partly = int((broken & ~np.isnan(values).all(axis=1)).sum())
    values[broken] = np.nan
    note = f"{partly} rows miss some of their numbers and count as missing" if partly else ""
    return Column(name, "vector", values, note=note)


def _category(name: str, values: list[Any], order: list[Any] | None = None) -> Column:
    """Return codes of the labels, categories sorted or in a given order, none unused."""
    try:
        labels = [None if is_missing(value) else code_label(value) for value in values]
        ordered = None if order is None else list(dict.fromkeys(map(code_label, order)))
    except UnicodeDecodeError as error:
        raise InputError(f"context {name!r} holds bytes that are not UTF-8: {error}") from error
    used = {label for label in labels if label is not None}
    if not used:
        return nothing_observed(name, len(values))
    names = sorted(used) if ordered is None else [label for label in ordered if label in used]
    code_of: dict[str | None, int] = {label: code for code, label in enumerate(names)}
    categories = np.array(names, dtype=object)
    return Column(
        name, "category", np.array([code_of.get(label, -1) for label in labels]), categories
    )


def date_days(name: str, value: Any) -> float:
    """Return a date as days since 1970-01-01, in UTC; NaN where it is missing."""
    if is_missing(value):
        return np.nan
    if isinstance(value, np.datetime64):
        return float(_array_days(name, np.array([value]))[0])
    if type(value).__name__ == "Period":
        value = value.to_timestamp()
    if isinstance(value, datetime.datetime):
        try:
            if value.tzinfo is not None:
                value = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return float((value - _EPOCH) / _DAY)
        except (OverflowError, ValueError) as error:
            raise InputError(f"context {name!r} holds a date out of range: {error}") from error
    return float(value.toordinal() - _EPOCH.toordinal())


def _array_days(name: str, dates: NDArray[np.datetime64]) -> NDArray[np.float64]:
    whole = dates.astype("datetime64[D]")
    # Seconds within the day apart from the days: microseconds since 1970 overflow for far dates.
    rest = (dates.astype("datetime64[us]") - whole.astype("datetime64[us]")) / np.timedelta64(
        1, "D"
    )
    days = whole.astype(np.int64).astype(np.float64)
    missing = np.isnat(dates)
    days[missing] = 0.0
    far = np.abs(days) > 1e8
    if far.any():
        raise InputError(
            f"context {name!r} holds a date {np.abs(days).max():g} days from 1970, which is out "
            "of range"
        )
    days += np.where(missing, 0.0, rest)
    days[missing] = np.nan
    return days
