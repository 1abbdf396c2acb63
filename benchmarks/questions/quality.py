"""How soon a model foretells papers it has not seen, beside the peers in the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks import ours, peers
from benchmarks.contenders import tomotopy_lda
from benchmarks.corpora import corpus_for, held_out, name_of_corpus
from benchmarks.scoring import Halves, completion_perplexity, own_perplexity
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Cell, Target
from benchmarks.turns import Clock, run_in_turns

__all__ = ["ask", "score_halves", "seconds_to"]

MOMENTS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40, 60)  # sixtieths of the time
SHOWN = (2, 4, 8, 15, 30, 60)
THIN = {ours.FINITE: 3, ours.INFINITE: 20}  # its sweeps are shorter
MOST_SWEEPS = 20_000

Curve = list[tuple[float, float]]


def ask(settings: Settings) -> Answer:
    train, test = held_out(corpus_for(settings), settings.seed)
    halves = Halves.of(test, train, settings.seed)
    moments = [settings.quality_seconds * moment / 60 for moment in MOMENTS]
    ours.compile_kernels(train, list(ours.ENGINES.values()), contexts={})
    runs: dict[str, Any] = {
        name: partial(_fit, train, settings, name, moments[-1]) for name in ours.ENGINES
    }
    for name, (module, chosen) in peers.choices(settings).items():
        runs[name] = partial(_train, module, chosen, train, moments, halves)
    results = run_in_turns(runs)
    curves: dict[str, Curve] = {}
    notes, sizes = [], {}
    for name, result in results.items():
        if isinstance(result, peers.Training):
            notes += [result.absent] if result.absent else []
            curves[name] = [(s, completion_perplexity(m, halves)) for s, m in result.snapshots]
            sizes[name] = len(result.snapshots[-1][1].alpha) if result.snapshots else None
        else:
            curves[name] = _curve_of(result, test, halves, moments, settings.seed)
            sizes[name] = result.draws()[-1].n_topics
    curves = {name: curve for name, curve in curves.items() if curve}
    own = {name: _own_inference(result, halves) for name, result in results.items()}
    shown = [settings.quality_seconds * moment / 60 for moment in SHOWN]
    return Answer(
        title=f"Time to quality: completion perplexity of {test.n_groups} held-out groups of "
        f"{name_of_corpus(settings)}",
        columns=(
            "contender",
            "topics",
            *(f"after {moment:g} CPU-s" for moment in shown),
            "by its own inference",
        ),
        rows=[
            (name, sizes[name], *(_after(curve, moment) for moment in shown), own[name])
            for name, curve in curves.items()
        ],
        targets=_targets(curves, settings),
        notes=[
            f"What each has after so many CPU-seconds of training; "
            f"{train.n_groups:,} groups and {train.n_tokens:,} tokens to learn from, "
            f"{halves.n_scored:,} to score: the second halves of the test groups given the first, "
            "the same for all. No contexts. "
            f"Words have the prior {settings.beta:g} in all; ours has at most "
            f"{settings.peer_topics[-1]} topics and finds its clusters.",
            "Peers are folded in by Gibbs sampling given their topics and their prior, θ averaged "
            "over it; the last column has θ from their own packages, at the end. The better of the "
            "two counts where both are there, for scikit-learn at every moment.",
            "Ours is scored by `mcsquared.evaluation.perplexity` as a fit that ended then: "
            f"over {ours.GLOBALS} draws of the second half of its time, or with the globals drawn "
            "again where there are fewer.",
            "They train in turn, whoever has used least CPU-seconds first. Reading the corpus and "
            "compiling are not counted; for ours, everything in the call of `fit` is.",
            *notes,
        ],
        curves=curves,
    )


def _fit(corpus: Any, settings: Settings, name: str, until: float, clock: Clock) -> ours.TimedFit:
    return ours.fit(
        corpus,
        clock,
        ours.ENGINES[name],
        until,
        contexts={},
        n_sweeps=MOST_SWEEPS,
        burn_in=0,
        thin=THIN[name],
        keep_parameters=MOST_SWEEPS,
        max_topics=settings.peer_topics[-1],
        random_state=settings.seed,
    )


def _train(
    module: Any,
    chosen: Settings,
    corpus: Any,
    moments: Sequence[float],
    halves: Halves,
    clock: Clock,
) -> peers.Training:
    return peers.train(module, chosen, corpus, clock, moments, inferred=halves.first)


def _curve_of(
    fitted: ours.TimedFit, test: Any, halves: Halves, moments: Sequence[float], seed: int
) -> Curve:
    """Score what a fit that ended at each moment would have kept: draws of its second half."""
    draws = fitted.draws()
    seconds = [fitted.seconds_of(draw) for draw in draws]
    curve = []
    for moment in moments:
        ended = [d for d, s in enumerate(seconds) if s <= moment]
        if not ended:
            continue
        end = seconds[ended[-1]]
        kept = [d for d in ended if seconds[d] > end / 2]
        some = kept[:: -max(len(kept) // ours.GLOBALS, 1)][: ours.GLOBALS]
        score = score_halves(fitted, test, [draws[d] for d in sorted(some)], halves, seed)
        curve.append((end, score))
    return sorted(set(curve))


def score_halves(
    fitted: ours.TimedFit,
    test: Any,
    draws: Sequence[Any],
    halves: Halves,
    seed: int,
    given_contexts: bool = False,
) -> float:
    """Return our perplexity of the same second halves that peers are scored on."""
    result = fitted.perplexity(test, draws, seed, given_contexts)
    if result.n_tokens != halves.n_scored:
        raise RuntimeError(
            f"mcsquared scored {result.n_tokens} tokens, but peers were scored on {halves.n_scored}"
        )
    return float(result)


def _own_inference(result: Any, halves: Halves) -> float | None:
    """Return the perplexity at the end with θ from the peer's own package, where it has any."""
    if not isinstance(result, peers.Training) or not result.snapshots:
        return None
    return own_perplexity([result.snapshots[-1][1]], halves)


def _after(curve: Curve, moment: float) -> Cell:
    """Return the last figure that was there by then, give or take a sweep."""
    known = [value for seconds, value in curve if seconds <= 1.15 * moment]
    return known[-1] if known else None


def seconds_to(curve: Curve, level: float) -> float | None:
    """Return the CPU-seconds after which a curve first reaches a level; None if never."""
    return min((seconds for seconds, value in curve if value <= level), default=None)


def _targets(curves: Mapping[str, Curve], settings: Settings) -> list[Target]:
    best = [c[-1][1] for name, c in curves.items() if name.startswith(tomotopy_lda.NAME)]
    if not best or ours.FINITE not in curves:
        return []
    seconds, total = seconds_to(curves[ours.FINITE], min(best)), settings.quality_seconds
    what = (
        f"{ours.FINITE}, to the {min(best):,.0f} that {tomotopy_lda.NAME} "
        f"(best of {', '.join(map(str, settings.peer_topics))} topics) has after {total:g} CPU-s"
    )
    return [Target(what, seconds, total / 2, False, "CPU-s")]
