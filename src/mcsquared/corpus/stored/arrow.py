"""Columns of one batch of a Parquet file, from Arrow's arrays to NumPy's.

Strings are numbered by Arrow, so that Python sees each different one once per batch.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mcsquared.corpus.columns import Column, code_label
from mcsquared.corpus.content import LARGEST_COUNT
from mcsquared.corpus.inference import column_from
from mcsquared.corpus.stored.entries import Entries, Piece, split_entries
from mcsquared.corpus.tables import declared_bag
from mcsquared.errors import InputError

__all__ = [
    "content_sort",
    "context_piece",
    "entries_of",
    "is_coded",
    "is_text",
    "names_of",
    "strings",
]


# ------------------------------------------------------------------------------ content


def content_sort(kind: Any) -> str | None:
    """Say what a column of this Arrow type holds as content; None if it cannot be content."""
    if types.is_null(kind):
        return "nothing"
    if is_text(kind):
        return "texts"
    if types.is_map(kind):
        whole = types.is_integer(kind.item_type) or types.is_floating(kind.item_type)
        return "counts" if _is_word(kind.key_type) and whole else None
    if _is_list(kind):
        if types.is_null(kind.value_type):
            return "empty lists"
        if is_text(kind.value_type):
            return "lists of words"
        if types.is_integer(kind.value_type):
            return "lists of codes"
    return None


def is_coded(kind: Any) -> bool:
    """Say whether the words of a column of content are numbers."""
    if types.is_map(kind):
        return bool(types.is_integer(kind.key_type))
    return _is_list(kind) and bool(types.is_integer(kind.value_type))


def entries_of(array: Any, counts: Any = None) -> Entries:
    """Return the words of a column of lists or maps.

    Parameters
    ----------
    array : Arrow array of lists of strings or of whole numbers, maps from those to counts, or nulls
    counts : Arrow array of lists of numbers, optional
        How often each word of each list occurs.
    """
    number_of = None
    if types.is_null(array.type):
        return Entries(np.zeros(len(array), np.int64), np.zeros(0, np.int64), [])
    if types.is_map(array.type):
        lengths, (words, numbers) = _map_parts(array)
        number_of = _counts(numbers)
    else:
        lengths, words = _lengths(array), array.flatten()
    if counts is not None:
        number_of = _paired_counts(lengths, counts)
    codes, labels = _encoded(words)
    if len(codes) and codes.min() < 0 and number_of is None:
        raise InputError("holds a list with a missing word, but words are wanted")
    if number_of is not None:
        return _occurring(lengths, codes, labels, number_of)
    return Entries(lengths, codes, labels)


def _occurring(
    lengths: NDArray[np.int64],
    codes: NDArray[np.int64],
    labels: list[str],
    counts: NDArray[np.int64],
) -> Entries:
    """Return entries without those that occur zero times."""
    keep = counts > 0
    if (keep & (codes < 0)).any():
        raise InputError("holds a list with a missing word, but words are wanted")
    if not keep.all():
        row_of = np.repeat(np.arange(len(lengths)), lengths)[keep]
        lengths = np.bincount(row_of, minlength=len(lengths))
        codes, labels = _used(codes[keep], labels)
        counts = counts[keep]
    return Entries(lengths, codes, labels, counts)


def _map_parts(array: Any) -> tuple[NDArray[np.int64], tuple[Any, Any]]:
    offsets = array.offsets.to_numpy().astype(np.int64)
    lengths = np.diff(offsets)
    if array.null_count and lengths[_mask(array.is_null())].any():
        # Nothing says that a missing map holds no entries; those of Parquet hold none.
        raise InputError("holds a missing map with entries")
    inside = slice(int(offsets[0]), int(offsets[-1]))
    return lengths, (array.keys[inside], array.items[inside])


def _paired_counts(lengths: NDArray[np.int64], counts: Any) -> NDArray[np.int64]:
    lengths_of_counts = (
        np.zeros(len(counts), np.int64) if types.is_null(counts.type) else _lengths(counts)
    )
    unequal = np.flatnonzero(lengths_of_counts != lengths)
    if len(unequal):
        row = unequal[0]
        raise InputError(
            f"holds {lengths[row]} words but {lengths_of_counts[row]} counts in one group"
        )
    if types.is_null(counts.type):
        return np.zeros(0, np.int64)
    return _counts(counts.flatten())


def _counts(numbers: Any) -> NDArray[np.int64]:
    """Return counts; a missing one is zero."""
    if types.is_null(numbers.type):
        return np.zeros(len(numbers), np.int64)
    found = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    broken = (found != np.floor(found)) | (found < 0) | (found > LARGEST_COUNT)
    if broken.any():
        raise InputError(
            f"holds the count {found[broken][0]}, but whole numbers from 0 to {LARGEST_COUNT} are "
            "wanted"
        )
    return found.astype(np.int64)


def strings(array: Any) -> list[str | None]:
    """Return a column of texts as Python's strings, None where missing."""
    if types.is_null(array.type):
        return [None] * len(array)
    found: list[str | None] = array.to_pylist()
    return found


