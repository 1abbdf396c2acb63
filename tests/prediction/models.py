"""Small posteriors with known counts, and probabilities of groups by enumeration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import Categorical, ConjugateFamily
from mcsquared.model.priors import Priors
from mcsquared.posterior import ParameterDraw, Posterior


@dataclass
class Counts:
    """One kept draw: the cluster of each group, and the counts."""

    cluster_of_group: Any
    topics_in_cluster: Any
    content: Any  # words: counts (n_topics, n_words); vectors: statistics (n_topics, n_stats)
    topic_weights: Any
    alpha: float = 1.0
    v: float = 2.0
    eta: float = 1.0
    lam: float = math.inf
    tables_in_cluster: Any = None  # at a finite lam

    @property
    def unused_weight(self) -> float:
        return 1.0 - float(np.sum(self.topic_weights))

    def permuted(self, clusters: Any, topics: Any) -> Counts:
        """The same draw, its clusters and topics listed in another order."""
        clusters, topics = np.asarray(clusters), np.asarray(topics)
        return Counts(
            np.argsort(clusters)[np.asarray(self.cluster_of_group)],
            np.asarray(self.topics_in_cluster)[clusters][:, topics],
            np.asarray(self.content)[topics],
            np.asarray(self.topic_weights)[topics],
            self.alpha,
            self.v,
            self.eta,
            self.lam,
            None if self.tables_in_cluster is None else self._tables[clusters][:, topics],
        )

    @property
    def _tables(self) -> np.ndarray:
        return np.asarray(self.tables_in_cluster, np.int32)


def make_posterior(
    draws: list[Counts],
    contexts: dict[str, Any] | None = None,
    families: dict[str, ConjugateFamily] | None = None,
    content: ConjugateFamily | None = None,
    beta: float = 0.5,
    seed: int = 0,
) -> Posterior:
    """Wrap counts of draws, and training contexts, into a posterior."""
    words = content is None
    n_groups = len(draws[0].cluster_of_group)
    n_words = np.shape(draws[0].content)[1]
    training = Corpus(sparse.csr_matrix((n_groups, n_words), dtype=np.int32), contexts)
    chosen = Priors.for_corpus(training, contexts=families or "auto").contexts
    priors = Priors(content or Categorical(beta, size=n_words), chosen)
    return Posterior(
        priors=priors,
        group_names=training.group_names,
        vocabulary=training.vocabulary if words else None,
        contexts=priors.columns(training),
        tokens_per_group=np.ones(n_groups, np.int64),
        cluster_of_group=np.array([draw.cluster_of_group for draw in draws], np.int32),
        chain_of_draw=np.zeros(len(draws), np.int32),
        sweep_of_draw=np.arange(len(draws), dtype=np.int32),
        trace=pd.DataFrame(),
        parameters=[_parameter_draw(number, draw, words) for number, draw in enumerate(draws)],
        word_frequency=np.ones(n_words, np.int64) if words else None,
        document_frequency=np.ones(n_words, np.int64) if words else None,
        seed=seed,
        notes=[],
    )


def _parameter_draw(number: int, draw: Counts, words: bool) -> ParameterDraw:
    content = np.asarray(draw.content)
    return ParameterDraw(
        index=number,
        topics_in_cluster=sparse.csr_matrix(np.asarray(draw.topics_in_cluster, np.int32)),
        content_statistics=sparse.csr_matrix(content.astype(np.int32)) if words else content,
        topic_weights=np.asarray(draw.topic_weights, float),
        unused_weight=draw.unused_weight,
        alpha=draw.alpha,
        v=draw.v,
        eta=draw.eta,
        lam=draw.lam,
        tables_in_cluster=None
        if draw.tables_in_cluster is None
        else sparse.csr_matrix(draw._tables),
    )


def words_corpus(rows: list[list[int]], n_words: int, **options: Any) -> Corpus:
    """A corpus of the given word ids per group, in the vocabulary "0", "1", ..."""
    counts = np.array([np.bincount(row, minlength=n_words) for row in rows], np.int32)
    return Corpus(sparse.csr_matrix(counts.reshape(len(rows), n_words)), **options)


def probability_in_cluster(
    words: list[int], cluster: int | None, draw: Counts, beta: float
) -> float:
    """p(words | z = cluster) with τ, ψ and the infinitely many unused topics integrated out.

    One token after another, in a Chinese restaurant franchise: the cluster's restaurant has the
    known topics with masses c + vε, and unknown ones behind tables that open with mass v ε_new,
    whose dishes come from a restaurant of concentration η. A cluster of None is a new one.
    """
    known = np.asarray(draw.content, float)
    n_topics, n_words = known.shape
    seated = (
        np.zeros(n_topics) if cluster is None else np.array(draw.topics_in_cluster, float)[cluster]
    )
    mass = seated + draw.v * np.asarray(draw.topic_weights, float)
    opening = draw.v * draw.unused_weight

    def predictive(counts: np.ndarray, word: int) -> float:
        return (counts[word] + beta) / (counts.sum() + n_words * beta)

    def rest(i: int, mass: np.ndarray, topics: tuple, tables: tuple, dishes: tuple) -> float:
        if i == len(words):
            return 1.0
        word, unit = words[i], np.eye(n_words)[words[i]]
        everything = mass.sum() + opening + sum(n for n, _ in tables)
        total = 0.0
        for m in range(n_topics):
            after = (*topics[:m], topics[m] + unit, *topics[m + 1 :])
            more = rest(i + 1, mass + np.eye(n_topics)[m], after, tables, dishes)
            total += mass[m] / everything * predictive(topics[m], word) * more
        for t, (n, dish) in enumerate(tables):
            fuller = (*tables[:t], (n + 1, dish), *tables[t + 1 :])
            served = (*dishes[:dish], dishes[dish] + unit, *dishes[dish + 1 :])
            more = rest(i + 1, mass, topics, fuller, served)
            total += n / everything * predictive(dishes[dish], word) * more
        for d in range(len(dishes)):
            tables_of_dish = sum(dish == d for _, dish in tables)
            served = (*dishes[:d], dishes[d] + unit, *dishes[d + 1 :])
            more = rest(i + 1, mass, topics, (*tables, (1, d)), served)
            share = tables_of_dish / (len(tables) + draw.eta)
            total += opening / everything * share * predictive(dishes[d], word) * more
        new = rest(i + 1, mass, topics, (*tables, (1, len(dishes))), (*dishes, unit))
        share = draw.eta / (len(tables) + draw.eta)
        return total + opening / everything * share / n_words * new

    return rest(0, mass, tuple(known), (), ())


def probability_of_group(words: list[int], draw: Counts, beta: float) -> float:
    """p(words) of a new group, all clusters and the new one summed."""
    sizes = np.bincount(draw.cluster_of_group)
    total = sizes.sum() + draw.alpha
    known = sum(
        n / total * probability_in_cluster(words, k, draw, beta) for k, n in enumerate(sizes)
    )
    return known + draw.alpha / total * probability_in_cluster(words, None, draw, beta)
