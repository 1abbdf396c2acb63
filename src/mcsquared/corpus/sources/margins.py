"""Lines above and below the table in a delimited file: titles, totals and footers of reports."""

import re
from collections import Counter
from collections.abc import Sequence

from mcsquared.markup import plural, shorten

_MIN_WIDTH = 3  # number of fields from which a table differs clearly from the lines around it
_MAX_ABOVE = 20  # rows in which the header is searched for
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*")
_TOTAL = re.compile(
    r"(grand )?totals?|(gesamt|end)?summe|gesamt|insgesamt|sum|somme|total général|suma|totale|"
    r"total geral|totaal|eindtotaal",
    re.IGNORECASE,
)


def n_rows_above(rows: Sequence[list[str]]) -> int:
    """Return the number of rows above the header, such as a title.

    They have at most half as many filled fields as the table is wide. ``rows`` are the first ones
    of the file, without empty ones.

    Examples
    --------
    >>> n_rows_above([["Sales 2023"], ["id", "item", "price"], ["1", "saw", "9.50"]])
    1
    """
    if not rows:
        return 0
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < _MIN_WIDTH:
        return 0
    for i, row in enumerate(rows[:_MAX_ABOVE]):
        fields = [field.strip() for field in row if field.strip()]
        if 2 * len(fields) > width:
            is_header = len({*fields}) == len(fields) and not any(map(_NUMBER.fullmatch, fields))
            return i if is_header else 0
    return 0


def is_footer(row: Sequence[str], width: int) -> bool:
    """Return whether a row below a table of this width is a line of text, not a truncated row."""
    return len(row) == 1 and width >= _MIN_WIDTH


def is_total(row: Sequence[str]) -> bool:
    """Return whether a row contains totals instead of a group.

    Examples
    --------
    >>> is_total(["Total", "", "", "812.50"]), is_total(["Total", "oil", "7", "France"])
    (True, False)
    """
    fields = [field.strip() for field in row if field.strip()]
    return (
        len(row) >= _MIN_WIDTH
        and 2 * len(fields) <= len(row)
        and bool(fields)
        and _TOTAL.fullmatch(fields[0].rstrip(":")) is not None
    )


def margin_note(name: str, above: Sequence[list[str]], below: Sequence[list[str]]) -> str:
    """Return a note on the lines that were dropped around a table; "" without any."""
    parts = []
    for rows, where in ((above, "above the header"), (below, "below the table")):
        if rows:
            example = next(field.strip() for row in rows for field in row if field.strip())
            parts.append(f"{plural(len(rows), 'line')} {where} ({shorten(example, 40)!r})")
    return f"dropped {' and '.join(parts)} of {name}" if parts else ""
