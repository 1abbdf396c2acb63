"""Numerically stable special functions, moments and operations on small matrices.

Sums have a fixed order and never use BLAS, which may divide a sum among its threads: results are
the same to the last bit for any number of threads.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import gammaln

from mcsquared.arrays import Floats, Int32s, Integers, Rng
from mcsquared.checks import MAX_SCALE, MIN_SCALE
from mcsquared.errors import InputError
from mcsquared.kernels.cpu import matrices as kernels

LOG_TWO_PI = float(np.log(2.0 * np.pi))

# Above this argument seven terms of Stirling's series are exact to double precision.
_STIRLING_FROM = 10.0
_STIRLING_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling_tail(argument: Floats) -> Floats:
    """Return ln Γ(x) − [(x − ½) ln x − x + ½ ln 2π] for x >= 10."""
    inverse = 1.0 / argument
    square = inverse * inverse
    tail = np.zeros_like(argument)
    for term in reversed(_STIRLING_TERMS):
        tail = tail * square + term
    return tail * inverse


def log_rising_factorial(start: ArrayLike, added: ArrayLike) -> Floats:
    """Return ln Γ(start + added) − ln Γ(start), elementwise, for start > 0 and added >= 0.

    The difference of two log-gammas near 1e9 has only six correct digits; here the leading terms of
    Stirling's series are subtracted analytically, and only the remainder is computed.
    """
    first, more = np.broadcast_arrays(np.asarray(start, np.float64), np.asarray(added, np.float64))
    small = first < _STIRLING_FROM
    if small.all():
        return gammaln(first + more) - gammaln(first)
    large = np.where(small, _STIRLING_FROM, first)
    total = large + more
    by_series = (
        (large - 0.5) * np.log1p(more / large)
        + more * (np.log(total) - 1.0)
        + (_stirling_tail(total) - _stirling_tail(large))
    )
    if not small.any():
        return by_series
    return np.where(small, gammaln(first + more) - gammaln(first), by_series)


def log_standard_gamma(shape: ArrayLike, rng: Rng) -> Floats:
    """Draw the logarithm of a Gamma(shape, 1) variable for each shape.

    Gamma(a) has the distribution of Gamma(a + 1) U^{1/a}, with U uniform on (0, 1); in logs this
    cannot underflow, while a plain draw with a small shape is often zero.
    """
    shape = np.asarray(shape, np.float64)
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential(shape.shape) / shape


def draw_index(weights: Floats, rng: Rng) -> int:
    """Draw an index in proportion to the weights."""
    cumulative = np.cumsum(weights)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def draw_columns(weights: Floats, rng: Rng) -> Int32s:
    """Draw a column of every row of (n, n_columns) weights, in proportion to them: int32 (n,)."""
    cumulative = np.cumsum(weights, axis=1)
    total = cumulative[:, -1]
    # A threshold that is rounded up to the total must not select a column without weight.
    threshold = np.minimum(rng.random(len(weights)) * total, np.nextafter(total, 0.0))
    return (cumulative <= threshold[:, None]).sum(axis=1).astype(np.int32)


def mean_and_variance(kind: str, x: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance of ``x`` (n, ...) over the first axis: float64 (...).

    Both are zero without data. The mean of equal values is exactly that value; a variance that
    underflows is zero; if all underflow, values must be equal. ``kind`` is the name of the family,
    for error messages.
    """
    if len(x) == 0:
        return np.zeros(x.shape[1:]), np.zeros(x.shape[1:])
    if not np.isfinite(x).all():
        raise InputError(f"observations of {kind} must be finite, got missing or infinite values")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        low = x.min(axis=0)
        mean = low + np.mean(x - low, axis=0)
        variance = np.mean((x - mean) ** 2, axis=0)
    if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
        raise InputError(
            f"observations of {kind} must have a finite variance, "
            f"got values from {x.min():g} to {x.max():g}"
        )
    if (x != low).any() and not MIN_SCALE <= variance.max() <= MAX_SCALE:
        raise InputError(
            f"observations of {kind} must have a variance between {MIN_SCALE:g} and "
            f"{MAX_SCALE:g}, got values from {x.min():g} to {x.max():g}: rescale them"
        )
    return mean, np.where(variance < MIN_SCALE, 0.0, variance)


def as_dense(matrix: Any) -> Floats:
    """Return an array or a sparse matrix as a dense float64 array."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, np.float64)


def indicator_matrix(labels: np.ndarray, n_clusters: int) -> sparse.csr_matrix:
    """Return the sparse matrix whose product with rows sums them by label, in row order."""
    n = len(labels)
    return sparse.csr_matrix((np.ones(n), (labels, np.arange(n))), shape=(n_clusters, n))


def rows_by_label(labels: Integers, n_labels: int) -> list[np.ndarray]:
    """Return the positions of each label, in increasing order."""
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_labels + 1))
    return [order[first:last] for first, last in pairwise(bounds)]


def cholesky(matrices: Floats) -> np.ndarray:
    """Return lower Cholesky factors (..., d, d), even if rounding made an eigenvalue negative."""
    matrices = np.asarray(matrices, np.float64)
    factor = np.empty(matrices.shape)
    kernels.factor_matrices(_stack(matrices), _stack(factor))
    broken = ~np.isfinite(factor).all(axis=(-1, -2))
    if broken.any():
        factor[broken] = _nearest_factor(matrices[broken])
    return factor


def _stack(matrices: np.ndarray) -> np.ndarray:
    """Return matrices (..., a, b) as an array (n, a, b) in C order."""
    n = math.prod(matrices.shape[:-2])
    return np.ascontiguousarray(matrices).reshape(n, *matrices.shape[-2:])


def _nearest_factor(matrices: np.ndarray) -> np.ndarray:
    """Return Cholesky factors of symmetric matrices with eigenvalues clipped above zero."""
    values, vectors = np.linalg.eigh(matrices)
    floor = 1e-14 * np.abs(values).max(axis=-1, keepdims=True)
    scaled = vectors * np.sqrt(np.maximum(values, floor))[..., None, :]
    triangle = np.swapaxes(np.linalg.qr(np.swapaxes(scaled, -1, -2))[1], -1, -2)
    signs = np.sign(np.diagonal(triangle, axis1=-2, axis2=-1))
    return triangle * signs[..., None, :]


def solve_transposed(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return X with factorᵀ X = right, for lower triangular factors (..., d, d)."""
    solved = np.array(right, np.float64)
    kernels.solve_systems(_stack(factor), _stack(solved))
    return solved


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the matrix products (..., a, b) of (..., a, d) and (..., d, b)."""
    result = np.empty((*left.shape[:-1], right.shape[-1]))
    kernels.multiply_matrices(_stack(left), _stack(right), _stack(result))
    return result


def inverse(matrices: Floats) -> Floats:
    """Return the inverses of positive definite matrices (..., d, d)."""
    result = np.empty(matrices.shape)
    kernels.invert_matrices(_stack(cholesky(matrices)), _stack(result))
    return result


def log_determinant(factor: np.ndarray) -> Floats:
    """Return ln|A| from the Cholesky factor of A."""
    return 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
