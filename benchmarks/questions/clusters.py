"""Agreement of clusters with the classes of labelled images, with and without missing tags."""

from __future__ import annotations

import warnings
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import engines
from benchmarks.corpora import scenes_for
from benchmarks.measure import cpu_seconds, run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

MISSING = (0, 25, 50, 75, 100)  # per cent of the images
SLACK = 0.02  # NMI that missing tags may cost relative to content alone
ALONE = "content alone"
MGCTM = "MGCTM"  # with as many clusters as there are scenes


def run(settings: Settings) -> Result:
    columns = ("engine", "tags", "NMI", "worst", "best", "purity", "clusters", "topics", "CPU-s")
    title = "Clusters of labelme8 against its eight scenes"
    scenes = scenes_for(settings)
    if scenes is None:
        return Result(title, columns, [], notes=["Skipped: labelme8.npz was not found."])
    rows: list[tuple[Cell, ...]] = []
    found: dict[tuple[str, str], tuple[float, float]] = {}
    calls = [
        (engine, what, seed, settings)
        for engine, what in _cases()
        for seed in range(settings.scene_seeds)
    ]
    fits = dict(zip(calls, run_parallel(_fit, calls), strict=True))
    for case in _cases():
        engine, what = case
        scores, purities, clusters, topics, seconds = zip(
            *(fit for call, fit in fits.items() if call[:2] == case), strict=True
        )
        found[engine, what] = mean(scores), mean(purities)
        rows.append(
            (
                engine,
                what,
                mean(scores),
                min(scores),
                max(scores),
                mean(purities),
                mean(map(float, clusters)),
                mean(map(float, topics)),
                mean(seconds),
            )
        )
    return Result(
        title,
        columns,
        rows,
        targets=_targets(found),
        notes=[
            f"Means of {settings.scene_seeds} seeds, {settings.scene_sweeps} sweeps, default "
            f"priors; `labels_` of {scenes.corpus.n_groups:,} images. The images with missing "
            "tags are chosen at random for each seed; content alone uses no tags at all. "
            f"{MGCTM} is given the number of scenes; it runs a third of the sweeps.",
        ],
    )


def _cases() -> list[tuple[str, str]]:
    graded = [(engines.FINITE, f"{missing}% missing") for missing in MISSING]
    return [
        *graded,
        (engines.FINITE, ALONE),
        (engines.INFINITE, f"{MISSING[0]}% missing"),
        (engines.INFINITE, ALONE),
        (MGCTM, ALONE),
    ]


def _fit(
    engine: str, what: str, seed: int, settings: Settings
) -> tuple[float, float, int, int, float]:
    """Return NMI, purity, clusters, topics and CPU-seconds of one fit."""
    from mcsquared import evaluation

    scenes = scenes_for(settings)
    corpus, truth = scenes.corpus, scenes.labels["label"]
    if what != ALONE:
        corpus = without_tags(corpus, int(what.split("%")[0]) / 100, seed)
    if engine == MGCTM:
        model = _mgctm(len(np.unique(truth)), seed, settings)
    else:
        model = engines.estimator(
            engines.ENGINES[engine],
            contexts={} if what == ALONE else {"tags": "bag"},
            n_sweeps=settings.scene_sweeps,
            burn_in=settings.scene_sweeps // 3,
            random_state=seed,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds = cpu_seconds(lambda: model.fit(corpus))
    labels = model.labels_
    n_topics = len(model.draws_[-1].model.tokens_in_topic) if engine == MGCTM else model.n_topics_
    return (
        float(evaluation.nmi(truth, labels)),
        float(evaluation.purity(truth, labels)),
        model.n_clusters_,
        n_topics,
        seconds,
    )


def _mgctm(n_clusters: int, seed: int, settings: Settings) -> Any:
    from mcsquared import baselines

    n_sweeps = max(settings.scene_sweeps // 3, 2)
    return baselines.MGCTM(n_clusters, n_sweeps=n_sweeps, burn_in=n_sweeps // 3, random_state=seed)


def without_tags(corpus: Corpus, share: float, seed: int) -> Corpus:
    """Return the corpus without the tags of a share of its groups."""
    from dataclasses import replace

    from scipy import sparse

    column = corpus.contexts["tags"]
    kept = np.ones(corpus.n_groups, np.int32)
    chosen = np.random.default_rng(seed).permutation(corpus.n_groups)
    kept[chosen[: round(share * corpus.n_groups)]] = 0
    values = sparse.csr_matrix(sparse.diags(kept, dtype=np.int32) @ column.values)
    values.eliminate_zeros()
    return corpus.with_contexts({**corpus.contexts, "tags": replace(column, values=values)})


def _targets(found: dict[tuple[str, str], tuple[float, float]]) -> list[Target]:
    whole = f"{MISSING[0]}% missing"
    (score, purity), (infinite, _) = found[engines.FINITE, whole], found[engines.INFINITE, whole]
    alone = found[engines.FINITE, ALONE][0]
    least = min(found[engines.FINITE, f"{missing}% missing"][0] for missing in MISSING)
    return [
        Target(f"{engines.FINITE}, labelme8 with tags, NMI", score, 0.56, True, ""),
        Target(f"{engines.FINITE}, labelme8 with tags, purity", purity, 0.77, True, ""),
        Target(f"{engines.INFINITE}, labelme8 with tags, NMI", infinite, 0.38, True, ""),
        Target(
            f"{engines.FINITE}, lowest NMI with tags missing, minus NMI of {ALONE}",
            least - alone,
            -SLACK,
            True,
            "",
        ),
    ]
