"""Posterior means of the content of topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.families import ConjugateFamily
from mcsquared.posterior.draws import ParameterDraw

Floats = NDArray[np.float64]


def content_means(draw: ParameterDraw, family: ConjugateFamily) -> Floats:
    """Return the mean content of each topic: float64 (n_topics, n_words or width).

    For words the mean probabilities (n_mw + β) / (n_m + V β), for vectors the mean of each
    dimension. For a family without a known mean, the statistics per token.
    """
    statistics = draw.content_statistics
    if isinstance(statistics, np.ndarray) and len(statistics) == 0:
        return np.zeros((0, family.n_dimensions or 1))
    means = family.mean_observation(statistics)
    if means is None:
        return statistics / np.maximum(draw.tokens_of_topic, 1)[:, None]
    return means
