"""What was fitted, how well, and what to trust, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.model.parameters import Gamma
from mcsquared.report.packing import clipped

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

__all__ = ["checks", "facts", "model_sentences"]

Floats = NDArray[np.float64]

_AGREED, _APART = 1.05, 1.1
_ENOUGH_DRAWS, _FEW_DRAWS = 200.0, 50.0
_SURE = 0.8


def facts(posterior: Posterior, unit: str) -> list[dict[str, str]]:
    """Return the figures at the top of the page: label, value, and what belongs to it."""
    clusters = [len(np.unique(draw)) for draw in posterior.cluster_of_group]
    topics = [draw.n_topics for draw in posterior.parameters]
    n_tokens = int(posterior.tokens_per_group.sum())
    if posterior.vocabulary is None:
        of_what = f"of {posterior.components.shape[1]} numbers each"
    else:
        different = len(posterior.vocabulary)
        of_what = f"{different:,} different"
    chains = len(np.unique(posterior.chain_of_draw))
    return [
        _fact("groups", f"{posterior.n_groups:,}", _per_group(posterior, unit)),
        _fact(unit, f"{n_tokens:,}", of_what),
        _fact("clusters", f"{posterior.n_clusters:,}", f"consensus; {_range_over_draws(clusters)}"),
        _fact("topics", f"{posterior.n_topics:,}", _range_over_draws(topics)),
        _fact(
            "contexts",
            str(len(posterior.contexts)),
            ", ".join(clipped(name, 40) for name in posterior.contexts) or "none given",
        ),
        _fact("draws kept", f"{posterior.n_draws:,}", f"{chains} chain{'s' if chains > 1 else ''}"),
    ]


def _fact(label: str, value: str, note: str) -> dict[str, str]:
    return {"label": label, "value": value, "note": note}


def _per_group(posterior: Posterior, unit: str) -> str:
    return f"{np.median(posterior.tokens_per_group):,.0f} {unit} in the middle one"


def _range_over_draws(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,} in every draw" if low == high else f"{low:,} to {high:,} in the draws"


def checks(
    posterior: Posterior, confidence: Floats, diagnostics: dict[str, Any]
) -> list[dict[str, str]]:
    """Return what was checked, each with a level ("good", "watch", "bad"), a title and a sentence.

    Parameters
    ----------
    confidence : float64 (n_groups,)
        How firmly each group belongs to its cluster.
    diagnostics : dict
        What `diagnostic_data` returns.
    """
    settled = _settled(diagnostics)
    found = [
        settled,
        _draws(diagnostics),
        _within(settled, _clusters(posterior, confidence)),
        _within(settled, _topics(posterior)),
        _bounds(posterior, diagnostics),
        _missing(posterior),
        _small_clusters(posterior),
        _empty(posterior),
    ]
    return [check for check in found if check is not None]


def _check(level: str, title: str, text: str) -> dict[str, str]:
    return {"level": level, "title": title, "text": text}


def _within(settled: dict[str, str], check: dict[str, str] | None) -> dict[str, str] | None:
    """Return a check that agreement among draws has passed, but not as good where none has moved.

    A chain that has just begun changes slowly, and its draws are alike for that reason alone.
    """
    if check is None or settled["level"] != "bad" or check["level"] != "good":
        return check
    return _check(
        "watch",
        f"{check['title']}, in this run",
        f"{check['text']} As the run had not settled, another one may find others.",
    )


def _settled(diagnostics: dict[str, Any]) -> dict[str, str]:
    """Say whether the chains have met, by R-hat."""
    known = [row for row in diagnostics["scalars"] if math.isfinite(row["rhat"])]
    one = diagnostics["n_chains"] == 1
    if not known:
        return _check(
            "watch", "Settling could not be judged", "Too few draws were kept to compute R-hat."
        )
    worst = max(known, key=lambda row: row["rhat"])
    apart = f"{worst['label']}, R-hat {worst['rhat']:.2f}"
    if worst["rhat"] > _APART:
        title = "The run had not settled" if one else "The chains disagree"
        text = (
            f"The beginning and the end of the run differ ({apart}; 1.00 is agreement). "
            "Clusters and topics are a first sketch: run more sweeps and a longer burn-in."
            if one
            else f"They have not reached the same place ({apart}; 1.00 is agreement). What they "
            "share can be trusted, details may differ: run more sweeps."
        )
        return _check("bad", title, text)
    if one:
        return _check(
            "watch",
            "One chain looks settled",
            f"Largest R-hat {worst['rhat']:.2f}. Whether another start would end elsewhere only "
            "several chains can tell (n_chains=4).",
        )
    level = "good" if worst["rhat"] <= _AGREED else "watch"
    return _check(level, "The chains agree", f"The largest R-hat is {worst['rhat']:.2f} ({apart}).")


def _draws(diagnostics: dict[str, Any]) -> dict[str, str] | None:
    known = [row for row in diagnostics["scalars"] if math.isfinite(row["ess_bulk"])]
    if not known:
        return None
    worst = min(known, key=lambda row: row["ess_bulk"])
    size = worst["ess_bulk"]
    text = f"The least known figure ({worst['label']}) is worth {size:,.0f} independent draws."
    if size >= _ENOUGH_DRAWS:
        return _check("good", "Enough draws", text)
    level = "watch" if size >= _FEW_DRAWS else "bad"
    return _check(level, "Few independent draws", f"{text} Averages are rough: run more sweeps.")


def _clusters(posterior: Posterior, confidence: Floats) -> dict[str, str]:
    sure = float((confidence >= _SURE).mean())
    text = (
        f"All groups are with the same companions in at least {_SURE:.0%} of the draws."
        if sure == 1.0
        else f"{min(math.floor(100 * sure), 99)}% of the groups are with the same companions in "
        f"at least {_SURE:.0%} of the draws. The others lie between clusters: their pages say "
        "between which."
    )
    if posterior.n_draws < 5:
        return _check(
            "watch", "Too few draws to judge clusters", f"Only {posterior.n_draws} were kept."
        )
    if sure >= 0.8:
        return _check("good", "Clusters are clear", text)
    return _check("watch" if sure >= 0.4 else "bad", "Some clusters are blurred", text)


def _topics(posterior: Posterior) -> dict[str, str] | None:
    stability = posterior.topic_stability
    if not np.isfinite(stability).any():
        return None
    tokens = posterior.tokens_of_topic
    firm = float(tokens[stability >= 0.7].sum() / max(tokens.sum(), 1))
    text = f"Topics that come back alike in other draws hold {firm:.0%} of the content."
    if firm >= 0.7:
        return _check("good", "Topics come back", text)
    return _check("watch", "Some topics change from draw to draw", text)


def _bounds(posterior: Posterior, diagnostics: dict[str, Any]) -> dict[str, str] | None:
    reached = [note for note in posterior.notes if "was reached" in note]
    if reached:
        return _check(
            "bad", "A bound was reached", f"{'; '.join(reached)}. Raise it, or leave it out."
        )
    if any(diagnostics["bounds"].values()):
        return _check("good", "No bound was reached", "The bounds on clusters or topics had room.")
    return None


def _missing(posterior: Posterior) -> dict[str, str] | None:
    parts = []
    for name, column in posterior.contexts.items():
        without = int((~column.observed).sum())
        if without:
            share = without / len(column)
            parts.append(
                f"{clipped(name, 80)} in {without:,} of the groups"
                + (f" ({share:.0%})" if share > 0.005 else "")
            )
    if not parts:
        return None
    return _check(
        "good",
        "Some contexts are missing",
        f"{'; '.join(parts)}. That is no problem for the model: what is missing is left open.",
    )


def _small_clusters(posterior: Posterior) -> dict[str, str] | None:
    sizes = np.bincount(posterior.labels)
    small = int((sizes < 3).sum())
    if not small or posterior.n_groups < 10:
        return None
    return _check(
        "watch",
        f"{small} cluster{'s' if small > 1 else ''} of one or two groups",
        "They may be outliers, or groups that no cluster holds for long: look before naming them.",
    )


def _empty(posterior: Posterior) -> dict[str, str] | None:
    empty = int((posterior.tokens_per_group == 0).sum())
    if not empty:
        return None
    return _check(
        "watch",
        f"{empty:,} group{'s have' if empty > 1 else ' has'} no content",
        "Their contexts alone decide their cluster.",
    )


def model_sentences(posterior: Posterior) -> list[str]:
    """Return what the model is, a sentence each."""
    lam = posterior.priors.lam
    if lam == math.inf:
        varying = (
            "All groups of a cluster share one mixture of topics (lam=inf, the model of the paper)."
        )
    else:
        mean = np.mean([draw.lam for draw in posterior.parameters])
        learnt = "learnt from the data" if isinstance(lam, Gamma) else "fixed"
        varying = (
            "Each group has a mixture of topics of its own, around that of its cluster "
            f"(λ = {mean:.3g}, {learnt}; the larger, the closer)."
        )
    families = ", ".join(
        f"{clipped(name, 80)} ({type(family).__name__})"
        for name, family in posterior.priors.contexts.items()
    )
    contexts = f"Contexts: {families}." if families else "There are no contexts."
    content = f"Content: {type(posterior.priors.content).__name__}."
    seconds = posterior.trace["seconds"].sum() if "seconds" in posterior.trace else math.nan
    took = f", {seconds:,.0f} s of sampling" if math.isfinite(seconds) else ""
    n_sweeps = int(posterior.trace["sweep"].nunique()) if len(posterior.trace) else 0
    run = f"{n_sweeps:,} sweeps a chain, seed {posterior.seed}{took}."
    return [varying, f"{content} {contexts}", run]
