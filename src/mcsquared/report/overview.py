"""Report data of the overview and diagnostics: key figures, checks, model, traces."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.arrays import Floats, Int64s
from mcsquared.families import ConjugateFamily
from mcsquared.gamma import Gamma
from mcsquared.markup import percent, plural, range_of, shorten
from mcsquared.model.parameters import CONCENTRATIONS
from mcsquared.posterior import Posterior
from mcsquared.posterior.convergence import (
    agreement_summary,
    assess_posterior,
    convergence_summary,
)
from mcsquared.posterior.diagnostics import SCALARS

if TYPE_CHECKING:
    import pandas as pd

Check = tuple[str, str, str]  # level ("good", "watch" or "bad"), title and text

SCALAR_LABELS = {
    "n_clusters": "occupied clusters",
    "n_topics": "occupied topics",
    "log_joint": "log joint density",
    **{name: parameter.label for name, parameter in CONCENTRATIONS.items()},
}
_GOOD_SAMPLE_SIZE, _BAD_SAMPLE_SIZE = 200.0, 50.0
_MIN_CONFIDENCE = 0.8
_MAX_UNSETTLED = 0.05  # share of the groups
_MAX_POINTS = 800  # points of a trace per chain
_RELEVANT, _IRRELEVANT = 0.1, 0.05  # shares of the entropy of clusters that a context explains
# Truncation note of a fit; its wording differs between versions, early ones have one per chain.
_TRUNCATION = re.compile(r".*truncation \D*(\d+) clusters and (\d+) topics\D+(\d+) and (\d+)\D*")
# In the sentence on convergence, which names scalars as the trace does.
_SENTENCE_LABELS = {
    "n_clusters": "number of clusters",
    "n_topics": "number of topics",
    "log_joint": "log joint density",
    **{name: parameter.label.partition(",")[0] for name, parameter in CONCENTRATIONS.items()},
}


def key_figures(posterior: Posterior, unit: str) -> list[dict[str, str]]:
    """Return the key figures: label, value and note of each."""
    counts = {name: _range(n) for name, n in _counts(posterior).items()}
    width = posterior.components.shape[1]
    content = f"of dimension {width}" if posterior.vocabulary is None else f"{width:,} distinct"
    median = f"median length: {np.median(posterior.tokens_per_group):,.0f} {unit}"
    contexts = ", ".join(shorten(name, 40) for name in posterior.contexts) or "none"
    chains = plural(len(np.unique(posterior.chain_of_draw)), "chain")
    rows = [
        ("groups", posterior.n_groups, median),
        (unit, int(posterior.tokens_per_group.sum()), content),
        ("clusters", posterior.n_clusters, f"consensus; {counts['clusters']}"),
        ("topics", posterior.n_listed_topics, _note_on_topics(posterior, counts["topics"])),
        *(
            (f"units of {units.name}", len(units.unit_names), _note_on_types(posterior, units.name))
            for units in posterior.units
        ),
        ("contexts", len(posterior.contexts), contexts),
        ("draws kept", posterior.n_draws, chains),
    ]
    return [
        {"label": shorten(_label(label, value), 40), "value": f"{value:,}", "note": note}
        for label, value, note in rows
    ]


def _label(nouns: str, n: int) -> str:
    """Return nouns such as "draws kept", in the singular if there is one."""
    noun, space, rest = nouns.partition(" ")
    return noun.removesuffix("s") + space + rest if n == 1 else nouns


def _note_on_types(posterior: Posterior, level: str) -> str:
    types = posterior.level(level)
    return f"{plural(types.n_clusters, 'type')}; {_range(_counts(types)['clusters'])}"


def _note_on_topics(posterior: Posterior, in_draws: str) -> str:
    n_unlisted = posterior.n_topics - posterior.n_listed_topics
    return f"{in_draws}; {n_unlisted:,} near-empty not shown" if n_unlisted else in_draws


def _counts(posterior: Posterior) -> dict[str, Int64s]:
    """Return the numbers of clusters and of topics of the kept draws."""
    clusters = [len(np.unique(draw)) for draw in posterior.cluster_of_group]
    topics = [draw.n_topics for draw in posterior.parameters]
    return {"clusters": np.array(clusters, np.int64), "topics": np.array(topics, np.int64)}


def _range(counts: Int64s) -> str:
    low, high = counts.min(), counts.max()
    return f"{low:,} in every draw" if low == high else f"{low:,} to {high:,} in the draws"


def checks(
    posterior: Posterior, confidence: Floats, diagnostics: dict[str, Any]
) -> list[dict[str, str]]:
    """Return the checks of a run: level ("good", "watch", "bad"), title and text of each.

    ``confidence`` is that in the cluster of each group, ``diagnostics`` the result of
    `diagnostic_data`.
    """
    convergence = _check_convergence(posterior, diagnostics)
    results = [
        convergence,
        _check_weights(posterior),
        _check_sample_size(diagnostics),
        _qualified(convergence, _check_clusters(posterior, confidence)),
        _qualified(convergence, _check_topics(posterior)),
        _check_bounds(posterior, diagnostics),
        _check_missing(posterior),
        _check_unsettled(posterior),
        _check_small_clusters(posterior),
        _check_empty_groups(posterior),
    ]
    return [dict(zip(("level", "title", "text"), check, strict=True)) for check in results if check]


def _qualified(convergence: Check, check: Check | None) -> Check | None:
    """Qualify a good check of the draws if the run has not converged.

    The draws of a chain that has just started are similar only because it moves slowly.
    """
    if check is None or convergence[0] != "bad" or check[0] != "good":
        return check
    text = f"{check[2]} The run has not converged, so another run may give different results."
    return "watch", f"{check[1]} in this run", text


def _check_convergence(posterior: Posterior, diagnostics: dict[str, Any]) -> Check:
    if not any(math.isfinite(row["rhat"]) for row in diagnostics["scalars"]):
        text = "Too few draws were kept to compute R-hat."
        return "watch", "Convergence could not be assessed", text
    assessment, sentence = assess_posterior(posterior), convergence_summary(posterior)
    chains = "The chain has" if assessment.n_chains == 1 else "The chains have"
    sentence = re.sub(r"\b\w+(?= \(R-hat)", _sentence_label, sentence)
    text = f"{sentence[0].upper()}{sentence[1:]}."
    if not assessment.converged:
        level = "bad" if assessment.disagree else "watch"
        summary = agreement_summary(posterior)
        text += f" {summary[0].upper()}{summary[1:]}." if summary else ""
        text += " Clusters and topics are preliminary: details may differ in another run."
        return level, f"{chains} not converged", text
    if assessment.n_chains == 1:
        text += " Only multiple chains (n_chains=4) can show whether results depend on the start."
        return "watch", f"{chains} converged", text
    return "good", f"{chains} converged", text


def _sentence_label(scalar: re.Match[str]) -> str:
    return _SENTENCE_LABELS.get(scalar[0], scalar[0])


def _check_weights(posterior: Posterior) -> Check | None:
    if not posterior.is_weighted:
        return None
    weights = [f"chain {c}: {weight:.0%}" for c, weight in enumerate(posterior.chain_weights)]
    text = (
        "The chains disagree, and some predict the groups clearly worse. All results weight the "
        f"chains ({', '.join(weights)})."
    )
    return "watch", "Some chains have less weight", text


def _check_sample_size(diagnostics: dict[str, Any]) -> Check | None:
    finite = [row for row in diagnostics["scalars"] if math.isfinite(row["ess_bulk"])]
    if not finite:
        return None
    worst = min(finite, key=lambda row: row["ess_bulk"])
    size = worst["ess_bulk"]
    text = f"The smallest effective sample size is {size:,.0f} ({worst['label']})."
    if size >= _GOOD_SAMPLE_SIZE:
        return "good", "Sufficient effective sample size", text
    level = "watch" if size >= _BAD_SAMPLE_SIZE else "bad"
    text += " Estimates are imprecise: run more sweeps."
    return level, "Low effective sample size", text


def _check_clusters(posterior: Posterior, confidence: Floats) -> Check:
    if posterior.n_draws < 5:
        text = f"The posterior has {plural(posterior.n_draws, 'draw')}."
        return "watch", "Too few draws to assess the clusters", text
    certain = float((confidence >= _MIN_CONFIDENCE).mean())
    whole = {0.0: "No", 1.0: "All"}
    share = whole.get(certain, f"{min(math.floor(100 * certain), 99)}% of the")
    draws = f"at least {_MIN_CONFIDENCE:.0%} of the draws"
    text = f"{share} groups share their cluster with the same groups in {draws}"
    pages = "their pages" if certain == 0.0 else "the pages of the others"
    text += "." if certain == 1.0 else f"; {pages} list the alternatives."
    if posterior.n_clusters < _counts(posterior)["clusters"].min():
        text += (
            " The consensus has fewer clusters than any draw, because the draws divide the groups "
            "differently."
        )
    if certain >= 0.8:
        return "good", "The clusters are stable", text
    some = "Some" if certain >= 0.5 else "Most"
    return "watch" if certain >= 0.4 else "bad", f"{some} cluster memberships are uncertain", text


def _check_topics(posterior: Posterior) -> Check | None:
    stability = posterior.topic_stability
    if not np.isfinite(stability).any():
        return None
    tokens = posterior.tokens_of_topic
    stable = float(tokens[stability >= 0.7].sum() / max(tokens.sum(), 1))
    text = f"{stable:.0%} of the content belongs to topics with a close match in other draws."
    if stable >= 0.7:
        return "good", "The topics are stable", text
    return "watch", f"{'Some' if stable >= 0.5 else 'Most'} topics vary between draws", text


def _check_bounds(posterior: Posterior, diagnostics: dict[str, Any]) -> Check | None:
    reached = [note for note in posterior.notes if "was reached" in note]
    if reached:
        return "bad", "A bound was reached", f"{'; '.join(reached)}. Increase or remove it."
    if not any(diagnostics["bounds"].values()):
        return None
    return "good", "No bound was reached", "Clusters and topics stayed below their bounds."


def _check_missing(posterior: Posterior) -> Check | None:
    missing = {name: ~column.observed for name, column in posterior.contexts.items()}
    columns = [
        f"{shorten(name, 80)} in {plural(int(mask.sum()), 'group')}"
        + (f" ({mask.mean():.0%})" if mask.mean() > 0.005 else "")
        for name, mask in missing.items()
        if mask.any()
    ]
    text = f"{'; '.join(columns)}. The model integrates over missing contexts."
    return ("good", "Some contexts are missing", text) if columns else None


def _check_unsettled(posterior: Posterior) -> Check | None:
    n_unsettled = int(posterior.unsettled()["group"].nunique())
    if not n_unsettled:
        return None
    it, they, their = ("it", "It is", "its") if n_unsettled == 1 else ("them", "They are", "their")
    pages = "page lists" if n_unsettled == 1 else "pages list"
    text = (
        f"No cluster contains {it} with a probability of at least 50%. {they} counted in {their} "
        f"most probable cluster; {their} {pages} the candidates."
    )
    share = n_unsettled / posterior.n_groups
    title = f"{plural(n_unsettled, 'unsettled group')} ({percent(share)})"
    return "watch" if share > _MAX_UNSETTLED else "good", title, text


def _check_small_clusters(posterior: Posterior) -> Check | None:
    small = int((np.bincount(posterior.labels) < 3).sum())
    if not small or posterior.n_groups < 10:
        return None
    text = "They may be outliers or groups without a stable cluster: check them before naming them."
    return "watch", f"{plural(small, 'cluster')} of one or two groups", text


def _check_empty_groups(posterior: Posterior) -> Check | None:
    empty = int((posterior.tokens_per_group == 0).sum())
    if not empty:
        return None
    title = f"{plural(empty, 'group')} without content"
    return "watch", title, "The contexts alone determine the cluster."


def model_sentences(posterior: Posterior) -> list[str]:
    """Return a description of the model and the run."""
    lam = posterior.priors.lam
    if lam == math.inf:
        mixture = "All groups of a cluster share one mixture of topics (lam=inf, as in the paper)."
    else:
        mean = np.mean([draw.lam for draw in posterior.parameters])
        learned = "learned" if isinstance(lam, Gamma) else "fixed"
        mixture = (
            "Each group has its own mixture of topics, which varies around that of its cluster "
            f"(λ = {mean:.3g}, {learned}; larger values mean less variation)."
        )
    levels = [
        f" Contexts of the level {shorten(name, 80)}: {_families(level.contexts)}."
        for name, level in posterior.priors.levels.items()
    ]
    trace = posterior.trace
    seconds = trace["seconds"].sum() if "seconds" in trace else math.nan
    time = f", {seconds:,.0f} s of sampling" if math.isfinite(seconds) else ""
    lengths = trace.groupby("chain")["sweep"].nunique() if len(trace) else [0]
    n_sweeps = range_of(min(lengths), max(lengths))
    content = type(posterior.priors.content).__name__
    return [
        mixture,
        f"Content: {content}. Contexts: {_families(posterior.priors.contexts)}.{''.join(levels)}",
        f"{n_sweeps} sweeps per chain, seed {posterior.seed}{time}.",
    ]


def _families(contexts: Mapping[str, ConjugateFamily]) -> str:
    found = [f"{shorten(name, 80)} ({type(family).__name__})" for name, family in contexts.items()]
    return ", ".join(found) or "none"


def relevance_data(posterior: Posterior) -> dict[str, Any]:
    """Return the relevance of every context, and a sentence on which of them matter."""
    if not posterior.parameters:
        return {"sentence": "", "rows": []}
    table = posterior.relevance()
    table["context"] = [shorten(name, 40) for name in table["context"]]
    relevant = table["context"][table["mean"] >= _RELEVANT].tolist()
    irrelevant = table["context"][table["mean"] < _IRRELEVANT].tolist()
    parts = []
    if relevant:
        verb = "distinguishes" if len(relevant) == 1 else "distinguish"
        parts.append(f"{_join_names(relevant)} {verb} clusters")
    if irrelevant:
        verb = "does" if len(irrelevant) == 1 else "do"
        rest = "not" if relevant else "not distinguish clusters"
        parts.append(f"{_join_names(irrelevant)} {verb} {rest}")
    return {
        "sentence": f"{'; '.join(parts)}." if parts else "",
        "rows": table.round(4).to_dict("records"),
    }


def _join_names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def diagnostic_data(posterior: Posterior, bounds: dict[str, int | None]) -> dict[str, Any]:
    """Return the data of the diagnostics section.

    ``bounds`` are ``max_clusters`` and ``max_topics`` of the estimator, None if unbounded.
    """
    scalars, traces = _scalars(posterior, SCALAR_LABELS), _traces(posterior.trace, SCALAR_LABELS)
    for units in posterior.units:
        level, labels = posterior.level(units.name), _labels_of_level(units.name)
        scalars += _scalars(level, labels)
        # The bounds of clusters and topics have the names of their series.
        traces += [
            series | {"name": f"{units.name} {series['name']}"}
            for series in _traces(level.trace, labels)
        ]
    return {
        "scalars": scalars,
        "traces": traces,
        "kept": {
            name: [values.tolist() for values in np.unique(n, return_counts=True)]
            for name, n in _counts(posterior).items()
        },
        "truncation": _truncation(posterior.notes),
        "bounds": bounds,
        "n_chains": len(np.unique(posterior.chain_of_draw)),
    }


def _labels_of_level(level: str) -> dict[str, str]:
    """Return the labels of a level's own scalars in its trace."""
    types = f"types of {shorten(level, 30)}"
    return {
        "n_clusters": types,
        "alpha": f"α, concentration of {types}",
        "v": f"v, concentration within {types}",
    }


