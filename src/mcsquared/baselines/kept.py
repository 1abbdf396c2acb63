"""Kept draws of topics that groups mix by weights of their own, and what they say of new groups.

A draw holds the counts of each topic's content, the root weights ε and the concentrations v and η.
Given those, a new group has θ_j ~ DP(v, ε): the engine's model with one cluster, τ = ε and λ = v.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.corpus import Corpus, Words
from mcsquared.families import ConjugateFamily
from mcsquared.observations import Observations
from mcsquared.prediction.parameters import GLOBALS, Globals, split_unused_weight, stream
from mcsquared.prediction.varying import Likelihood
from mcsquared.state import State

__all__ = ["KeptTopics", "globals_of", "globals_of_draws", "kept_topics", "mean_globals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KeptTopics:
    """The topics of one kept draw, the largest first.

    Attributes
    ----------
    content_statistics : csr_matrix of int32 (n_topics, n_words), or float64 (n_topics, n_stats)
        Word counts, or the content family's statistics.
    tokens_of_topic : int64 (n_topics,)
    topic_weights : float64 (n_topics,)
    unused_weight : float
    v, eta : float
    """

    content_statistics: sparse.csr_matrix | Floats
    tokens_of_topic: NDArray[np.int64]
    topic_weights: Floats
    unused_weight: float
    v: float
    eta: float

    @property
    def n_topics(self) -> int:
        """Topics that have tokens."""
        return len(self.topic_weights)

    @property
    def statistics(self) -> Floats:
        """The content statistics, dense."""
        found = self.content_statistics
        dense = found if isinstance(found, np.ndarray) else found.toarray()
        return np.asarray(dense, np.float64)

    def components(self, family: ConjugateFamily) -> Floats:
        """Return what a token of each topic is on average: float64 (n_topics, n_words or width)."""
        statistics = self.statistics
        means = family.mean_observation(statistics)
        return statistics / self.tokens_of_topic[:, None] if means is None else means


def occupied_slots(state: State) -> NDArray[np.int64]:
    """Return the slots of the topics that have tokens, the largest first."""
    tokens = state.counts.tokens_in_topic
    order = np.argsort(-tokens, kind="stable")
    return order[tokens[order] > 0]


def kept_topics(state: State, v: float, observations: Observations) -> KeptTopics:
    """Return the topics of a state."""
    counts, slots = state.counts, occupied_slots(state)
    content: sparse.csr_matrix | Floats
    if observations.n_words:
        content = sparse.csr_matrix(counts.words_in_topic[:, slots].T)
    else:
        content = counts.topic_statistics[slots]
    return KeptTopics(
        content_statistics=content,
        tokens_of_topic=counts.tokens_in_topic[slots],
        topic_weights=state.topic_weights[slots],
        unused_weight=math.exp(float(state.log_unused[0])),
        v=v,
        eta=state.eta,
    )


def globals_of(draw: KeptTopics, family: ConjugateFamily, rng: np.random.Generator) -> Globals:
    """Draw ψ given the counts of a kept draw, and share ε_new among topics not yet seen."""
    unused = split_unused_weight(draw.unused_weight, draw.eta, rng)
    statistics = np.vstack([draw.statistics, np.zeros((len(unused), family.n_stats))])
    parameters = family.sample_parameters(statistics, rng) if family.can_sample else statistics
    first, second = rng.integers(1 << 32, size=2).tolist()
    return one_cluster(
        np.concatenate([draw.topic_weights, unused]), parameters, draw, (first, second)
    )


def globals_of_draws(
    draws: Sequence[KeptTopics], family: ConjugateFamily, seed: int
) -> Iterator[tuple[KeptTopics, Globals, np.random.Generator]]:
    """Yield every draw with its globals, and the generator that may draw what is still missing."""
    for number, draw in enumerate(draws):
        rng = stream(seed, GLOBALS, number, 0)
        yield draw, globals_of(draw, family, rng), rng


def mean_globals(
    draw: KeptTopics, family: ConjugateFamily, corpus: Corpus, seed: int
) -> tuple[Globals, Likelihood]:
    """Return the known topics alone with ψ at its mean, and what gives the likelihood of tokens."""
    statistics = draw.statistics
    first, second = stream(seed, GLOBALS, 0, 0).integers(1 << 32, size=2).tolist()
    parameters = one_cluster(draw.topic_weights, statistics, draw, (first, second))
    if isinstance(corpus.content, Words):
        log_psi = family.mean_parameters(statistics)
        return parameters, lambda ids: log_psi[:, ids].T
    return parameters, lambda x: family.log_predictive(x, statistics)


def one_cluster(
    weights: Floats, content_parameters: Floats, draw: KeptTopics, key: tuple[int, int]
) -> Globals:
    """Return the globals of a model in which all groups vary around the same weights."""
    tiny = np.finfo(np.float64).tiny
    log_weights = np.log(np.maximum(weights / weights.sum(), tiny))
    return Globals(
        log_weight_of_cluster=np.zeros(1),
        log_topic_given_cluster=log_weights[None, :],
        content_parameters=content_parameters,
        n_clusters=1,
        n_topics=draw.n_topics,
        lam=draw.v,
        key=key,
    )
