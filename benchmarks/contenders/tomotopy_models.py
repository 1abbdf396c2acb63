"""LDA and HDP of tomotopy (C++), one worker: topics without clusters or contexts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus


ALPHA = 10.0  # of HDP; with its default of 0.1 most of its initial topics die out


class TomotopyModel:
    """A tomotopy model on the tokens of a corpus, with equal weights for all words."""

    name: str

    def __init__(self, model: Any, corpus: Corpus) -> None:
        self.model, self.n_words = model, corpus.n_words
        counts = corpus.content.counts
        # Words are passed as numbers, because tomotopy sorts its vocabulary.
        self.words = np.array([str(number) for number in range(self.n_words)], dtype=object)
        for j in range(corpus.n_groups):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            self.model.add_doc(self._tokens(counts.indices[row], counts.data[row]))
        self.train(0)

    def _tokens(self, words: np.ndarray, counts: np.ndarray) -> list[str]:
        return np.repeat(self.words[words], counts).tolist()

    def train(self, sweeps: int) -> None:
        """Sweep without the warning on several workers that HDP gives even for one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(sweeps, workers=1)

    def sweep(self) -> dict[str, float]:
        """Do one sweep; its steps cannot be timed separately."""
        return {"sweep": cpu_seconds(lambda: self.train(1))}

    def words_of_topics(self, topics: Iterable[int]) -> np.ndarray:
        """Return ψ of these topics, float32 (n_topics, n_words), in the order of the corpus."""
        order = np.array([int(word) for word in self.model.used_vocabs])
        rows = np.array([self.model.get_topic_word_dist(m) for m in topics], np.float32)
        psi = np.zeros((len(rows), self.n_words), np.float32)
        psi[:, order] = rows
        return psi / psi.sum(axis=1, keepdims=True)

    def infer(self, corpus: Corpus) -> np.ndarray:
        """Return θ of new groups as inferred by tomotopy: float64 (n_groups, model.k)."""
        counts = corpus.content.counts
        documents = []
        for j in range(corpus.n_groups):
            row = slice(counts.indptr[j], counts.indptr[j + 1])
            tokens = self._tokens(counts.indices[row], counts.data[row])
            documents.append(self.model.make_doc(tokens))
        theta, _ = self.model.infer(documents, workers=1)
        return np.array(theta, np.float64)


class TomotopyLDA(TomotopyModel):
    """tomotopy.LDAModel with its default alpha, optimised every ten sweeps."""

    name = "tomotopy LDA"

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        import tomotopy

        model = tomotopy.LDAModel(k=settings.n_topics, eta=settings.beta, seed=settings.seed)
        super().__init__(model, corpus)

    def size(self) -> dict[str, int]:
        """Return the given number of topics."""
        return {"topics": self.model.k}

    def snapshot(self) -> TopicModel:
        """Return the current topics and alpha."""
        from benchmarks.scoring import TopicModel

        words = self.words_of_topics(range(self.model.k))
        return TopicModel(words, np.array(self.model.alpha, np.float64))


class TomotopyHDP(TomotopyModel):
    """tomotopy.HDPModel on the same tokens."""

    name = "tomotopy HDP"

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        import tomotopy

        model = tomotopy.HDPModel(
            initial_k=settings.n_topics, alpha=ALPHA, eta=settings.beta, seed=settings.seed
        )
        super().__init__(model, corpus)

    def size(self) -> dict[str, int]:
        """Return the number of topics with tokens."""
        return {"topics": self.model.live_k}

    def snapshot(self) -> TopicModel:
        """Return the live topics; the prior of a group divides alpha by the topics' tokens.

        Dividing it by tables, which tomotopy does not expose, or fitting a Dirichlet to the topics
        of the groups changes the score by a few per mille; ``infer`` of tomotopy scores far worse.
        """
        from benchmarks.scoring import TopicModel

        live = self._live()
        tokens = np.array(self.model.get_count_by_topics(), np.float64)[live]
        alpha = self.model.alpha * tokens / tokens.sum()
        return TopicModel(self.words_of_topics(live), alpha)

    def infer(self, corpus: Corpus) -> np.ndarray:
        """Return θ of new groups as inferred by tomotopy: float64 (n_groups, live topics)."""
        theta = super().infer(corpus)[:, self._live()]
        return theta / theta.sum(axis=1, keepdims=True)

    def _live(self) -> list[int]:
        return [m for m in range(self.model.k) if self.model.is_live_topic(m)]
