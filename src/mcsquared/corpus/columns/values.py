"""Missing values, names of categories, and strings that represent numbers, dates or lists."""

import ast
import datetime
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.corpus.columns.amounts import currency_of, python_amounts
from mcsquared.corpus.columns.dates import is_day_and_month, is_day_first, parse_date, parse_iso
from mcsquared.errors import InputError

DAY = datetime.timedelta(days=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_NANOSECOND_DAYS = 106751.0  # days before and after 1970 that fit into int64 nanoseconds
_MIN_DISTINCT = 20  # fewer values may all be distinct by chance
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>"})
# Marks that spreadsheets and questionnaires leave in columns of numbers and dates.
_MISSING_AMONG_NUMBERS = frozenset(
    {"#n/a", "#value!", "#div/0!", "n.a.", "k.a.", "n.d.", "s.d.", "n.c."}
)
_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)", re.IGNORECASE
)
_YEAR = re.compile("[12][0-9]{3}")
_DURATION = re.compile(r"(?:[0-9]+ ?(?:w|d|h|m|s|min|sec|hrs?|days?|weeks?)\b[, ]*)+")
# Share of numbers or dates in a column meant to contain them, and of full dates among dates and
# years.
_MIN_SHARE = 0.8
_NOTATIONS = {  # by decimal mark: 1,234.5 and 1.234,5
    decimal: re.compile(
        rf"[+-]?([0-9]+|[0-9]{{1,3}}([{thousands}][0-9]{{3}})+)([{decimal}][0-9]+)?"
    )
    for decimal, thousands in (".,", ",.")
}
_JOINED = re.compile(r"""['"]\s+['"]""")  # strings that Python would concatenate


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
        return getattr(value, "shape", None) == () and _is_nan_or_masked(value)
    # By name, so that pandas is not imported.
    return type(value).__name__ in ("NAType", "NaTType") or _is_nan_or_masked(value)


def _is_nan_or_masked(value: Any) -> bool:
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
    if all(_is_bracketed(text) for text in categories):
        if any(parse_list(text) is None for text in categories):
            return "strings in brackets may be lists: write them as ['a', 'b']"
        return "strings in brackets may be lists: use bags= in Python, NAME:bag in mc2 fit"
    for separator in (";", "|"):
        if 2 * sum(separator in text for text in categories) >= len(categories):
            option = "NAME:bag" if separator == ";" else f"NAME:bag:{separator}"
            use = f"use bags= in Python, {option} in mc2 fit"
            return f"strings with {separator!r} may be lists: {use}"
    present = [text for text in categories if not _is_blank(text)] or [*categories]
    if all(_DURATION.fullmatch(text) for text in present):
        return f"strings such as {present[0]!r:.30} may be durations: write them as numbers"
    if all(_can_convert(float, text) for text in present):
        return "all strings are numbers: convert the column unless they are labels"
    if _dates(present) is not None:
        return "all strings are dates: convert the column to dates"
    currencies = [*filter(None, map(currency_of, present))]
    if len({*currencies}) > 1 and len(currencies) >= _MIN_SHARE * len(present):
        listed = ", ".join(sorted({*currencies}))
        return f"amounts in several currencies ({listed}): write them in one"
    if all(_is_number(text) for text in present):
        example = next(text for text in present if not _can_convert(float, text))
        return f"strings such as {example!r:.30} may be numbers: write them as 1234.5"
    if all(is_day_and_month(text) for text in present):
        return "dates whose day and month are ambiguous: write them as 2014-06-21"
    if all(_is_date(text) for text in present):
        return "dates in several formats, some of them ambiguous: write them as 2014-06-21"
    for name, belongs in (("numbers", _is_number), ("amounts", currency_of), ("dates", _is_date)):
        other = [text for text in present if not belongs(text)]
        if len(other) <= (1.0 - _MIN_SHARE) * len(present) and len(present) >= _MIN_DISTINCT:
            return f"most strings are {name}, but not {other[0]!r:.30}: leave such fields empty"
    if len(categories) == 1 and n_observed >= _MIN_DISTINCT:
        return "all values are equal, which gives no information about clusters"
    if _are_combinations(categories):
        use = "use bags={NAME: ' '} in Python, 'NAME:bag: ' in mc2 fit"
        return f"strings with spaces may be lists: {use}"
    if is_distinct(categories, n_observed):
        return "all values are distinct, which gives no information about clusters"
    if 2 * len(categories) > n_observed >= _MIN_DISTINCT:
        return "most values are distinct, which gives little information about clusters"
    first_spelling: dict[str, str] = {}
    for text in categories:
        if (first := first_spelling.setdefault(text.casefold(), text)) != text:
            return f"{first!r:.30} and {text!r:.30} are two categories: write them alike"
    marks = [text for text in categories if text.lower() in _MISSING - {"none"}]
    if marks and len(marks) < len(categories):
        return f"{marks[0]!r} is a category of its own: leave the field empty if it means missing"
    return ""


