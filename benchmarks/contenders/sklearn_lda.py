"""scikit-learn's LDA: batch variational Bayes, a fixed number of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from benchmarks.scoring import TopicModel
    from benchmarks.settings import Settings
    from mcsquared.corpus import Corpus


class SklearnLDA:
    """LatentDirichletAllocation with its default prior on topic weights, one pass at a time.

    ``partial_fit`` on the whole corpus with ``learning_decay=0`` replaces the topics as the batch
    algorithm does; ``fit`` would add a final pass for a perplexity that is not used.
    """

    name = "scikit-learn LDA"
    slow = True
    infers_fast = True  # its topics also score better with its own θ than with Gibbs sampling

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        self.counts = corpus.content.counts
        self.model = LatentDirichletAllocation(
            n_components=settings.n_topics,
            topic_word_prior=settings.beta,
            learning_decay=0.0,
            batch_size=corpus.n_groups,
            total_samples=corpus.n_groups,
            random_state=settings.seed,
        )

    def sweep(self) -> dict[str, float]:
        """Do one pass of EM over all groups."""
        return {"pass": cpu_seconds(lambda: self.model.partial_fit(self.counts))}

    def size(self) -> dict[str, int]:
        """Return the given number of topics."""
        return {"topics": self.model.n_components}

    def snapshot(self) -> TopicModel:
        """Return the variational means of the topics and the prior."""
        from benchmarks.scoring import TopicModel

        topics = self.model.components_
        words = (topics / topics.sum(axis=1, keepdims=True)).astype(np.float32)
        return TopicModel(words, np.full(len(words), self.model.doc_topic_prior_))

    def infer(self, corpus: Corpus) -> np.ndarray:
        """Return θ of new groups as inferred by scikit-learn."""
        return self.model.transform(corpus.content.counts)
