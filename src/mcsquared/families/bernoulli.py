"""Yes or no, with a beta prior of the probability of a yes."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import betaln

from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily
from mcsquared.families.checks import one_dimensional, positive_number
from mcsquared.families.special import log_standard_gamma
from mcsquared.families.types import Floats, Observations

__all__ = ["Bernoulli"]

# Of a log-probability, where two of them are subtracted: below it the other would lose its digits.
_LOWEST = -1e9


@dataclass(frozen=True)
class Bernoulli(ConjugateFamily):
    """Yes (1) or no (0), the probability of a yes being Beta(a, b).

    Observations are float64 (n,) of 0 and 1. Parameters, float64 (k, 2): the logarithms of the
    probabilities of 1 and of 0, in that order.

    Parameters
    ----------
    a, b : float
        Yeses and noes that the prior is worth.

    Examples
    --------
    >>> np.exp(mc2.Bernoulli(a=1, b=3).mean_parameters(np.zeros((1, 2))))  # of yes and of no
    array([[0.25, 0.75]])
    """

    a: float = 1.0
    b: float = 1.0

    name: ClassVar[str] = "bernoulli"
    kernel: ClassVar[str | None] = "bernoulli"
    n_stats: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", positive_number("a of Bernoulli", self.a))
        object.__setattr__(self, "b", positive_number("b of Bernoulli", self.b))

    def filled(self, x: Observations) -> Self:
        """Return the family itself, once the data are seen to be 0 and 1."""
        x = one_dimensional("Bernoulli", x)
        wrong = x[(x != 0.0) & (x != 1.0)]
        if wrong.size:
            raise InputError(f"x holds {float(wrong[0])!r}, but Bernoulli takes 0 and 1 only")
        return self

    def statistics(self, x: Observations) -> Floats:
        """Return (1, x): float64 (n, 2)."""
        x = np.asarray(x, np.float64)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats: Floats) -> Floats:
        """Return ln B(a + yeses, b + noes)."""
        return betaln(*self._after(stats))

    def log_predictive(self, x: Observations, stats: Floats) -> Floats:
        """Return ln of (a + yeses) or (b + noes) over their sum: float64 (n, n_clusters)."""
        return self.log_likelihood(x, self.mean_parameters(stats))

    def sample_parameters(self, stats: Floats, rng: np.random.Generator) -> Floats:
        """Draw the log-probabilities of 1 and 0: float64 (n_clusters, 2)."""
        logs = log_standard_gamma(np.stack(self._after(np.atleast_2d(stats)), axis=-1), rng)
        return logs - np.logaddexp(logs[:, :1], logs[:, 1:])

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the logarithms of the mean probabilities of 1 and 0: float64 (n_clusters, 2)."""
        weights = np.stack(self._after(np.atleast_2d(stats)), axis=-1)
        return np.log(weights / weights.sum(axis=-1, keepdims=True))

    def log_likelihood(self, x: Observations, parameters: Floats) -> Floats:
        """Return the log-probability of 1 or of 0: float64 (n, n_clusters)."""
        yes, no = np.moveaxis(np.atleast_2d(parameters), -1, 0)
        return np.where(np.asarray(x)[:, None] > 0, yes, no)

    def natural_parameters(self, parameters: Floats) -> Floats:
        """Return (ln p(0), ln p(1) − ln p(0)): float64 (n_clusters, 2)."""
        yes, no = np.moveaxis(np.maximum(np.atleast_2d(parameters), _LOWEST), -1, 0)
        return np.stack([no, yes - no], axis=-1)

    def kernel_parameters(self) -> Floats:
        """Return (a, b)."""
        return np.array([self.a, self.b])

    def _after(self, stats: Floats) -> tuple[Floats, Floats]:
        """Return the beta parameters after the statistics."""
        n, yeses = np.moveaxis(np.asarray(stats, np.float64), -1, 0)
        return self.a + yeses, self.b + (n - yeses)
