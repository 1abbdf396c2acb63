"""Scalar values of any library: missing values, labels, and numbers and dates as strings."""

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.errors import InputError

DAY = datetime.timedelta(days=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_NANOSECOND_DAYS = 106751.0  # range of int64 nanoseconds before and after 1970
_MIN_DISTINCT = 20  # fewer values may all be distinct by chance
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>"})
_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)", re.IGNORECASE
)
_MIN_NUMBER_SHARE = 0.8  # share of the distinct values that are numbers
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(,[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+")
_DAY_MONTH = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})[./-]([0-9]{4})")
_YEAR_FIRST = re.compile(r"([0-9]{4})[./]([0-9]{1,2})[./]([0-9]{1,2})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAMED_MONTH = re.compile(
    r"(?:([0-9]{1,2})\.? )?([a-z]{3})[a-z]*\.? (?:([0-9]{1,2}),? )?([0-9]{4})", re.IGNORECASE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9:.,]+ ?(Z|[+-][0-9:]+)?)?)?")


@contextmanager
def prefix_errors(argument: str) -> Iterator[None]:
    """Prefix the messages of input errors with the name of an argument."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{argument} {error}") from error


def as_list(values: Any) -> list[Any]:
    """Return the values of a list, an array or a series of any library as Python objects."""
    for method in ("to_pylist", "to_list", "tolist"):  # of pyarrow, pandas and polars, NumPy
        if hasattr(values, method):
            listed = getattr(values, method)()
            return listed if isinstance(listed, list) else [listed]
    return list(values)


def is_missing(value: Any) -> bool:
    """Return whether a single value is None, NaN, NaT, pandas' NA or a masked entry."""
    if value is None:
        return True
    if isinstance(value, str | bytes | list | tuple | set | frozenset | dict) or hasattr(
        value, "shape"
    ):
        # NumPy scalars have a shape as well; those, and only those, may be NaN, NaT or masked.
        return getattr(value, "shape", None) == () and _differs_from_itself(value)
    # By name, so that pandas is not imported.
    return type(value).__name__ in ("NAType", "NaTType") or _differs_from_itself(value)


def _differs_from_itself(value: Any) -> bool:
    if type(value).__name__ == "MaskedConstant":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return False


def category_label(value: Any) -> str:
    """Return the category name of a scalar; 3 and 3.0 have the same name."""
    if (
        isinstance(value, float | np.floating)
        and float(value).is_integer()
        and abs(float(value)) < 2**53
    ):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value if type(value) is str else str(value)


def hint(categories: Sequence[str], n_observed: int) -> str:
    """Return advice on strings that look like lists, numbers or dates; "" if they do not.

    Examples
    --------
    >>> hint(["Ann; Bob", "Bob; Cleo", "Ann"], 3)
    "strings with ';' may be lists: use bags= in Python, NAME:bag in mc2 fit"
    >>> hint(["red", "green"], 50)
    ''
    """
    if not categories:
        return ""
    for separator in (";", "|"):
        if 2 * sum(separator in text for text in categories) >= len(categories):
            option = "NAME:bag" if separator == ";" else f"NAME:bag:{separator}"
            use = f"use bags= in Python, {option} in mc2 fit"
            return f"strings with {separator!r} may be lists: {use}"
    if all(_can_convert(float, text) for text in categories):
        return "all strings are numbers: convert the column unless they are labels"
    if all(_can_convert(datetime.date.fromisoformat, text) for text in categories):
        return "all strings are dates: convert the column to dates"
    numbers = sum(_can_convert(float, text) for text in categories)
    if _MIN_NUMBER_SHARE * len(categories) <= numbers and len(categories) >= _MIN_DISTINCT:
        other = next(text for text in categories if not _can_convert(float, text))
        return f"most strings are numbers, but not {other!r:.30}: leave such fields empty"
    if all(_DAY_MONTH.fullmatch(text) for text in categories):
        return "dates whose day and month are ambiguous: write them as 2014-06-21"
    if is_distinct(categories, n_observed):
        return "all values are distinct, which gives no information about clusters"
    return ""


def is_distinct(categories: Sequence[str], n_observed: int) -> bool:
    """Return whether all observed values are distinct, and not by chance."""
    return len(categories) == n_observed >= _MIN_DISTINCT


def _can_convert(convert: Callable[[str], object], text: str) -> bool:
    try:
        convert(text)
    except ValueError:
        return False
    return True


def interpret(strings: Sequence[str]) -> Any:
    """Convert a column of a CSV file to numbers, booleans or dates, or return its strings.

    An empty field is missing. "NA", "nan", "null" and the like are missing as well, but only in a
    column of numbers, booleans or dates: among other strings they may be names.
    """
    fields = [field.strip() for field in strings]
    present = [field for field in fields if field.lower() not in _MISSING]
    if not present:
        return [None if field.lower() in _MISSING else field for field in fields]
    if all(_NUMBER.fullmatch(field) for field in present):
        if len(present) == len(fields) and all(_INTEGER.fullmatch(field) for field in fields):
            return np.array([int(field) for field in fields], dtype=np.int64)
        return np.array([np.nan if field.lower() in _MISSING else float(field) for field in fields])
    if _has_decimal_commas(present):
        numbers = (field.replace(",", ".") for field in fields)
        return np.array([np.nan if x.lower() in _MISSING else float(x) for x in numbers])
    if all(field.lower() in _BOOLEANS for field in present):
        return [_BOOLEANS.get(field.lower()) for field in fields]
    dates = _dates(fields)
    return [field or None for field in fields] if dates is None else dates


