"""Who is measured, one module each, all with the same face.

A contender's module has ``NAME`` and ``begin(corpus, settings) -> Contender``, and imports its
package there, so that one that is not installed is left out with the reason. A new one is a new
module and its place in ``ALL``. Ratios are taken to ``PEERS``; ``OURS`` are the engines whose
growth is shown; contenders with ``slow = True`` get fewer sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from benchmarks.contenders import (
    blocked_finite,
    blocked_infinite,
    collapsed,
    mallet,
    sklearn_lda,
    tomotopy_hdp,
    tomotopy_lda,
)

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["ALL", "FAST", "OURS", "PEERS", "Contender", "begin_all"]

ALL: tuple[ModuleType, ...] = (
    blocked_infinite,
    blocked_finite,
    collapsed,
    tomotopy_lda,
    tomotopy_hdp,
    mallet,
    sklearn_lda,
)
OURS = (blocked_infinite, blocked_finite)
FAST = (*OURS, tomotopy_lda)
PEERS = (tomotopy_lda.NAME, tomotopy_hdp.NAME)


class Contender(Protocol):
    """A sampler at work on one corpus."""

    name: str

    def sweep(self) -> dict[str, float]:
        """Do one sweep over all tokens; return CPU-seconds of each of its steps."""

    def size(self) -> dict[str, int]:
        """Return ``topics`` and, where there are any, ``clusters`` in use now."""


def begin_all(
    corpus: Corpus, settings: Settings, modules: Sequence[ModuleType] = ALL
) -> tuple[list[Contender], list[str]]:
    """Return every contender that is installed, and why others are not there."""
    begun, absent = [], []
    for module in modules:
        try:
            begun.append(module.begin(corpus, settings))
        except ImportError as error:
            absent.append(f"{module.NAME} was left out: {error}.")
    return begun, absent
