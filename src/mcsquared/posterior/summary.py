"""HTML summary of a posterior for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcsquared.errors import InputError
from mcsquared.markup import Part, bars, card, facts, more, sentences, table

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

N_ROWS = 8
N_WORDS = 8


def summary_html(posterior: Posterior) -> str:
    """Return the summary of a posterior as HTML."""
    return card("Posterior", *_parts(posterior))


def model_html(posterior: Posterior, parameters: str) -> str:
    """Return the summary of a fitted model as HTML."""
    return card("MC2", *_parts(posterior), more("Parameters", sentences([parameters])))


def _parts(posterior: Posterior) -> list[Part]:
    """Return sizes, advice, topics, clusters and notes."""
    parts = [facts(line) for line in _lines(posterior)]
    if not posterior.trace.empty:
        parts.append(sentences(posterior.diagnostics().attrs["advice"], advice=True))
    if posterior.parameters:
        parts += [_topics(posterior), _clusters(posterior)]
    if posterior.notes:
        parts.append(more(f"Notes ({len(posterior.notes)})", sentences(posterior.notes)))
    return parts


def _lines(posterior: Posterior) -> list[str]:
    n_chains = len(set(posterior.chain_of_draw.tolist()))
    found = f"{posterior.n_groups:,} groups in {_number(posterior.n_clusters, 'cluster')}"
    if posterior.n_fitted > posterior.n_groups:
        found = f"{posterior.n_fitted:,} groups; summary of {found}"
    if posterior.parameters:
        tokens = int(posterior.tokens_per_group.sum())
        kind = "tokens" if posterior.vocabulary is not None else "vectors"
        found += f", {tokens:,} {kind} in {_number(posterior.n_topics, 'topic')}"
    draws = f"{_number(posterior.n_draws, 'draw')} of {_number(n_chains, 'chain')}"
    contexts = ", ".join(posterior.priors.contexts) or "none"
    return [found, f"{draws}, {len(posterior.parameters)} with topics; contexts: {contexts}"]


def _number(n: int, thing: str) -> str:
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def _topics(posterior: Posterior) -> Part:
    frame = posterior.topics(n_words=N_WORDS)
    content = "words" if "words" in frame else "mean"
    rows = [
        (int(row.topic), bars(float(row.weight), frame["weight"].max()), getattr(row, content))
        for row in frame.head(N_ROWS).itertuples()
    ]
    return more(_heading("Topics", len(frame)), table(["topic", "share of tokens", content], rows))


def _clusters(posterior: Posterior) -> Part:
    try:
        frame = posterior.clusters()
    except InputError:
        return Part("")  # a user-defined family has no table
    names = [name for name in frame.columns if name not in ("cluster", "n_tokens", "share")]
    rows = [
        [int(row["cluster"]), bars(float(row["share"]), frame["share"].max())]
        + [_plain(row[name]) for name in names]
        for _, row in frame.head(N_ROWS).iterrows()
    ]
    header = ["cluster", "share of groups", *(name.replace("n_", "") for name in names)]
    return more(_heading("Clusters", len(frame)), table(header, rows))


def _heading(what: str, n: int) -> str:
    return f"{what} ({n})" if n <= N_ROWS else f"{what} (first {N_ROWS} of {n})"


def _plain(value: Any) -> Any:
    """Convert NumPy scalars to Python's, and dates to ISO format."""
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    return value.item() if hasattr(value, "item") else value
