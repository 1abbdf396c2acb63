"""Train other packages, interleaved with each other, and record their progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.contenders import Contender, Mallet, SklearnLDA, TomotopyHDP, TomotopyLDA

if TYPE_CHECKING:
    from benchmarks.interleave import Clock
    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus


@dataclass(frozen=True)
class Training:
    """Snapshots of a model during training.

    Parameters
    ----------
    snapshots : list of (float, TopicModel)
        CPU-seconds of training and the model at that time.
    skipped : str
        The reason if the package is not installed.
    """

    snapshots: list[tuple[float, TopicModel]]
    skipped: str = ""


def choices(
    settings: Settings, others: Sequence[type[Contender]] = (SklearnLDA, Mallet)
) -> dict[str, tuple[type[Contender], Settings]]:
    """Return the peers with their settings: LDA with several numbers of topics, HDP, others."""
    found = {
        f"{TomotopyLDA.name}, {n} topics": (TomotopyLDA, replace(settings, n_topics=n))
        for n in settings.peer_topics
    }
    middle = settings.peer_topics[len(settings.peer_topics) // 2]
    for peer in (TomotopyHDP, *others):
        found[peer.name] = (peer, replace(settings, n_topics=middle))
    return found


def train(
    peer: type[Contender],
    settings: Settings,
    corpus: Corpus,
    clock: Clock,
    seconds: Sequence[float],
    inferred: Corpus | None = None,
) -> Training:
    """Train until the last of ``seconds`` (CPU-seconds) and take a snapshot at each of them.

    Reading the corpus is not counted. ``inferred`` are groups whose topic weights the package
    itself infers as well: at the end, or at each snapshot if its inference is fast.
    """
    try:
        contender = peer(corpus, settings)
    except ImportError as error:
        return Training([], skipped=f"{peer.name} was skipped: {error}.")
    if hasattr(contender, "curve"):  # a separate process, which cannot be interleaved
        return Training(contender.curve(seconds[-1]))
    clock.reset()
    used, snapshots = 0.0, []
    for moment in seconds:
        if used >= moment:
            continue
        while used < moment:
            contender.sweep()
            used = clock.tick()
        with clock.paused():
            model = contender.snapshot()
            last = moment == seconds[-1]
            if inferred is not None and (last or getattr(contender, "infers_fast", False)):
                model = replace(model, theta=contender.infer(inferred))
            snapshots.append((used, model))
    return Training(snapshots)
