"""Tokens per CPU-second, compared with other packages in the same run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.contenders import (
    ALL,
    FAST,
    PEERS,
    BlockedFinite,
    BlockedInfinite,
    Collapsed,
    Contender,
    TomotopyHDP,
    TomotopyLDA,
    start_installed,
)
from benchmarks.contenders.collapsed import TOKEN_STEP
from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.measure import Timing
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

WHOLE = "whole sweep"
SPEECHES = "UN speeches"
# Lower bounds of the speed relative to a peer: on the first corpus, on the speeches.
RATIOS = (
    (BlockedInfinite.name, TomotopyLDA.name, 6.5, 12.0),
    (BlockedFinite.name, TomotopyLDA.name, 2.6, 3.0),
    (BlockedInfinite.name, TomotopyHDP.name, 11.0, None),
    (BlockedFinite.name, TomotopyHDP.name, 4.5, None),
)
MANY_TOPICS_RATIO = 2.5  # of λ finite to tomotopy LDA, both with many topics
COLLAPSED_BOUNDS = {TOKEN_STEP: 5.0, WHOLE: 3.0}  # M tokens/s

Timings = dict[tuple[str, str], Timing]
Speed = dict[tuple[str, str], float]


def run(settings: Settings) -> Result:
    name = name_of_corpus(settings)
    rows, speed, skipped = _time_corpus(name, corpus_for(settings), settings, ALL)
    targets = [
        Target(f"{Collapsed.name}, {step}", speed[Collapsed.name, step], bound, True, "M tokens/s")
        for step, bound in COLLAPSED_BOUNDS.items()
    ]
    targets += _ratios(name, speed, [bound for *_, bound, _ in RATIOS])
    for n_topics in settings.many_topics:
        chosen, pair = replace(settings, n_topics=n_topics), (BlockedFinite, TomotopyLDA)
        more, speed, _ = _time_corpus(name, corpus_for(settings), chosen, pair)
        rows += more
        if (ratio := _ratio(speed, (BlockedFinite.name, WHOLE), TomotopyLDA.name)) is not None:
            figure = f"{name}, {n_topics} topics: {BlockedFinite.name} / {TomotopyLDA.name}"
            targets.append(Target(figure, ratio, MANY_TOPICS_RATIO, True, "×"))
    speeches = speeches_for(settings)
    if speeches is None:
        notes = [f"The {SPEECHES} were skipped: the data set was not found."]
    else:
        more, speed, also_skipped = _time_corpus(SPEECHES, speeches, settings, FAST)
        rows, skipped = (
            rows + more,
            skipped + [note for note in also_skipped if note not in skipped],
        )
        targets += _ratios(SPEECHES, speed, [bound for *_, bound in RATIOS])
        slow = [contender.name for contender in ALL if contender not in FAST]
        notes = [f"Not timed on the {SPEECHES} because they are slow: {', '.join(slow)}."]
    corpora = {name: corpus_for(settings), SPEECHES: speeches}
    sizes = [f"{c}, {x.n_tokens / 1e6:.1f} M tokens" for c, x in corpora.items() if x is not None]
    return Result(
        title=f"Tokens per CPU-second: {'; '.join(sizes)}",
        columns=(
            "contender",
            "corpus",
            "step",
            "clusters",
            "topics",
            "CPU-s",
            "M tokens/s",
            "fastest",
            "slowest",
            *(f"× {peer}" for peer in PEERS),
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"{settings.sweeps} interleaved sweeps each, after {settings.warm_up} that are not "
            f"timed (scikit-learn: {settings.slow_sweeps} after {settings.slow_warm_up}). Random "
            f"start with {settings.n_topics} topics, or with as many as the table says; mcsquared "
            f"also with {settings.n_clusters} clusters, which is the upper bound as well, and the "
            "year as context. One thread.",
            "A whole sweep includes everything that a fit does per sweep: clusters, topics, "
            "concentrations and the log joint of the trace. Figures are means over sweeps. With "
            "λ finite, every fifth one also splits and merges clusters and topics, as in a fit "
            "after its first 100 sweeps.",
            *notes,
            *skipped,
        ],
    )


def _time_corpus(
    name: str, corpus: Corpus, settings: Settings, classes: Sequence[type[Contender]]
) -> tuple[list[tuple[Cell, ...]], Speed, list[str]]:
    """Return the rows of one corpus, M tokens per CPU-second, and notes on skipped contenders."""
    contenders, skipped = start_installed(corpus, settings, classes)
    timings = time_sweeps(contenders, settings)
    sizes = {contender.name: contender.size() for contender in contenders}
    speed = {key: corpus.n_tokens / timing.mean / 1e6 for key, timing in timings.items()}
    rows: list[tuple[Cell, ...]] = [
        (
            contender,
            name,
            step,
            sizes[contender].get("clusters"),
            sizes[contender]["topics"],
            timing.mean,
            speed[contender, step],
            corpus.n_tokens / timing.fastest / 1e6,
            corpus.n_tokens / timing.slowest / 1e6,
            *(_ratio(speed, (contender, step), peer) for peer in PEERS),
        )
        for (contender, step), timing in timings.items()
    ]
    return rows, speed, skipped


def _ratio(speed: Speed, key: tuple[str, str], peer: str) -> float | None:
    return speed[key] / speed[peer, WHOLE] if (peer, WHOLE) in speed else None


def _ratios(name: str, speed: Speed, bounds: Sequence[float | None]) -> list[Target]:
    """Return the targets for pairs that were both timed."""
    targets = []
    for (sampler, peer, *_), bound in zip(RATIOS, bounds, strict=True):
        if bound is not None and (sampler, WHOLE) in speed and (peer, WHOLE) in speed:
            ratio = speed[sampler, WHOLE] / speed[peer, WHOLE]
            targets.append(Target(f"{name}: {sampler} / {peer}", ratio, bound, True, "×"))
    return targets


def time_sweeps(contenders: Sequence[Contender], settings: Settings) -> Timings:
    """Time every step of every contender, interleaved sweep by sweep; by name and step.

    Slow contenders do fewer sweeps.
    """
    timings: Timings = defaultdict(Timing)
    first = min(settings.warm_up, settings.slow_warm_up)
    for number in range(-settings.warm_up, settings.sweeps):
        for contender in contenders:
            slow = getattr(contender, "slow", False)
            if slow and not -first <= number < settings.slow_sweeps:
                continue
            steps = contender.sweep()
            if number < 0:
                continue
            if len(steps) > 1:
                for step, seconds in steps.items():
                    timings[contender.name, step].add(seconds)
            timings[contender.name, WHOLE].add(sum(steps.values()))
    return dict(timings)
