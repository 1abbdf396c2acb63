"""tomotopy's HDP, one worker: topics without clusters or contexts, written in C++."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus

__all__ = ["NAME", "TomotopyHDP", "begin"]

NAME = "tomotopy HDP"
ALPHA = 10.0  # with its default of 0.1 most of the topics it starts with die out
BETA = 0.05  # mcsquared's own default for words, called eta there


class TomotopyHDP:
    """tomotopy.HDPModel on the same tokens, all words weighing the same."""

    name = NAME

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        import tomotopy

        self.model = tomotopy.HDPModel(
            tw=tomotopy.TermWeight.ONE,
            initial_k=settings.n_topics,
            alpha=ALPHA,
            eta=BETA,
            seed=settings.seed,
        )
        counts = corpus.content.counts
        vocabulary = np.array([str(word) for word in corpus.vocabulary], dtype=object)
        for j in range(corpus.n_groups):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            words = np.repeat(vocabulary[counts.indices[row]], counts.data[row])
            self.model.add_doc(words.tolist())
        self.train(0)

    def train(self, sweeps: int) -> None:
        """Sweep; it warns of several workers even when it has one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(sweeps, workers=1)

    def sweep(self) -> dict[str, float]:
        """Do one sweep, which cannot be taken apart."""
        return {"sweep": cpu_seconds(lambda: self.train(1))}

    def size(self) -> dict[str, int]:
        """Return the topics that hold tokens."""
        return {"topics": self.model.live_k}


begin = TomotopyHDP
