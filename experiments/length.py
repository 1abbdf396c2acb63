"""The value of context compared with more words and more groups (appendix A.3 and its figure).

The paper varies the length and the number of synthetic documents, 20 times each, and plots the NMI
of the clusters with the truth: with context the clusters are recovered more robustly; longer
documents help until the word frequencies are stable. It gives neither sizes nor numbers. This
experiment uses the documents of the simulation study, 4 clusters, with up to the same numbers of
groups and words, and three contexts: none, the paper's (means 2, 4, 6, 8 and deviations of 0.3 to
0.6, which alone nearly determine the clusters), and a vague one with deviations four times as
large. The words are the same for all three.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

import mcsquared as mc2

from .running import Setting

__all__ = ["KEYS", "SEEDS", "TITLE", "figures", "run"]

TITLE = "Clusters of letters by number of groups, words per group and context (appendix A.3)"
KEYS = ("context", "n_groups", "n_words")
SEEDS = 20

N_CLUSTERS = 4
N_GROUPS = (40, 100, 200, 400)
N_WORDS = (5, 10, 20, 50, 100)
DEVIATIONS = np.array([0.3, 0.5, 0.4, 0.6])
CONTEXTS = {"none": 1.0, "vague": 4.0, "as in the paper": 1.0}  # factors of the deviations


def run(seed: int, setting: Setting) -> list[dict[str, Any]]:
    """Fit the paper's model to every size under every context."""
    sizes = [
        (n_groups, n_words)
        for n_groups in setting.choose(N_GROUPS, (20, 40))
        for n_words in setting.choose(N_WORDS, (5, 20))
    ]
    return [
        _row(seed, context, n_groups, n_words, setting)
        for context in CONTEXTS
        for n_groups, n_words in sizes
    ]


def _row(seed: int, context: str, n_groups: int, n_words: int, setting: Setting) -> dict[str, Any]:
    truth = mc2.datasets.letters(
        n_groups // N_CLUSTERS,
        n_words,
        context_sds=CONTEXTS[context] * DEVIATIONS,
        random_state=np.random.default_rng([seed, n_groups, n_words]),
    )
    model = mc2.MC2(
        contexts={} if context == "none" else {"position": "gaussian"},
        lam=inf,
        n_sweeps=setting.sweeps(400),
        burn_in=setting.sweeps(200),
        n_jobs=setting.n_jobs,
        random_state=seed,
        progress=False,
    ).fit(truth.corpus)
    return {
        "context": context,
        "n_groups": n_groups,
        "n_words": n_words,
        "nmi": mc2.evaluation.nmi(truth.cluster_of_group, model.labels_),
        "n_clusters": model.n_clusters_,
    }


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """Plot NMI over words per group, a line per number of groups; bars are standard deviations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    panels = figure.subplots(1, len(CONTEXTS), sharey=True)
    sizes = sorted({row["n_groups"] for row in record["rows"]})
    words = sorted({row["n_words"] for row in record["rows"]})
    colours = ("#56B4E9", "#0072B2", "#D55E00", "#000000")
    for panel, context in zip(panels, CONTEXTS, strict=True):
        for shift, (n_groups, colour) in enumerate(zip(sizes, colours, strict=False)):
            scores = [_scores(record, context, n_groups, n_words) for n_words in words]
            panel.errorbar(
                # Shifted, so that bars do not overlap.
                np.array(words) * 1.04 ** (shift - 0.5 * (len(sizes) - 1)),
                [np.mean(values) for values in scores],
                [np.std(values) for values in scores],
                color=colour,
                marker="o",
                ms=4,
                lw=1.2,
                capsize=2,
                label=f"{n_groups} groups",
            )
        title = {"none": "Without context", "vague": "With a vague context"}.get(
            context, "With the paper's context"
        )
        panel.set(xscale="log", xlabel="words per group", title=title, ylim=(-0.05, 1.08))
        panel.set_xticks(words, [str(n_words) for n_words in words])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("NMI with the true clusters")
    panels[0].legend(fontsize=8, loc="upper left")
    return {"nmi": figure}


def _scores(record: dict[str, Any], context: str, n_groups: int, n_words: int) -> list[float]:
    key = (context, n_groups, n_words)
    return [
        row["nmi"]
        for row in record["rows"]
        if (row["context"], row["n_groups"], row["n_words"]) == key
    ]
