"""Perplexity of held-out NIPS papers (table 1): the value of clusters and contexts.

"Perplexity evaluation on PNAS and NIPS datasets. (K,M) is (#cluster,#topic)." HDP, npTOT and MC2
with titles, authors or years as contexts are fitted to 90 % of the papers, 600 sweeps with 100 of
burn-in, and scored on the words of the others. The paper's formula is not a probability of these
words (docs/errata.md, lines 11, 12 and 14), so three proper ones are given as well: ``exact`` and
``left_to_right`` of whole papers, ``completion`` of their second halves. On other data sets, MC2
uses each context alone and all of them; npTOT requires one that is a number.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import product
from typing import Any

import mcsquared as mc2

from .drawing import COLOUR_OF_LAM, LABEL_OF_LAM, mean_and_error, paper_value
from .fits import COLUMNS, LAMS, fit_mc2, fit_topics, perplexities, sizes
from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "figures", "run"]

TITLE = "Perplexity of held-out words, and the numbers of clusters and topics (table 1)"
KEYS = ("set", "method", "contexts", "lam")
SEEDS = 2

HELD_OUT = 0.1
# More than HDP and MC2 use; without a bound twice as many slots are allocated. npTOT reaches it,
# because a timestamp per word leads to topics of years.
MAX_TOPICS = 200
# Held-out groups whose probability is estimated by particles; all of them would take as long as the
# fits.
N_FEW = 60
PANELS = {
    "whole groups: exact": ("exact",),
    f"{N_FEW} whole groups: exact or left to right": ("exact_few", "left_to_right"),
    "second halves: completion": ("completion",),
    "the paper's formula": ("printed",),
}


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Fit every model to one split of each data set."""
    rows = []
    for name in setting.sets("nips12"):
        contexts = setting.entry(name).contexts
        training, held_out = setting.load(name).corpus.split(HELD_OUT, random_state=seed)
        for method, used, lam in models(contexts):
            began = time.perf_counter()
            model = _fit(method, training, used, lam, seed, setting)
            seconds = time.perf_counter() - began
            rows.append(
                {"set": name, "method": method, "contexts": "+".join(used) or "none", "lam": lam}
                | COLUMNS
                | perplexities(model, held_out, N_FEW)
                | sizes(model)
                | {"fit_seconds": seconds}
            )
    return rows


def models(contexts: Mapping[str, str]) -> list[tuple[str, dict[str, str], str]]:
    """Return the rows of the table: method, contexts with their families, λ."""
    choices: list[dict[str, str]] = [{}]
    choices += [{name: family} for name, family in contexts.items()]
    if len(contexts) > 1:
        choices.append(dict(contexts))
    rows = [("HDP", {}, "–")]
    times = {name: family for name, family in contexts.items() if family == "gaussian"}
    for name, family in list(times.items())[:1]:
        rows.append(("npTOT", {name: family}, "–"))
    return rows + [("MC2", used, lam) for lam in LAMS for used in choices]


def _fit(
    method: str,
    training: mc2.Corpus,
    contexts: Mapping[str, str],
    lam: str,
    seed: int,
    setting: Setting,
) -> Any:
    if method == "MC2":
        return fit_mc2(training, contexts, lam, seed, setting, max_topics=MAX_TOPICS)
    if method == "HDP":
        model_class, options = mc2.baselines.HDP, {"n_jobs": setting.n_jobs}
    else:
        model_class, options = mc2.baselines.NPTOT, {"time": next(iter(contexts))}
    return fit_topics(model_class, training, seed, setting, max_topics=MAX_TOPICS, **options)


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Plot a panel per perplexity: a point and its standard error for every model."""
    names = dict.fromkeys(row["set"] for row in record["summary"])
    return {name: _figure(record, name) for name in names}


def _figure(record: dict[str, Any], name: str) -> Any:
    from matplotlib.figure import Figure

    rows = [row for row in record["summary"] if row["set"] == name]
    figure = Figure(figsize=(12.5, 0.34 * len(rows) + 1.4), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for panel, (title, measures) in zip(panels, PANELS.items(), strict=True):
        for (position, row), measure in product(enumerate(rows), measures):
            colour = COLOUR_OF_LAM.get(row["lam"], "#555555")
            mean, error = mean_and_error(row, measure)
            if mean is not None:
                panel.errorbar(mean, position, xerr=error, fmt="o", color=colour, ms=5, capsize=2)
            printed = paper_value(record, row, measure)
            if printed is not None:
                panel.plot(printed, position, "x", color="black", ms=6)
        panel.set_title(title, fontsize=9)
        panel.grid(axis="x", lw=0.4)
        panel.margins(x=0.15)
        panel.tick_params(axis="x", labelsize=8)
    panels[0].set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    panels[0].invert_yaxis()
    figure.supxlabel(
        f"perplexity of held-out words of {name}; black crosses: the paper's table 1", fontsize=9
    )
    return figure


def _label(row: Mapping[str, Any]) -> str:
    lam = f", {LABEL_OF_LAM[row['lam']]}" if row["lam"] in LABEL_OF_LAM else ""
    used = "no context" if row["contexts"] == "none" else row["contexts"]
    return f"{row['method']}{lam}: {used}"
