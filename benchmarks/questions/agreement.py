"""Agreement of the clusters of fits with different seeds, with the defaults of `MC2`."""

from __future__ import annotations

import warnings
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder, share_of
from benchmarks.measure import cpu_seconds, run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGET = 0.8


class DataSource(NamedTuple):
    """A data set, the loader in `mcsquared.datasets`, its classes, and the result of 0.1.0.

    ``before`` is the range of the adjusted Rand index between three seeds of version 0.1.0, with
    one chain of 200 sweeps.
    """

    file: str
    loader: str
    classes: str | None
    before: str


SETS = {
    "labelme8": DataSource("labelme8.npz", "load_labelme", "label", "0.51 to 0.55"),
    "wiki_crossmodal": DataSource("wiki_crossmodal.npz", "load_wiki", "label", "0.50 to 0.59"),
    "poliblog5k": DataSource("poliblog5k.npz", "load_poliblog", "blog", "0.34 to 0.40"),
    "NIPS": DataSource("nips12.npz", "load_nips", None, "0.27 to 0.66"),
}


class FitSummary(NamedTuple):
    """Labels of one fit, their agreement with the classes, sizes, and CPU-seconds."""

    labels: NDArray[np.int64]
    score: float | None
    n_clusters: int
    n_topics: int
    seconds: float


def run(settings: Settings) -> Result:
    available = [name for name, source in SETS.items() if data_folder(source.file) is not None]
    calls = [(name, seed, settings) for name in available for seed in range(settings.seeds)]
    fits = dict(zip(calls, run_parallel(_fit, calls), strict=True)) if calls else {}
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for name in available:
        found = [fit for call, fit in fits.items() if call[0] == name]
        agreement = _agreement([fit.labels for fit in found])
        scores = [fit.score for fit in found if fit.score is not None]
        rows.append(
            (
                name,
                min(agreement),
                mean(agreement),
                SETS[name].before,
                mean(scores) if scores else None,
                mean(float(fit.n_clusters) for fit in found),
                mean(float(fit.n_topics) for fit in found),
                mean(fit.seconds for fit in found),
            )
        )
        targets.append(Target(f"{name}, lowest ARI", min(agreement), TARGET, True, ""))
    missing = [name for name in SETS if name not in available]
    return Result(
        title="Agreement of fits with different seeds",
        columns=(
            "data set",
            "lowest ARI",
            "mean ARI",
            "ARI in 0.1.0",
            "AMI with classes",
            "clusters",
            "topics",
            "CPU-s",
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"`MC2(random_state=seed).fit(corpus)` for {settings.seeds} seeds, all contexts of the "
            "data set, all other parameters at their defaults. Adjusted Rand index between the "
            "`labels_` of each pair of seeds, adjusted mutual information with the classes that "
            "are not used for fitting (scenes, categories, blogs). Version 0.1.0: three seeds, one "
            "chain of 200 sweeps.",
            *[f"{name} was skipped: the data set was not found." for name in missing],
        ],
    )


def _agreement(labels: list[NDArray[np.int64]]) -> list[float]:
    from sklearn.metrics import adjusted_rand_score

    return [float(adjusted_rand_score(one, other)) for one, other in combinations(labels, 2)]


def _fit(name: str, seed: int, settings: Settings) -> FitSummary:
    from sklearn.metrics import adjusted_mutual_info_score

    from mcsquared import MC2, datasets

    source = SETS[name]
    data = getattr(datasets, source.loader)(data_folder(source.file))
    corpus = share_of(data.corpus, settings.scale, settings.seed)
    model = MC2(random_state=seed, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds = cpu_seconds(lambda: model.fit(corpus))
    score = None
    if source.classes is not None and corpus.n_groups == data.corpus.n_groups:
        score = float(adjusted_mutual_info_score(data.labels[source.classes], model.labels_))
    return FitSummary(model.labels_, score, model.n_clusters_, model.n_topics_, seconds)
