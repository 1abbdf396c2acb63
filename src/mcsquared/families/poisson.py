"""Poisson counts with a gamma prior on their mean."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from mcsquared.arrays import Floats, Integers, Rng
from mcsquared.checks import check_concentration, check_scale
from mcsquared.families.numerics import log_rising_factorial, log_standard_gamma
from mcsquared.families.traits import Predictive
from mcsquared.families.univariate import Univariate


@dataclass(frozen=True)
class Poisson(Univariate):
    """Poisson counts with a Gamma(shape, rate) prior on their mean.

    Observations are float64 (n,), integers >= 0. Parameters are float64 (k, 1): the logarithm of
    the Poisson mean.

    Parameters
    ----------
    shape, rate : float
        The prior mean is shape / rate, worth ``rate`` observations. A rate of None puts the
        prior mean at the mean of the data.

    Examples
    --------
    >>> mc2.MC2(contexts={"cites": mc2.Poisson(shape=2)}).contexts
    {'cites': Poisson(shape=2.0, rate=None)}
    """

    shape: float = 1.0
    rate: float | None = None

    name: ClassVar[str] = "poisson"
    kernel: ClassVar[str | None] = "poisson"
    n_stats: ClassVar[int] = 2
    column_kinds: ClassVar[tuple[str, ...]] = ("count",)
    column_form: ClassVar[str] = "integers >= 0"
    display: ClassVar[str | None] = "counts"
    support: ClassVar[str] = "integers >= 0"
    field_checks: ClassVar = {"shape": check_concentration, "rate": check_scale}

    def filled(self, x: Any) -> Self:
        """Return the family with its prior mean at the mean of the data, unless a rate is given."""
        x = self._checked(x)
        if self.rate is not None:
            return self
        average = float(x.mean()) if x.size else 0.0
        return replace(self, rate=self.shape / average if average > 0.0 else 1.0)

    def log_normaliser(self, stats: Floats) -> Floats:
        """Return ln Γ(shape) − shape ln rate, of the posterior."""
        shape, rate = self._posterior(stats)
        return gammaln(shape) - shape * np.log(rate)

    def log_base(self, x: Any) -> Floats:
        """Return −ln x! for each observation."""
        return -gammaln(np.asarray(x, np.float64) + 1.0)

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return the log-probability of a negative binomial: float64 (n, n_clusters)."""
        shape, rate = self._posterior(np.atleast_2d(stats))
        count = np.asarray(x, np.float64)[:, None]
        gain = log_rising_factorial(shape, count) - shape * np.log1p(1.0 / rate)
        return gain - count * np.log1p(rate) + self.log_base(x)[:, None]

    def sample_parameters(self, stats: Floats, rng: Rng) -> Floats:
        """Draw the logarithm of the mean: float64 (n_clusters, 1)."""
        shape, rate = self._posterior(np.atleast_2d(stats))
        return (log_standard_gamma(shape, rng) - np.log(rate))[:, None]

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the log of the posterior mean of the Poisson mean: float64 (n_clusters, 1)."""
        shape, rate = self._posterior(np.atleast_2d(stats))
        return np.log(shape / rate)[:, None]

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return the Poisson log-probability: float64 (n, n_clusters)."""
        log_mean = np.atleast_2d(parameters)[:, 0]
        count = np.asarray(x, np.float64)[:, None]
        return count * log_mean - np.exp(log_mean) + self.log_base(x)[:, None]

    def natural_parameters(self, parameters: Floats) -> Floats:
        """Return (−mean, ln mean): float64 (n_clusters, 2)."""
        log_mean = np.atleast_2d(parameters)[:, 0]
        return np.stack([-np.exp(log_mean), log_mean], axis=-1)

    def predictive(self, stats: Floats) -> list[Predictive]:
        """Return one `Predictive`, with a negative binomial for each row of statistics."""
        from scipy import stats as distributions  # slow to import and rarely needed

        shape, rate = self._posterior(stats)
        mean = shape / rate
        variance = mean * (rate + 1.0) / rate
        frozen = distributions.nbinom(shape[:, None], (rate / (rate + 1.0))[:, None])
        return [Predictive(mean, variance, np.sqrt(variance), frozen, discrete=True)]

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> Floats:
        """Draw one count per label: float64 (n,)."""
        return rng.poisson(np.exp(parameters[labels, 0])).astype(np.float64)

    def _posterior(self, stats: Floats) -> tuple[Floats, Floats]:
        """Return shape and rate of the posterior gamma given the statistics."""
        shape, rate = self.kernel_parameters()
        n, total = np.moveaxis(np.asarray(stats, np.float64), -1, 0)
        return shape + total, rate + n

    def _allowed(self, x: Floats) -> np.ndarray:
        return np.isfinite(x) & (x >= 0.0) & (x == np.floor(x))
