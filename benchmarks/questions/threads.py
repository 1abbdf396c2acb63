"""Speed-up of a fit on several threads over one."""

from __future__ import annotations

import copy
import math
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks import engines
from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared import MC2
    from mcsquared.corpus import Corpus

MIN_SWEEPS = 10
SPEECHES = "UN speeches"
# Lower bounds of the speed-up by number of threads: on the first corpus, on the speeches.
BOUNDS = {
    (engines.FINITE, 2): (1.7, 1.7),
    (engines.INFINITE, 2): (1.7, 1.7),
    (engines.FINITE, 16): (8.0, 12.0),
    (engines.INFINITE, 16): (6.0, 12.0),
}
NEVER_SLOWER = 0.95  # of the speed with half as many threads, to allow for noise


class Timings(NamedTuple):
    """Wall seconds of a sweep: one row per round, one column per number of threads.

    ``parallel`` are those of as many independent fits on one thread each as there are cores.
    """

    seconds: np.ndarray
    parallel: list[float]
    clusters: int
    topics: int


def run(settings: Settings) -> Result:
    numbers = thread_numbers(os.cpu_count() or 1)
    corpora = {name_of_corpus(settings): corpus_for(settings)}
    speeches = speeches_for(settings)
    if speeches is not None:
        corpora[SPEECHES] = speeches
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for where, corpus in corpora.items():
        for engine in engines.ENGINES:
            found = _timings(engine, corpus, settings, numbers)
            gains = found.seconds[:, :1] / found.seconds
            gain = dict(zip(numbers, np.median(gains, axis=0).tolist(), strict=True))
            limit = median(
                numbers[-1] * one / parallel
                for one, parallel in zip(found.seconds[:, 0].tolist(), found.parallel, strict=True)
            )
            size, seconds = (found.clusters, found.topics), float(np.median(found.seconds[:, 0]))
            speed_ups = [gain[n] for n in numbers[1:]]
            rows.append((engine, where, *size, seconds, *speed_ups, limit))
            targets += targets_of(f"{where}: {engine}", engine, where, gain)
    return Result(
        title="Speed-up of several threads",
        columns=(
            "engine",
            "corpus",
            "clusters",
            "topics",
            "1 thread, s",
            *(f"{n} threads" for n in numbers[1:]),
            f"{numbers[-1]} fits",
        ),
        rows=rows,
        targets=targets,
        notes=[
            "Wall seconds of a sweep of `MC2(n_jobs=1)`, including the trace, with at most "
            f"{settings.n_topics} topics and {settings.n_clusters} clusters, and the speed with "
            f"more threads relative to it. Medians of {settings.pairs} rounds, in which every "
            f"number of threads has at least {MIN_SWEEPS} sweeps or {settings.pair_seconds:g} s in "
            "turn, because the speed of the machine varies; all start from the same state, after "
            f"{settings.thread_warm_up} sweeps, and end in the same one, draw by draw.",
            "The last column is the total speed of independent fits with one thread each, all at "
            "the same time, relative to one: the upper limit of the machine.",
        ],
    )


def thread_numbers(n_cores: int) -> list[int]:
    """Return 1, 2, 4, ... up to the number of cores, at least 2."""
    return [2**power for power in range(max(n_cores, 2).bit_length())]


def targets_of(what: str, engine: str, where: str, gain: dict[int, float]) -> list[Target]:
    """Return the bounds of the numbers that were measured, and that none is slower than half."""
    targets = [
        Target(f"{what}, {n} threads", gain[n], bounds[where == SPEECHES], True, "×")
        for (name, n), bounds in BOUNDS.items()
        if name == engine and n in gain
    ]
    steps = [gain[n] / gain[n // 2] for n in gain if n > 2]
    if steps:
        least = f"{what}, lowest speed relative to half as many threads"
        targets.append(Target(least, min(steps), NEVER_SLOWER, True, "×"))
    return targets


def _timings(engine: str, corpus: Corpus, settings: Settings, numbers: Sequence[int]) -> Timings:
    """Time fits with all numbers of threads, and independent ones, in turn."""
    first = engines.estimator(
        engines.ENGINES[engine],
        keep_parameters=1,
        max_topics=settings.n_topics,
        max_clusters=settings.n_clusters,
        init="random",
        n_jobs=numbers[-1],
        random_state=settings.seed,
        warm_start=True,
    )
    slowest = numbers[-1] * _seconds(first, corpus, settings.thread_warm_up)
    models = [copy.deepcopy(first).set_params(n_jobs=n) for n in (*numbers, *[1] * numbers[-1])]
    models, independent = models[: len(numbers)], models[len(numbers) :]
    n_sweeps = max(math.ceil(settings.pair_seconds / slowest), MIN_SWEEPS)
    continue_fit = partial(_seconds, corpus=corpus, n_sweeps=n_sweeps)
    seconds, parallel = [], []
    with ThreadPoolExecutor(len(independent)) as pool:
        for _ in range(settings.pairs):
            seconds.append([continue_fit(model) for model in models])
            parallel.append(mean(pool.map(continue_fit, independent)))
    labels = [model.posterior_.cluster_of_group for model in models]
    if not all(np.array_equal(labels[0], other) for other in labels[1:]):
        raise RuntimeError(f"{engine}: clusters must be equal on any number of threads")
    last = models[0].posterior_.trace.iloc[-1]
    return Timings(np.array(seconds), parallel, int(last["n_clusters"]), int(last["n_topics"]))


def _seconds(model: MC2, corpus: Corpus, n_sweeps: int) -> float:
    """Continue a fit; return the mean wall seconds of a sweep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the bounds are reached on purpose
        model.set_params(n_sweeps=n_sweeps, burn_in=n_sweeps - 1, thin=1).fit(corpus)
    return float(model.posterior_.trace["seconds"].tail(n_sweeps).mean())
