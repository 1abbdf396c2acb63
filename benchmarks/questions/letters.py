"""Recovery of the synthetic letters from random starts."""

from __future__ import annotations

import warnings
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import engines
from benchmarks.measure import run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared import MC2
    from mcsquared.datasets import Letters

LEVEL = 0.9  # NMI of the goal, and cosine to the true letters
SWEEPS = 100
FEW = 4  # for at most this many clusters, the goal includes their number


def run(settings: Settings) -> Result:
    sets = {
        "letters": (settings.letter_starts, SWEEPS, 0.95),
        "identifiable letters": (settings.identifiable_starts, settings.identifiable_sweeps, 0.8),
    }
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for what, (starts, sweeps, share) in sets.items():
        for engine in engines.ENGINES:
            calls = [(engine, what, seed, sweeps) for seed in range(starts)]
            fits = run_parallel(_fit, calls)
            reached = [sweep for sweep, *_ in fits if sweep is not None]
            nmi, clusters, topics, cosine = (
                mean(map(float, column)) for column in list(zip(*fits, strict=True))[1:]
            )
            rows.append(
                (
                    f"{what}: {engine}",
                    sweeps,
                    starts,
                    len(reached),
                    float(median(reached)) if reached else None,
                    nmi,
                    clusters,
                    topics,
                    cosine,
                )
            )
            if engine == engines.INFINITE:
                name = f"{what}: {engine}, successful starts of {starts}"
                targets.append(Target(name, float(len(reached)), share * starts, True, ""))
                if what != "letters":
                    name = f"{what}: {engine}, cosine to the true letters"
                    targets.append(Target(name, cosine, LEVEL, True, ""))
    return Result(
        title="Letters from random starts",
        columns=(
            "letters",
            "sweeps",
            "starts",
            "reached",
            "median sweep",
            "NMI of labels_",
            "clusters",
            "topics",
            "cosine",
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"A start reaches the goal when the partition of a sweep has NMI ≥ {LEVEL} with "
            "the truth and, for the four words of the paper's phrase, four clusters. `labels_` is "
            "the consensus of the second half of the sweeps. Cosine: mean over the true letters of "
            "the cosine to the nearest topic; the letters of the phrase are not identifiable from "
            "its data, those of the many clusters are.",
            "The letters are drawn from the model with λ = ∞, to which the targets apply. A plain "
            "exact sampler has 0.68 after 2,000 sweeps of the identifiable letters.",
        ],
    )


def _fit(
    engine: str, what: str, seed: int, sweeps: int
) -> tuple[int | None, float, int, int, float]:
    """Return the sweep that reaches the goal, NMI of labels_, clusters, topics, mean cosine."""
    from mcsquared import datasets, evaluation

    truth = datasets.letters() if what == "letters" else datasets.identifiable_letters()
    half = max(sweeps // 2, 1)
    model = engines.estimator(
        engines.ENGINES[engine],
        init="random",
        n_sweeps=half,
        burn_in=0,
        thin=max(half // 100, 1),
        random_state=seed,
        warm_start=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        reached = _first_at_goal(model.fit(truth.corpus), truth)
        model.fit(truth.corpus)  # the second half of the same chain
    if reached is None:
        reached = _first_at_goal(model, truth)
    return (
        reached,
        float(evaluation.nmi(truth.cluster_of_group, model.labels_)),
        model.n_clusters_,
        model.n_topics_,
        cosine_to_nearest(truth.word_given_topic, np.asarray(model.components_)),
    )


def _first_at_goal(model: MC2, truth: Letters) -> int | None:
    """Return the first stored sweep that reaches the goal."""
    from mcsquared import evaluation

    draws, n_clusters = model.posterior_, len(truth.topic_given_cluster)
    for sweep, labels in zip(draws.sweep_of_draw, draws.cluster_of_group, strict=True):
        if n_clusters <= FEW and len(np.unique(labels)) != n_clusters:
            continue
        if evaluation.nmi(truth.cluster_of_group, labels) >= LEVEL:
            return int(sweep)
    return None


def cosine_to_nearest(truth: np.ndarray, found: np.ndarray) -> float:
    """Return the mean over true topics of the cosine to the nearest topic found."""
    lengths = np.linalg.norm(truth, axis=1)[:, None] * np.linalg.norm(found, axis=1)[None, :]
    return float((truth @ found.T / lengths).max(axis=1).mean())
