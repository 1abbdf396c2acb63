"""What one batch of groups holds: its words, and its part of each context."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Entries", "Piece", "split_entries"]


@dataclass(frozen=True, eq=False)
class Entries:
    """The words, or categories, of consecutive groups.

    Parameters
    ----------
    lengths : int64 (n_groups,)
        Entries of each group.
    codes : int64 (n_entries,)
        Index of each entry in ``labels``, all of which occur.
    labels : list of str
    counts : int64 (n_entries,), optional
        None: each counts one.
    """

    lengths: NDArray[np.int64]
    codes: NDArray[np.int64]
    labels: list[str]
    counts: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Piece:
    """A context of consecutive groups.

    Parameters
    ----------
    sort : str
        A kind of column, or what only the whole column can decide: "floats", lists of floating
        numbers; "unsplit", strings whose separator is not known yet. Durations are a sort of their
        own.
    n_rows : int
    observed : bool
        Whether any group has it; the sort of a piece without observations decides nothing.
    values : ndarray, optional
        Numbers, dates, truth values, vectors; codes of categories, -1 where missing; the numbers of
        lists; unsplit strings as UTF-8.
    labels : list of str
        Of categories.
    entries : Entries, optional
        Of bags.
    lengths : int64 (n_rows,), optional
        Of lists of numbers, and of unsplit strings.
    partly : int
        Vectors that miss some of their numbers.
    """

    sort: str
    n_rows: int
    observed: bool
    values: Any = None
    labels: list[str] | None = None
    entries: Entries | None = None
    lengths: NDArray[np.int64] | None = None
    partly: int = 0


def split_entries(codes: NDArray[np.int64], texts: list[str], separator: str) -> Entries:
    """Return the categories that strings hold; each different string is split once.

    Parameters
    ----------
    codes : int64 (n_groups,)
        Index of a group's string in ``texts``, -1 where it is missing.
    """
    code_of: dict[str, int] = {}
    start, parts = [0], []
    for text in [*texts, ""]:  # the last one stands for -1
        for part in text.split(separator):
            if part.strip():
                parts.append(code_of.setdefault(part.strip(), len(code_of)))
        start.append(len(parts))
    begin = np.array(start)
    lengths = np.diff(begin)[codes]
    before = np.cumsum(lengths) - lengths
    inside = np.arange(lengths.sum()) + np.repeat(begin[:-1][codes] - before, lengths)
    return Entries(lengths, np.array(parts, np.int64)[inside], list(code_of))
