"""Convert Arrow arrays to batches.

Strings are dictionary-encoded by Arrow, so that Python handles each distinct string once per batch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus.columns.builder import Batch, kept_lengths, split_batch, vector_batch
from mcsquared.corpus.columns.infer import bag_batch, batch_from
from mcsquared.corpus.columns.values import category_label, is_missing
from mcsquared.corpus.content import MAX_COUNT
from mcsquared.errors import InputError


def content_type(dtype: Any) -> str | None:
    """Return the type of content in a column of an Arrow type; None if it is not supported."""
    if types.is_null(dtype):
        return "nulls"
    if is_text(dtype):
        return "texts"
    if types.is_map(dtype):
        is_count = types.is_integer(dtype.item_type) or types.is_floating(dtype.item_type)
        is_word = is_text(dtype.key_type) or types.is_integer(dtype.key_type)
        return "counts" if is_word and is_count else None
    if _is_list(dtype):
        if types.is_null(dtype.value_type):
            return "empty lists"
        if is_text(dtype.value_type):
            return "lists of words"
        if types.is_integer(dtype.value_type):
            return "lists of codes"
        if _is_number(dtype.value_type):
            return "vectors"
        if _is_list(dtype.value_type) and _is_number(dtype.value_type.value_type):
            return "lists of vectors"
    return None


def vectors_of_lists(array: Any) -> tuple[Int64s, Floats]:
    """Return the number of vectors of each group, and all vectors (n_vectors, width).

    A group is a list of vectors, or a single vector; null or an empty list has none.
    """
    no_vectors = np.zeros(len(array), np.int64), np.zeros((0, 0))
    if types.is_null(array.type) or types.is_null(array.type.value_type):
        return no_vectors
    if _is_list(array.type.value_type):
        lengths, vectors = _lengths(array), array.flatten()
    else:
        lengths = (_lengths(array) > 0).astype(np.int64)
        vectors = array.filter(pa.array(lengths > 0))
    if vectors.null_count:
        raise InputError("must contain vectors, got a missing one")
    widths = np.unique(_lengths(vectors))
    if not len(widths):
        return no_vectors
    if len(widths) > 1:
        raise InputError(f"must contain vectors of one width, got {widths[0]} and {widths[1]}")
    if not widths[0]:
        raise InputError("must contain vectors of width >= 1, got 0")
    return lengths, _floats(vectors.flatten()).reshape(-1, int(widths[0]))


def vectors_of_columns(columns: Sequence[Any]) -> tuple[Int64s, Floats]:
    """Return one vector per group from the columns of its coordinates; see `vectors_of_lists`."""
    values = np.column_stack([_floats(column) for column in columns])
    return np.ones(len(values), np.int64), values


def is_numeric(dtype: Any) -> bool:
    """Return whether a column of an Arrow type contains numbers or booleans, or only nulls."""
    return _is_number(dtype) or bool(types.is_boolean(dtype) or types.is_null(dtype))


def is_coded(dtype: Any) -> bool:
    """Return whether the words of a content column are integers."""
    if types.is_map(dtype):
        return bool(types.is_integer(dtype.key_type))
    return _is_list(dtype) and bool(types.is_integer(dtype.value_type))


def tokens_batch(array: Any, counts: Any = None) -> Batch:
    """Return a batch of bags from lists of words, maps from word to count, or nulls.

    Words are strings or integers. ``counts``, if given, has a list of counts per list of words.
    """
    entry_counts = None
    if types.is_null(array.type):
        no_codes, lengths = np.zeros(0, np.int64), np.zeros(len(array), np.int64)
        return Batch("bag", len(array), False, no_codes, lengths=lengths)
    if types.is_map(array.type):
        lengths, words, numbers = _map_parts(array)
        entry_counts = _counts(numbers)
    else:
        lengths, words = _lengths(array), array.flatten()
    if counts is not None:
        entry_counts = _paired_counts(lengths, counts)
    codes, labels = _encode(words)
    if entry_counts is not None and not (entry_counts > 0).all():
        occurs = entry_counts > 0
        lengths = kept_lengths(lengths, occurs)
        codes, labels = _drop_unused(codes[occurs], labels)
        entry_counts = entry_counts[occurs]
    if len(codes) and codes.min() < 0:
        raise InputError("must contain lists of words, got a missing word")
    return Batch("bag", len(array), bool(labels), codes, labels, lengths, entry_counts)


def _map_parts(array: Any) -> tuple[Int64s, Any, Any]:
    offsets = array.offsets.to_numpy().astype(np.int64)
    lengths = np.diff(offsets)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if lengths[is_null].any():  # Arrow allows it; maps read from Parquet have none
        raise InputError("must contain maps, got a null with entries")
    inside = slice(int(offsets[0]), int(offsets[-1]))
    return lengths, array.keys[inside], array.items[inside]


def _paired_counts(lengths: Int64s, counts: Any) -> Int64s:
    is_null = types.is_null(counts.type)
    n_counts = np.zeros(len(counts), np.int64) if is_null else _lengths(counts)
    unequal = np.flatnonzero(n_counts != lengths)
    if len(unequal):
        row = unequal[0]
        raise InputError(
            f"must contain as many words as counts, got {lengths[row]} words and {n_counts[row]} "
            "counts in one group"
        )
    return np.zeros(0, np.int64) if is_null else _counts(counts.flatten())


def _counts(numbers: Any) -> Int64s:
    """Return counts as int64; nulls become zero."""
    if types.is_null(numbers.type):
        return np.zeros(len(numbers), np.int64)
    counts = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    invalid = counts[(counts != np.floor(counts)) | (counts < 0) | (counts > MAX_COUNT)]
    if len(invalid):
        raise InputError(f"must contain integer counts from 0 to {MAX_COUNT}, got {invalid[0]}")
    return counts.astype(np.int64)


def unit_names(array: Any) -> Any:
    """Return the names of units as strings; numbers are written as `category_label` does."""
    if is_text(array.type):
        return array
    labels = [None if is_missing(value) else category_label(value) for value in array.to_pylist()]
    return pa.array(labels, pa.string())


def context_batch(array: Any, is_bag: bool = False, separator: Any = None) -> Batch:
    """Return a batch of a context column.

    If ``is_bag``, a string contains several categories; without a separator it is split later, when
    the whole column is known.
    """
    if types.is_dictionary(array.type) and not is_text(array.type):
        array = array.dictionary_decode()
    dtype, n_rows = array.type, len(array)
    if is_text(dtype):
        if is_bag and separator is None:
            lengths, content = _utf8(array, "")
            return Batch("unsplit", n_rows, bool(len(content)), content, lengths=lengths)
        codes, labels = _encode(array)
        if is_bag:
            return split_batch(codes, labels, separator)
        return Batch("category", n_rows, bool(labels), codes, labels)
    if _is_list(dtype) and not types.is_nested(dtype.value_type):
        is_vector = types.is_fixed_size_list(dtype) and not is_bag and _is_number(dtype.value_type)
        return _vectors(array) if is_vector else _lists(array)
    if types.is_date32(dtype) and not is_bag:
        batch = batch_from(array.to_numpy(zero_copy_only=False))
        # In memory, days are Python dates, whose kind is unknown if all are missing.
        return batch if batch.observed else batch._replace(kind="missing")
    if types.is_boolean(dtype) and not is_bag:
        values = _floats(array.cast(pa.uint8()))
        return Batch("boolean", n_rows, array.null_count < n_rows, values)
    values = pa.chunked_array([array])
    return bag_batch(values, None) if is_bag else batch_from(values)


def _vectors(array: Any) -> Batch:
    values = np.full((len(array), array.type.list_size), np.nan)
    present = array.is_valid().to_numpy(zero_copy_only=False)
    values[present] = _floats(array.flatten()).reshape(-1, array.type.list_size)
    return vector_batch(values)


def _lists(array: Any) -> Batch:
    lengths, items = _lengths(array), array.flatten()
    if types.is_dictionary(items.type) and not is_text(items.type):
        items = items.dictionary_decode()
    if types.is_floating(items.type):
        numbers = _floats(items)
        return Batch("floats", len(array), not np.isnan(numbers).all(), numbers, lengths=lengths)
    codes, labels = _encode(items)
    if len(codes) and codes.min() < 0:
        has_code = codes >= 0
        lengths, codes = kept_lengths(lengths, has_code), codes[has_code]
    return Batch("bag", len(array), bool(labels), codes, labels, lengths)


def is_text(dtype: Any) -> bool:
    """Return whether an Arrow type is a string type, dictionary-encoded or not."""
    if types.is_dictionary(dtype):
        dtype = dtype.value_type
    is_view = getattr(types, "is_string_view", None)  # newer than the oldest supported pyarrow
    return bool(
        types.is_string(dtype)
        or types.is_large_string(dtype)
        or (is_view is not None and is_view(dtype))
    )


def _is_number(dtype: Any) -> bool:
    return bool(types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype))


def _is_list(dtype: Any) -> bool:
    return bool(
        types.is_list(dtype) or types.is_large_list(dtype) or types.is_fixed_size_list(dtype)
    )


def _floats(array: Any) -> Floats:
    return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _lengths(array: Any) -> Int64s:
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def utf8_names(array: Any) -> tuple[Int64s, NDArray[np.uint8]]:
    """Return group names as UTF-8: the length of each, and the concatenated bytes."""
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not is_text(array.type) and not types.is_integer(array.type):
        array = pa.array([str(name) for name in array.to_pylist()], pa.large_string())
    return _utf8(array, "None")


def _utf8(array: Any, missing: str) -> tuple[Int64s, NDArray[np.uint8]]:
    """Return the length of each string in bytes, and the concatenated bytes."""
    array = array.cast(pa.large_string()).fill_null(missing)
    lengths: Int64s = pc.binary_length(array).to_numpy().astype(np.int64)
    _, start, content = array.buffers()
    if content is None or not lengths.any():
        return lengths, np.zeros(0, np.uint8)
    first = np.frombuffer(start, np.int64, 1, offset=8 * array.offset)[0]
    return lengths, np.frombuffer(content, np.uint8, int(lengths.sum()), offset=int(first))


def _encode(array: Any) -> tuple[Int64s, list[str]]:
    """Return the code of each value, -1 if missing, and the labels that occur."""
    if not types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if types.is_null(array.dictionary.type):
        return np.full(len(codes), -1), []
    codes, values = _drop_unused(codes, array.dictionary)
    labels = values.to_pylist()
    if values.null_count:
        is_null = np.array([label is None for label in labels] + [True])
        codes, labels = _drop_unused(np.where(is_null[codes], -1, codes), labels)
    try:
        return codes, labels if is_text(array.type) else [category_label(label) for label in labels]
    except UnicodeDecodeError as error:
        raise InputError(f"contains bytes that are not UTF-8: {error}") from error


def _drop_unused(codes: Int64s, labels: Any) -> tuple[Int64s, Any]:
    """Return codes and labels without the labels that do not occur."""
    used = np.bincount(codes + 1, minlength=len(labels) + 1)[1:] > 0
    if used.all():
        return codes, labels
    new_code = np.append(np.cumsum(used) - 1, -1)[codes]
    if isinstance(labels, list):
        return new_code, [label for label, kept in zip(labels, used, strict=True) if kept]
    return new_code, labels.filter(pa.array(used))
