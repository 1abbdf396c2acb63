"""Who is timed, one module each, all with the same face.

A contender's module has ``NAME`` and ``begin(corpus, settings) -> Contender``, and imports its
package there, so that one that is not installed is left out with the reason. A new one is a new
module and its place in ``ALL``; growth is shown for the first, ratios are taken against ``PEER``.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from benchmarks.contenders import collapsed, tomotopy_hdp

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["ALL", "PEER", "Contender", "begin_all"]

ALL: tuple[ModuleType, ...] = (collapsed, tomotopy_hdp)
PEER = tomotopy_hdp.NAME


class Contender(Protocol):
    """A sampler at work on one corpus."""

    name: str

    def sweep(self) -> dict[str, float]:
        """Do one sweep over all tokens; return CPU-seconds of each of its steps."""

    def size(self) -> dict[str, int]:
        """Return ``topics`` and, where there are any, ``clusters`` in use now."""


def begin_all(corpus: Corpus, settings: Settings) -> tuple[list[Contender], list[str]]:
    """Return every contender that is installed, and why others are not there."""
    begun, absent = [], []
    for module in ALL:
        try:
            begun.append(module.begin(corpus, settings))
        except ImportError as error:
            absent.append(f"{module.NAME} was left out: {error}")
    return begun, absent
