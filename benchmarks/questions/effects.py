"""CPU-seconds of a sweep with contexts that act on topics, and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders.blocked import Blocked
from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.questions.throughput import SPEECHES, WHOLE, time_sweeps
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

CLUES, EFFECTS = "clues to clusters", "effects on topics"
CONTEXTS = ("year", "authors", "country")
MAX_RATIO = 1.15


def run(settings: Settings) -> Result:
    corpora = {name_of_corpus(settings): corpus_for(settings), SPEECHES: speeches_for(settings)}
    rows: list[tuple[Cell, ...]] = []
    targets, notes = [], []
    for name, corpus in corpora.items():
        if corpus is None:
            notes.append(f"The {name} were skipped: the data set was not found.")
            continue
        found, ratio = _time(name, corpus, settings)
        rows += found
        targets.append(
            Target(f"{name}: sweep with effects / without", ratio, MAX_RATIO, False, "×")
        )
    columns = ("corpus", "contexts", "clusters", "topics", "CPU-s", "fastest", "slowest", "ratio")
    return Result(
        "Cost of a sweep with contexts that act on topics",
        columns,
        rows,
        targets=targets,
        notes=[
            f"{settings.sweeps} interleaved sweeps each, after {settings.warm_up} that are not "
            "timed, on one thread; both models have the same contexts (year and authors, or year "
            f"and country). Random start with {settings.n_topics} topics and {settings.n_clusters} "
            "clusters, which are the upper bounds as well. Splits and merges of topics, which "
            "exist only without effects, are included.",
            *notes,
        ],
    )


def _time(name: str, corpus: Corpus, settings: Settings) -> tuple[list[tuple[Cell, ...]], float]:
    """Return the rows of one corpus, and the ratio of the medians."""
    from mcsquared import Gamma

    used = {name: column for name, column in corpus.contexts.items() if name in CONTEXTS}
    corpus, contenders = corpus.with_contexts(used), []
    for kind, effects in ((CLUES, ()), (EFFECTS, tuple(corpus.contexts))):
        contender = Blocked(corpus, settings, Gamma(1, 0.1), contexts="auto", effects=effects)
        contender.name = kind
        contenders.append(contender)
    timings = time_sweeps(contenders, settings)
    plain = timings[CLUES, WHOLE].median
    rows: list[tuple[Cell, ...]] = []
    for contender in contenders:
        timing, size = timings[contender.name, WHOLE], contender.size()
        seconds = timing.median, timing.fastest, timing.slowest
        sizes = size["clusters"], size["topics"]
        rows.append((name, contender.name, *sizes, *seconds, timing.median / plain))
    return rows, timings[EFFECTS, WHOLE].median / plain
