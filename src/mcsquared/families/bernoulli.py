"""Binary values with a beta prior on their probability."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln

from mcsquared.arrays import Floats, Integers, Rng
from mcsquared.checks import check_concentration
from mcsquared.families.numerics import log_standard_gamma
from mcsquared.families.univariate import Univariate

# Lower bound of log-probabilities, so that their difference keeps the digits of the larger one.
_MIN_LOG_PROBABILITY = -1e9


@dataclass(frozen=True)
class Bernoulli(Univariate):
    """Binary values with a Beta(a, b) prior on the probability of 1.

    Observations are float64 (n,) of 0 and 1. Parameters are float64 (k, 2): the logarithms of the
    probabilities of 1 and of 0, in that order.

    Parameters
    ----------
    a, b : float
        The prior is worth ``a`` observations of 1 and ``b`` of 0.

    Examples
    --------
    >>> np.exp(mc2.Bernoulli(a=1, b=3).mean_parameters(np.zeros((1, 2))))  # of 1 and of 0
    array([[0.25, 0.75]])
    """

    a: float = 1.0
    b: float = 1.0

    name: ClassVar[str] = "bernoulli"
    kernel: ClassVar[str | None] = "bernoulli"
    n_stats: ClassVar[int] = 2
    column_kinds: ClassVar[tuple[str, ...]] = ("boolean",)
    column_form: ClassVar[str] = "booleans, or numbers 0 and 1"
    display: ClassVar[str | None] = "categories"
    support: ClassVar[str] = "0 or 1"
    field_checks: ClassVar = {"a": check_concentration, "b": check_concentration}

    def log_normaliser(self, stats: Floats) -> Floats:
        """Return ln B(a + ones, b + zeros)."""
        return betaln(*self._posterior(stats))

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return ln of (a + ones) or (b + zeros) over their sum: float64 (n, n_clusters)."""
        return self.log_likelihood(x, self.mean_parameters(stats))

    def sample_parameters(self, stats: Floats, rng: Rng) -> Floats:
        """Draw the log-probabilities of 1 and 0: float64 (n_clusters, 2)."""
        logs = log_standard_gamma(np.stack(self._posterior(np.atleast_2d(stats)), axis=-1), rng)
        return logs - np.logaddexp(logs[:, :1], logs[:, 1:])

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the logarithms of the mean probabilities of 1 and 0: float64 (n_clusters, 2)."""
        weights = np.stack(self._posterior(np.atleast_2d(stats)), axis=-1)
        return np.log(weights / weights.sum(axis=-1, keepdims=True))

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return the log-probability of 1 or of 0: float64 (n, n_clusters)."""
        one, zero = np.moveaxis(np.atleast_2d(parameters), -1, 0)
        return np.where(np.asarray(x)[:, None] > 0, one, zero)

    def natural_parameters(self, parameters: Floats) -> Floats:
        """Return (ln p(0), ln p(1) − ln p(0)): float64 (n_clusters, 2)."""
        bounded = np.maximum(np.atleast_2d(parameters), _MIN_LOG_PROBABILITY)
        one, zero = np.moveaxis(bounded, -1, 0)
        return np.stack([zero, one - zero], axis=-1)

    def outcomes(self) -> Floats:
        """Return 0 and 1."""
        return np.array([0.0, 1.0])

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> Floats:
        """Draw 0 or 1 for each label: float64 (n,)."""
        return (rng.random(labels.size) < np.exp(parameters[labels, 0])).astype(np.float64)

    def _posterior(self, stats: Floats) -> tuple[Floats, Floats]:
        """Return the parameters of the posterior beta given the statistics."""
        n, ones = np.moveaxis(np.asarray(stats, np.float64), -1, 0)
        return self.a + ones, self.b + (n - ones)

    def _allowed(self, x: Floats) -> np.ndarray:
        return (x == 0.0) | (x == 1.0)
