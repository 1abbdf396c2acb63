"""tomotopy's LDA, one worker: a fixed number of topics, no clusters or contexts, in C++."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.contenders.tomotopy_models import TomotopyModel

if TYPE_CHECKING:
    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["NAME", "TomotopyLDA", "begin"]

NAME = "tomotopy LDA"


class TomotopyLDA(TomotopyModel):
    """tomotopy.LDAModel with its default alpha, optimised every ten sweeps."""

    name = NAME

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        import tomotopy

        model = tomotopy.LDAModel(k=settings.n_topics, eta=settings.beta, seed=settings.seed)
        super().__init__(model, corpus)

    def size(self) -> dict[str, int]:
        """Return the topics it was given."""
        return {"topics": self.model.k}

    def snapshot(self) -> TopicModel:
        """Return topics and alpha as they are now."""
        from benchmarks.scoring import TopicModel

        words = self.words_of_topics(range(self.model.k))
        return TopicModel(words, np.array(self.model.alpha, np.float64))


begin = TomotopyLDA
