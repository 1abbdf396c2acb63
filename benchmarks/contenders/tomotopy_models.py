"""What tomotopy's models have in common: documents, one worker, topics in the corpus's words."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcsquared.corpus import Corpus

__all__ = ["TomotopyModel"]


class TomotopyModel:
    """A model of tomotopy on the tokens of a corpus, all words weighing the same."""

    name: str

    def __init__(self, model: Any, corpus: Corpus) -> None:
        self.model, self.n_words = model, corpus.n_words
        counts = corpus.content.counts
        # Words go by their number: the model sorts them in an order of its own.
        self.words = np.array([str(number) for number in range(self.n_words)], dtype=object)
        for j in range(corpus.n_groups):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            self.model.add_doc(self._tokens(counts.indices[row], counts.data[row]))
        self.train(0)

    def _tokens(self, words: np.ndarray, counts: np.ndarray) -> list[str]:
        return np.repeat(self.words[words], counts).tolist()

    def train(self, sweeps: int) -> None:
        """Sweep; HDP warns of several workers even when it has one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(sweeps, workers=1)

    def sweep(self) -> dict[str, float]:
        """Do one sweep, which cannot be taken apart."""
        return {"sweep": cpu_seconds(lambda: self.train(1))}

    def words_of_topics(self, topics: Iterable[int]) -> np.ndarray:
        """Return ψ of these topics, float32 (n_topics, n_words), in the order of the corpus."""
        order = np.array([int(word) for word in self.model.used_vocabs])
        rows = np.array([self.model.get_topic_word_dist(m) for m in topics], np.float32)
        psi = np.zeros((len(rows), self.n_words), np.float32)
        psi[:, order] = rows
        return psi / psi.sum(axis=1, keepdims=True)

    def infer(self, corpus: Corpus) -> np.ndarray:
        """Return θ of new groups by the package's own means: float64 (n_groups, model.k)."""
        counts = corpus.content.counts
        documents = []
        for j in range(corpus.n_groups):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            tokens = self._tokens(counts.indices[row], counts.data[row])
            documents.append(self.model.make_doc(tokens))
        theta, _ = self.model.infer(documents, workers=1)
        return np.array(theta, np.float64)
