"""The samplers that are compared: one class each with the same interface.

A class has a ``name``, is created from a corpus and settings, and imports its package on
construction; if the package is not installed, the contender is skipped and the reason is reported.
``ALL`` lists the classes. Ratios are relative to ``PEERS``; contenders with ``slow = True`` do
fewer sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from benchmarks.contenders.blocked import BlockedFinite, BlockedInfinite
from benchmarks.contenders.collapsed import Collapsed
from benchmarks.contenders.mallet import Mallet
from benchmarks.contenders.sklearn_lda import SklearnLDA
from benchmarks.contenders.tomotopy_models import TomotopyHDP, TomotopyLDA

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus


class Contender(Protocol):
    """A sampler with its state on one corpus."""

    name: str

    def __init__(self, corpus: Corpus, settings: Settings) -> None: ...

    def sweep(self) -> dict[str, float]:
        """Do one sweep over all tokens; return the CPU-seconds of each of its steps."""

    def size(self) -> dict[str, int]:
        """Return the number of ``topics`` in use and, if the model has them, of ``clusters``."""


BLOCKED: tuple[type[Contender], ...] = (BlockedInfinite, BlockedFinite)
FAST: tuple[type[Contender], ...] = (*BLOCKED, TomotopyLDA)
ALL: tuple[type[Contender], ...] = (
    *BLOCKED,
    Collapsed,
    TomotopyLDA,
    TomotopyHDP,
    Mallet,
    SklearnLDA,
)
PEERS = (TomotopyLDA.name, TomotopyHDP.name)


def start_installed(
    corpus: Corpus, settings: Settings, classes: Sequence[type[Contender]] = ALL
) -> tuple[list[Contender], list[str]]:
    """Return all contenders that are installed, and a note on each of the others."""
    started, skipped = [], []
    for contender in classes:
        try:
            started.append(contender(corpus, settings))
        except ImportError as error:
            skipped.append(f"{contender.name} was skipped: {error}.")
    return started, skipped
