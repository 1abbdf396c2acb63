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
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

MISSING = (0, 25, 50, 75, 100)  # per cent of the images
SLACK = 0.02  # NMI that missing tags may cost relative to content alone
ALONE = "content alone"
MGCTM, MLC_HDP, KMEANS = "MGCTM", "MLC-HDP", "k-means"
N_PARTS = 4  # of an image: groups of MLC-HDP, whose units are the images


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
            "tags are chosen at random for each seed; content alone uses no tags at all.",
        ],
    )


def _cases() -> list[tuple[str, str]]:
    graded = [(engines.FINITE, f"{missing}% missing") for missing in MISSING]
    return [
        *graded,
        (engines.FINITE, ALONE),
        (engines.INFINITE, f"{MISSING[0]}% missing"),
        (engines.INFINITE, ALONE),
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
    return (
        float(evaluation.nmi(truth, labels)),
        float(evaluation.purity(truth, labels)),
        model.n_clusters_,
        model.n_topics_,
        seconds,
    )


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


def run_related(settings: Settings) -> Result:
    """Return the same agreement for models that the paper names without comparing with them."""
    scenes = scenes_for(settings)
    if scenes is None:
        raise Unavailable("labelme8.npz was not found")
    calls = [
        (model, seed, settings)
        for model in (MGCTM, MLC_HDP, KMEANS)
        for seed in range(settings.related_seeds)
    ]
    found: dict[str, list[tuple[float, ...]]] = {}
    for (model, *_), fit in zip(calls, run_parallel(_fit_related, calls), strict=True):
        found.setdefault(model, []).append(fit)
    rows: list[tuple[Cell, ...]] = [
        (model, *(mean(map(float, column)) for column in zip(*fits, strict=True)))
        for model, fits in found.items()
    ]
    return Result(
        "Related models: clusters of labelme8 against its eight scenes, content alone",
        ("model", "NMI", "purity", "clusters", "CPU-s"),
        rows,
        notes=[
            f"Seeds: {settings.related_seeds}, sweeps: {settings.related_sweeps}. {MGCTM} and "
            f"{KMEANS} are given the number of scenes; {MGCTM} starts from {KMEANS}. "
            f"{MLC_HDP} has three "
            f"levels: the words of an image are divided at random into {N_PARTS} groups, and its "
            "clusters are the types of images.",
        ],
    )


def _fit_related(name: str, seed: int, settings: Settings) -> tuple[float, float, int, float]:
    """Return NMI, purity, clusters and CPU-seconds of one fit."""
    from mcsquared import baselines, evaluation

    scenes = scenes_for(settings)
    corpus, truth = scenes.corpus, scenes.labels["label"]
    n_scenes, n_sweeps = len(np.unique(truth)), settings.related_sweeps
    chosen = {"n_sweeps": n_sweeps, "burn_in": n_sweeps // 2, "random_state": seed}
    if name == KMEANS:
        model: Any = baselines.KMeans(n_scenes, random_state=seed)
    elif name == MGCTM:
        model = baselines.MGCTM(n_scenes, **chosen)
    else:
        corpus = divided(corpus, N_PARTS, seed)
        model = baselines.MLCHDP(**chosen, n_jobs=1, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds = cpu_seconds(lambda: model.fit(corpus))
    labels = model.labels_ if name != MLC_HDP else model.posterior_.level("image").labels
    return (
        float(evaluation.nmi(truth, labels)),
        float(evaluation.purity(truth, labels)),
        len(np.unique(labels)),
        seconds,
    )


def divided(corpus: Corpus, n_parts: int, seed: int) -> Corpus:
    """Return the words of every group divided at random into parts, with the groups as a level."""
    from scipy import sparse

    from mcsquared import Corpus

    rng, counts = np.random.default_rng(seed), corpus.content.counts.tocoo()
    shares = rng.multinomial(counts.data, np.full(n_parts, 1.0 / n_parts))
    entry, part = np.nonzero(shares)
    row = counts.row[entry] * n_parts + part
    shape = (corpus.n_groups * n_parts, counts.shape[1])
    words = sparse.csr_matrix((shares[entry, part], (row, counts.col[entry])), shape)
    images = np.repeat([f"{j:05d}" for j in range(corpus.n_groups)], n_parts)
    return Corpus(words, {"image": images}, vocabulary=corpus.vocabulary).with_levels("image")
