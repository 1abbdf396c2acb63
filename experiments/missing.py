"""Clustering of images with missing contexts (table 3).

"Clustering performance with different missing proportion of context observation x_j": the contexts
of 0 to 100 % of the images, chosen at random, are removed, and the clusters are compared with the
known classes. The paper uses NUS-WIDE, which is not available; this experiment uses labelme8 (tags)
and wiki_crossmodal (ten numbers that describe the text of the article). The images without context
at 25 % are a subset of those at 50 %, and so on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import mcsquared as mc2

from .drawing import COLOUR_OF_LAM, LABEL_OF_LAM, MEASURES, mean_and_error, rows_of
from .fits import LAMS, agreement, fit_mc2
from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "figures", "hide", "run"]

TITLE = "Agreement of clusters with known classes when contexts are missing (table 3)"
KEYS = ("set", "method", "lam", "missing")
SEEDS = 2

PERCENT = (0, 25, 50, 75, 100)


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Fit MC2 to each data set with every share of its contexts removed."""
    rows = []
    for name in setting.sets("labelme8", "wiki_crossmodal"):
        entry, data = setting.entry(name), setting.load(name)
        if entry.label is None:
            raise mc2.InputError(
                f"data set {name} must have known classes to compare clusters with"
            )
        order = np.random.default_rng(seed).permutation(data.corpus.n_groups)
        for lam in LAMS:
            for percent in PERCENT:
                corpus = hide(data.corpus, order[: round(len(order) * percent / 100)])
                model = fit_mc2(corpus, entry.contexts, lam, seed, setting)
                rows.append(
                    {"set": name, "method": "MC2", "lam": lam, "missing": percent}
                    | agreement(data.labels[entry.label], model.labels_)
                )
    return rows


def hide(corpus: mc2.Corpus, groups: np.ndarray) -> mc2.Corpus:
    """Return the corpus with every context of some groups missing."""
    observed = np.ones(corpus.n_groups, dtype=bool)
    observed[groups] = False
    return corpus.with_contexts(
        {
            name: replace(column, values=_without(column, ~observed))
            for name, column in corpus.contexts.items()
        }
    )


def _without(column: mc2.corpus.Column, missing: np.ndarray) -> Any:
    """Return the values of a column, with those of some groups missing."""
    values = column.values.copy()
    if column.kind == "bag":
        values.data[np.repeat(missing, np.diff(values.indptr))] = 0
        values.eliminate_zeros()
    else:
        values[missing] = -1 if column.kind == "category" else np.nan
    return values


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Plot each measure over the missing share; dotted: the paper's table, other images."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["set"] for row in record["summary"]))
    figure = Figure(figsize=(11.0, 2.6 * len(names) + 0.4), layout="constrained")
    panels = figure.subplots(len(names), len(MEASURES), squeeze=False)
    paper = record["paper"]["rows"]
    for line, name in zip(panels, names, strict=True):
        for panel, (measure, title) in zip(line, MEASURES.items(), strict=True):
            for lam, colour in COLOUR_OF_LAM.items():
                rows = rows_of(record, set=name, lam=lam)
                means, errors = zip(*(mean_and_error(row, measure) for row in rows), strict=True)
                panel.errorbar(
                    [row["missing"] for row in rows],
                    means,
                    yerr=None if None in errors else errors,
                    fmt="o-",
                    color=colour,
                    ms=4,
                    capsize=2,
                    label=LABEL_OF_LAM[lam],
                )
            panel.plot(
                [row["missing"] for row in paper],
                [row[measure] for row in paper],
                ":",
                color="grey",
                label="paper, NUS-WIDE",
            )
            panel.set_xticks(PERCENT)
            panel.set_ylim(0, 1)
            panel.grid(lw=0.4)
            panel.set_title(f"{name}: {title}", fontsize=9)
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9
    )
    figure.supxlabel("groups whose context is missing (%)", fontsize=9)
    return {"measures": figure}
