"""Latent Dirichlet allocation, of a fixed number of topics, by the package tomotopy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mcsquared.baselines.topic_model import TopicModel

if TYPE_CHECKING:
    from mcsquared.baselines.folding import TopicDraw
    from mcsquared.corpus import Corpus

__all__ = ["LDA"]


class LDA(TopicModel):
    """Latent Dirichlet allocation: every group mixes the same topics, no clusters, no contexts.

    Fitted by the collapsed Gibbs sampler of tomotopy, which also fits the prior of topic weights
    every ten sweeps.

    Parameters
    ----------
    n_topics : int
    alpha : float
        Dirichlet prior of a group's topic weights, per topic, where fitting it begins.
    concentration : float
        Dirichlet prior of a topic's words, per word; `MC2` has the same.
    n_sweeps, burn_in : int
        All sweeps; those before the first draw is kept.
    keep_parameters : int
        Draws that are kept, evenly spaced over the sweeps after the burn-in; perplexity averages
        over them.
    n_jobs : int, optional
        Threads. With more than one the same seed need not give the same topics.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic in the last draw; rows sum to 1.
    alpha_ : float64 (n_topics_,)
        The fitted prior of topic weights in the last draw.
    draws_ : list of TopicDraw
    n_topics_ : int

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.LDA(n_topics=4, n_sweeps=50, burn_in=20, random_state=0).fit(corpus)
    >>> model.components_.shape
    (4, 35)
    """

    draws_: list[TopicDraw]

    def __init__(
        self,
        n_topics: int = 50,
        alpha: float = 0.1,
        concentration: float = 0.05,
        n_sweeps: int = 600,
        burn_in: int = 100,
        keep_parameters: int = 10,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.concentration = concentration
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.keep_parameters = keep_parameters
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, corpus: Corpus, seed: int) -> NDArray[np.float64]:
        from mcsquared.baselines.folding import TopicDraw
        from mcsquared.baselines.tomotopy_models import Chain, check_schedule, import_tomotopy

        check_schedule(self)
        model = import_tomotopy().LDAModel(
            k=self.n_topics, alpha=self.alpha, eta=self.concentration, seed=seed
        )
        chain = Chain(model, corpus, self.n_jobs)
        self.draws_ = [
            TopicDraw(chain.word_given_topic(), np.array(model.alpha, np.float64))
            for _ in chain.run(self.n_sweeps, self.burn_in, self.keep_parameters)
        ]
        self.alpha_ = self.draws_[-1].alpha
        return self.draws_[-1].word_given_topic

    def _draws(self, corpus: Corpus, given_contexts: bool) -> Sequence[TopicDraw]:
        return self.draws_
