"""Held-out perplexity by training time, compared with other packages in the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks import engines, peers
from benchmarks.contenders import TomotopyLDA
from benchmarks.corpora import corpus_for, held_out, name_of_corpus
from benchmarks.interleave import Clock, run_interleaved
from benchmarks.scoring import Halves, completion_perplexity, package_perplexity
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

MOMENTS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40, 60)  # in sixtieths of the training time
COLUMNS = (2, 4, 8, 15, 30, 60)
THIN = {engines.FINITE: 3, engines.INFINITE: 20}  # sweeps are shorter for λ = ∞
MAX_SWEEPS = 20_000

Curve = list[tuple[float, float]]


def run(settings: Settings) -> Result:
    settings = replace(settings, peer_topics=settings.quality_topics)
    train, test = held_out(corpus_for(settings), settings.seed)
    halves = Halves.of(test, train, settings.seed)
    moments = [settings.quality_seconds * moment / 60 for moment in MOMENTS]
    engines.compile_kernels(train, list(engines.ENGINES.values()), contexts={})
    runs: dict[str, Any] = {
        name: partial(_fit, train, settings, name, moments[-1]) for name in engines.ENGINES
    }
    for name, (peer, chosen) in peers.choices(settings).items():
        runs[name] = partial(_train, peer, chosen, train, moments, halves)
    results = run_interleaved(runs)
    curves: dict[str, Curve] = {}
    notes, sizes = [], {}
    for name, result in results.items():
        if isinstance(result, peers.Training):
            notes += [result.skipped] if result.skipped else []
            curves[name] = [(s, completion_perplexity(m, halves)) for s, m in result.snapshots]
            sizes[name] = len(result.snapshots[-1][1].alpha) if result.snapshots else None
        else:
            curves[name] = _curve_of(result, test, halves, moments, settings.seed)
            sizes[name] = result.draws()[-1].n_topics
    curves = {name: curve for name, curve in curves.items() if curve}
    inferred = {name: _package_score(result, halves) for name, result in results.items()}
    columns = [settings.quality_seconds * moment / 60 for moment in COLUMNS]
    return Result(
        title=f"Time to quality: completion perplexity of {test.n_groups} held-out groups of "
        f"{name_of_corpus(settings)}",
        columns=(
            "contender",
            "topics",
            *(f"after {moment:g} CPU-s" for moment in columns),
            "package's inference",
        ),
        rows=[
            (name, sizes[name], *(_after(curve, moment) for moment in columns), inferred[name])
            for name, curve in curves.items()
        ],
        targets=_targets(curves, settings),
        notes=[
            f"Perplexity after the given CPU-seconds of training on {train.n_groups:,} groups and "
            f"{train.n_tokens:,} tokens; {halves.n_scored:,} tokens are scored, the same for all: "
            "the second halves of the test groups given the first. No contexts. "
            f"The word prior is {settings.beta:g} for all; mcsquared has at most "
            f"{settings.peer_topics[-1]} topics and an unknown number of clusters.",
            "Peers are scored by Gibbs sampling of the test groups given their topics and prior, "
            "with θ averaged; the last column uses θ inferred by the package, at the end. If both "
            "are available the better one counts, for scikit-learn at every time.",
            "mcsquared is scored by `mcsquared.evaluation.perplexity` as a fit that ended at that "
            f"time: over {engines.N_GLOBAL_DRAWS} draws of the second half of the fit, or with "
            "repeated draws of the globals if there are fewer.",
            "Training is interleaved: the contender with the fewest CPU-seconds is next. Reading "
            "the corpus and compiling are not counted; all other work of `MC2.fit` is.",
            *notes,
        ],
        curves=curves,
    )


def _fit(
    corpus: Any, settings: Settings, name: str, until: float, clock: Clock
) -> engines.TimedFit:
    return engines.fit(
        corpus,
        clock,
        engines.ENGINES[name],
        until,
        contexts={},
        n_sweeps=MAX_SWEEPS,
        burn_in=0,
        thin=THIN[name],
        keep_parameters=MAX_SWEEPS,
        max_topics=settings.peer_topics[-1],
        random_state=settings.seed,
    )


def _train(
    peer: Any,
    chosen: Settings,
    corpus: Any,
    moments: Sequence[float],
    halves: Halves,
    clock: Clock,
) -> peers.Training:
    return peers.train(peer, chosen, corpus, clock, moments, inferred=halves.first)


def _curve_of(
    fitted: engines.TimedFit, test: Any, halves: Halves, moments: Sequence[float], seed: int
) -> Curve:
    """Score the draws that a fit ending at each moment would have stored: its second half."""
    draws = fitted.draws()
    seconds = [fitted.seconds_of(draw) for draw in draws]
    curve = []
    for moment in moments:
        ended = [d for d, s in enumerate(seconds) if s <= moment]
        if not ended:
            continue
        end = seconds[ended[-1]]
        second_half = [d for d in ended if seconds[d] > end / 2]
        some = second_half[:: -max(len(second_half) // engines.N_GLOBAL_DRAWS, 1)][
            : engines.N_GLOBAL_DRAWS
        ]
        score = score_halves(fitted, test, [draws[d] for d in sorted(some)], halves, seed)
        curve.append((end, score))
    return sorted(set(curve))


def score_halves(
    fitted: engines.TimedFit,
    test: Any,
    draws: Sequence[Any],
    halves: Halves,
    seed: int,
    given_contexts: bool = False,
) -> float:
    """Return the perplexity of mcsquared on the second halves that peers are scored on."""
    result = fitted.perplexity(test, draws, seed, given_contexts)
    if result.n_tokens != halves.n_scored:
        raise RuntimeError(
            f"mcsquared must score the same tokens as peers ({halves.n_scored}), "
            f"got {result.n_tokens}"
        )
    return float(result)


def _package_score(result: Any, halves: Halves) -> float | None:
    """Return the final perplexity with θ inferred by the peer's package, if it infers any."""
    if not isinstance(result, peers.Training) or not result.snapshots:
        return None
    return package_perplexity([result.snapshots[-1][1]], halves)


def _after(curve: Curve, moment: float) -> Cell:
    """Return the last value at that time, with a tolerance of a sweep."""
    known = [value for seconds, value in curve if seconds <= 1.15 * moment]
    return known[-1] if known else None


def seconds_to(curve: Curve, level: float) -> float | None:
    """Return the CPU-seconds at which a curve first reaches a level; None if it does not."""
    return min((seconds for seconds, value in curve if value <= level), default=None)


def _targets(curves: Mapping[str, Curve], settings: Settings) -> list[Target]:
    best = [c[-1][1] for name, c in curves.items() if name.startswith(TomotopyLDA.name)]
    if not best or engines.FINITE not in curves:
        return []
    seconds, total = seconds_to(curves[engines.FINITE], min(best)), settings.quality_seconds
    what = (
        f"{engines.FINITE}, time to the {min(best):,.0f} of {TomotopyLDA.name} "
        f"(best of {', '.join(map(str, settings.peer_topics))} topics) after {total:g} CPU-s"
    )
    return [Target(what, seconds, total / 3, False, "CPU-s")]
