"""Bags: several categories per group, from lists, counters, sparse rows or strings to be split."""

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.columns import Column, code_label
from mcsquared.corpus.content import LARGEST_COUNT
from mcsquared.corpus.missing import as_list, is_missing
from mcsquared.errors import InputError

__all__ = ["bag_of_lists", "split_strings"]


def bag_of_lists(name: str, rows: list[Any]) -> Column | None:
    """Return the bag of one list per group, or the vectors if the lists hold floating numbers.

    Parameters
    ----------
    name : str
    rows : list
        Lists, tuples, sets, arrays, or mappings from category to count; None and empty lists are
        missing, and so is None inside a list. Floating numbers in lists of one length are vectors.

    Returns
    -------
    Column or None
        None if nothing is observed.
    """
    items = [_items(name, row) for row in rows]
    if _all_floats(items):
        lengths = {len(row) for row in items if row}
        if len(lengths) == 1:
            return _vectors(name, items, lengths.pop())
        if any(
            not float(item).is_integer() for row in items for item, _ in row if not is_missing(item)
        ):
            raise InputError(
                f"context {name!r} holds lists of fractional numbers of different lengths, "
                "but vectors of one width, or lists of categories, are wanted"
            )
    return _bag(name, items)


def split_strings(name: str, values: Iterable[Any], separator: str | None) -> list[Any]:
    """Return lists from strings such as "Ada; Bob"; other values stay as they are.

    Parameters
    ----------
    separator : str or None
        None: ";", or "," where no value has a ";".
    """
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise InputError(
            f"bags: the separator of {name!r} is {separator!r}, but a string such as ';' is wanted"
        )
    listed = as_list(values)
    if separator is None:
        separator = ";" if any(isinstance(value, str) and ";" in value for value in listed) else ","
    return [_split(value, separator) for value in listed]


def _split(value: Any, separator: str) -> Any:
    if isinstance(value, str):
        return [part.strip() for part in value.split(separator) if part.strip()]
    if is_missing(value) or (isinstance(value, Iterable) and not isinstance(value, bytes)):
        return value
    return [value]  # a single number, say


def _items(name: str, row: Any) -> list[tuple[Any, int]]:
    """Return the entries of one list with their counts."""
    if is_missing(row):
        return []
    if sparse.issparse(row):
        row = row.toarray().ravel()
        return [(code, _count(name, row[code])) for code in np.flatnonzero(row)]
    if isinstance(row, Mapping):
        return [(item, _count(name, count)) for item, count in row.items() if not is_missing(count)]
    if isinstance(row, np.ndarray):
        if row.ndim != 1:
            raise InputError(
                f"context {name!r} holds arrays of {row.ndim} dimensions in its rows, but 1 is "
                "wanted"
            )
        if row.dtype.kind == "f":
            return [(float(item), 1) for item in row]
        row = row.tolist()
    return [(item, 1) for item in row]


def _count(name: str, count: Any) -> int:
    whole = isinstance(count, Integral) or (hasattr(count, "is_integer") and count.is_integer())
    if not whole or not 0 <= count <= LARGEST_COUNT:
        raise InputError(
            f"context {name!r} has a bag with the count {count!r:.40}, but a whole number from 0 "
            "is wanted"
        )
    return int(count)


def _all_floats(items: list[list[tuple[Any, int]]]) -> bool:
    """Say whether all entries are floating numbers, and at least one is."""
    found = False
    for row in items:
        for item, _ in row:
            if isinstance(item, float | np.floating):
                found = found or item == item
            elif item is not None:
                return False
    return found


def _vectors(name: str, items: list[list[tuple[Any, int]]], width: int) -> Column:
    values = np.full((len(items), width), np.nan)
    partly = 0
    for j, row in enumerate(items):
        if row:
            numbers = np.array(
                [np.nan if item is None else item for item, _ in row], dtype=np.float64
            )
            whole = not np.isnan(numbers).any()
            partly += not whole and not np.isnan(numbers).all()
            values[j] = numbers if whole else np.nan
    note = "lists of floating numbers of one length: taken for vectors"
    if partly:
        note += f"; {partly} rows miss some of their numbers and count as missing"
    return Column(name, "vector", values, note=note)


def _bag(name: str, items: list[list[tuple[Any, int]]]) -> Column | None:
    code_of: dict[str, int] = {}
    row_of, codes, counts = [], [], []
    for j, row in enumerate(items):
        for item, count in row:
            if type(item) is not str:  # nearly all are, and there are many
                if is_missing(item):
                    continue
                item = _label(name, item)
            if not count:
                continue
            row_of.append(j)
            codes.append(code_of.setdefault(item, len(code_of)))
            counts.append(count)
    if not codes:
        return None
    names = np.array(list(code_of), dtype=object)
    order: NDArray[np.int64] = np.argsort(names)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    matrix = sparse.coo_matrix(
        (np.array(counts, np.int64), (row_of, place[codes])), shape=(len(items), len(names))
    )
    return Column(name, "bag", matrix, names[order])


def _label(name: str, item: Any) -> str:
    if isinstance(item, Iterable) and not isinstance(item, str | bytes):
        raise InputError(
            f"context {name!r} holds lists inside its lists, but lists of categories are wanted"
        )
    try:
        return code_label(item)
    except UnicodeDecodeError as error:
        raise InputError(f"context {name!r} holds bytes that are not UTF-8: {error}") from error
