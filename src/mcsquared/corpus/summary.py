"""HTML summary of a corpus, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcsquared.corpus.columns.column import Column
from mcsquared.families.registry import for_kind
from mcsquared.markup import Part, bars, card, facts, more, sentences, table

if TYPE_CHECKING:
    from mcsquared.corpus.corpus import Corpus

N_CATEGORIES = 5
N_CONTEXTS = 30


def summary_html(corpus: Corpus) -> str:
    """Return the summary of a corpus as HTML: its size, its contexts, its notes."""
    lines = corpus.describe().splitlines()
    empty = int((corpus.tokens_per_group == 0).sum())
    parts = [facts(lines[0])]
    if corpus.n_groups:
        kind = "tokens" if corpus.vocabulary is not None else "vectors"
        tokens = f"{corpus.n_tokens / corpus.n_groups:.1f} {kind} per group"
        parts.append(facts(f"{tokens}, {empty:,} groups without any" if empty else tokens))
    if corpus.contexts:
        parts.append(_contexts(list(corpus.contexts.values())))
    else:
        parts.append(facts("no contexts"))
    if corpus.notes:
        parts.append(more(f"Notes ({len(corpus.notes)})", sentences(corpus.notes)))
    return card("Corpus", *parts)


def _contexts(columns: list[Column]) -> Part:
    rows = [
        (
            column.name,
            column.kind,
            for_kind(column.kind).name,
            bars(float(column.observed.mean()) if len(column) else 0.0),
            _values(column),
        )
        for column in columns[:N_CONTEXTS]
    ]
    rows_html = table(["context", "kind", "family", "observed", "values"], rows)
    if len(columns) > N_CONTEXTS:
        return Part(rows_html + facts(f"and {len(columns) - N_CONTEXTS} more"))
    return rows_html


def _values(column: Column) -> str:
    """Return the range of a column, or its categories: the first of many."""
    if column.categories is None:
        return column.extent()
    names = ", ".join(map(str, column.categories[:N_CATEGORIES]))
    rest = ", …" if column.n_categories > N_CATEGORIES else ""
    return f"{column.extent()}: {names}{rest}" if column.n_categories else column.extent()