def _has_decimal_commas(fields: list[str]) -> bool:
    """Return whether all fields are numbers such as "3,14"; "1,234" alone may be a thousand."""
    return (
        all(_COMMA_NUMBER.fullmatch(field) for field in fields)
        and any("," in field for field in fields)
        and not all(_THOUSANDS.fullmatch(field) for field in fields if "," in field)
    )


def interpret_dates(values: list[Any]) -> Any:
    """Convert strings to dates if all of them are dates (JSON has no type for dates)."""
    if not all(value is None or isinstance(value, str) for value in values):
        return values
    dates = _dates(["" if value is None else value.strip() for value in values])
    return values if dates is None else dates


def iso_days(text: str) -> float | None:
    """Convert 2014-06-21, 2014-06 or 2014-06-21T12:00Z to days since 1970; None if not a date."""
    moment = _parse_datetime(text.strip())
    return None if moment is None else (moment - _EPOCH) / DAY


def _dates(fields: list[str]) -> Any:
    dates = np.full(len(fields), "NaT", dtype="datetime64[us]")
    has_dates = False
    day_first = _day_first(fields)
    for i, field in enumerate(fields):
        if field.lower() in _MISSING:
            continue
        moment = _parse_datetime(field) or _parse_local(field, day_first)
        if moment is None:
            return None
        dates[i] = moment
        has_dates = True
    return dates if has_dates else None


def _day_first(fields: list[str]) -> bool | None:
    """Return whether 03/04/2020 is the third of April, given all fields; None if it is unclear."""
    matches = [match for field in fields if (match := _DAY_MONTH.fullmatch(field))]
    if any(match[2] == "." for match in matches):
        return True
    first, second = (any(int(match[part]) > 12 for match in matches) for part in (1, 3))
    return None if first == second else first


def _parse_local(text: str, day_first: bool | None) -> datetime.datetime | None:
    """Return 21.06.2014, 06/21/2014, 2014/6/21, 21 Jun 2014 or June 21, 2014 as a date."""
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day = match.groups()
    elif match := _NAMED_MONTH.fullmatch(text):
        before, name, after, year = match.groups()
        if name.lower() not in _MONTHS or (before and after):
            return None
        month, day = str(_MONTHS.index(name.lower()) + 1), before or after or "1"
    elif (match := _DAY_MONTH.fullmatch(text)) and day_first is not None:
        day, _, month, year = match.groups()
        if not day_first:
            day, month = month, day
    else:
        return None
    try:
        return datetime.datetime(int(year), int(month), int(day))
    except ValueError:
        return None


def _parse_datetime(text: str) -> datetime.datetime | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text if len(text) > 7 else f"{text}-01")
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return moment


def days_to_dates(days: Any) -> NDArray[np.datetime64]:
    """Convert days since 1970 to datetime64[ns], or [us] outside the years 1678-2262."""
    days = np.asarray(days, dtype=np.float64)
    missing = np.isnan(days)
    filled = np.where(missing, 0.0, days)
    if np.abs(filled).max(initial=0.0) > 1e8:
        raise InputError("dates must lie within 270,000 years of 1970")
    # Days as float64 are precise to about a microsecond.
    dates = np.round(filled * 86_400e6).astype(np.int64).astype("datetime64[us]")
    dates[missing] = np.datetime64("NaT")
    if np.abs(filled).max(initial=0.0) < _NANOSECOND_DAYS:
        return dates.astype("datetime64[ns]")
    return dates


def date_days(value: Any) -> float:
    """Return a date as days since 1970-01-01, in UTC; NaN if it is missing."""
    if is_missing(value):
        return np.nan
    if isinstance(value, np.datetime64):
        return float(array_days(np.array([value]))[0])
    if type(value).__name__ == "Period":
        value = value.to_timestamp()
    if isinstance(value, datetime.datetime):
        try:
            if value.tzinfo is not None:
                value = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return float((value - _EPOCH) / DAY)
        except (OverflowError, ValueError) as error:
            raise InputError(f"contains a date out of range: {error}") from error
    return float(value.toordinal() - _EPOCH.toordinal())


def array_days(dates: NDArray[np.datetime64]) -> Floats:
    """Return dates as days since 1970-01-01; missing dates become NaN."""
    whole = dates.astype("datetime64[D]")
    # The time of day is converted separately: microseconds since 1970 overflow for distant dates.
    rest = (dates.astype("datetime64[us]") - whole.astype("datetime64[us]")) / np.timedelta64(
        1, "D"
    )
    days = whole.astype(np.int64).astype(np.float64)
    missing = np.isnat(dates)
    days[missing] = 0.0
    if (np.abs(days) > 1e8).any():
        raise InputError(f"contains a date out of range: {np.abs(days).max():g} days from 1970")
    days += np.where(missing, 0.0, rest)
    days[missing] = np.nan
    return days
