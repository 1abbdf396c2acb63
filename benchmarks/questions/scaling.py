"""Predicted cost of a sweep: coefficients fitted to simulated data sets, checked on others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.contenders.blocked import Blocked
from benchmarks.corpora import corpus_for, name_of_corpus, scenes_for, speeches_for
from benchmarks.cost import STEPS, Costs, Sizes, fit_costs, formula, predict
from benchmarks.engines import ENGINES, FINITE, INFINITE
from benchmarks.settings import Settings
from benchmarks.sized import Size, sized_corpus
from benchmarks.steps import timed_steps
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

MAX_ERROR = 0.3  # of predicted / measured
FITTED, CHECKED = "fit", "check"
LAM = {INFINITE: "∞", FINITE: "finite"}
TITLE = {INFINITE: "λ = ∞", FINITE: "λ finite"}
SIZES = (  # groups, tokens per group, words, topics, clusters, categories
    Size(500, 100, 1_000, 30, 16),
    Size(2_000, 300, 5_000, 50, 16),
    Size(1_000, 1_200, 12_000, 100, 30, 100),
    Size(20_000, 40, 5_000, 100, 30),
    Size(50_000, 10, 10_000, 50, 50, 50),
    Size(4_000, 250, 20_000, 200, 30),
    Size(4_000, 250, 20_000, 50, 100),
    Size(10_000, 100, 50_000, 100, 60, 1_000),
    Size(2_000, 1_000, 500, 100, 30, 250),
    Size(20_000, 100, 30_000, 250, 100),
    Size(3_000, 500, 5_000, 150, 200, 2_000),
    Size(30_000, 100, 10_000, 30, 30),
    Size(5_000, 600, 40_000, 150, 50, 300),
    Size(100_000, 20, 20_000, 100, 100),
    Size(8_000, 120, 90_000, 200, 60),
)
LARGE = Size(90_000, 120, 50_000, 200, 100, 100)
COLUMNS = (
    "data set",
    "use",
    "λ",
    *("J", "N", "E", "V", "K", "M", "C"),
    *STEPS[FINITE],
    "CPU-s",
    "predicted",
    "ratio",
)


@dataclass(frozen=True)
class BenchmarkSet:
    """A corpus with its contexts and bounds, and whether costs are fitted to it."""

    name: str
    corpus: Corpus
    contexts: Mapping[str, str]
    n_clusters: int
    n_topics: int
    fitted: bool = False


@dataclass
class Chain:
    """A chain on one data set, and the seconds of each timed sweep by step."""

    data: BenchmarkSet
    engine: str
    blocked: Blocked
    seconds: list[dict[str, float]] = field(default_factory=list)

    def sweep(self) -> dict[str, float]:
        """Do a sweep, including its row of the trace; return its CPU-seconds by step."""
        with timed_steps() as steps:
            whole = sum(self.blocked.sweep().values())
        found = {step: steps.get(step, 0.0) for step in STEPS[self.engine]}
        return {**found, "rest": whole - sum(found.values())}

    def median(self) -> dict[str, float]:
        """Return the median seconds of each step."""
        return {step: median(one[step] for one in self.seconds) for step in STEPS[self.engine]}

    def whole(self) -> float:
        """Return the median seconds of a sweep."""
        return median(sum(one.values()) for one in self.seconds)

    def sizes(self) -> Sizes:
        """Return the sizes that determine the cost."""
        observations, state = self.blocked.observations, self.blocked.state
        return Sizes(
            groups=observations.n_groups,
            tokens=observations.n_tokens,
            entries=len(observations.layout.words_of_group.column),
            words=observations.n_words,
            clusters=len(state.counts.groups_in_cluster),
            topics=len(state.topic_weights),
            categories=observations.n_categories,
        )


def run(settings: Settings) -> Result:
    sets, skipped = _sets(settings)
    chains = [
        _start_chain(data, engine, settings) for data in sets for engine in (INFINITE, FINITE)
    ]
    # Interleaved, so that a busy machine slows fitted and checked data sets equally.
    for number in range(-settings.growth_warm_up, settings.scaling_sweeps):
        for chain in chains:
            seconds = chain.sweep()
            if number >= 0:
                chain.seconds.append(seconds)
    rows = _rows(chains)
    costs = costs_of(rows)
    return Result(
        title="The cost of a sweep, predicted and measured",
        columns=COLUMNS,
        rows=rows,
        targets=[_target(row) for row in rows if row[1] != FITTED],
        notes=[
            "Groups J, tokens N, distinct words of each group summed over groups E, words V, slots "
            "of clusters K and of topics M (including empty ones), categories of contexts C.",
            "CPU-seconds on one thread, by step and in total, including the trace; medians of "
            f"{settings.scaling_sweeps} interleaved sweeps after {settings.growth_warm_up}. Chains "
            "start at random, with the maximum numbers of clusters and topics.",
            "Costs are fitted to the simulated data sets alone, by non-negative least squares of "
            "relative errors.",
            *(describe_costs(engine, costs[engine]) for engine in costs),
            "Explanation of the terms: [scaling](scaling.md).",
            *skipped,
        ],
    )


def costs_of(rows: Sequence[Sequence[Cell]]) -> dict[str, Costs]:
    """Return the costs of both engines, fitted to the rows with use ``fit``."""
    costs = {}
    for engine, lam in LAM.items():
        timed = [
            (sizes_of(row), seconds_of(row)) for row in rows if row[1] == FITTED and row[2] == lam
        ]
        costs[engine] = fit_costs(engine, timed)
    return costs


def sizes_of(row: Sequence[Cell]) -> Sizes:
    """Return the sizes in a row of the table."""
    return Sizes(*(float(cell) for cell in row[3:10]))  # type: ignore[arg-type]


def seconds_of(row: Sequence[Cell]) -> dict[str, float]:
    """Return the seconds by step in a row of the table."""
    steps = STEPS[FINITE]
    return dict(zip(steps, map(float, row[10 : 10 + len(steps)]), strict=True))  # type: ignore[arg-type]


def describe_costs(engine: str, costs: Costs) -> str:
    """Return all coefficients in one line, in nanoseconds."""
    parts = [f"{step} {formula(terms)}" for step, terms in costs.items()]
    return f"{TITLE[engine]}, nanoseconds: {'; '.join(parts)}."


def _rows(chains: Sequence[Chain]) -> list[tuple[Cell, ...]]:
    """Return the table: the data sets of the fit first, then those of the check."""
    rows: list[tuple[Cell, ...]] = []
    for chain in sorted(chains, key=lambda chain: not chain.data.fitted):
        sizes = chain.sizes()
        use = FITTED if chain.data.fitted else CHECKED
        row = (chain.data.name, use, LAM[chain.engine], *map(int, vars(sizes).values()))
        rows.append((*row, *chain.median().values(), chain.whole()))
    costs = costs_of(rows)
    predicted = []
    for row in rows:
        seconds = predict(costs[_engine(row)], sizes_of(row))
        predicted.append((*row, seconds, seconds / float(row[-1])))  # type: ignore[arg-type]
    return predicted


def _target(row: Sequence[Any]) -> Target:
    name = f"{row[0]}, {TITLE[_engine(row)]}: distance of predicted / measured from 1"
    return Target(name, abs(row[-1] - 1.0), MAX_ERROR, False, "")


def _engine(row: Sequence[Cell]) -> str:
    return next(engine for engine, lam in LAM.items() if lam == row[2])


def _start_chain(data: BenchmarkSet, engine: str, settings: Settings) -> Chain:
    chosen = replace(settings, n_clusters=data.n_clusters, n_topics=data.n_topics)
    lam = ENGINES[engine]["lam"]
    assert (engine == INFINITE) == (lam == math.inf)
    return Chain(data, engine, Blocked(data.corpus, chosen, lam, dict(data.contexts)))


def _sets(settings: Settings) -> tuple[list[BenchmarkSet], list[str]]:
    """Return all data sets, and notes on those that were not found."""
    sets = list(_simulated(settings))
    skipped = []
    n = (settings.n_clusters, settings.n_topics)
    if name_of_corpus(settings) == "NIPS":
        contexts = {"year": "gaussian", "authors": "bag"}
        sets.append(BenchmarkSet("NIPS", corpus_for(settings), contexts, *n))
    else:
        skipped.append("NIPS was skipped: the data set was not found.")
    speeches, scenes = speeches_for(settings), scenes_for(settings)
    if speeches is None:
        skipped.append("The UN speeches were skipped: the data set was not found.")
    else:
        contexts = {"year": "gaussian", "country": "categorical"}
        sets.append(BenchmarkSet("UN speeches", speeches, contexts, *n))
    if scenes is None:
        skipped.append("labelme8 was skipped: the data set was not found.")
    else:
        sets.append(BenchmarkSet("labelme8", scenes.corpus, {"tags": "bag"}, *n))
    return sets, skipped


def _simulated(settings: Settings) -> Iterator[BenchmarkSet]:
    for number, size in enumerate((*SIZES, LARGE)):
        corpus = sized_corpus(size.scaled(settings.scale), settings.seed + number)
        contexts = {"year": "gaussian"}
        if "place" in corpus.contexts:
            contexts["place"] = "categorical"
        is_large = size is LARGE
        name = "simulated, large" if is_large else f"simulated {number + 1}"
        yield BenchmarkSet(name, corpus, contexts, size.n_clusters, size.n_topics, not is_large)
