"""Exports of the posterior: ArviZ, pyLDAvis, and an HTML summary for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.errors import InputError, import_optional
from mcsquared.markup import Html, bar, card, details, paragraph, paragraphs, plural, table
from mcsquared.posterior.diagnostics import SCALARS, chains_of

if TYPE_CHECKING:
    import pandas as pd

    from mcsquared.posterior.posterior import Posterior

N_ROWS = 8  # rows of each table in a summary
N_SUMMARY_WORDS = 8


def to_arviz(posterior: Posterior) -> Any:
    """Return the scalars of the kept draws; see `Posterior.to_arviz`."""
    arviz = import_optional("arviz", "mcsquared[diagnostics]", "this export")
    if posterior.trace.empty:
        raise InputError("to_arviz requires a trace, but this posterior has no trace")
    names = [name for name in SCALARS if name in posterior.trace]
    scalars = {name: chains_of(posterior.trace, name, kept_only=True) for name in names}
    log_joint = scalars.pop("log_joint")
    finite = {name: values for name, values in scalars.items() if np.isfinite(values).all()}
    return arviz.from_dict(posterior=finite, sample_stats={"lp": log_joint})


def to_pyldavis(posterior: Posterior, **options: Any) -> Any:
    """Return the topics prepared for pyLDAvis; ``options`` are passed to ``pyLDAvis.prepare``."""
    if posterior.vocabulary is None or posterior.word_frequency is None:
        raise InputError("to_pyldavis requires words, but the content of this model is vectors")
    if posterior.n_topics < 3:
        raise InputError(f"to_pyldavis requires at least three topics, got {posterior.n_topics}")
    pyldavis = import_optional("pyLDAvis", "mcsquared[diagnostics]", "this export")
    # pyLDAvis does not accept words that never occur.
    occurs = posterior.word_frequency > 0
    words = posterior.components[:, occurs]
    groups = posterior.tokens_per_group > 0
    topics = posterior.token_shares[posterior.labels[groups]]
    settings = {"sort_topics": False, "start_index": 0, "n_jobs": 1, "R": min(30, occurs.sum())}
    return pyldavis.prepare(
        words / words.sum(axis=1, keepdims=True),
        topics,
        posterior.tokens_per_group[groups],
        posterior.vocabulary[occurs],
        posterior.word_frequency[occurs],
        **(settings | options),
    )


def summary_html(posterior: Posterior) -> str:
    """Return the summary of a posterior as HTML."""
    return card("Posterior", *_parts(posterior))


def model_html(posterior: Posterior, parameters: str) -> str:
    """Return the summary of a fitted model as HTML."""
    return card("MC2", *_parts(posterior), details("Parameters", paragraphs([parameters])))


def _parts(posterior: Posterior) -> list[Html]:
    """Return the parts of a summary: sizes, advice, topics, clusters and notes."""
    parts = [paragraph(line) for line in _lines(posterior)]
    if not posterior.trace.empty:
        parts.append(paragraphs(posterior.diagnostics().attrs["advice"], advice=True))
    if posterior.parameters:
        parts += [_topics(posterior), _clusters(posterior)]
    if posterior.notes:
        parts.append(details(f"Notes ({len(posterior.notes)})", paragraphs(posterior.notes)))
    return parts


def _lines(posterior: Posterior) -> list[str]:
    n_chains = len(set(posterior.chain_of_draw.tolist()))
    sizes = f"{posterior.n_groups:,} groups in {plural(posterior.n_clusters, 'cluster')}"
    if posterior.n_fitted > posterior.n_groups:
        sizes = f"{posterior.n_fitted:,} groups; summary of {sizes}"
    if posterior.parameters:
        tokens = int(posterior.tokens_per_group.sum())
        kind = "tokens" if posterior.vocabulary is not None else "vectors"
        sizes += f", {tokens:,} {kind} in {plural(posterior.n_topics, 'topic')}"
    draws = f"{plural(posterior.n_draws, 'draw')} from {plural(n_chains, 'chain')}"
    contexts = ", ".join(posterior.priors.contexts) or "none"
    return [sizes, f"{draws}, {len(posterior.parameters)} with topics; contexts: {contexts}"]


def _topics(posterior: Posterior) -> Html:
    frame = posterior.topics(n_words=N_SUMMARY_WORDS)
    content = "words" if "words" in frame else "mean"
    header = {"topic": "topic", "weight": "share of tokens", content: content}
    return _section("Topics", frame, header)


def _clusters(posterior: Posterior) -> Html:
    try:
        frame = posterior.clusters()
    except InputError:
        return Html("")  # the contexts of some user-defined families have no table
    header = {"cluster": "cluster", "share": "share of groups"}
    names = [name for name in frame if name not in (*header, "n_tokens")]
    return _section("Clusters", frame, header | {name: name.replace("n_", "") for name in names})


def _section(title: str, frame: pd.DataFrame, header: dict[str, str]) -> Html:
    """Return the first rows of a table; ``header`` maps its columns to their titles."""
    count = f"{len(frame)}" if len(frame) <= N_ROWS else f"first {N_ROWS} of {len(frame)}"
    columns = [
        [bar(value, frame[name].max()) for value in frame[name].head(N_ROWS)]
        if name in ("weight", "share")
        else map(_plain_value, frame[name].head(N_ROWS))
        for name in header
    ]
    rows = zip(*columns, strict=True)
    return details(f"{title} ({count})", table(list(header.values()), list(rows)))


def _plain_value(value: Any) -> Any:
    """Convert NumPy scalars to Python scalars, and dates to ISO format."""
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    return value.item() if hasattr(value, "item") else value
