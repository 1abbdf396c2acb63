"""Mixtures of predictive distributions of numbers: mean, spread and interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.families.traits import Predictive

Floats = NDArray[np.float64]

LEVELS = np.concatenate([[1e-4, 1e-3], np.linspace(0.005, 0.995, 199), [0.999, 0.9999]])
GRID_POINTS = 4001


def mixture_summary(
    weights: Floats, components: Predictive, tail: float = 0.05
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, standard deviation and the two ``tail`` quantiles of each row's mixture.

    Parameters
    ----------
    weights : float64 (n, n_components)
        Rows sum to 1.
    """
    centre = float(components.mean.mean())  # squares of deviations, not of years
    deviation = components.mean - centre
    mean = weights @ deviation
    with np.errstate(invalid="ignore"):
        square = weights @ (components.variance + deviation**2)
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))

    grid = _grid(components)
    cumulative = components.distribution.cdf(grid)  # (n_components, n_points)
    lower, upper = np.empty(len(weights)), np.empty(len(weights))
    step = max(1, (1 << 21) // len(grid))
    for first in range(0, len(weights), step):
        for j, curve in enumerate(weights[first : first + step] @ cumulative, start=first):
            if components.discrete:
                at = np.searchsorted(curve, [tail, 1.0 - tail])
                lower[j], upper[j] = grid[np.minimum(at, len(grid) - 1)]
            else:
                lower[j], upper[j] = np.interp([tail, 1.0 - tail], curve, grid)
    return mean + centre, sd, lower, upper


def _grid(components: Predictive) -> Floats:
    """Return points where the mixtures' curves are known: dense where some component is."""
    points = np.unique(components.distribution.ppf(LEVELS))
    points = points[np.isfinite(points)]
    if components.discrete:
        whole = np.arange(0.0, points[-1] + 1.0) if points[-1] < GRID_POINTS else points
        points = whole
    if len(points) > GRID_POINTS:
        points = points[np.linspace(0, len(points) - 1, GRID_POINTS).round().astype(int)]
    return points
