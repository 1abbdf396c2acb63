"""Base class of families whose observations are single numbers."""

from typing import Any, ClassVar, Self

import numpy as np

from mcsquared.arrays import Floats
from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily


class Univariate(ConjugateFamily):
    """A family of single numbers, float64 (n,); by default with statistics (1, x − origin)."""

    n_dimensions: ClassVar[int] = 1
    support: ClassVar[str] = "finite"  # the values that the family allows, for error messages
    origin: float = 0.0

    def filled(self, x: Any) -> Self:
        """Return the family itself after a check of the data."""
        self._checked(x)
        return self

    def from_vectors(self, values: Floats) -> Floats:
        """Return the only dimension of vector content."""
        if values.shape[1] != 1:
            raise InputError(
                f"content={self.name!r} requires one number per token, got {values.shape[1]}: "
                "use 'multivariate_gaussian'"
            )
        return self._checked(values[:, 0])

    def statistics(self, x: Any) -> Floats:
        """Return `centred_statistics` of x − origin: float64 (n, n_stats)."""
        return self.centred_statistics(np.asarray(x, np.float64)[:, None] - self.origin)

    def mean_observation(self, stats: Floats) -> Floats:
        """Return the mean of the predictive distributions: float64 (n_clusters, 1)."""
        return np.exp(self.mean_parameters(stats)[:, :1])

    def _allowed(self, x: Floats) -> np.ndarray:
        """Return a mask of the values that the family allows: bool (n,)."""
        return np.ones(len(x), bool)

    def _checked(self, x: Any) -> Floats:
        """Return ``x`` as float64 (n,); otherwise raise `InputError`."""
        array, kind = np.asarray(x, np.float64), type(self).__name__
        if array.ndim != 1:
            raise InputError(
                f"observations of {kind} must be one number each, got shape {array.shape}"
            )
        wrong = array[~self._allowed(array)]
        if wrong.size:
            raise InputError(
                f"observations of {kind} must be {self.support}, got {float(wrong[0])!r}"
            )
        return array
