"""Held-out perplexity after equal CPU-seconds, over several splits."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.corpora import corpus_for, held_out, name_of_corpus
from benchmarks.interleave import Clock, run_interleaved
from benchmarks.questions.quality import MAX_SWEEPS, THIN, score_halves
from benchmarks.scoring import Halves, completion_perplexity
from benchmarks.settings import Settings
from benchmarks.tables import Result, Target

N_DRAWS = 10
TWO_CHAINS = "no contexts, two chains"
CONTEXTS: dict[str, dict[str, str]] = {
    "no contexts": {},
    TWO_CHAINS: {},
    "year": {"year": "gaussian"},
    "authors": {"authors": "bag"},
}
LIMIT = 1_660.0  # perplexity

Scores = dict[str, tuple[float, float]]


def run(settings: Settings) -> Result:
    whole = corpus_for(settings)
    for contexts in CONTEXTS.values():
        engines.compile_kernels(whole, [engines.ENGINES[engines.FINITE]], contexts=contexts)
    splits = [_scores(whole, split, settings) for split in range(settings.n_splits)]
    rows = []
    for name in splits[0]:
        one, several = zip(*(scores[name] for scores in splits), strict=True)
        rows.append((name, mean(one), mean(several), min(several), max(several)))
    return Result(
        title=f"Quality: completion perplexity on {name_of_corpus(settings)}, a tenth held out, "
        f"{settings.split_seconds:g} CPU-s each",
        columns=("contender", "one draw", f"{N_DRAWS} draws", "best split", "worst split"),
        rows=rows,
        targets=_targets({name: several for name, _, several, *_ in rows}, settings),
        notes=[
            f"Means over the splits `split(0.1, random_state=s)`, s < {settings.n_splits}. "
            f"Scored with the last draw, and with the mean predictive probability of {N_DRAWS} "
            "draws evenly spaced over the second half of the time, for peers as well. Two chains "
            "have half of the time and of the draws each.",
            f"mcsquared has at most {settings.peer_topics[-1]} topics. The best and worst split "
            f"refer to {N_DRAWS} draws.",
        ],
    )


def _scores(whole: Any, split: int, settings: Settings) -> Scores:
    """Return the perplexities of one draw and of several, for all contenders, on one split."""
    train, test = held_out(whole, split)
    halves = Halves.of(test, train, split)
    total = settings.split_seconds
    moments = list(np.linspace(total / 2, total, N_DRAWS))
    runs: dict[str, Any] = {name: partial(_fit, train, settings, name) for name in CONTEXTS}
    for name, (peer, chosen) in peers.choices(settings, others=()).items():
        runs[name] = partial(_train, peer, chosen, train, moments)
    results = run_interleaved(runs)
    scores: Scores = {}
    for name, result in results.items():
        if not isinstance(result, peers.Training):
            scores |= _our_scores(name, result, test, halves, split)
        elif result.snapshots:
            models = [model for _, model in result.snapshots]
            scores[name] = (
                completion_perplexity(models[-1], halves),
                completion_perplexity(models, halves),
            )
    return scores


def _fit(corpus: Any, settings: Settings, name: str, clock: Clock) -> engines.TimedFit:
    return engines.fit(
        corpus,
        clock,
        engines.ENGINES[engines.FINITE],
        settings.split_seconds,
        n_chains=2 if name == TWO_CHAINS else 1,
        contexts=CONTEXTS[name],
        n_sweeps=MAX_SWEEPS,
        burn_in=0,
        thin=THIN[engines.FINITE],
        keep_parameters=MAX_SWEEPS,
        max_topics=settings.peer_topics[-1],
        random_state=settings.seed,
    )


def _train(
    peer: Any, chosen: Settings, corpus: Any, moments: list[float], clock: Clock
) -> peers.Training:
    return peers.train(peer, chosen, corpus, clock, moments)


def _our_scores(
    name: str, fitted: engines.TimedFit, test: Any, halves: Halves, split: int
) -> Scores:
    late = [draw for draw in fitted.draws() if fitted.is_late(draw)] or fitted.draws()
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
    return f"{engines.FINITE}, {contexts}{', also of the test groups' if given else ''}"


def _targets(several: dict[str, float], settings: Settings) -> list[Target]:
    plain = several[_row("no contexts", False)]
    others = {name: value for name, value in several.items() if not name.startswith(engines.FINITE)}
    targets = []
    if others:
        best = min(others, key=others.__getitem__)
        targets = [Target(f"{engines.FINITE}, against {best}", plain, others[best], False, "")]
    if settings == Settings(seed=settings.seed):  # the limit applies to the whole of NIPS
        targets.append(Target(f"{engines.FINITE}, no contexts", plain, LIMIT, False, ""))
    for name, contexts in CONTEXTS.items():
        if contexts:
            worst = max(several[_row(name, given)] for given in (False, True))
            what = f"{engines.FINITE}, with {name}, against no contexts"
            targets.append(Target(what, worst / plain, 1.01, False, "×"))
    return targets
