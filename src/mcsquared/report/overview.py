"""The overview of a report: key figures, checks of the run, and a description of the model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.model.parameters import Gamma
from mcsquared.report.packing import shorten

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

Floats = NDArray[np.float64]
Check = dict[str, str]  # level ("good", "watch" or "bad"), title and text

_GOOD_RHAT, _BAD_RHAT = 1.05, 1.1
_GOOD_SAMPLE_SIZE, _BAD_SAMPLE_SIZE = 200.0, 50.0
_CERTAIN = 0.8


def facts(posterior: Posterior, unit: str) -> list[dict[str, str]]:
    """Return the key figures: label, value and note of each."""
    clusters = [len(np.unique(draw)) for draw in posterior.cluster_of_group]
    topics = [draw.n_topics for draw in posterior.parameters]
    if posterior.vocabulary is None:
        content = f"of dimension {posterior.components.shape[1]}"
    else:
        content = f"{len(posterior.vocabulary):,} distinct"
    median = f"median length: {np.median(posterior.tokens_per_group):,.0f} {unit}"
    contexts = ", ".join(shorten(name, 40) for name in posterior.contexts) or "none"
    chains = _count(len(np.unique(posterior.chain_of_draw)), "chain")
    rows = [
        ("groups", posterior.n_groups, median),
        (unit, int(posterior.tokens_per_group.sum()), content),
        ("clusters", posterior.n_clusters, f"consensus; {_range(clusters)}"),
        ("topics", posterior.n_topics, _range(topics)),
        ("contexts", len(posterior.contexts), contexts),
        ("draws kept", posterior.n_draws, chains),
    ]
    return [{"label": label, "value": f"{value:,}", "note": note} for label, value, note in rows]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,} in every draw" if low == high else f"{low:,} to {high:,} in the draws"


def checks(posterior: Posterior, confidence: Floats, diagnostics: dict[str, Any]) -> list[Check]:
    """Return the checks of a run: level ("good", "watch", "bad"), title and text of each.

    Parameters
    ----------
    posterior : Posterior
    confidence : float64 (n_groups,)
        Membership of each group in its cluster.
    diagnostics : dict
        From `diagnostic_data`.
    """
    convergence = _convergence(diagnostics)
    found = [
        convergence,
        _sample_size(diagnostics),
        _if_converged(convergence, _clusters(posterior, confidence)),
        _if_converged(convergence, _topics(posterior)),
        _bounds(posterior, diagnostics),
        _missing(posterior),
        _small_clusters(posterior),
        _empty_groups(posterior),
    ]
    return [check for check in found if check is not None]


def _check(level: str, title: str, text: str) -> Check:
    return {"level": level, "title": title, "text": text}


def _if_converged(convergence: Check, check: Check | None) -> Check | None:
    """Qualify a good check of the draws if the run has not converged.

    The draws of a chain that has just started are similar only because it moves slowly.
    """
    if check is None or convergence["level"] != "bad" or check["level"] != "good":
        return check
    return _check(
        "watch",
        f"{check['title']} in this run",
        f"{check['text']} The run has not converged, so another run may give different results.",
    )


def _convergence(diagnostics: dict[str, Any]) -> Check:
    known = [row for row in diagnostics["scalars"] if math.isfinite(row["rhat"])]
    if not known:
        return _check(
            "watch",
            "Convergence could not be assessed",
            "Too few draws were kept to compute R-hat.",
        )
    worst = max(known, key=lambda row: row["rhat"])
    largest = f"{worst['rhat']:.2f} ({worst['label']})"
    one_chain = diagnostics["n_chains"] == 1
    if worst["rhat"] > _BAD_RHAT and one_chain:
        return _check(
            "bad",
            "The chain has not converged",
            f"Its halves differ: the largest R-hat is {largest}; 1.00 means agreement. Clusters "
            "and topics are preliminary: run more sweeps and a longer burn-in.",
        )
    if worst["rhat"] > _BAD_RHAT:
        return _check(
            "bad",
            "The chains disagree",
            f"They have not converged to the same distribution: the largest R-hat is {largest}; "
            "1.00 means agreement. Results common to all chains are reliable, details may differ: "
            "run more sweeps.",
        )
    if one_chain:
        return _check(
            "watch",
            "The chain appears to have converged",
            f"The largest R-hat is {largest}. Only several chains (n_chains=4) can show whether "
            "other starting points lead to other results.",
        )
    level = "good" if worst["rhat"] <= _GOOD_RHAT else "watch"
    return _check(level, "The chains agree", f"The largest R-hat is {largest}.")


def _sample_size(diagnostics: dict[str, Any]) -> Check | None:
    known = [row for row in diagnostics["scalars"] if math.isfinite(row["ess_bulk"])]
    if not known:
        return None
    worst = min(known, key=lambda row: row["ess_bulk"])
    size = worst["ess_bulk"]
    text = f"The smallest effective sample size is {size:,.0f} ({worst['label']})."
    if size >= _GOOD_SAMPLE_SIZE:
        return _check("good", "Sufficient effective sample size", text)
    level = "watch" if size >= _BAD_SAMPLE_SIZE else "bad"
    text += " Estimates are imprecise: run more sweeps."
    return _check(level, "Low effective sample size", text)


def _clusters(posterior: Posterior, confidence: Floats) -> Check:
    if posterior.n_draws < 5:
        text = f"The posterior has {_count(posterior.n_draws, 'draw')}."
        return _check("watch", "Too few draws to assess the clusters", text)
    certain = float((confidence >= _CERTAIN).mean())
    share = "All" if certain == 1.0 else f"{min(math.floor(100 * certain), 99)}% of the"
    text = f"{share} groups share their cluster with the same groups in at least {_CERTAIN:.0%} of "
    text += "the draws."
    if certain < 1.0:
        text += " The others are between clusters; their pages list the alternatives."
    if certain >= 0.8:
        return _check("good", "The clusters are stable", text)
    return _check("watch" if certain >= 0.4 else "bad", "Some clusters are uncertain", text)


def _topics(posterior: Posterior) -> Check | None:
    stability = posterior.topic_stability
    if not np.isfinite(stability).any():
        return None
    tokens = posterior.tokens_of_topic
    stable = float(tokens[stability >= 0.7].sum() / max(tokens.sum(), 1))
    text = f"{stable:.0%} of the content belongs to topics with a close match in other draws."
    if stable >= 0.7:
        return _check("good", "The topics are stable", text)
    return _check("watch", "Some topics vary between draws", text)


def _bounds(posterior: Posterior, diagnostics: dict[str, Any]) -> Check | None:
    reached = [note for note in posterior.notes if "was reached" in note]
    if reached:
        text = f"{'; '.join(reached)}. Increase or remove it."
        return _check("bad", "A bound was reached", text)
    if any(diagnostics["bounds"].values()):
        text = "The numbers of clusters and topics stayed below their bounds."
        return _check("good", "No bound was reached", text)
    return None


def _missing(posterior: Posterior) -> Check | None:
    parts = []
    for name, column in posterior.contexts.items():
        missing = int((~column.observed).sum())
        if missing:
            share = missing / len(column)
            percent = f" ({share:.0%})" if share > 0.005 else ""
            parts.append(f"{shorten(name, 80)} in {_count(missing, 'group')}{percent}")
    if not parts:
        return None
    text = f"{'; '.join(parts)}. The model integrates over missing contexts."
    return _check("good", "Some contexts are missing", text)


def _small_clusters(posterior: Posterior) -> Check | None:
    small = int((np.bincount(posterior.labels) < 3).sum())
    if not small or posterior.n_groups < 10:
        return None
    return _check(
        "watch",
        f"{_count(small, 'cluster')} of one or two groups",
        "They may be outliers or groups without a stable cluster: check them before naming them.",
    )


def _empty_groups(posterior: Posterior) -> Check | None:
    empty = int((posterior.tokens_per_group == 0).sum())
    if not empty:
        return None
    title = f"{_count(empty, 'group')} without content"
    return _check("watch", title, "The contexts alone determine the cluster.")


def model_sentences(posterior: Posterior) -> list[str]:
    """Return a description of the model and the run."""
    lam = posterior.priors.lam
    if lam == math.inf:
        mixture = (
            "All groups of a cluster share one mixture of topics (lam=inf, the model of the paper)."
        )
    else:
        mean = np.mean([draw.lam for draw in posterior.parameters])
        learned = "learned" if isinstance(lam, Gamma) else "fixed"
        mixture = (
            "Each group has its own mixture of topics, which varies around that of its cluster "
            f"(λ = {mean:.3g}, {learned}; larger values mean less variation)."
        )
    families = ", ".join(
        f"{shorten(name, 80)} ({type(family).__name__})"
        for name, family in posterior.priors.contexts.items()
    )
    content = f"Content: {type(posterior.priors.content).__name__}."
    trace = posterior.trace
    seconds = trace["seconds"].sum() if "seconds" in trace else math.nan
    time = f", {seconds:,.0f} s of sampling" if math.isfinite(seconds) else ""
    n_sweeps = int(trace["sweep"].nunique()) if len(trace) else 0
    return [
        mixture,
        f"{content} Contexts: {families or 'none'}.",
        f"{n_sweeps:,} sweeps per chain, seed {posterior.seed}{time}.",
    ]
