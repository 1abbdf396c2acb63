"""Numbers, dates and booleans as text files spell them."""

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>"})
_TRUTH = {"true": True, "false": False}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)", re.IGNORECASE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9:.,]+ ?(Z|[+-][0-9:]+)?)?)?")
_EPOCH = datetime.datetime(1970, 1, 1)


def interpret(strings: Sequence[str]) -> Any:
    """Return the values of a column of a CSV file: numbers, booleans, dates, or the strings.

    An empty field is missing. "NA", "nan", "null" and the like are missing as well, but only in a
    column of numbers, booleans or dates: among names they may be names.
    """
    fields = [field.strip() for field in strings]
    present = [field for field in fields if field.lower() not in _MISSING]
    if not present:
        return [None if field.lower() in _MISSING else field for field in fields]
    if all(_NUMBER.fullmatch(field) for field in present):
        if len(present) == len(fields) and all(_WHOLE.fullmatch(field) for field in fields):
            return np.array([int(field) for field in fields], dtype=np.int64)
        return np.array([np.nan if field.lower() in _MISSING else float(field) for field in fields])
    if all(field.lower() in _TRUTH for field in present):
        return [_TRUTH.get(field.lower()) for field in fields]
    dates = _dates(fields)
    return [field or None for field in fields] if dates is None else dates


def interpret_dates(values: list[Any]) -> Any:
    """Return dates if all strings spell dates (JSON has no type for them), else the list."""
    if not all(value is None or isinstance(value, str) for value in values):
        return values
    dates = _dates(["" if value is None else value.strip() for value in values])
    return values if dates is None else dates


def iso_days(text: str) -> float | None:
    """Return days since 1970 (UTC) of a date: 2014-06-21, 2014-06 or 2014-06-21T12:00Z."""
    moment = _moment(text.strip())
    return None if moment is None else (moment - _EPOCH) / datetime.timedelta(days=1)


def _dates(fields: list[str]) -> Any:
    dates = np.full(len(fields), "NaT", dtype="datetime64[us]")
    found = False
    for i, field in enumerate(fields):
        if field.lower() in _MISSING:
            continue
        moment = _moment(field)
        if moment is None:
            return None
        dates[i] = moment
        found = True
    return dates if found else None


def _moment(text: str) -> datetime.datetime | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text if len(text) > 7 else f"{text}-01")
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return moment
