"""Hints on columns of strings that look like something else; shown in descriptions only."""

import datetime
from collections.abc import Callable, Sequence

SEPARATORS = (";", "|")
MANY = 20  # distinct values that are unlikely to all differ by accident


def hint(categories: Sequence[str], n_observed: int) -> str:
    """Return advice on strings that look like lists, numbers or dates; "" where they do not.

    Parameters
    ----------
    categories : sequence of str
        The different texts.
    n_observed : int
        Groups that have one.

    Examples
    --------
    >>> hint(["Ann; Bob", "Bob; Cleo", "Ann"], 3)
    "texts with ';' are perhaps lists: bags= in Python, NAME:bag in mc2 fit"
    >>> hint(["red", "green"], 50)
    ''
    """
    if not categories:
        return ""
    for separator in SEPARATORS:
        if 2 * sum(separator in text for text in categories) >= len(categories):
            return (
                f"texts with {separator!r} are perhaps lists: bags= in Python, NAME:bag in mc2 fit"
            )
    if all(_reads(float, text) for text in categories):
        return "numbers written as text: convert them if they are meant as numbers"
    if all(_reads(datetime.date.fromisoformat, text) for text in categories):
        return "dates written as text: convert them if they are meant as dates"
    if len(categories) == n_observed >= MANY:
        return "no two groups share a value, so it has no information about clusters"
    return ""


def _reads(convert: Callable[[str], object], text: str) -> bool:
    try:
        convert(text)
    except ValueError:
        return False
    return True
