"""Summaries of a corpus: HTML for notebooks, and SHA-256 fingerprints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus.buffers import Buffer, RowsBuffer
from mcsquared.corpus.columns.column import Column
from mcsquared.families.registry import class_for_kind
from mcsquared.markup import Html, bar, card, details, paragraph, paragraphs, table

if TYPE_CHECKING:
    from mcsquared.corpus.corpus import Corpus
    from mcsquared.corpus.disk import DiskCorpus

MAX_LISTED_CATEGORIES = 5
MAX_LISTED_CONTEXTS = 30


def size_line(corpus: Corpus | DiskCorpus) -> str:
    """Return a line with the number of groups and the size of their content."""
    content = f"{corpus.n_tokens} tokens, {corpus.n_words} words"
    if corpus.vocabulary is None:
        content = f"{corpus.n_tokens} vectors of width {corpus.content.width}"
    return f"{corpus.n_groups} groups, {content}"


def summary_html(corpus: Corpus) -> str:
    """Return a summary of a corpus as HTML: size, contexts and notes."""
    lines = corpus.describe().splitlines()
    empty = int((corpus.tokens_per_group == 0).sum())
    parts = [paragraph(lines[0])]
    if corpus.n_groups:
        kind = "tokens" if corpus.vocabulary is not None else "vectors"
        tokens = f"{corpus.n_tokens / corpus.n_groups:.1f} {kind} per group"
        parts.append(paragraph(f"{tokens}, {empty:,} groups without any" if empty else tokens))
    if corpus.contexts:
        parts.append(_contexts_table(list(corpus.contexts.values())))
    else:
        parts.append(paragraph("no contexts"))
    if corpus.notes:
        parts.append(details(f"Notes ({len(corpus.notes)})", paragraphs(corpus.notes)))
    return card("Corpus", *parts)


def _contexts_table(columns: list[Column]) -> Html:
    rows = [
        (
            column.name,
            column.kind,
            class_for_kind(column.kind).name,
            bar(float(column.observed.mean()) if len(column) else 0.0),
            _listed_values(column),
        )
        for column in columns[:MAX_LISTED_CONTEXTS]
    ]
    rows_html = table(["context", "kind", "family", "observed", "values"], rows)
    if len(columns) > MAX_LISTED_CONTEXTS:
        return Html(rows_html + paragraph(f"and {len(columns) - MAX_LISTED_CONTEXTS} more"))
    return rows_html


def _listed_values(column: Column) -> str:
    """Return the range of a column, or its first categories."""
    if column.categories is None:
        return column.extent()
    names = ", ".join(map(str, column.categories[:MAX_LISTED_CATEGORIES]))
    rest = ", …" if column.n_categories > MAX_LISTED_CATEGORIES else ""
    return f"{column.extent()}: {names}{rest}" if column.n_categories else column.extent()


def fingerprint(
    content: Iterable[Any],
    vocabulary: Iterable[str] | None,
    columns: Iterable[tuple[Column, Any]],
    names: Iterable[Iterable[str]],
) -> str:
    """Return the SHA-256 of a corpus in hexadecimal.

    ``content`` (with the parents of levels) and the values of ``columns`` are arrays, CSR matrices
    or buffers; values are given separately because the column may have no rows. ``names``, those of
    groups and then of units, are given in blocks.
    """
    digest = hashlib.sha256()
    words = None if vocabulary is None else list(vocabulary)
    for part in content:
        width = part.width if isinstance(part, Buffer) else None
        _add(digest, part, width if words is None else len(words))
    if words is not None:
        _add_strings(digest, words)
    for column, values in columns:
        _add_strings(digest, [column.name, column.kind])
        is_vector = column.kind == "vector"
        _add(digest, values, column.values.shape[1] if is_vector else column.n_categories)
        _add_strings(digest, [] if column.categories is None else column.categories)
    for number, block in enumerate(names):  # hashed as the JSON of one list
        text = json.dumps(list(block))[1:-1]
        digest.update((("[" if not number else ", ") + text).encode("ascii"))
    digest.update(b"]")
    return digest.hexdigest()


def _add_strings(digest: Any, strings: Iterable[str]) -> None:
    digest.update(json.dumps(list(strings)).encode("ascii"))


def _add(digest: Any, data: Any, n_columns: int | None) -> None:
    """Add an array, a CSR matrix, or a buffer of rows with ``n_columns`` columns."""
    if not isinstance(data, RowsBuffer) and not sparse.issparse(data):
        _add_values(digest, data, data.dtype, n_columns)
        return
    if isinstance(data, RowsBuffer):
        shape, parts = (data.n_rows, n_columns), (data.counts, data.values, data.start)
    else:
        shape, parts = data.shape, (data.data, data.indices, data.indptr)
    _add_strings(digest, map(str, shape))
    # SciPy's index type depends on the size and history of a matrix, not only on its data.
    for part, dtype in zip(parts, (np.int32, np.int64, np.int64), strict=True):
        _add_values(digest, part, np.dtype(dtype))


def _add_values(digest: Any, data: Any, dtype: Any, width: int | None = None) -> None:
    blocks: Iterable[NDArray[Any]] = [data]
    shape = getattr(data, "shape", ())
    if isinstance(data, Buffer):
        shape = (data.n_rows, width) if width and dtype.kind == "f" else (data.n_rows,)
        blocks = (data.read(rows) for rows in data.blocks())
    _add_strings(digest, [dtype.str, *map(str, shape)])
    for block in blocks:
        array = block.astype(dtype)
        if dtype.kind == "f":
            array = np.where(np.isnan(array), np.nan, array) + 0.0  # canonical NaN and zero
        digest.update(np.ascontiguousarray(array).tobytes())
