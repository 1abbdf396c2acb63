"""Posterior means of the content of topics."""

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

Floats = NDArray[np.float64]


def content_means(draw: ParameterDraw, family: ConjugateFamily) -> Floats:
    """Return the mean content of each topic: float64 (n_topics, n_words or width).

    For words the mean probabilities (n_mw + β) / (n_m + V β), for vectors the mean of each
    dimension. For a family without a known mean, the statistics per token.
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
        return statistics / np.maximum(draw.tokens_of_topic, 1)[:, None]
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
