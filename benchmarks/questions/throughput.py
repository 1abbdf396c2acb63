"""How many tokens a CPU-second takes, beside the peers in the same run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.contenders import (
    ALL,
    FAST,
    PEERS,
    Contender,
    begin_all,
    blocked_finite,
    blocked_infinite,
    collapsed,
    tomotopy_hdp,
    tomotopy_lda,
)
from benchmarks.corpora import corpus_for, name_of_corpus, speeches_for
from benchmarks.measure import Timing
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Cell, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

__all__ = ["WHOLE", "ask", "time_sweeps"]

WHOLE = "whole sweep"
SPEECHES = "UN speeches"
# Tokens per CPU-second against a peer's: ours, peer, on the first corpus, on the speeches.
RATIOS = (
    (blocked_infinite.NAME, tomotopy_lda.NAME, 4.5, 8.0),
    (blocked_finite.NAME, tomotopy_lda.NAME, 1.8, 2.2),
    (blocked_infinite.NAME, tomotopy_hdp.NAME, 11.0, None),
    (blocked_finite.NAME, tomotopy_hdp.NAME, 4.5, None),
)
OF_COLLAPSED = {collapsed.TOKEN_STEP: 5.0, WHOLE: 3.0}  # M tokens/s

Timings = dict[tuple[str, str], Timing]
Speed = dict[tuple[str, str], float]


def ask(settings: Settings) -> Answer:
    name = name_of_corpus(settings)
    rows, speed, absent = _time_corpus(name, corpus_for(settings), settings, ALL)
    targets = [
        Target(f"{collapsed.NAME}, {step}", speed[collapsed.NAME, step], bound, True, "M tokens/s")
        for step, bound in OF_COLLAPSED.items()
    ]
    targets += _ratios(name, speed, [bound for *_, bound, _ in RATIOS])
    speeches = speeches_for(settings)
    if speeches is None:
        notes = [f"The {SPEECHES} were left out: they are not at hand."]
    else:
        more, speed, missing = _time_corpus(SPEECHES, speeches, settings, FAST)
        rows, absent = rows + more, absent + [note for note in missing if note not in absent]
        targets += _ratios(SPEECHES, speed, [bound for *_, bound in RATIOS])
        slow = [module.NAME for module in ALL if module not in FAST]
        notes = [f"On the {SPEECHES} the slow ones were left out: {', '.join(slow)}."]
    corpora = {name: corpus_for(settings), SPEECHES: speeches}
    sizes = [f"{c}, {x.n_tokens / 1e6:.1f} M tokens" for c, x in corpora.items() if x is not None]
    return Answer(
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
            f"{settings.sweeps} sweeps each, in turn, after {settings.warm_up} that are not timed "
            f"(scikit-learn: {settings.slow_sweeps} after {settings.slow_warm_up}); all start at "
            f"random with {settings.n_topics} topics, ours with {settings.n_clusters} clusters, "
            "which also bound it, and the year as context. One thread.",
            "A whole sweep holds everything a fit does for one: clusters, topics, concentrations "
            "and the log joint of the trace.",
            *notes,
            *absent,
        ],
    )


def _time_corpus(
    name: str, corpus: Corpus, settings: Settings, modules: Sequence
) -> tuple[list[tuple[Cell, ...]], Speed, list[str]]:
    """Return the rows of one corpus, M tokens per CPU-second, and who is not there."""
    contenders, absent = begin_all(corpus, settings, modules)
    timings = time_sweeps(contenders, settings)
    sizes = {contender.name: contender.size() for contender in contenders}
    speed = {key: corpus.n_tokens / timing.median / 1e6 for key, timing in timings.items()}
    rows: list[tuple[Cell, ...]] = [
        (
            who,
            name,
            step,
            sizes[who].get("clusters"),
            sizes[who]["topics"],
            timing.median,
            speed[who, step],
            corpus.n_tokens / timing.least / 1e6,
            corpus.n_tokens / timing.most / 1e6,
            *(_ratio(speed, (who, step), peer) for peer in PEERS),
        )
        for (who, step), timing in timings.items()
    ]
    return rows, speed, absent


def _ratio(speed: Speed, key: tuple[str, str], peer: str) -> float | None:
    return speed[key] / speed[peer, WHOLE] if (peer, WHOLE) in speed else None


def _ratios(name: str, speed: Speed, bounds: Sequence[float | None]) -> list[Target]:
    """Return the targets for which both sides were timed."""
    targets = []
    for (ours, peer, *_), bound in zip(RATIOS, bounds, strict=True):
        if bound is not None and (ours, WHOLE) in speed and (peer, WHOLE) in speed:
            ratio = speed[ours, WHOLE] / speed[peer, WHOLE]
            targets.append(Target(f"{name}: {ours} against {peer}", ratio, bound, True, "×"))
    return targets


def time_sweeps(contenders: Sequence[Contender], settings: Settings) -> Timings:
    """Time every step of every contender, sweep by sweep in turn; by contender's name and step.

    Slow ones join late and leave early.
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
