"""Groups from long tables, which have one row per token: a word, a vector or a text."""

from itertools import pairwise
from typing import Any

import numpy as np

from mcsquared.arrays import Int64s
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.values import as_list, category_label, is_missing
from mcsquared.corpus.content import Vectors, row_offsets
from mcsquared.corpus.sources.frames import (
    Table,
    context_columns,
    name_list,
    numeric_content,
    text_content,
)
from mcsquared.corpus.sources.texts import BufferedWords, count_tokens
from mcsquared.errors import InputError

_MIN_VARIANT_SHARE = 0.05  # share of the words that differ from another one in case only


def long_parts(
    table: Table,
    group: str,
    value: Any,
    text: str | None,
    contexts: Any,
    bags: Any,
    options: dict[str, Any],
) -> tuple[Any, dict[str, Column], list[str], list[str]]:
    """Return content, contexts, group names and notes of a long table; see `Corpus.from_long`."""
    if (value is None) == (text is None):
        found = "neither" if value is None else "both"
        raise InputError(f"from_long requires exactly one of value and text, got {found}")
    keys = as_list(table.typed(group, "group"))
    row = next((i for i, key in enumerate(keys) if is_missing(key)), None)
    if row is not None:
        raise InputError(
            f"group: the column {group!r} must have no missing values, got one in row {row}"
        )
    number_of: dict[str, int] = {}
    group_of_row = np.array(
        [number_of.setdefault(category_label(key), len(number_of)) for key in keys], np.int64
    )
    n_groups = len(number_of)
    order = np.argsort(group_of_row, kind="stable")
    start = row_offsets(np.bincount(group_of_row, minlength=n_groups))
    names, notes = name_list(contexts, "contexts"), [*table.notes]
    values = {}
    for name in names:
        values[name], n_varying = _one_per_group(table.raw(name, "contexts"), order, start)
        if n_varying:
            notes.append(f"{name!r} differs within {n_varying} groups: the first value is used")
    grouped = Table(values, n_groups, table.source, interpret=table.interpret)
    columns = context_columns(grouped, names, bags, n_groups)
    if text is not None:
        content: Any = _joined_texts(table, text, order, start, options)
    else:
        content = _content_of_rows(table, value, order, start)
        if isinstance(content, BufferedWords):
            notes += _spelling_notes(content.vocabulary)
    return content, columns, list(number_of), notes


def _spelling_notes(vocabulary: Any) -> list[str]:
    """Return a note if many words differ from another one in case only."""
    first_spelling: dict[str, str] = {}
    pairs = [
        (first, word)
        for word in vocabulary
        if (first := first_spelling.setdefault(word.casefold(), word)) != word
    ]
    if not pairs or len(pairs) < _MIN_VARIANT_SHARE * len(vocabulary):
        return []
    first, word = pairs[0]
    return [f"{first!r} and {word!r} are two words: write the values alike"]


def _one_per_group(values: Any, order: Int64s, start: Int64s) -> tuple[list[Any], int]:
    """Return the first observed value of each group, and how many groups have several values."""
    listed = as_list(values)
    result, n_varying = [], 0
    for first, last in pairwise(start):
        present = [listed[i] for i in order[first:last] if not is_missing(listed[i])]
        result.append(present[0] if present else None)
        n_varying += any(np.any(entry != present[0]) for entry in present[1:])
    return result, n_varying


def _joined_texts(
    table: Table, name: str, order: Int64s, start: Int64s, options: dict[str, Any]
) -> BufferedWords | Vectors:
    """Return the words of the texts of each group."""
    texts = [
        None if is_missing(entry) else str(entry) for entry in as_list(table.raw(name, "text"))
    ]
    joined = [
        " ".join(text for i in order[first:last] if (text := texts[i]))
        for first, last in pairwise(start)
    ]
    return text_content(Table({name: joined}, len(joined), table.source), name, None, options)


def _content_of_rows(table: Table, value: Any, order: Int64s, start: Int64s) -> Any:
    """Return the words of each group, one per row, or its vectors if the columns are numbers."""
    listed = name_list(value, "value")
    entries = as_list(table.typed(listed[0], "value"))
    if len(listed) == 1 and not any(isinstance(entry, float) for entry in entries):
        words = [None if is_missing(entry) else category_label(entry) for entry in entries]
        tokens = [
            [word for i in order[first:last] if (word := words[i]) is not None]
            for first, last in pairwise(start)
        ]
        return count_tokens(tokens)
    vectors: Any = numeric_content(table, listed, (), "vectors")
    values = vectors.values[order]
    if np.isnan(values).any():
        raise InputError(f"value: the columns {', '.join(listed)} must not have missing values")
    return Vectors(start, np.ascontiguousarray(values))
