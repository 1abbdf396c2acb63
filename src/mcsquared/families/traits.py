"""Traits of a family besides its mathematics.

They describe the columns and content that a family accepts, and how its contexts are displayed,
predicted and simulated. All have defaults, so a user-defined family may omit them.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mcsquared.arrays import Floats, Integers, Rng
from mcsquared.errors import InputError


class Predictive(NamedTuple):
    """Predictive distributions of one dimension, one for each of n rows of statistics."""

    mean: Floats  # (n,)
    variance: Floats  # (n,), inf where it does not exist
    sd: Floats  # (n,), the scale parameter where the variance does not exist
    distribution: Any  # frozen SciPy distribution with parameters of shape (n, 1)
    discrete: bool = False


def student_predictive(degrees: Floats, mean: Floats, scale: Floats) -> Predictive:
    """Return Student-t distributions with these degrees of freedom."""
    from scipy import stats  # slow to import and rarely needed

    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(degrees > 2.0, scale**2 * degrees / (degrees - 2.0), np.inf)
    frozen = stats.t(degrees[:, None], mean[:, None], scale[:, None])
    sd = np.where(np.isfinite(variance), np.sqrt(variance), scale)
    return Predictive(mean, variance, sd, frozen)


class FamilyTraits:
    """Default traits, which a family may override.

    Attributes
    ----------
    column_kinds : tuple of str
        Kinds of columns that the family uses unconverted, the preferred one first. Columns of
        these kinds have this family by default. Empty: columns are passed on unchanged.
    column_form : str
        What the family accepts as a context, for error messages.
    content_kind : {"words", "vectors", None}
        The content that the family models; None: contexts only.
    display : {"curve", "counts", "categories", "vector", None}
        Display of a context in tables, figures and the report. None: that of its kind of column.
    """

    column_kinds: ClassVar[tuple[str, ...]] = ()
    column_form: ClassVar[str] = "any column"
    content_kind: ClassVar[str | None] = "vectors"
    display: ClassVar[str | None] = None

    def filled(self, x: Any) -> Self:
        """Return the family with every field that is None set from the data ``x``."""
        return self

    @property
    def n_dimensions(self) -> int | None:
        """Number of dimensions or categories of an observation; None: not fixed."""
        return None

    def filled_without_data(self) -> Self:
        """Return the family with unset fields filled as for a column without observations."""
        return self.filled(np.empty(0, dtype=np.int64))

    def from_vectors(self, values: Floats) -> Any:
        """Return vector content, float64 (n, width), in the numeric form of the family."""
        return values[:, 0] if values.shape[1] == 1 else values

    def centred_statistics(self, centred: Floats) -> Floats:
        """Return ``T(x)`` of observations (n, width) from which the origin has been subtracted."""
        return np.hstack([np.ones((len(centred), 1)), centred])

    def mean_observation(self, stats: Floats) -> Floats | None:
        """Return the mean of an observation after each row of statistics; None: unknown.

        It is float64 (n_clusters, n_dimensions); for categories, the probabilities.
        """
        return None

    def mean_covariance(self, stats: Floats) -> Floats | None:
        """Return the covariance of an observation at the mean precision; None: unknown.

        It is float64 (n_clusters, n_dimensions, n_dimensions).
        """
        return None

    def outcomes(self) -> Any | None:
        """Return every value that one observation can take; None if they are not categories."""
        return None

    def predictive(self, stats: Floats) -> list[Predictive]:
        """Return the predictive distributions of each dimension, one for each row of statistics."""
        raise self._missing("predictive")

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> Any:
        """Draw one observation per label from the likelihood.

        Parameters
        ----------
        parameters : float64 (n_clusters, n_parameters)
            From `sample_parameters`.
        labels : int (n,)
            The cluster of each observation.
        rng : numpy.random.Generator
        sizes : int (n,), optional
            Number of entries of each bag, 1 by default; other families have no sizes.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> mc2.Bernoulli().sample_observations(np.log([[1.0, 1e-9]]), np.zeros(3, int), rng)
        array([1., 1., 1.])
        """
        raise self._missing("sample_observations")

    def _missing(self, method: str) -> InputError:
        return InputError(f"the family {type(self).__name__} does not define {method}")
