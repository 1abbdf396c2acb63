"""Mixtures of predictive distributions of numbers: mean, spread and interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.families import ConjugateFamily, Gaussian, MultivariateGaussian, Poisson

__all__ = ["Components", "components_of", "has_components", "mixture_summary"]

Floats = NDArray[np.float64]

LEVELS = np.concatenate([[1e-4, 1e-3], np.linspace(0.005, 0.995, 199), [0.999, 0.9999]])
GRID_POINTS = 4001


@dataclass(frozen=True)
class Components:
    """The predictive distributions of a number in each of n_components clusters.

    Parameters
    ----------
    mean, variance : float64 (n_components,)
    distribution : frozen SciPy distribution over (n_components, 1)
    discrete : bool
    """

    mean: Floats
    variance: Floats
    distribution: Any
    discrete: bool = False


def has_components(family: ConjugateFamily) -> bool:
    """Tell whether `components_of` knows the family."""
    return type(family) in _COMPONENTS


def components_of(family: ConjugateFamily, statistics: Floats) -> list[Components]:
    """Return the predictive distribution after each row of statistics, one entry per dimension."""
    return _COMPONENTS[type(family)](family, statistics)


def mixture_summary(
    weights: Floats, components: Components, tail: float = 0.05
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


def _grid(components: Components) -> Floats:
    """Return points where the mixtures' curves are known: dense where some component is."""
    points = np.unique(components.distribution.ppf(LEVELS))
    points = points[np.isfinite(points)]
    if components.discrete:
        whole = np.arange(0.0, points[-1] + 1.0) if points[-1] < GRID_POINTS else points
        points = whole
    if len(points) > GRID_POINTS:
        points = points[np.linspace(0, len(points) - 1, GRID_POINTS).round().astype(int)]
    return points


def _student(degrees: Floats, location: Floats, scale: Floats) -> Components:
    from scipy import stats  # slow to load, and seldom needed

    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(degrees > 2.0, scale**2 * degrees / (degrees - 2.0), np.inf)
    frozen = stats.t(degrees[:, None], location[:, None], scale[:, None])
    return Components(location, variance, frozen)


def _gaussian(family: Gaussian, statistics: Floats) -> list[Components]:
    location, precision = family.mean_parameters(statistics).T
    strength = family.strength + statistics[:, 0]
    scale = np.sqrt((strength + 1.0) / (strength * precision))
    return [_student(2.0 * family.shape + statistics[:, 0], location, scale)]


def _poisson(family: Poisson, statistics: Floats) -> list[Components]:
    from scipy import stats

    shape, rate = family.kernel_parameters()
    shape, rate = shape + statistics[:, 1], rate + statistics[:, 0]
    mean = shape / rate
    frozen = stats.nbinom(shape[:, None], (rate / (rate + 1.0))[:, None])
    return [Components(mean, mean * (rate + 1.0) / rate, frozen, discrete=True)]


def _multivariate(family: MultivariateGaussian, statistics: Floats) -> list[Components]:
    width, n = family.width, statistics[:, 0]
    parameters = family.mean_parameters(statistics)
    scale = np.linalg.inv(parameters[:, width:].reshape(-1, width, width))  # of the mean precision
    after = family.kernel_parameters()[2] + n  # degrees of freedom, and of the t below
    degrees, strength = after - width + 1.0, family.strength + n
    widen = after / degrees * (strength + 1.0) / strength
    return [
        _student(degrees, parameters[:, i], np.sqrt(widen * scale[:, i, i])) for i in range(width)
    ]


_COMPONENTS: dict[type, Callable[[Any, Floats], list[Components]]] = {
    Gaussian: _gaussian,
    MultivariateGaussian: _multivariate,
    Poisson: _poisson,
}