def number_hint(values: Floats, low: float, high: float, kind: str = "number") -> str:
    """Return advice on numbers that are equal or look like identifiers; "" otherwise.

    ``values`` are the first observed ones, ``low`` and ``high`` the bounds of all.

    Examples
    --------
    >>> number_hint(np.arange(1000.0, 5000.0, 7.0), 1000.0, 4993.0)
    'the values are distinct and in order: leave the column out if they are identifiers'
    >>> number_hint(np.arange(1990.0, 2020.0), 1990.0, 2019.0)
    ''
    """
    if len(values) < _MIN_DISTINCT:
        return ""
    if low == high:
        return "all values are equal, which gives no information about clusters"
    steps, is_year = np.diff(values), low >= 1000 and high < 3000
    is_in_order = np.all(steps > 0) or np.all(steps < 0)
    if kind != "number" or is_year or not is_in_order or np.any(values % 1):
        return ""
    return "the values are distinct and in order: leave the column out if they are identifiers"


def _are_combinations(categories: Sequence[str]) -> bool:
    """Return whether strings combine few words, and some have the same words in another order."""
    words = [text.split() for text in categories]
    n_distinct = len({word for row in words for word in row})
    return 2 * n_distinct <= len(words) and len({frozenset(row) for row in words}) < len(words)


def is_distinct(categories: Sequence[str], n_observed: int) -> bool:
    """Return whether all observed values are distinct, and not by chance."""
    return len(categories) == n_observed >= _MIN_DISTINCT


