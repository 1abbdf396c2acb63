"""Speed-up of a fit on two threads over one."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import engines
from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared import MC2
    from mcsquared.corpus import Corpus

MIN_SWEEPS = 10
TARGET = 1.7


def run(settings: Settings) -> Result:
    corpora = {name_of_corpus(settings): corpus_for(settings)}
    speeches = speeches_for(settings)
    if speeches is not None:
        corpora["UN speeches"] = speeches
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for where, corpus in corpora.items():
        for engine in engines.ENGINES:
            runs, size = _runs(engine, corpus, settings)
            ones, twos, _ = zip(*runs, strict=True)
            gains = [one / two for one, two, _ in runs]
            gain = median(gains)
            limit = median(2 * one / parallel for one, _, parallel in runs)
            figures = median(ones), median(twos), gain, min(gains), max(gains), limit
            rows.append((engine, where, *size, *figures))
            targets.append(Target(f"{where}: {engine}, two threads", gain, TARGET, True, "×"))
    return Result(
        title="Speed-up of two threads",
        columns=(
            "engine",
            "corpus",
            "clusters",
            "topics",
            "1 thread, s",
            "2 threads, s",
            "speed-up",
            "lowest",
            "highest",
            "two processes",
        ),
        rows=rows,
        targets=targets,
        notes=[
            "Wall seconds of a sweep of `MC2(n_jobs=...)`, including the trace, with at most "
            f"{settings.n_topics} topics and {settings.n_clusters} clusters. Medians of "
            f"{settings.pairs} interleaved pairs of at least {MIN_SWEEPS} sweeps or "
            f"{settings.pair_seconds:g} s each, because the speed of the machine varies; both runs "
            "of a pair start from the same state and end in the same one, draw by draw. The last "
            "column is the total speed of two independent single-threaded runs at the same time "
            "relative to one: the upper limit of the machine.",
        ],
    )


def _runs(
    engine: str, corpus: Corpus, settings: Settings
) -> tuple[list[tuple[float, float, float]], tuple[int, int]]:
    """Return wall seconds of a sweep, and the final numbers of clusters and topics.

    Seconds on one thread, on two, and on one while a second fit runs on another thread.
    """
    models = [
        engines.estimator(
            engines.ENGINES[engine],
            keep_parameters=1,
            max_topics=settings.n_topics,
            max_clusters=settings.n_clusters,
            init="random",
            n_jobs=n_jobs,
            random_state=settings.seed,
            warm_start=True,
        )
        for n_jobs in (1, 2, 1, 1)
    ]
    # The first sweeps compile and depend on the start.
    slowest = max(_seconds(model, corpus, MIN_SWEEPS) for model in models)
    continue_fit = partial(
        _seconds,
        corpus=corpus,
        n_sweeps=max(math.ceil(settings.pair_seconds / slowest), MIN_SWEEPS),
    )
    one, two, *independent = models
    runs = []
    for _ in range(settings.pairs):
        seconds = continue_fit(one), continue_fit(two)
        with ThreadPoolExecutor(len(independent)) as pool:
            parallel = list(pool.map(continue_fit, independent))
        runs.append((*seconds, mean(parallel)))
    if not np.array_equal(one.posterior_.cluster_of_group, two.posterior_.cluster_of_group):
        raise RuntimeError(f"{engine}: clusters must be equal on one and two threads")
    last = one.posterior_.trace.iloc[-1]
    return runs, (int(last["n_clusters"]), int(last["n_topics"]))


def _seconds(model: MC2, corpus: Corpus, n_sweeps: int) -> float:
    """Continue a fit; return the median wall seconds of a sweep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the bounds are reached on purpose
        model.set_params(n_sweeps=n_sweeps, burn_in=n_sweeps - 1, thin=1).fit(corpus)
    return float(model.posterior_.trace["seconds"].tail(n_sweeps).median())
