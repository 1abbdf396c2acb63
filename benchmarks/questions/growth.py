"""What a sweep costs as tokens, groups, topics and clusters grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from benchmarks.contenders import OURS, Contender
from benchmarks.corpora import corpus_for, cut_groups, name_of_corpus, share_of
from benchmarks.questions.throughput import WHOLE, time_sweeps
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Cell

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

__all__ = ["ask", "variants"]

SHARES = (0.25, 0.5, 1.0)
PIECES = (1, 2, 4)
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)

Variant = tuple[str, float, "Corpus", Settings]


def ask(settings: Settings) -> Answer:
    settings = replace(settings, warm_up=settings.growth_warm_up, sweeps=settings.growth_sweeps)
    rows: list[tuple[Cell, ...]] = []
    notes = []
    for module in OURS:
        try:
            rows += _rows(module, settings)
        except ImportError as error:
            notes.append(f"{module.NAME} was left out: {error}.")
    return Answer(
        title=f"Growth on {name_of_corpus(settings)}",
        columns=(
            "engine",
            "what grows",
            "times",
            "groups",
            "tokens",
            "clusters",
            "topics",
            "CPU-s a sweep",
            "fastest",
            "cost, times",
        ),
        rows=rows,
        notes=[
            f"{settings.sweeps} sweeps each, in turn, after {settings.warm_up}; everything else as "
            f"it is: all groups, {settings.n_clusters} clusters and {settings.n_topics} topics to "
            "start with and as bounds. In the last column 1 is the cost of that.",
            "Tokens grow with the groups that hold them; groups grow alone when each is cut into "
            "pieces.",
            *notes,
        ],
    )


def variants(settings: Settings) -> dict[str, list[Variant]]:
    """Return what is timed, by what grows: how many times, the corpus and the settings."""
    whole, seed = corpus_for(settings), settings.seed
    return {
        "tokens": [("tokens", s, share_of(whole, s, seed), settings) for s in SHARES],
        "groups": [("groups", p, cut_groups(whole, p, seed), settings) for p in PIECES],
        "topics": list(_scaled("topics", whole, settings)),
        "clusters": list(_scaled("clusters", whole, settings)),
    }


def _scaled(what: str, whole: Corpus, settings: Settings) -> Iterator[Variant]:
    for times in TIMES:
        size = max(round(getattr(settings, f"n_{what}") * times), 2)
        yield what, times, whole, replace(settings, **{f"n_{what}": size})


def _rows(module: ModuleType, settings: Settings) -> Iterator[tuple[Cell, ...]]:
    for family in variants(settings).values():
        contenders: list[Contender] = []
        for what, times, corpus, chosen in family:
            contenders.append(module.begin(corpus, chosen))
            contenders[-1].name = f"{what} {times:g}"
        timings = time_sweeps(contenders, settings)
        base = next(
            timings[contender.name, WHOLE].median
            for contender, (_, times, *_) in zip(contenders, family, strict=True)
            if times == 1
        )
        for contender, (what, times, corpus, _) in zip(contenders, family, strict=True):
            timing, size = timings[contender.name, WHOLE], contender.size()
            yield (
                module.NAME,
                what,
                float(times),
                corpus.n_groups,
                corpus.n_tokens,
                size["clusters"],
                size["topics"],
                timing.median,
                timing.least,
                timing.median / base,
            )