# ------------------------------------------------------------------------------ contexts


def context_piece(name: str, array: Any, bag: bool = False, separator: str | None = None) -> Piece:
    """Return a context of consecutive groups from its Arrow array.

    Parameters
    ----------
    bag : bool
        Whether strings hold several categories each.
    separator : str, optional
        What stands between them; None: the whole column decides.
    """
    kind = array.type
    if types.is_dictionary(kind) and not is_text(kind):
        array = array.dictionary_decode()
        kind = array.type
    if is_text(kind):
        if bag and separator is None:
            lengths, content = _utf8(array, "")
            return Piece("unsplit", len(array), bool(len(content)), content, lengths=lengths)
        codes, labels = _encoded(array)
        if bag:
            return _split_piece(codes, labels, str(separator))
        return Piece("category", len(array), bool(labels), codes, labels)
    if types.is_fixed_size_list(kind) and not bag and _is_number(kind.value_type):
        return _vector_piece(name, array)
    if _is_list(kind) and not _is_nested(kind.value_type):
        return _list_piece(name, array)
    if types.is_date32(kind) and not bag:
        column = column_from(name, array.to_numpy(zero_copy_only=False))
        observed = bool(column.observed.any())
        # In memory, days come as Python's dates, and none of them leave the kind open.
        return Piece("date" if observed else "nothing", len(column), observed, column.values)
    if types.is_boolean(kind) and not bag:
        truth = array.cast(pa.uint8()).cast(pa.float64())
        return Piece("boolean", len(array), array.null_count < len(array), _floats(truth))
    values = pa.chunked_array([array])
    return _column_piece(declared_bag(name, values, None) if bag else column_from(name, values))


def _column_piece(column: Column) -> Piece:
    """Return the piece of a column that the inference for columns in memory has made."""
    observed, n_rows = bool(column.observed.any()), len(column)
    labels = None if column.categories is None else column.categories.tolist()
    if column.kind == "category":
        return Piece("category", n_rows, observed, column.values, labels)
    if column.kind == "bag":
        rows = column.values
        entries = Entries(np.diff(rows.indptr), rows.indices, labels or [], rows.data)
        return Piece("bag", n_rows, observed, entries=entries)
    sort = "duration" if column.note.startswith("durations") else column.kind
    return Piece(sort, n_rows, observed, column.values)


def _split_piece(codes: NDArray[np.int64], labels: list[str], separator: str) -> Piece:
    entries = split_entries(codes, labels, separator)
    return Piece("bag", len(codes), bool(entries.labels), entries=entries)


