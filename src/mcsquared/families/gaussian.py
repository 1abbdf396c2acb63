"""Univariate Gaussian with unknown mean and precision: timestamps, ages, ratings."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from mcsquared.arrays import Floats, Integers, Rng
from mcsquared.checks import check_boolean, check_concentration, check_scale
from mcsquared.families.base import n_observations
from mcsquared.families.checks import filled_field, finite_number
from mcsquared.families.numerics import (
    LOG_TWO_PI,
    log_rising_factorial,
    log_standard_gamma,
    mean_and_variance,
)
from mcsquared.families.traits import Predictive, student_predictive
from mcsquared.families.univariate import Univariate


class _NormalGamma(NamedTuple):
    """Posterior hyper-parameters, one entry per row of statistics; means minus the origin."""

    mean: Floats
    strength: Floats
    shape: Floats
    rate: Floats


@dataclass(frozen=True)
class Gaussian(Univariate):
    """Univariate Gaussian with a Normal-Gamma prior on its mean and precision.

    Observations are float64 (n,). Parameters are float64 (k, 2): mean and precision, in the data's
    own units.

    Parameters
    ----------
    mean : float, optional
        Prior mean, in the data's own units (of dates: days since 1970-01-01). None: the mean of the
        data.
    strength : float
        How many observations the prior mean is worth.
    shape, rate : float
        Gamma prior on the precision. A rate of None is the variance of the data.
    background : bool
        For contexts: whether some values come from a background that all clusters share, instead of
        their cluster. Outliers, and the shape of a skewed or bimodal context that is unrelated to
        the clusters, then do not divide them. The share of such values is learned.
    origin : float
        Subtracted before statistics are computed; set by `filled`. It affects rounding only.

    Notes
    -----
    Statistics are ``T(x) = (1, x − origin, (x − origin)²)``: squares of years would lose six
    digits, squares of deviations from their mean lose none.

    Examples
    --------
    >>> mc2.Gaussian(strength=1).filled(np.array([1990.0, 2000.0, 2010.0])).mean
    2000.0
    """

    mean: float | None = None
    strength: float = 0.1
    shape: float = 2.0
    rate: float | None = None
    origin: float = 0.0
    background: bool = False

    name: ClassVar[str] = "gaussian"
    kernel: ClassVar[str | None] = "gaussian"
    n_stats: ClassVar[int] = 3
    column_kinds: ClassVar[tuple[str, ...]] = ("number", "date")
    column_form: ClassVar[str] = "numbers or dates"
    display: ClassVar[str | None] = "curve"
    field_checks: ClassVar = {
        "mean": finite_number,
        "strength": check_concentration,
        "shape": check_concentration,
        "rate": check_scale,
        "origin": finite_number,
        "background": check_boolean,
    }

    def filled(self, x: Any) -> Self:
        """Return the family with the origin, and mean and rate unless given, set from the data."""
        data_mean, variance = map(float, mean_and_variance(type(self).__name__, self._checked(x)))
        return replace(
            self,
            mean=data_mean if self.mean is None else self.mean,
            rate=(variance or 1.0) if self.rate is None else self.rate,
            origin=data_mean,
        )

    def centred_statistics(self, centred: Floats) -> Floats:
        """Return (1, x, x²) of centred values (n, 1): float64 (n, 3)."""
        return np.hstack([np.ones((len(centred), 1)), centred, centred**2])

    def log_normaliser(self, stats: Floats) -> Floats:
        """Return ln Γ(shape) − shape ln rate − ½ ln strength, of the posterior."""
        _, strength, shape, rate = self._posterior(stats)
        return gammaln(shape) - shape * np.log(rate) - 0.5 * np.log(strength)

    def log_base(self, x: Any) -> Floats:
        """Return −½ ln 2π for each observation."""
        return np.full(n_observations(x), -0.5 * LOG_TWO_PI)

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return the log-density of a Student-t, float64 (n, n_clusters).

        The inherited difference of normalisers loses digits in very large clusters.
        """
        posterior = self._posterior(np.atleast_2d(stats))
        centred = np.asarray(x, np.float64)[:, None] - self.origin
        shrinkage = posterior.strength / (posterior.strength + 1.0)
        distance = shrinkage * (centred - posterior.mean) ** 2 / (2.0 * posterior.rate)
        constant = log_rising_factorial(posterior.shape, 0.5) + 0.5 * (
            np.log(shrinkage) - np.log(posterior.rate) - LOG_TWO_PI
        )
        return constant - (posterior.shape + 0.5) * np.log1p(distance)

    def sample_parameters(self, stats: Floats, rng: Rng) -> Floats:
        """Draw (mean, precision) of each cluster: float64 (n_clusters, 2)."""
        posterior = self._posterior(np.atleast_2d(stats))
        log_precision = log_standard_gamma(posterior.shape, rng) - np.log(posterior.rate)
        # A precision below the smallest float would be 0, whose logarithm is not finite.
        precision = np.maximum(np.exp(log_precision), np.finfo(np.float64).tiny)
        deviation = rng.standard_normal(len(precision)) / np.sqrt(posterior.strength * precision)
        return np.stack([self.origin + (posterior.mean + deviation), precision], axis=-1)

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the posterior means of (mean, precision): float64 (n_clusters, 2)."""
        posterior = self._posterior(np.atleast_2d(stats))
        return np.stack([self.origin + posterior.mean, posterior.shape / posterior.rate], axis=-1)

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return the Gaussian log-density: float64 (n, n_clusters)."""
        mean, precision = np.moveaxis(np.atleast_2d(parameters), -1, 0)
        standardised = np.sqrt(precision) * (np.asarray(x, np.float64)[:, None] - mean)
        return 0.5 * (np.log(precision) - LOG_TWO_PI - standardised**2)

    def natural_parameters(self, parameters: Floats) -> Floats:
        """Return (½ ln p − ½ pμ², pμ, −½ p): float64 (n_clusters, 3).

        p is the precision, and μ the mean minus the origin.
        """
        mean, precision = np.moveaxis(np.atleast_2d(parameters), -1, 0)
        root = np.sqrt(precision)
        # With a tiny precision, the square of the mean would overflow.
        standardised = root * (mean - self.origin)
        constant = 0.5 * (np.log(precision) - standardised**2)
        return np.stack([constant, root * standardised, -0.5 * precision], axis=-1)

    def mean_observation(self, stats: Floats) -> Floats:
        """Return the mean of the predictive distributions: float64 (n_clusters, 1)."""
        return self.mean_parameters(stats)[:, :1]

    def mean_covariance(self, stats: Floats) -> Floats:
        """Return the variance at the mean precision: float64 (n_clusters, 1, 1)."""
        return 1.0 / self.mean_parameters(stats)[:, 1:2, None]

    def predictive(self, stats: Floats) -> list[Predictive]:
        """Return one `Predictive`, with a Student-t for each row of statistics."""
        mean, precision = self.mean_parameters(stats).T
        strength = self.strength + stats[:, 0]
        scale = np.sqrt((strength + 1.0) / (strength * precision))
        return [student_predictive(2.0 * self.shape + stats[:, 0], mean, scale)]

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> Floats:
        """Draw one number per label: float64 (n,)."""
        mean, precision = parameters[labels].T
        return mean + rng.standard_normal(labels.size) / np.sqrt(precision)

    def kernel_parameters(self) -> Floats:
        """Return (mean − origin, strength, shape, rate): float64 (4,)."""
        mean = filled_field(self, "mean") - self.origin
        return np.array([mean, self.strength, self.shape, filled_field(self, "rate")])

    def _posterior(self, stats: Floats) -> _NormalGamma:
        """Return the posterior Normal-Gamma given the statistics.

        With x̄ and S the mean and the sum of squared deviations of n observations, its rate is

            rate  +  ½ S  +  ½ n strength / (n + strength) (x̄ − mean)²

        Digits can cancel in S alone, and a prior mean far from the data does not enter S.
        """
        prior_mean, strength, shape, rate = self.kernel_parameters()
        n, total, squares = np.moveaxis(np.asarray(stats, np.float64), -1, 0)
        average = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
        scatter = np.where(n > 0, np.maximum(squares - total * average, 0.0), 0.0)
        weight = n / (n + strength)
        return _NormalGamma(
            mean=prior_mean + weight * (average - prior_mean),
            strength=strength + n,
            shape=shape + 0.5 * n,
            rate=rate + 0.5 * (scatter + strength * weight * (average - prior_mean) ** 2),
        )
