"""Peers trained in turn with others, and what they had learnt along the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING

from benchmarks.contenders import mallet, sklearn_lda, tomotopy_hdp, tomotopy_lda

if TYPE_CHECKING:
    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from benchmarks.turns import Clock
    from mcsquared.corpus import Corpus

__all__ = ["Training", "choices", "train"]


@dataclass(frozen=True)
class Training:
    """What a peer had learnt along the way.

    Parameters
    ----------
    snapshots : list of (float, TopicModel)
        CPU-seconds of training, and what was there then.
    absent : str
        Why there is nothing, where the package is not installed.
    """

    snapshots: list[tuple[float, TopicModel]]
    absent: str = ""


def choices(
    settings: Settings, others: Sequence[ModuleType] = (sklearn_lda, mallet)
) -> dict[str, tuple[ModuleType, Settings]]:
    """Return what a user would try, by name: LDA with several numbers of topics, HDP, others."""
    found = {
        f"{tomotopy_lda.NAME}, {n} topics": (tomotopy_lda, replace(settings, n_topics=n))
        for n in settings.peer_topics
    }
    middle = settings.peer_topics[len(settings.peer_topics) // 2]
    for module in (tomotopy_hdp, *others):
        found[module.NAME] = (module, replace(settings, n_topics=middle))
    return found


def train(
    module: ModuleType,
    settings: Settings,
    corpus: Corpus,
    clock: Clock,
    seconds: Sequence[float],
    inferred: Corpus | None = None,
) -> Training:
    """Train for as many CPU-seconds as the last of ``seconds``; keep what is there after each.

    Reading the corpus is not counted. ``inferred`` are groups whose topic weights the package
    itself is to say too: at the end, or always where that is quick.
    """
    try:
        contender = module.begin(corpus, settings)
    except ImportError as error:
        return Training([], absent=f"{module.NAME} was left out: {error}.")
    if hasattr(contender, "curve"):  # a program of its own, which cannot take turns
        return Training(contender.curve(seconds[-1]))
    clock.reset()
    used, snapshots = 0.0, []
    for wanted in seconds:
        if used >= wanted:
            continue
        while used < wanted:
            contender.sweep()
            used = clock.tick()
        with clock.paused():
            model = contender.snapshot()
            last = wanted == seconds[-1]
            if inferred is not None and (last or getattr(contender, "infers_fast", False)):
                model = replace(model, theta=contender.infer(inferred))
            snapshots.append((used, model))
    return Training(snapshots)
