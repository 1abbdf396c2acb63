"""Kept draws with their parameters, and the matching of topics between draws."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.model.parameters import Concentrations


class EffectParameters(NamedTuple):
    """Tables and parameters of the contexts that act on topics, in one kept draw."""

    tables: sparse.csr_matrix  # int32 (values of all effects, n_topics)
    weights: Floats  # ω (n_effects + 1,): of the cluster, then of each effect
    v: Floats  # v_c (n_effects,)


@dataclass(frozen=True, eq=False)
class TypeDraw:
    """The types of the units of a level above groups in one kept draw; all of them are occupied.

    For the lowest level, the types below are the clusters.
    """

    children: Int32s  # number by type of the parent and type of the child, (n_types, n_types below)
    draws_below: Int64s  # draws from the weights at the root of the level below, (n_types below,)
    alpha: float  # concentration of types
    v: float  # concentration of the types below in a type
    shapes: Floats  # Dirichlet parameters of all learned contexts, one after another

    def weights_below(self, alpha: float) -> tuple[Floats, float]:
        """Return the mean weights of the types below, and that of unused ones.

        ``alpha`` is the concentration of the types below.
        """
        total = self.draws_below.sum() + alpha
        return self.draws_below / total, alpha / total


@dataclass(frozen=True, eq=False)
class ParameterDraw(Concentrations):
    """The counts and weights of one kept draw. Clusters 0..K-1 and topics 0..M-1 are occupied.

    Counts are int32, or int64 if one exceeds 2³¹ − 1. If ``lam`` is finite, a group has at least
    one table for each of its topics, and at most as many as tokens. If it is infinite,
    ``tables_in_cluster`` is None.
    """

    index: int  # row of the posterior's cluster_of_group
    topics_in_cluster: sparse.csr_matrix  # tokens, (n_clusters, n_topics)
    content_statistics: sparse.csr_matrix | Floats  # word counts (n_topics, n_words), or statistics
    topic_weights: Floats  # (n_topics,)
    unused_weight: float
    tables_in_cluster: sparse.csr_matrix | None = None  # (n_clusters, n_topics)
    # Dirichlet parameters of all bag and categorical contexts; None if all are fixed.
    category_shapes: Floats | None = None
    # Statistics of contexts with a background, side by side (n_clusters + 1, statistics): of values
    # that come from each cluster and, in the last row, from the background. None: no background.
    background: Floats | None = None
    effects: EffectParameters | None = None  # None if no context acts on topics
    levels: tuple[TypeDraw, ...] = ()  # above groups, the lowest first

    def __post_init__(self) -> None:
        if (self.tables_in_cluster is None) != math.isinf(self.lam):
            found = "None" if self.tables_in_cluster is None else "a matrix"
            raise InputError(
                f"tables_in_cluster must be given if and only if lam is finite, got {found} with "
                f"lam={self.lam:g}"
            )

    @property
    def n_clusters(self) -> int:
        """Number of clusters of this draw."""
        return int(self.topics_in_cluster.shape[0])

    @property
    def n_topics(self) -> int:
        """Number of topics of this draw."""
        return int(self.topics_in_cluster.shape[1])

    @property
    def drawn_from_cluster(self) -> sparse.csr_matrix:
        """Number of draws of each topic from a cluster's weights: τ_k ~ Dir(v ε + O_k).

        With a finite λ only a new table of a group draws its topic from the cluster; the other
        tokens follow the group. With an infinite λ every token draws from the cluster.
        """
        if self.tables_in_cluster is None:
            return self.topics_in_cluster
        return self.tables_in_cluster

    def alpha_below(self, number: int) -> float:
        """Return the concentration of the clusters or types below a level.

        ``number`` is the index of the level, 0 for the lowest.
        """
        return self.levels[number - 1].alpha if number else self.alpha

    @property
    def tokens_of_topic(self) -> Int64s:
        """Number of tokens of each topic: int64 (n_topics,)."""
        return np.asarray(self.topics_in_cluster.sum(axis=0, dtype=np.int64)).ravel()

    def content_means(self, family: ConjugateFamily) -> Floats:
        """Return the mean content of each topic; see `content_means`."""
        return content_means(self.content_statistics, self.tokens_of_topic, family)

    def topic_given_cluster(self) -> Floats:
        """Return E[τ_km] ∝ O_km + v ε_m, float64 (n_clusters, n_topics); rows sum to 1.

        O_km is the number of tables, or of tokens if λ is infinite. The weight v ε_new of
        unoccupied topics is excluded.
        """
        weights = self.drawn_from_cluster.toarray() + self.v * self.topic_weights
        totals = weights.sum(axis=1, keepdims=True)
        # With a tiny v all weights of an empty cluster may underflow.
        uniform = np.full_like(weights, 1.0 / max(self.n_topics, 1))
        return np.divide(weights, totals, out=uniform, where=totals > 0)

    def token_shares(self) -> Floats:
        """Return each topic's share of each cluster's tokens, (n_clusters, n_topics).

        Rows sum to 1. With an infinite λ tokens follow τ_k, whose mean is returned. With a finite
        λ they follow their groups, and a few long groups may have most of a topic's tokens.
        """
        weights = self.topic_given_cluster()
        if self.tables_in_cluster is None:
            return weights
        tokens = self.topics_in_cluster.toarray().astype(np.float64)
        totals = tokens.sum(axis=1, keepdims=True)
        return np.divide(tokens, totals, out=weights, where=totals > 0)


def content_means(
    statistics: sparse.csr_matrix | Floats, n_tokens: Int64s, family: ConjugateFamily
) -> Floats:
    """Return the mean content of each topic: float64 (n_topics, n_words or width).

    These are the mean probabilities (n_mw + β) / (n_m + V β) of words, or the means of vectors. For
    a family without a known mean, they are the statistics per token.
    """
    if isinstance(statistics, np.ndarray) and len(statistics) == 0:
        return np.zeros((0, family.n_dimensions or 1))
    means = family.mean_observation(statistics)
    return statistics / np.maximum(n_tokens, 1)[:, None] if means is None else means


def match_topics(
    draw: ParameterDraw, reference: ParameterDraw, family: ConjugateFamily
) -> tuple[Int64s, Floats]:
    """Return the topic of the reference matched to each topic of a draw, and their similarity.

    The assignment maximises the total similarity; unmatched topics have topic -1, similarity 0.
    Similarity ranges from 0 (nothing in common) to 1 (equal).
    """
    from scipy.optimize import linear_sum_assignment

    similarity = topic_similarity(draw, reference, family)
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    # The assignment also includes pairs of topics with nothing in common.
    similar = similarity[rows, columns] > 0.0
    rows, columns = rows[similar], columns[similar]
    topic = np.full(draw.n_topics, -1, np.int64)
    matched = np.zeros(draw.n_topics)
    topic[rows], matched[rows] = columns, similarity[rows, columns]
    return topic, matched


def topic_similarity(
    draw: ParameterDraw, reference: ParameterDraw, family: ConjugateFamily
) -> Floats:
    """Return the similarity of the topics of two draws: float64 (n_topics, n_others).

    It is one minus the squared Hellinger distance of the word shares, Σ_w √(p_w q_w); for vectors,
    a Gaussian kernel of the distance of the means, in standard deviations of the means.
    """
    if sparse.issparse(draw.content_statistics):
        product = _root_shares(draw) @ _root_shares(reference).T
        return np.minimum(product.toarray(), 1.0)
    means, others = draw.content_means(family), reference.content_means(family)
    if not len(means) or not len(others):
        return np.zeros((len(means), len(others)))
    spread = np.concatenate([means, others]).std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    difference = (means[:, None, :] - others[None, :, :]) / scale
    return np.exp(-0.5 * np.square(difference).mean(axis=2))


def _root_shares(draw: ParameterDraw) -> sparse.csr_matrix:
    """Return the square root of each word's share of a topic's tokens: (n_topics, n_words)."""
    counts = sparse.csr_matrix(draw.content_statistics, dtype=np.float64)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    shares = sparse.diags(1.0 / np.maximum(totals, 1.0)) @ counts
    return shares.sqrt().tocsr()
