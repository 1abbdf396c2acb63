"""The blocked sampler at λ = ∞, the paper's model: all groups of a cluster share one mixture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.contenders.blocked import Blocked

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["NAME", "BlockedInfinite", "begin"]

NAME = "mcsquared blocked, λ = ∞"


class BlockedInfinite(Blocked):
    """Groups that follow their cluster."""

    name = NAME

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        super().__init__(corpus, settings, math.inf)


begin = BlockedInfinite
