"""HDP: the hierarchical Dirichlet process of Teh, Jordan, Beal and Blei (2006), by our engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from mcsquared.baselines.franchise import CHAIN, start
from mcsquared.baselines.kept import KeptTopics, kept_topics
from mcsquared.baselines.topic_sampler import Chain, TopicSampler
from mcsquared.checks import check_jobs
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.model.parameters import Concentration, Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe
from mcsquared.samplers import hdp
from mcsquared.samplers.threads import ThreadPool
from mcsquared.state import Bounds

__all__ = ["HDP"]

ETA, V = Gamma(1, 1), Gamma(1, 0.1)


class HDP(TopicSampler):
    """Topics without clusters and without contexts: every group mixes them by its own weights.

    The special case of `MC2` in which every group is a cluster of its own: Q0 ~ DP(η S) and
    Q_j ~ DP(v Q0) for group j. Contexts of a corpus are not looked at.

    Parameters
    ----------
    eta : float or Gamma
        Concentration of topics at the root. A number is fixed, a `Gamma` is a prior.
    v : float or Gamma
        How closely groups follow the root's weights.
    content : "auto", family or family name
        How content arises in a topic; "auto": words by counts, vectors by Gaussians.
    n_sweeps, burn_in, thin : int
        All sweeps; those discarded at the beginning; every ``thin``-th after that is kept.
    keep_parameters : int
        Kept draws, evenly spaced, that scores average over.
    max_topics : int, optional
        A hard upper bound.
    init : {"auto", "random"}
    n_jobs : int, optional
        Threads; -1 for every core. The draws do not depend on it.
    random_state : int, RandomState or None
    progress : {"auto", True, False}

    Attributes
    ----------
    components_ : float64 (n_topics_, n_words)
        Words of each topic of the last kept draw, the largest first; rows sum to 1. For vectors
        the topics' means.
    n_topics_ : int
    draws_ : list of KeptTopics
    trace_ : DataFrame
        A row per sweep: sweep, kept, n_topics, v, eta, seconds.

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.baselines.HDP(n_sweeps=30, burn_in=10, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape == (40, model.n_topics_)
    True
    """

    def __init__(
        self,
        eta: Concentration = ETA,
        v: Concentration = V,
        content: str | ConjugateFamily = "auto",
        n_sweeps: int = 600,
        burn_in: int = 100,
        thin: int = 5,
        keep_parameters: int = 10,
        max_topics: int | None = None,
        init: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: Any = "auto",
    ) -> None:
        self.eta = eta
        self.v = v
        self.content = content
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.keep_parameters = keep_parameters
        self.max_topics = max_topics
        self.init = init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def _start(self, corpus: Corpus) -> Chain:
        check_v(self.v)
        check_jobs(self.n_jobs)
        # Of the engine's concentrations only two are this model's; the others are not drawn.
        priors = Priors.for_corpus(
            corpus, self.content, {}, alpha=1.0, v=1.0, eta=self.eta, lam=self.v
        )
        self._priors = priors
        observations = observe(corpus, priors)
        n_threads = max(1, effective_n_jobs(self.n_jobs))
        return _Chain(observations, priors, self._seed, self.init, self.max_topics, n_threads)


class _Chain:
    """The state of a fit, and how it goes on."""

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        seed: int,
        init: str,
        max_topics: int | None,
        n_threads: int,
    ) -> None:
        self._given = (observations, priors, seed, CHAIN)
        self._bounds = Bounds(1, max_topics)
        self._n_threads = n_threads
        self.state = start(observations, priors, seed, init, max_topics)

    def sweep(self) -> None:
        with ThreadPool(self._n_threads) as threads:
            hdp.sweep(self.state, *self._given, self._bounds, threads)
        if hdp.is_in_turn_sweep_due(self.state, self._given[0]):
            hdp.sweep_in_turn(self.state, *self._given, self._bounds)

    def row(self) -> dict[str, float]:
        state = self.state
        return {"n_topics": state.n_topics, "v": state.lam, "eta": state.eta}

    def draw(self) -> KeptTopics:
        return kept_topics(self.state, self.state.lam, self._given[0])


def check_v(v: Any) -> None:
    """Refuse an infinite v, with which all groups would be alike."""
    if isinstance(v, float) and np.isinf(v):
        raise InputError("v is inf, but a positive number or a Gamma prior is wanted")