def _vector_piece(name: str, array: Any) -> Piece:
    width = array.type.list_size
    values = np.full((len(array), width), np.nan)
    present = ~_mask(array.is_null())
    values[present] = _floats(array.flatten()).reshape(-1, width)
    broken = np.isnan(values).any(axis=1)
    partly = int((broken & ~np.isnan(values).all(axis=1)).sum())
    values[broken] = np.nan
    column = Column(name, "vector", values)
    return Piece("vector", len(array), bool(column.observed.any()), column.values, partly=partly)


def _list_piece(name: str, array: Any) -> Piece:
    lengths, items = _lengths(array), array.flatten()
    if types.is_dictionary(items.type) and not is_text(items.type):
        items = items.dictionary_decode()
    if types.is_floating(items.type):
        numbers = _floats(items)
        return Piece(
            "floats", len(array), bool((numbers == numbers).any()), numbers, lengths=lengths
        )
    codes, labels = _encoded(items)
    if len(codes) and codes.min() < 0:
        known = codes >= 0
        row_of = np.repeat(np.arange(len(lengths)), lengths)[known]
        lengths, codes = np.bincount(row_of, minlength=len(lengths)), codes[known]
    return Piece("bag", len(array), bool(labels), entries=Entries(lengths, codes, labels))


# ------------------------------------------------------------------------------ Arrow


def is_text(kind: Any) -> bool:
    """Say whether an Arrow type is one of strings, numbered or not."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    view = getattr(types, "is_string_view", None)  # younger than the oldest pyarrow we take
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or (view is not None and view(kind))
    )


def _is_word(kind: Any) -> bool:
    return is_text(kind) or types.is_integer(kind)


def _is_number(kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_list(kind: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_nested(kind: Any) -> bool:
    return bool(types.is_nested(kind))


def _mask(array: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = array.to_numpy(zero_copy_only=False)
    return found


def _floats(array: Any) -> NDArray[np.float64]:
    found: NDArray[np.float64] = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _lengths(array: Any) -> NDArray[np.int64]:
    found = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    lengths: NDArray[np.int64] = found.astype(np.int64)
    return lengths


def names_of(array: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the names of groups as UTF-8: the length of each, and all one after another."""
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not _is_word(array.type):
        array = pa.array([str(name) for name in array.to_pylist()], pa.large_string())
    return _utf8(array, "None")


def _utf8(array: Any, missing: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the length of each string, and all of them one after another."""
    array = array.cast(pa.large_string()).fill_null(missing)
    lengths: NDArray[np.int64] = pc.binary_length(array).to_numpy().astype(np.int64)
    _, start, content = array.buffers()
    if content is None or not lengths.any():
        return lengths, np.zeros(0, np.uint8)
    first = np.frombuffer(start, np.int64, 1, offset=8 * array.offset)[0]
    return lengths, np.frombuffer(content, np.uint8, int(lengths.sum()), offset=int(first))


def _encoded(array: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Return the code of each value, -1 where it is missing, and the labels that occur."""
    if not types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if types.is_null(array.dictionary.type):
        return np.full(len(codes), -1), []
    codes, values = _used(codes, array.dictionary)
    labels = values.to_pylist()
    if values.null_count:
        missing = np.array([label is None for label in labels])
        codes = np.where(missing[codes] & (codes >= 0), -1, codes)
        codes, labels = _used(codes, labels)
    if is_text(values.type):
        return codes, labels
    try:
        return codes, [code_label(label) for label in labels]
    except UnicodeDecodeError as error:
        raise InputError(f"holds bytes that are not UTF-8: {error}") from error


def _used(codes: NDArray[np.int64], labels: Any) -> tuple[NDArray[np.int64], Any]:
    """Return codes and labels without the labels that do not occur."""
    used = np.bincount(codes + 1, minlength=len(labels) + 1)[1:] > 0
    if used.all():
        return codes, labels
    place = np.append(np.cumsum(used) - 1, -1)
    if isinstance(labels, list):
        return place[codes], [label for label, kept in zip(labels, used, strict=True) if kept]
    return place[codes], labels.filter(pa.array(used))
