"""Whether the cost of a sweep is known beforehand: learned from simulated sets, tried on others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.contenders.blocked import Blocked
from benchmarks.corpora import corpus_for, name_of_corpus, scenes_for, speeches_for
from benchmarks.cost import STEPS, Costs, Sizes, formula, learn_costs, predict
from benchmarks.ours import ENGINES, FINITE, INFINITE
from benchmarks.settings import Settings
from benchmarks.sized import Size, sized_corpus
from benchmarks.steps import clocked_steps
from benchmarks.tables import Answer, Cell, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

__all__ = ["COLUMNS", "ask", "costs_of", "describe_costs"]

WITHIN = 0.3
LEARNED, TOLD = "fit", "check"
LAM = {INFINITE: "∞", FINITE: "finite"}
TITLE = {INFINITE: "λ = ∞", FINITE: "λ finite"}
SIZES = (  # groups, tokens a group, words, topics, clusters, categories
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
    "set",
    "use",
    "λ",
    *("J", "N", "E", "V", "K", "M", "C"),
    *STEPS[FINITE],
    "CPU-s",
    "predicted",
    "ratio",
)


@dataclass(frozen=True)
class Set:
    """A corpus with its contexts and the bounds of a fit; whether costs are learned from it."""

    name: str
    corpus: Corpus
    contexts: Mapping[str, str]
    n_clusters: int
    n_topics: int
    is_learned: bool = False


@dataclass
class Chain:
    """A chain that sweeps over a set, and what each of its timed sweeps took, by step."""

    of: Set
    engine: str
    blocked: Blocked
    seconds: list[dict[str, float]] = field(default_factory=list)

    def sweep(self) -> dict[str, float]:
        """Return the CPU-seconds of a sweep, its line of the trace included, by step."""
        with clocked_steps() as steps:
            whole = sum(self.blocked.sweep().values())
        found = {step: steps.get(step, 0.0) for step in STEPS[self.engine]}
        return {**found, "rest": whole - sum(found.values())}

    def median(self) -> dict[str, float]:
        """Return the middle sweep's seconds, step by step."""
        return {step: median(one[step] for one in self.seconds) for step in STEPS[self.engine]}

    def whole(self) -> float:
        """Return the seconds of the middle sweep."""
        return median(sum(one.values()) for one in self.seconds)

    def sizes(self) -> Sizes:
        """Return the sizes that a cost depends on."""
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


def ask(settings: Settings) -> Answer:
    sets, absent = _sets(settings)
    chains = [_begin(one, engine, settings) for one in sets for engine in (INFINITE, FINITE)]
    # In turn: a busy machine slows those that are learned from and those that are told alike.
    for number in range(-settings.growth_warm_up, settings.scaling_sweeps):
        for chain in chains:
            seconds = chain.sweep()
            if number >= 0:
                chain.seconds.append(seconds)
    rows = _rows(chains)
    costs = costs_of(rows)
    return Answer(
        title="The cost of a sweep, predicted and measured",
        columns=COLUMNS,
        rows=rows,
        targets=[_target(row) for row in rows if row[1] != LEARNED],
        notes=[
            "Groups J, tokens N, different words of every group E, words V, slots of clusters K "
            "and of topics M (the empty ones included), categories of contexts C.",
            f"CPU-seconds on one thread by step and as a whole, trace included; medians of "
            f"{settings.scaling_sweeps} sweeps in turn after {settings.growth_warm_up}. Chains "
            "begin at random, with as many clusters and topics as bound them.",
            "Costs are fitted to simulated sets alone, in least squares of relative errors; none "
            "is below 0.",
            *(describe_costs(engine, costs[engine]) for engine in costs),
            "How the terms come about: [scaling](scaling.md).",
            *absent,
        ],
    )


def costs_of(rows: Sequence[Sequence[Cell]]) -> dict[str, Costs]:
    """Return the costs of both engines, learned from the rows of a table that are for it."""
    costs = {}
    for engine, lam in LAM.items():
        timed = [
            (sizes_of(row), seconds_of(row)) for row in rows if row[1] == LEARNED and row[2] == lam
        ]
        costs[engine] = learn_costs(engine, timed)
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
    """Return the table: what costs are learned from first, then what they foretell."""
    rows: list[tuple[Cell, ...]] = []
    for chain in sorted(chains, key=lambda chain: not chain.of.is_learned):
        sizes = chain.sizes()
        use = LEARNED if chain.of.is_learned else TOLD
        row = (chain.of.name, use, LAM[chain.engine], *map(int, vars(sizes).values()))
        rows.append((*row, *chain.median().values(), chain.whole()))
    costs = costs_of(rows)
    foretold = []
    for row in rows:
        seconds = predict(costs[_engine(row)], sizes_of(row))
        foretold.append((*row, seconds, seconds / float(row[-1])))  # type: ignore[arg-type]
    return foretold


def _target(row: Sequence[Any]) -> Target:
    name = f"{row[0]}, {TITLE[_engine(row)]}: distance of predicted / measured from 1"
    return Target(name, abs(row[-1] - 1.0), WITHIN, False, "")


def _engine(row: Sequence[Cell]) -> str:
    return next(engine for engine, lam in LAM.items() if lam == row[2])


def _begin(one: Set, engine: str, settings: Settings) -> Chain:
    chosen = replace(settings, n_clusters=one.n_clusters, n_topics=one.n_topics)
    lam = ENGINES[engine]["lam"]
    assert (engine == INFINITE) == (lam == math.inf)
    return Chain(one, engine, Blocked(one.corpus, chosen, lam, dict(one.contexts)))


def _sets(settings: Settings) -> tuple[list[Set], list[str]]:
    """Return all sets, and why some are not there."""
    sets = list(_simulated(settings))
    absent = []
    n = (settings.n_clusters, settings.n_topics)
    if name_of_corpus(settings) == "NIPS":
        contexts = {"year": "gaussian", "authors": "bag"}
        sets.append(Set("NIPS", corpus_for(settings), contexts, *n))
    else:
        absent.append("NIPS was left out: it is not at hand.")
    speeches, scenes = speeches_for(settings), scenes_for(settings)
    if speeches is None:
        absent.append("The UN speeches were left out: they are not at hand.")
    else:
        contexts = {"year": "gaussian", "country": "categorical"}
        sets.append(Set("UN speeches", speeches, contexts, *n))
    if scenes is None:
        absent.append("labelme8 was left out: it is not at hand.")
    else:
        sets.append(Set("labelme8", scenes.corpus, {"tags": "bag"}, *n))
    return sets, absent


def _simulated(settings: Settings) -> Iterator[Set]:
    for number, size in enumerate((*SIZES, LARGE)):
        corpus = sized_corpus(size.scaled(settings.scale), settings.seed + number)
        contexts = {"year": "gaussian"}
        if "place" in corpus.contexts:
            contexts["place"] = "categorical"
        is_large = size is LARGE
        name = "simulated, large" if is_large else f"simulated {number + 1}"
        yield Set(name, corpus, contexts, size.n_clusters, size.n_topics, not is_large)
