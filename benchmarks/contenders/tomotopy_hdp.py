"""tomotopy's HDP, one worker: topics without clusters or contexts, written in C++."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.contenders.tomotopy_models import TomotopyModel

if TYPE_CHECKING:
    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["NAME", "TomotopyHDP", "begin"]

NAME = "tomotopy HDP"
ALPHA = 10.0  # with its default of 0.1 most of the topics it starts with die out


class TomotopyHDP(TomotopyModel):
    """tomotopy.HDPModel on the same tokens."""

    name = NAME

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        import tomotopy

        model = tomotopy.HDPModel(
            initial_k=settings.n_topics, alpha=ALPHA, eta=settings.beta, seed=settings.seed
        )
        super().__init__(model, corpus)

    def size(self) -> dict[str, int]:
        """Return the topics that hold tokens."""
        return {"topics": self.model.live_k}

    def snapshot(self) -> TopicModel:
        """Return the live topics; a group's prior is alpha, shared out by the topics' tokens.

        Shares by its tables, which it does not tell, or a Dirichlet fitted to the groups' topics
        score within a few per mille of this; its own ``infer`` scores far worse.
        """
        from benchmarks.scoring import TopicModel

        live = self._live()
        tokens = np.array(self.model.get_count_by_topics(), np.float64)[live]
        alpha = self.model.alpha * tokens / tokens.sum()
        return TopicModel(self.words_of_topics(live), alpha)

    def infer(self, corpus: Corpus) -> np.ndarray:
        """Return θ of new groups by the package's own means: float64 (n_groups, live topics)."""
        theta = super().infer(corpus)[:, self._live()]
        return theta / theta.sum(axis=1, keepdims=True)

    def _live(self) -> list[int]:
        return [m for m in range(self.model.k) if self.model.is_live_topic(m)]


begin = TomotopyHDP
