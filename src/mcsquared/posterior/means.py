"""Posterior means of a draw's parameters: topics of a cluster, words of a topic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.families import (
    Bernoulli,
    Categorical,
    ConjugateFamily,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from mcsquared.posterior.draws import ParameterDraw

__all__ = [
    "content_means",
    "location",
    "token_shares",
    "tokens_of_topics",
    "topic_given_draw_cluster",
]

Floats = NDArray[np.float64]


def topic_given_draw_cluster(draw: ParameterDraw) -> Floats:
    """Return E[τ_km] ∝ O_km + v ε_m of a draw's own clusters and topics; rows sum to 1.

    O_km is the number of tables, or of tokens where λ is infinite. The share v ε_new of topics
    that nothing belongs to is left out.
    """
    weights = draw.drawn_from_cluster.toarray() + draw.v * draw.topic_weights
    totals = weights.sum(axis=1, keepdims=True)
    # With a tiny v the prior's weights may vanish, and with them all that an empty cluster has.
    even = np.full_like(weights, 1.0 / max(draw.n_topics, 1))
    return np.divide(weights, totals, out=even, where=totals > 0)


def token_shares(draw: ParameterDraw) -> Floats:
    """Return which share of its tokens each cluster of a draw has in each topic; rows sum to 1.

    Where λ is infinite, tokens follow τ_k and its mean stands for them. Where it is finite they
    follow their groups, and a few long groups may have most of a topic's tokens.
    """
    weights = topic_given_draw_cluster(draw)
    if draw.tables_in_cluster is None:
        return weights
    tokens = draw.topics_in_cluster.toarray().astype(np.float64)
    totals = tokens.sum(axis=1, keepdims=True)
    return np.divide(tokens, totals, out=weights, where=totals > 0)


def tokens_of_topics(draw: ParameterDraw) -> NDArray[np.int64]:
    """Return the number of tokens of each topic: int64 (n_topics,)."""
    return np.asarray(draw.topics_in_cluster.sum(axis=0, dtype=np.int64)).ravel()


def content_means(draw: ParameterDraw, family: ConjugateFamily) -> Floats:
    """Return what a token of each topic is on average: float64 (n_topics, n_words or width).

    For words the mean probabilities (n_mw + β) / (n_m + V β); for vectors the mean of each
    dimension. A family that does not say its mean gives its statistics per token.
    """
    statistics = draw.content_statistics
    if not isinstance(statistics, np.ndarray):
        weights = statistics.astype(np.float64).toarray()
        if isinstance(family, Categorical):
            weights += family.concentration
        weights /= weights.sum(axis=1, keepdims=True)
        return weights
    if len(statistics) == 0:
        width = family.width if isinstance(family, MultivariateGaussian) else 1
        return np.zeros((0, width))
    means = location(family, statistics)
    if means is None:
        return statistics / np.maximum(tokens_of_topics(draw), 1)[:, None]
    return means


def location(family: ConjugateFamily, statistics: Floats) -> Floats | None:
    """Return the mean of an observation after each row of statistics: (n, width), None: unknown."""
    if isinstance(family, MultivariateGaussian):
        return family.mean_parameters(statistics)[:, : family.width]
    if isinstance(family, Gaussian):
        return family.mean_parameters(statistics)[:, :1]
    if isinstance(family, Bernoulli | Poisson):
        return np.exp(family.mean_parameters(statistics)[:, :1])
    return None