def _can_convert(convert: Callable[[str], object], text: str) -> bool:
    try:
        convert(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    return _can_convert(float, text) or any(p.fullmatch(text) for p in _NOTATIONS.values())


def _is_date(text: str) -> bool:
    return parse_date(text, day_first=True) is not None or _YEAR.fullmatch(text) is not None


def _is_blank(field: str) -> bool:
    """Return whether a field such as "n/a" or "-" is a missing number or date."""
    return field.lower() in _MISSING | _MISSING_AMONG_NUMBERS or not any(map(str.isalnum, field))


def _is_bracketed(text: str) -> bool:
    return text.startswith("[") and text.endswith("]")


def parse_list(text: str) -> list[Any] | None:
    """Return the list that a string such as "['a', 'b']" or '["a", "b"]' represents, or None."""
    if not _is_bracketed(text) or _JOINED.search(text):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        is_flat = isinstance(values, list) and not any(isinstance(x, list | dict) for x in values)
        return values if is_flat else None
    return None


def interpret(strings: Sequence[str]) -> Any:
    """Convert a column of a CSV file to numbers, booleans, dates or lists, or return its strings.

    An empty field is missing. "NA", "nan", "-" and the like are missing as well, but only in a
    column of numbers, booleans or dates: among other strings they may be names.
    """
    fields = [field.strip() for field in strings]
    if all(field.lower() in _MISSING for field in fields):
        return [None] * len(fields)
    cleaned = ["" if _is_blank(field) else field for field in fields]
    present = [field for field in cleaned if field]
    if present and (numbers := _python_numbers(present) or python_amounts(present)):
        if len(present) == len(fields) and all(_INTEGER.fullmatch(field) for field in numbers):
            return np.array([int(field) for field in numbers], dtype=np.int64)
        remaining = iter(numbers)
        return np.array([float(next(remaining)) if field else np.nan for field in cleaned])
    if present and all(field.lower() in _BOOLEANS for field in present):
        return [_BOOLEANS.get(field.lower()) for field in cleaned]
    if (dates := _dates(cleaned)) is not None:
        return dates
    filled = [None if field.lower() in _MISSING else field for field in fields]
    if all(field is None or _is_bracketed(field) for field in filled):
        lists = [field and parse_list(field) for field in filled]
        if all(field is None or row is not None for field, row in zip(filled, lists, strict=True)):
            return lists
    return [field or None for field in fields]


def _python_numbers(fields: list[str]) -> list[str] | None:
    """Return numbers in Python's notation: "3,14" as "3.14".

    Return None if a field is not a number, or if the notation is unclear: fields such as "1,234.5"
    and "3,14" show which notation a column has, "1,234" alone does not.
    """
    if all(_NUMBER.fullmatch(field) for field in fields):
        return fields
    for decimal, thousands in (".,", ",."):
        fits, fits_other = (_NOTATIONS[mark].fullmatch for mark in (decimal, thousands))
        if all(fits(field) for field in fields) and not all(fits_other(field) for field in fields):
            return [field.replace(thousands, "").replace(decimal, ".") for field in fields]
    return None


def interpret_dates(values: list[Any]) -> Any:
    """Convert strings to dates or amounts if all of them are (JSON has no types for these)."""
    if not all(value is None or isinstance(value, str) for value in values):
        return values
    present = [value.strip() for value in values if value and value.strip()]
    if present and (amounts := python_amounts(present)):
        remaining = iter(amounts)
        return [float(next(remaining)) if value and value.strip() else None for value in values]
    dates = _dates(["" if value is None else value.strip() for value in values])
    return values if dates is None else dates


def iso_days(text: str) -> float | None:
    """Convert 2014-06-21, 2014-06 or 2014-06-21T12:00Z to days since 1970; None if not a date."""
    moment = parse_iso(text.strip())
    return None if moment is None else (moment - _EPOCH) / DAY


def _dates(fields: list[str]) -> Any:
    """Return fields as datetime64[us], missing ones as NaT; None if some are not dates.

    A year among dates, such as "1913", is the middle of that year; years alone are numbers.
    """
    dates = np.full(len(fields), "NaT", dtype="datetime64[us]")
    n_dates = n_years = 0
    day_first = is_day_first(fields)
    for i, field in enumerate(fields):
        if field.lower() in _MISSING:
            continue
        is_year = _YEAR.fullmatch(field) is not None
        moment = parse_date(f"{field}-07-01" if is_year else field, day_first)
        if moment is None:
            return None
        dates[i] = moment
        n_dates, n_years = n_dates + 1, n_years + is_year
    return dates if n_dates and n_dates - n_years >= _MIN_SHARE * n_dates else None


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
    day = dates.astype("datetime64[D]")
    # The time of day is converted separately: microseconds since 1970 overflow for distant dates.
    time_of_day = dates.astype("datetime64[us]") - day.astype("datetime64[us]")
    days = day.astype(np.int64).astype(np.float64)
    missing = np.isnat(dates)
    days[missing] = 0.0
    if (np.abs(days) > 1e8).any():
        raise InputError(f"contains a date out of range: {np.abs(days).max():g} days from 1970")
    days += np.where(missing, 0.0, time_of_day / np.timedelta64(1, "D"))
    days[missing] = np.nan
    return days