def _scalars(posterior: Posterior, labels: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows of the diagnostics of the labelled scalars."""
    rows = posterior.diagnostics().to_dict("records")
    return [{**row, "label": labels[row["scalar"]]} for row in rows if row["scalar"] in labels]


def _traces(trace: pd.DataFrame, labels: dict[str, str]) -> list[dict[str, Any]]:
    """Return one thinned series per scalar and chain, with the sweep of the first kept draw."""
    if not len(trace):
        return []
    chains = [(int(number), part) for number, part in trace.groupby("chain", sort=True)]
    series = []
    for name in [name for name in SCALARS if name in labels]:
        if name not in trace or not np.isfinite(trace[name].to_numpy(np.float64)).any():
            continue
        lines = []
        for number, part in chains:
            kept, thinned = part["sweep"][part["kept"]], part[:: -(-len(part) // _MAX_POINTS)]
            lines.append(
                {
                    "chain": number,
                    "sweeps": thinned["sweep"].tolist(),
                    "values": [float(f"{x:.6g}") for x in thinned[name]],
                    "first_kept": int(kept.iloc[0]) if len(kept) else None,
                }
            )
        series.append({"name": name, "label": labels[name], "chains": lines})
    return series


def _truncation(notes: list[str]) -> dict[str, int] | None:
    """Return the largest truncation and the largest numbers of clusters and topics of a chain."""
    names = ("cluster_slots", "topic_slots", "clusters", "topics")
    matches = [match for note in notes if (match := _TRUNCATION.fullmatch(note))]
    largest = [max(map(int, group)) for group in zip(*(m.groups() for m in matches), strict=True)]
    return dict(zip(names, largest, strict=True)) if largest else None
