"""Convert a column to a kind that a family accepts, or to that of the training data."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.arrays import Objects
from mcsquared.corpus.columns.column import Column
from mcsquared.corpus.columns.values import category_label, days_to_dates, iso_days, parse_list
from mcsquared.corpus.content import Vectors, Words
from mcsquared.errors import InputError
from mcsquared.families.dirichlet import count_matrix
from mcsquared.families.registry import class_for_kind, kinds_of

_BOOLEAN_OF_LABEL = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}


def convert(column: Column, family: Any) -> Column:
    """Convert the column to a kind that the family accepts, or raise `InputError`."""
    kind = kinds_of(family)[0]
    converted = _CONVERTERS[kind](column)
    if converted is None:
        expected = class_for_kind(kind)
        raise InputError(
            f"context {column.name!r} must be {expected.column_form} for the family "
            f"{expected.name!r}, got a {column.kind}"
        )
    # The kind assumed for a column without observations is irrelevant once a family is declared.
    return converted if column.observed.any() else replace(converted, note="no observations")


def conform(column: Column, reference: Column) -> Column:
    """Convert the column to the kind and the categories of ``reference``, the training column.

    Unseen categories become missing. A column without observations conforms to every kind.
    """
    kind = reference.kind
    converted: Column | None = column
    if not column.observed.any():
        return missing_column(column.name, reference, len(column))
    if kind == "bag" and column.kind == "category":
        converted = _as_bag(_split_like(column, reference))
    elif kind in ("category", "bag", "date") and kind != column.kind:
        converted = _CONVERTERS[kind](column)
    elif kind == "number" and column.kind in ("date", "category", "bag", "vector"):
        if not reference.observed.any():
            return missing_column(column.name, reference, len(column))
        converted = None if column.kind == "date" else convert(column, class_for_kind(kind))
    elif kind != column.kind:
        converted = convert(column, class_for_kind(kind))
    if converted is None:
        raise InputError(
            f"context {column.name!r} must be a {kind} as in training, got a {column.kind}"
        )
    if reference.categories is not None:
        return converted.align(reference.categories)
    if kind == "vector" and converted.width != reference.width:
        raise InputError(
            f"context {column.name!r} must contain vectors of width {reference.width} as in "
            f"training, got {converted.width}"
        )
    return converted


def missing_column(name: str, reference: Column, n_groups: int) -> Column:
    """Return a column like ``reference`` that is missing in every group."""
    values: Any
    if reference.kind == "category":
        values = np.full(n_groups, -1, np.int32)
    elif reference.kind == "bag":
        values = sparse.csr_matrix((n_groups, reference.n_categories), dtype=np.int32)
    elif reference.kind == "vector":
        values = np.full((n_groups, reference.values.shape[1]), np.nan)
    else:
        values = np.full(n_groups, np.nan)
    return Column(name, reference.kind, values, reference.categories)


def _labels(column: Column) -> Objects:
    return np.empty(0, dtype=object) if column.categories is None else column.categories


def _as_number(column: Column) -> Column | None:
    if column.kind in ("number", "date"):
        return column
    if column.kind in ("boolean", "count"):
        return replace(column, kind="number")
    if column.kind == "vector" and column.values.shape[1] == 1:
        return replace(column, kind="number", values=column.values[:, 0])
    return None


def _as_vector(column: Column) -> Column | None:
    if column.kind in ("number", "date", "boolean", "count"):
        return replace(column, kind="vector", values=column.values[:, None])
    return column if column.kind == "vector" else None


def _as_category(column: Column) -> Column | None:
    if column.kind == "category":
        return column
    if column.kind == "bag":
        return _as_single_category(column)
    if column.kind == "vector":
        return None
    observed = column.observed
    distinct, codes = np.unique(column.values[observed], return_inverse=True)
    if column.kind == "date":
        labels = [
            str(date).removesuffix("T00:00:00.000000")
            for date in days_to_dates(distinct).astype("M8[us]")
        ]
    elif column.kind == "boolean":
        labels = [str(bool(value)) for value in distinct]
    else:
        labels = [category_label(value) for value in distinct]
    values = np.full(len(column), -1, np.int32)
    values[observed] = codes
    return replace(
        column, kind="category", values=values, categories=np.array(labels, dtype=object)
    )


def _as_single_category(column: Column) -> Column | None:
    """Convert a bag to a category; None if a group has more than one item."""
    per_group = np.asarray(column.values.sum(axis=1)).ravel()
    if per_group.max(initial=0) > 1:
        return None
    values = np.full(len(column), -1, np.int32)
    values[per_group == 1] = column.values.indices
    return replace(column, kind="category", values=values)


def _as_bag(column: Column) -> Column | None:
    if column.kind == "bag":
        return column
    category = _as_category(column)
    if category is None:
        return None
    rows = np.flatnonzero(category.observed)
    counts = count_matrix(rows, category.values[rows], (len(column), category.n_categories))
    return replace(category, kind="bag", values=counts)


def _as_boolean(column: Column) -> Column | None:
    values = None
    if column.kind in ("number", "count"):
        values = column.values
    elif column.kind == "category":
        table = np.array(
            [*(_BOOLEAN_OF_LABEL.get(s.strip().lower(), 2.0) for s in _labels(column)), np.nan]
        )
        values = table[column.values]
    if values is None or not np.isin(values[column.observed], (0.0, 1.0)).all():
        return None
    return replace(column, kind="boolean", values=values, categories=None)


def _as_count(column: Column) -> Column | None:
    if column.kind not in ("number", "boolean"):
        return None
    observed = column.values[column.observed]
    invalid = observed[(observed < 0) | (observed != np.floor(observed))]
    if len(invalid):
        form = class_for_kind("count").column_form
        raise InputError(f"context {column.name!r} must be {form}, got {invalid[0]:g}")
    return replace(column, kind="count")


def _as_date(column: Column) -> Column | None:
    """Convert a category whose labels are ISO dates, as in text files; None for others."""
    if column.kind != "category":
        return None
    days = [iso_days(name) for name in _labels(column)]
    if any(day is None for day in days):
        return None
    return replace(
        column, kind="date", values=np.array([*days, np.nan])[column.values], categories=None
    )


def _split_like(column: Column, reference: Column) -> Column:
    """Split strings such as "Ada; Bob" into bags, unless they are training categories."""
    from mcsquared.corpus.columns.builder import split
    from mcsquared.corpus.columns.infer import column_from

    in_training = set(_labels(reference))
    parts = []
    for name in _labels(column):
        separators = [mark for mark in (";", ",", "|") if mark in name and name not in in_training]
        is_listed = parse_list(name) is not None and name not in in_training
        parts.append(split(name, (*separators, ",")[0]) if separators or is_listed else [name])
    return column_from(column.name, [parts[code] if code >= 0 else None for code in column.values])


_CONVERTERS = {
    "number": _as_number,
    "vector": _as_vector,
    "category": _as_category,
    "bag": _as_bag,
    "boolean": _as_boolean,
    "count": _as_count,
    "date": _as_date,
}


def aligned_contexts(
    columns: Mapping[str, Column], references: Mapping[str, Column], n_groups: int, notes: list[str]
) -> dict[str, Column]:
    """Return columns that conform to the training columns; list missing ones in ``notes``."""
    aligned = {}
    for name, reference in references.items():
        if name in columns:
            aligned[name] = conform(columns[name], reference)
        else:
            aligned[name] = missing_column(name, reference, n_groups)
            notes.append(f"context {name} is not in the data: missing in every group")
    return aligned


def aligned_content(
    content: Words | Vectors, vocabulary: Any, width: int | None, notes: list[str]
) -> tuple[Words | Vectors, int, int]:
    """Return content in the training vocabulary, and the number of dropped words and tokens."""
    if isinstance(content, Vectors):
        if vocabulary is not None:
            raise InputError("content must contain words as in training, got vectors")
        if width is not None and content.width != width:
            raise InputError(
                f"content must contain vectors of width {width} as in training, got {content.width}"
            )
        return content, 0, 0
    if vocabulary is None:
        raise InputError("content must contain vectors as in training, got words")
    if len(vocabulary) == content.n_words and all(
        content.vocabulary == np.asarray(vocabulary, dtype=object)
    ):
        return content, 0, 0
    # Words are stored like a bag, and unseen words are dropped like unseen categories.
    bag = Column("content", "bag", content.counts, content.vocabulary).align(vocabulary)
    words = Words(bag.values, bag.categories)  # type: ignore[arg-type]
    trained = set(words.vocabulary)  # np.isin compares strings pair by pair
    in_training = np.array([word in trained for word in content.vocabulary], dtype=bool)
    occurring = np.zeros(content.n_words, dtype=bool)
    occurring[content.counts.indices] = True
    n_words, n_tokens = int((occurring & ~in_training).sum()), content.n_tokens - words.n_tokens
    if n_words:
        notes.append(f"{n_words} words unseen in training were dropped ({n_tokens} tokens)")
    return words, n_words, n_tokens
