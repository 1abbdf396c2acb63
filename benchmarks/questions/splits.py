"""How well a model foretells unseen papers after the same CPU-seconds: several splits."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import ours, peers
from benchmarks.corpora import corpus_for, held_out, name_of_corpus
from benchmarks.questions.quality import MOST_SWEEPS, THIN, score_halves
from benchmarks.scoring import Halves, completion_perplexity
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Target
from benchmarks.turns import Clock, run_in_turns

__all__ = ["ask"]

N_DRAWS = 10
CONTEXTS: dict[str, dict[str, str]] = {
    "no contexts": {},
    "year": {"year": "gaussian"},
    "authors": {"authors": "bag"},
}
LIMIT = 1_660.0

Scores = dict[str, tuple[float, float]]


def ask(settings: Settings) -> Answer:
    whole = corpus_for(settings)
    for contexts in CONTEXTS.values():
        ours.compile_kernels(whole, [ours.ENGINES[ours.FINITE]], contexts=contexts)
    splits = [_scores(whole, split, settings) for split in range(settings.n_splits)]
    rows = []
    for name in splits[0]:
        one, several = zip(*(scores[name] for scores in splits), strict=True)
        rows.append((name, mean(one), mean(several), min(several), max(several)))
    return Answer(
        title=f"Quality: completion perplexity on {name_of_corpus(settings)}, a tenth held out, "
        f"{settings.split_seconds:g} CPU-s each",
        columns=("contender", "one draw", f"{N_DRAWS} draws", "best split", "worst split"),
        rows=rows,
        targets=_targets({name: several for name, _, several, *_ in rows}, settings),
        notes=[
            f"Means over the splits `split(0.1, random_state=s)`, s < {settings.n_splits}. "
            f"Draws are the last one, and {N_DRAWS} at equal distances in the second half of the "
            "time, for peers too: the mean of their predictive probabilities.",
            f"Ours has at most {settings.peer_topics[-1]} topics. The best split and the worst are "
            f"those of {N_DRAWS} draws.",
        ],
    )


def _scores(whole: Any, split: int, settings: Settings) -> Scores:
    """Return the perplexity of one draw and of several, of everybody, on one split."""
    train, test = held_out(whole, split)
    halves = Halves.of(test, train, split)
    total = settings.split_seconds
    moments = list(np.linspace(total / 2, total, N_DRAWS))
    runs: dict[str, Any] = {
        name: partial(_fit, train, settings, contexts) for name, contexts in CONTEXTS.items()
    }
    for name, (module, chosen) in peers.choices(settings, others=()).items():
        runs[name] = partial(_train, module, chosen, train, moments)
    results = run_in_turns(runs)
    scores: Scores = {}
    for name, result in results.items():
        if not isinstance(result, peers.Training):
            scores |= _our_scores(name, result, test, halves, split, total)
        elif result.snapshots:
            models = [model for _, model in result.snapshots]
            scores[name] = (
                completion_perplexity(models[-1], halves),
                completion_perplexity(models, halves),
            )
    return scores


def _fit(corpus: Any, settings: Settings, contexts: Any, clock: Clock) -> ours.TimedFit:
    return ours.fit(
        corpus,
        clock,
        ours.ENGINES[ours.FINITE],
        settings.split_seconds,
        contexts=contexts,
        n_sweeps=MOST_SWEEPS,
        burn_in=0,
        thin=THIN[ours.FINITE],
        keep_parameters=MOST_SWEEPS,
        max_topics=settings.peer_topics[-1],
        random_state=settings.seed,
    )


def _train(
    module: Any, chosen: Settings, corpus: Any, moments: list[float], clock: Clock
) -> peers.Training:
    return peers.train(module, chosen, corpus, clock, moments)


def _our_scores(
    name: str, fitted: ours.TimedFit, test: Any, halves: Halves, split: int, total: float
) -> Scores:
    late = [draw for draw in fitted.draws() if fitted.seconds_of(draw) >= total / 2]
    late = late or fitted.draws()
    chosen = [
        late[d] for d in np.unique(np.linspace(0, len(late) - 1, N_DRAWS).round().astype(int))
    ]
    ways = {_row(name, False): False}
    if CONTEXTS[name]:
        ways[_row(name, True)] = True
    return {
        way: (
            score_halves(fitted, test, chosen[-1:], halves, split, given),
            score_halves(fitted, test, chosen, halves, split, given),
        )
        for way, given in ways.items()
    }


def _row(contexts: str, given: bool) -> str:
    return f"{ours.FINITE}, {contexts}{', those of the test groups given' if given else ''}"


def _targets(several: dict[str, float], settings: Settings) -> list[Target]:
    plain = several[_row("no contexts", False)]
    theirs = {name: value for name, value in several.items() if not name.startswith(ours.FINITE)}
    targets = []
    if theirs:
        best = min(theirs, key=theirs.__getitem__)
        targets = [Target(f"{ours.FINITE}, against {best}", plain, theirs[best], False, "")]
    if settings == Settings(seed=settings.seed):  # the limit is for the whole of NIPS
        targets.append(Target(f"{ours.FINITE}, no contexts", plain, LIMIT, False, ""))
    for name, contexts in CONTEXTS.items():
        if contexts:
            worst = max(several[_row(name, given)] for given in (False, True))
            what = f"{ours.FINITE}, with {name}, against no contexts"
            targets.append(Target(what, worst / plain, 1.01, False, "×"))
    return targets
