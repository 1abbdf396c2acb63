"""The blocked sampler at λ finite, the default: groups vary inside their cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders.blocked import Blocked

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["NAME", "BlockedFinite", "begin"]

NAME = "mcsquared blocked, λ finite"


class BlockedFinite(Blocked):
    """Groups that vary, λ resampled under its default prior."""

    name = NAME

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        from mcsquared import Gamma

        super().__init__(corpus, settings, Gamma(1, 0.1))


begin = BlockedFinite
