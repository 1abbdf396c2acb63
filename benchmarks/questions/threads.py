"""How much faster a fit is on two threads than on one."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import ours
from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Cell, Target

if TYPE_CHECKING:
    from mcsquared import MC2
    from mcsquared.corpus import Corpus

__all__ = ["ask"]

FEWEST_SWEEPS = 10
TARGET = 1.7


def ask(settings: Settings) -> Answer:
    corpora = {name_of_corpus(settings): corpus_for(settings)}
    speeches = speeches_for(settings)
    if speeches is not None:
        corpora["UN speeches"] = speeches
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for where, corpus in corpora.items():
        for engine in ours.ENGINES:
            runs, size = _runs(engine, corpus, settings)
            ones, twos, _ = zip(*runs, strict=True)
            gains = [one / two for one, two, _ in runs]
            gain = median(gains)
            most = median(2 * one / side for one, _, side in runs)
            figures = median(ones), median(twos), gain, min(gains), max(gains), most
            rows.append((engine, where, *size, *figures))
            targets.append(Target(f"{where}: {engine}, two threads", gain, TARGET, True, "×"))
    return Answer(
        title="Two threads against one",
        columns=(
            "engine",
            "corpus",
            "clusters",
            "topics",
            "1 thread, s",
            "2 threads, s",
            "times",
            "least",
            "most",
            "the machine",
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"Wall seconds of a sweep, trace included, as `MC2(n_jobs=...)` does it, at most "
            f"{settings.n_topics} topics and {settings.n_clusters} clusters. Medians of "
            f"{settings.pairs} pairs in turn, of {FEWEST_SWEEPS} sweeps or "
            f"{settings.pair_seconds:g} s each at the least, because the machine is quicker in one "
            "second than in the next; both of a pair start from the same state and end in the "
            'same, draw by draw. "The machine": the same sweeps on one thread, twice at once and '
            "apart from each other: what its two cores give where nothing is shared and nobody "
            "waits.",
        ],
    )


def _runs(
    engine: str, corpus: Corpus, settings: Settings
) -> tuple[list[tuple[float, float, float]], tuple[int, int]]:
    """Return wall seconds of a sweep, and clusters and topics at the end.

    Seconds on one thread, on two, and on one while another fit does the same on one.
    """
    models = [
        ours.estimator(
            ours.ENGINES[engine],
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
    # The first sweeps compile, and leave the start behind.
    slowest = max(_seconds(model, corpus, FEWEST_SWEEPS) for model in models)
    go_on = partial(
        _seconds,
        corpus=corpus,
        n_sweeps=max(math.ceil(settings.pair_seconds / slowest), FEWEST_SWEEPS),
    )
    one, two, *apart = models
    runs = []
    for _ in range(settings.pairs):
        seconds = go_on(one), go_on(two)
        with ThreadPoolExecutor(len(apart)) as pool:
            at_once = list(pool.map(go_on, apart))
        runs.append((*seconds, mean(at_once)))
    if not np.array_equal(one.posterior_.cluster_of_group, two.posterior_.cluster_of_group):
        raise RuntimeError(f"{engine}: one thread and two have come to different clusters")
    last = one.posterior_.trace.iloc[-1]
    return runs, (int(last["n_clusters"]), int(last["n_topics"]))


def _seconds(model: MC2, corpus: Corpus, n_sweeps: int) -> float:
    """Go on with a fit; return wall seconds of a sweep, the first of which lays out the corpus."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a bound that was reached, as it should
        model.set_params(n_sweeps=n_sweeps, burn_in=n_sweeps - 1, thin=1).fit(corpus)
    return float(model.posterior_.trace["seconds"].tail(n_sweeps).median())
