"""Multivariate Gaussian with unknown mean and covariance: places, embeddings, measurements."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import multigammaln

from mcsquared.arrays import Floats, Integers, Rng
from mcsquared.checks import check_concentration
from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily, n_observations
from mcsquared.families.checks import filled_field, finite_vector, symmetric_matrix
from mcsquared.families.numerics import (
    LOG_TWO_PI,
    cholesky,
    inverse,
    log_determinant,
    log_rising_factorial,
    mean_and_variance,
    product,
    rows_by_label,
    solve_transposed,
)
from mcsquared.families.traits import Predictive, student_predictive
from mcsquared.kernels.cpu.matrices import draw_precisions, posterior_scales
from mcsquared.kernels.cpu.predictive import WIDE


class _NormalInverseWishart(NamedTuple):
    """Posterior hyper-parameters, one entry per row of statistics; the mean is centred."""

    mean: Floats  # (..., d)
    strength: Floats  # (...)
    degrees: Floats  # (...)
    scale: Floats  # (..., d, d)


@dataclass(frozen=True)
class MultivariateGaussian(ConjugateFamily):
    """Multivariate Gaussian with a Normal-inverse-Wishart prior on its mean and covariance.

    Observations are float64 (n, d). Parameters are float64 (k, d + d²): the mean, then the
    precision matrix row by row, in the data's own units. (The precision has a mean for any degrees
    of freedom, the covariance does not.)

    Parameters
    ----------
    mean : vector of d floats, optional
        Prior mean, in the data's own units. None: the mean of the data.
    strength : float
        How many observations the prior mean is worth.
    degrees : float, optional
        Degrees of freedom, more than d − 1. None: d + 2, which puts the prior mean of the
        covariance at ``scale``.
    scale : d × d matrix, optional
        Scale of the inverse Wishart. None: the diagonal of the variances of the data.
    origin : vector of d floats, optional
        Subtracted before statistics are computed; set by `filled`. It affects rounding only. None:
        zero.

    Notes
    -----
    Statistics are ``T(x) = (1, y, y yᵀ)`` with ``y = x − origin``, the outer product row by row.

    Examples
    --------
    >>> family = mc2.MultivariateGaussian().filled(np.array([[1.0, 2.0], [3.0, 6.0]]))
    >>> family.mean, family.width
    ((2.0, 4.0), 2)
    >>> parameters = family.mean_parameters(np.zeros((1, 7)))
    >>> [array.shape for array in family.whitened_parameters(parameters)]
    [(1,), (1, 2), (1, 2, 2)]
    """

    mean: Any = None
    strength: float = 0.1
    degrees: float | None = None
    scale: Any = None
    origin: Any = None

    name: ClassVar[str] = "multivariate_gaussian"
    kernel: ClassVar[str | None] = "multivariate_gaussian"
    column_kinds: ClassVar[tuple[str, ...]] = ("vector",)
    column_form: ClassVar[str] = "vectors of numbers (2-D)"
    display: ClassVar[str | None] = "vector"
    # Tuples, unlike arrays, can be compared, hashed and written as JSON.
    field_checks: ClassVar = {
        "mean": finite_vector,
        "strength": check_concentration,
        "degrees": check_concentration,
        "scale": symmetric_matrix,
        "origin": finite_vector,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        fields = [name for name in ("mean", "scale", "origin") if getattr(self, name) is not None]
        if len({len(getattr(self, name)) for name in fields}) > 1:
            widths = ", ".join(f"{name} {len(getattr(self, name))}" for name in fields)
            raise InputError(f"the dimensions of MultivariateGaussian must agree, got {widths}")
        if fields and self.degrees is not None and self.degrees <= self.width - 1:
            raise InputError(
                "degrees of MultivariateGaussian must be greater than the dimensions less one "
                f"({self.width - 1}), got {self.degrees!r}"
            )

    @property
    def width(self) -> int:
        """The number of dimensions, d."""
        return len(self.mean or self.scale or self.origin or filled_field(self, "mean"))

    n_dimensions = width

    @property
    def is_wide(self) -> bool:
        """Whether there are more than `WIDE` dimensions."""
        return self.width > WIDE

    @property
    def cost(self) -> int:
        """How much longer a sweep takes for an observation than for a word, approximately."""
        return self.width**2 // 16 if self.is_wide else 1

    @property
    def n_stats(self) -> int:
        """The number of statistics, 1 + d + d²."""
        return 1 + self.width + self.width**2

    def filled(self, x: Any) -> Self:
        """Return the family with the origin, and all unset fields, set from the data (n, d)."""
        x = np.asarray(x, np.float64)
        if x.ndim != 2 or x.shape[1] == 0:
            raise InputError(
                f"observations of MultivariateGaussian must be rows of numbers, got shape {x.shape}"
            )
        width = x.shape[1]
        for field in ("mean", "scale"):
            value = getattr(self, field)
            if value is not None and len(value) != width:
                raise InputError(
                    f"{field} of MultivariateGaussian must have the dimensions of the data "
                    f"({width}), got {len(value)}"
                )
        data_mean, variances = mean_and_variance("MultivariateGaussian", x)
        return replace(
            self,
            mean=data_mean if self.mean is None else self.mean,
            degrees=width + 2.0 if self.degrees is None else self.degrees,
            scale=np.diag(np.where(variances > 0, variances, 1.0))
            if self.scale is None
            else self.scale,
            origin=data_mean,
        )

    def filled_without_data(self) -> Self:
        """Return the family filled without data; mean or scale must determine the width."""
        if self.mean is None and self.scale is None:
            raise InputError("mean or scale of MultivariateGaussian must be given, got neither")
        return self.filled(np.empty((0, self.width)))

    def from_vectors(self, values: Floats) -> Floats:
        """Return vector content unchanged."""
        return values

    def statistics(self, x: Any) -> Floats:
        """Return (1, y, y yᵀ) with y = x − origin: float64 (n, 1 + d + d²)."""
        return self.centred_statistics(self._centred(x))

    def centred_statistics(self, centred: Floats) -> Floats:
        """Return (1, y, y yᵀ) of centred values (n, d): float64 (n, 1 + d + d²)."""
        n, width = centred.shape
        outer = (centred[:, :, None] * centred[:, None, :]).reshape(n, width**2)
        return np.concatenate([np.ones((n, 1)), centred, outer], axis=1)

    def log_normaliser(self, stats: Floats) -> Floats:
        """Return ln Γ_d(½ν) + ½νd ln 2 − ½ν ln|scale| − ½d ln strength, of the posterior.

        ν are the degrees of freedom, and Γ_d is the multivariate gamma function.
        """
        posterior, width = self._posterior(stats), self.width
        half = 0.5 * posterior.degrees
        log_det = log_determinant(cholesky(posterior.scale))
        wishart = _log_multigamma(half, width) + half * (width * np.log(2.0) - log_det)
        return wishart - 0.5 * width * np.log(posterior.strength)

    def log_base(self, x: Any) -> Floats:
        """Return −½ d ln 2π for each observation."""
        return np.full(n_observations(x), -0.5 * self.width * LOG_TWO_PI)

    def log_predictive(self, x: Any, stats: Floats) -> Floats:
        """Return the log-density of a multivariate Student-t: float64 (n, n_clusters).

        This needs one factorisation per cluster; the inherited method needs one per pair.
        """
        posterior, width = self._posterior(np.atleast_2d(stats)), self.width
        centred, factor = self._centred(x), cholesky(posterior.scale)
        shrinkage = posterior.strength / (posterior.strength + 1.0)
        constant = log_rising_factorial(
            0.5 * (posterior.degrees + 1.0 - width), 0.5 * width
        ) + 0.5 * (width * (np.log(shrinkage) - np.log(np.pi)) - log_determinant(factor))
        result = np.empty((len(centred), len(factor)))
        for k, triangle in enumerate(factor):
            solved = solve_triangular(triangle, (centred - posterior.mean[k]).T, lower=True)
            distance = shrinkage[k] * np.einsum("dn,dn->n", solved, solved)
            result[:, k] = constant[k] - 0.5 * (posterior.degrees[k] + 1.0) * np.log1p(distance)
        return result

    def sample_parameters(self, stats: Floats, rng: Rng) -> Floats:
        """Draw (mean, precision matrix) of each cluster: float64 (n_clusters, d + d²).

        Bartlett's decomposition: with C Cᵀ the scale, ν the degrees of freedom, and A lower
        triangular, A_ii² chi-squared with ν − i degrees (i = 0, 1, ...) and normal below,
        R = C⁻ᵀ A gives the precision R Rᵀ. More than `WIDE` dimensions have R = C⁻ᵀ U instead,
        where U is A with rows and columns in reversed order: it is upper triangular, as is R.
        """
        posterior, width = self._posterior(np.atleast_2d(stats)), self.width
        factor, n_rows = cholesky(posterior.scale), len(posterior.scale)
        bartlett = rng.standard_normal((n_rows, width, width))  # above the diagonal not used
        diagonal = np.sqrt(rng.chisquare(posterior.degrees[:, None] - np.arange(width)))
        bartlett[:, np.arange(width), np.arange(width)] = diagonal
        noise = rng.standard_normal((n_rows, width, 1)) / np.sqrt(posterior.strength)[:, None, None]
        if self.is_wide:
            deviation, precision = noise[:, :, 0], np.empty_like(bartlett)
            draw_precisions(factor, bartlett, precision, deviation)
        else:
            bartlett = np.tril(bartlett)
            root = solve_transposed(factor, bartlett)
            deviation = product(factor, solve_transposed(bartlett, noise))[:, :, 0]
            precision = product(root, np.swapaxes(root, 1, 2))
        return _flat(self._origin + (posterior.mean + deviation), precision)

    def mean_parameters(self, stats: Floats) -> Floats:
        """Return the posterior means of (mean, precision matrix): float64 (n_clusters, d + d²)."""
        posterior = self._posterior(np.atleast_2d(stats))
        precision = posterior.degrees[:, None, None] * inverse(posterior.scale)
        mean = self._origin + posterior.mean
        return _flat(mean, 0.5 * (precision + np.swapaxes(precision, 1, 2)))

    def log_likelihood(self, x: Any, parameters: Floats) -> Floats:
        """Return the Gaussian log-density: float64 (n, n_clusters)."""
        parameters, width = np.atleast_2d(parameters), self.width
        factor = cholesky(parameters[:, width:].reshape(-1, width, width))
        constant = 0.5 * (log_determinant(factor) - width * LOG_TWO_PI)
        x = np.asarray(x, np.float64)
        result = np.empty((len(x), len(parameters)))
        for k, triangle in enumerate(factor):
            whitened = (x - parameters[k, :width]) @ triangle
            result[:, k] = constant[k] - 0.5 * np.einsum("nd,nd->n", whitened, whitened)
        return result

    def natural_parameters(self, parameters: Floats) -> Floats:
        """Return (½ ln|P| − ½ μᵀPμ, Pμ, −½ P): float64 (n_clusters, 1 + d + d²).

        P is the precision matrix, and μ the mean minus the origin.
        """
        log_root, mean, factor = self.whitened_parameters(parameters)
        whitened = product(np.swapaxes(factor, 1, 2), mean[:, :, None])
        constant = log_root - 0.5 * (whitened[:, :, 0] ** 2).sum(axis=1)
        slope, square = product(factor, whitened)[:, :, 0], -0.5 * parameters[:, self.width :]
        return np.concatenate([constant[:, None], slope, square], axis=1)

    def whitened_parameters(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return ½ ln|P|, μ and L with L Lᵀ = P; −∞, μ and 0 if P is 0.

        P is the precision matrix, and μ the mean minus the origin. The arrays are float64
        (n_clusters,), (n_clusters, d) and (n_clusters, d, d).
        """
        parameters, width = np.atleast_2d(parameters), self.width
        precision = parameters[:, width:].reshape(-1, width, width)
        used = precision[:, 0, 0] > 0
        factor, log_root = np.zeros_like(precision), np.full(len(used), -np.inf)
        factor[used] = cholesky(precision[used])
        log_root[used] = 0.5 * log_determinant(factor[used])
        return log_root, parameters[:, :width] - self._origin, factor

    def mean_observation(self, stats: Floats) -> Floats:
        """Return the mean of the predictive distributions: float64 (n_clusters, d)."""
        return self.mean_parameters(stats)[:, : self.width]

    def mean_covariance(self, stats: Floats) -> Floats:
        """Return the covariance at the mean precision: float64 (n_clusters, d, d)."""
        precision = self.mean_parameters(stats)[:, self.width :]
        covariance = np.linalg.inv(precision.reshape(-1, self.width, self.width))
        return np.asarray(covariance, np.float64)

    def predictive(self, stats: Floats) -> list[Predictive]:
        """Return a `Predictive` per dimension, with a Student-t for each row of statistics."""
        width, n = self.width, stats[:, 0]
        mean, scale = self.mean_observation(stats), self.mean_covariance(stats)
        wishart_degrees = filled_field(self, "degrees") + n
        degrees, strength = wishart_degrees - width + 1.0, self.strength + n
        inflation = wishart_degrees / degrees * (strength + 1.0) / strength
        return [
            student_predictive(degrees, mean[:, i], np.sqrt(inflation * scale[:, i, i]))
            for i in range(width)
        ]

    def sample_observations(
        self, parameters: Floats, labels: Integers, rng: Rng, sizes: Integers | None = None
    ) -> Floats:
        """Draw one vector per label: float64 (n, d)."""
        width = self.width
        noise = rng.standard_normal((labels.size, width))
        values = parameters[labels, :width]
        factors = np.linalg.cholesky(parameters[:, width:].reshape(-1, width, width))
        for factor, rows in zip(factors, rows_by_label(labels, len(factors)), strict=True):
            # The precision is L Lᵀ, so the solution of Lᵀ y = noise has its inverse as covariance.
            values[rows] += np.linalg.solve(factor.T, noise[rows].T).T
        return values

    def kernel_parameters(self) -> Floats:
        """Return (d, strength, degrees, mean − origin (d), scale (d², row by row))."""
        scale = np.asarray(filled_field(self, "scale"))
        centred = np.asarray(filled_field(self, "mean")) - self._origin
        first = [len(scale), self.strength, filled_field(self, "degrees")]
        return np.concatenate([first, centred, scale.ravel()])

    @cached_property
    def _origin(self) -> Floats:
        return np.zeros(self.width) if self.origin is None else np.asarray(self.origin)

    def _centred(self, x: Any) -> Floats:
        x = np.asarray(x, np.float64)
        if x.ndim != 2 or x.shape[1] != self.width:
            raise InputError(
                f"observations of MultivariateGaussian must be rows of {self.width} numbers, "
                f"got shape {x.shape}"
            )
        return x - self._origin

    def _posterior(self, stats: Floats) -> _NormalInverseWishart:
        """Return the posterior given the statistics, without cancellation as in `Gaussian`."""
        prior_mean = np.asarray(filled_field(self, "mean"), np.float64) - self._origin
        prior_scale = np.asarray(filled_field(self, "scale"), np.float64)
        stats, width = np.asarray(stats, np.float64), self.width
        n, total = stats[..., 0], stats[..., 1 : 1 + width]
        occupied = (n > 0)[..., None]
        average = np.divide(total, n[..., None], out=np.zeros_like(total), where=occupied)
        scale, rows = np.empty((*n.shape, width, width)), np.ascontiguousarray(stats)
        rows, scales = rows.reshape(-1, self.n_stats), scale.reshape(-1, width, width)
        posterior_scales(rows, prior_mean, self.strength, prior_scale, scales)
        return _NormalInverseWishart(
            mean=prior_mean + (n / (n + self.strength))[..., None] * (average - prior_mean),
            strength=self.strength + n,
            degrees=filled_field(self, "degrees") + n,
            scale=scale,
        )


def _log_multigamma(half: Floats, width: int) -> Floats:
    """Return ln Γ_d for each entry; SciPy's function does not accept empty arrays."""
    return multigammaln(half, width) if np.size(half) else np.zeros(np.shape(half))


def _flat(mean: np.ndarray, precision: np.ndarray) -> Floats:
    return np.concatenate([mean, precision.reshape(len(mean), mean.shape[1] ** 2)], axis=1)
