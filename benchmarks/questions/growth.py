"""Cost of a sweep as tokens, groups, topics and clusters grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.contenders import BLOCKED, Contender
from benchmarks.corpora import corpus_for, name_of_corpus, share_of, split_groups
from benchmarks.questions.throughput import WHOLE, time_sweeps
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

SHARES = (0.25, 0.5, 1.0)
PARTS = (1, 2, 4)
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)

Variant = tuple[str, float, "Corpus", Settings]


def run(settings: Settings) -> Result:
    settings = replace(settings, warm_up=settings.growth_warm_up, sweeps=settings.growth_sweeps)
    rows: list[tuple[Cell, ...]] = []
    for sampler in BLOCKED:
        rows += _rows(sampler, settings)
    return Result(
        title=f"Growth on {name_of_corpus(settings)}",
        columns=(
            "engine",
            "varied",
            "factor",
            "groups",
            "tokens",
            "clusters",
            "topics",
            "CPU-s per sweep",
            "fastest",
            "relative cost",
        ),
        rows=rows,
        notes=[
            f"{settings.sweeps} interleaved sweeps each, after {settings.warm_up}. One size "
            f"varies, the others are fixed: the whole corpus, {settings.n_clusters} clusters and "
            f"{settings.n_topics} topics at the start and as bounds (relative cost 1).",
            "Tokens vary with the number of groups; groups vary alone by splitting each group.",
        ],
    )


def variants(settings: Settings) -> dict[str, list[Variant]]:
    """Return the variants by the size that varies: its factor, the corpus and the settings."""
    whole, seed = corpus_for(settings), settings.seed
    return {
        "tokens": [("tokens", s, share_of(whole, s, seed), settings) for s in SHARES],
        "groups": [("groups", p, split_groups(whole, p, seed), settings) for p in PARTS],
        "topics": list(_scaled("topics", whole, settings)),
        "clusters": list(_scaled("clusters", whole, settings)),
    }


def _scaled(what: str, whole: Corpus, settings: Settings) -> Iterator[Variant]:
    for factor in FACTORS:
        size = max(round(getattr(settings, f"n_{what}") * factor), 2)
        yield what, factor, whole, replace(settings, **{f"n_{what}": size})


def _rows(sampler: type[Contender], settings: Settings) -> Iterator[tuple[Cell, ...]]:
    for series in variants(settings).values():
        contenders: list[Contender] = []
        for what, factor, corpus, chosen in series:
            contenders.append(sampler(corpus, chosen))
            contenders[-1].name = f"{what} {factor:g}"
        timings = time_sweeps(contenders, settings)
        base = next(
            timings[contender.name, WHOLE].median
            for contender, (_, factor, *_) in zip(contenders, series, strict=True)
            if factor == 1
        )
        for contender, (what, factor, corpus, _) in zip(contenders, series, strict=True):
            timing, size = timings[contender.name, WHOLE], contender.size()
            yield (
                sampler.name,
                what,
                float(factor),
                corpus.n_groups,
                corpus.n_tokens,
                size["clusters"],
                size["topics"],
                timing.median,
                timing.fastest,
                timing.median / base,
            )
