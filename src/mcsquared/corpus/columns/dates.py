"""Parse dates in the formats of spreadsheets and exported files."""

import datetime
import re
from collections.abc import Sequence

_TIME = re.compile(
    r"[ T,]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)?(?: ?([ap])\.?m\.?)?$", re.I
)
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9:.,]+ ?(Z|[+-][0-9:]+)?)?)?")
_WEEKDAY = re.compile(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? ", re.IGNORECASE)
_DAY_MONTH = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})[./-]([0-9]{4})")
_SHORT_YEAR = re.compile(r"([0-9]{2})\.([0-9]{2})\.([0-9]{2})")  # with slashes the order is unclear
_YEAR_FIRST = re.compile(r"([0-9]{4})(?:[./]|年)([0-9]{1,2})(?:[./]|月)([0-9]{1,2})日?")
_NAMED_MONTH = re.compile(
    r"(?:([0-9]{1,2})\.? (?:de )?)?([^\W\d_]{3,})\.? (?:de )?(?:([0-9]{1,2}),? )?([0-9]{4})",
    re.IGNORECASE,
)
_MONTHS = (  # English, German, French, Spanish, Italian, Portuguese, Dutch
    "january januar janvier enero gennaio janeiro januari jänner",
    "february februar février fevrier febrero febbraio fevereiro februari",
    "march märz mrz maerz mars marzo março marco maart mrt",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august août aout agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember décembre decembre diciembre dicembre dezembro",
)
_DAY_NAMED_MONTH = re.compile(r"([0-9]{1,2})([/-])([^\W\d_]{3,})\2([0-9]{4}|[0-9]{2})")
_CENTURY_STARTS = 69  # two-digit years from 69 on belong to the 20th century, as in POSIX


def _months_by_prefix() -> dict[str, int]:
    """Return the month of each prefix of three or more letters that belongs to one month."""
    months: dict[str, set[int]] = {}
    for month, names in enumerate(_MONTHS, start=1):
        for name in names.split():
            for length in range(3, len(name) + 1):
                months.setdefault(name[:length], set()).add(month)
    return {prefix: min(found) for prefix, found in months.items() if len(found) == 1}


_MONTH_OF_PREFIX = _months_by_prefix()


def parse_date(text: str, day_first: bool | None) -> datetime.datetime | None:
    """Return the date in UTC; None if the string is not a date, or its order is unclear.

    If ``day_first``, 03/04/2020 is 3 April; see `is_day_first`.

    >>> parse_date("21.06.14", None).date(), parse_date("3 mai 2020", None).date()
    (datetime.date(2014, 6, 21), datetime.date(2020, 5, 3))
    """
    return parse_iso(text) or _parse_local(text, day_first)


def parse_iso(text: str) -> datetime.datetime | None:
    """Convert 2014-06-21, 2014-06 or 2014-06-21T12:00Z; None for other strings."""
    if not _ISO.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text if len(text) > 7 else f"{text}-01")
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return moment


def is_day_first(fields: Sequence[str]) -> bool | None:
    """Return whether 03/04/2020 is 3 April, given all fields; None if it is unclear."""
    matches = [match for field in fields if (match := _DAY_MONTH.fullmatch(_TIME.sub("", field)))]
    if any(match[2] == "." for match in matches):
        return True
    first, second = (any(int(match[part]) > 12 for match in matches) for part in (1, 3))
    return None if first == second else first


def is_day_and_month(text: str) -> bool:
    """Return whether a string is a date such as 03/04/2020, with or without a time."""
    return _DAY_MONTH.fullmatch(_TIME.sub("", text)) is not None


def _parse_local(text: str, day_first: bool | None) -> datetime.datetime | None:
    """Convert 21.06.2014 14:30, 06/21/2014, 2014/6/21, Sat 21 Jun 2014, 21-JUN-14 ..."""
    text = _WEEKDAY.sub("", text)
    time = _TIME.search(text)
    text = text if time is None else text[: time.start()]
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day = match.groups()
    elif match := _SHORT_YEAR.fullmatch(text):
        day, month, year = match.groups()
    elif match := _DAY_NAMED_MONTH.fullmatch(text):
        day, _, name, year = match.groups()
        month = str(_MONTH_OF_PREFIX.get(name.lower(), 0))
    elif match := _NAMED_MONTH.fullmatch(text):
        before, name, after, year = match.groups()
        if name.lower() not in _MONTH_OF_PREFIX or (before and after):
            return None
        month, day = str(_MONTH_OF_PREFIX[name.lower()]), before or after or "1"
    elif (match := _DAY_MONTH.fullmatch(text)) and day_first is not None:
        day, _, month, year = match.groups()
        if not day_first:
            day, month = month, day
    else:
        return None
    if len(year) == 2:
        year = f"{'19' if int(year) >= _CENTURY_STARTS else '20'}{year}"
    try:
        return datetime.datetime(int(year), int(month), int(day), *_time_of_day(time))
    except ValueError:
        return None


def _time_of_day(match: re.Match[str] | None) -> tuple[int, int, int]:
    if match is None:
        return 0, 0, 0
    hour, minute, second, am_pm = match.groups()
    hours = int(hour)
    if am_pm is not None:
        hours = hours % 12 + (12 if am_pm.lower() == "p" else 0)
    return hours, int(minute), int(second or 0)
