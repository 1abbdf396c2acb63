"""How many tokens a CPU-second takes, beside the peers in the same run."""

from __future__ import annotations

from collections import defaultdict

from benchmarks.contenders import PEER, Contender, begin_all, collapsed
from benchmarks.corpora import corpus_for, name_of_corpus
from benchmarks.measure import Timing
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Target

__all__ = ["WHOLE", "ask", "time_sweeps"]

WHOLE = "whole sweep"
Timings = dict[tuple[str, str], Timing]


def ask(settings: Settings) -> Answer:
    corpus = corpus_for(settings)
    contenders, absent = begin_all(corpus, settings)
    timings = time_sweeps(contenders, settings)
    speed = {
        key: tuple(corpus.n_tokens / s / 1e6 for s in (t.median, t.least, t.most))
        for key, t in timings.items()
    }
    peer = speed.get((PEER, WHOLE), (None,))[0]
    sizes = {contender.name: contender.size() for contender in contenders}
    rows = [
        (
            name,
            step,
            sizes[name].get("clusters"),
            sizes[name]["topics"],
            timings[name, step].median,
            *figures,
            None if peer is None else figures[0] / peer,
        )
        for (name, step), figures in speed.items()
    ]
    wanted = {collapsed.TOKEN_STEP: 5.0, WHOLE: 3.0}
    targets = [
        Target(
            f"{collapsed.NAME}, {step}", speed[collapsed.NAME, step][0], bound, True, "M tokens/s"
        )
        for step, bound in wanted.items()
    ]
    name = name_of_corpus(settings)
    return Answer(
        title=f"Tokens per CPU-second: {name}, {corpus.n_tokens:,} tokens",
        columns=(
            "contender",
            "step",
            "clusters",
            "topics",
            "CPU-s",
            "M tokens/s",
            "fastest",
            "slowest",
            f"ratio to {PEER}",
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"{settings.sweeps} sweeps each, in turn, after {settings.warm_up} that are not timed; "
            f"all start at random with {settings.n_topics} topics, ours with {settings.n_clusters} "
            "clusters, which also bound it, and the year as context.",
            "A whole sweep holds everything a fit does for one: clusters, topics, concentrations "
            "and the log joint of the trace.",
            *absent,
        ],
    )


def time_sweeps(contenders: list[Contender], settings: Settings) -> Timings:
    """Time every step of every contender, sweep by sweep in turn; by contender's name and step."""
    timings: Timings = defaultdict(Timing)
    for number in range(settings.warm_up + settings.sweeps):
        for contender in contenders:
            steps = contender.sweep()
            if number < settings.warm_up:
                continue
            if len(steps) > 1:
                for step, seconds in steps.items():
                    timings[contender.name, step].add(seconds)
            timings[contender.name, WHOLE].add(sum(steps.values()))
    return dict(timings)
