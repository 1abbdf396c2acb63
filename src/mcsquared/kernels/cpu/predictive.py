"""Predictive densities of the families with few statistics, with parameters integrated out.

A *row* of statistics belongs to a cluster or a topic. After each change, a prepared row is computed
from it, which speeds up the densities of many observations. Layouts follow `mcsquared.families`:

=====================  ====================  ===============================  ==================
kind                   statistics            parameters                       prepared
=====================  ====================  ===============================  ==================
GAUSSIAN               n, Σx, Σx²            mean, strength, shape, rate      4 numbers
MULTIVARIATE_GAUSSIAN  n, Σx, Σxxᵀ           d, strength, degrees, mean,      3 + 2d + d² numbers
                                             scale
BERNOULLI              n, Σx                 a, b                             2 numbers
POISSON                n, Σx                 shape, rate                      4 numbers
=====================  ====================  ===============================  ==================
"""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.matrices import (
    factor_upper,
    posterior_scales,
    squared_length,
    update_upper,
)
from mcsquared.kernels.cpu.special import HALF_LOG_TWO_PI, log_gamma

# Typed, because numba would compile functions again for a literal.
JOIN, LEAVE = np.int64(1), np.int64(-1)
WIDE = 32  # dimensions: vectors of more have kernels of their own
GAUSSIAN, MULTIVARIATE_GAUSSIAN, BERNOULLI, POISSON = 0, 1, 2, 3
KINDS = {
    "gaussian": GAUSSIAN,
    "multivariate_gaussian": MULTIVARIATE_GAUSSIAN,
    "bernoulli": BERNOULLI,
    "poisson": POISSON,
}


def prepared_size(kind: int, parameters: np.ndarray) -> int:
    """Return the length of a prepared row; the last elements may be unused."""
    if kind == MULTIVARIATE_GAUSSIAN:
        d = int(parameters[0])
        return 3 + 2 * d + d * d
    return 4


@njit(cache=True, error_model="numpy")
def add_observation(kind, stats, x, sign):
    """Add an observation to a row of statistics (sign JOIN) or remove it (sign LEAVE)."""
    stats[0] += sign
    if kind == GAUSSIAN:
        stats[1] += sign * x[0]
        stats[2] += sign * x[0] * x[0]
    elif kind == MULTIVARIATE_GAUSSIAN:
        d = x.size
        for a in range(d):
            stats[1 + a] += sign * x[a]
            for b in range(d):
                stats[1 + d + a * d + b] += sign * x[a] * x[b]
    else:
        stats[1] += sign * x[0]


@njit(cache=True, nogil=True, error_model="numpy")
def add_observations(kind, values, row_of_value, stats):
    """Add every observation to its row, in order."""
    for i in range(values.shape[0]):
        add_observation(kind, stats[row_of_value[i]], values[i], 1)


@njit(cache=True, error_model="numpy")
def prepare(kind, parameters, stats, prepared):
    """Write the prepared row that `log_predictive` requires."""
    if kind == GAUSSIAN:
        prepare_gaussian(parameters, stats, prepared)
    elif kind == MULTIVARIATE_GAUSSIAN and parameters[0] > WIDE:
        prepare_wide(parameters, stats, prepared)
    elif kind == MULTIVARIATE_GAUSSIAN:
        prepare_multivariate_gaussian(parameters, stats, prepared)
    elif kind == BERNOULLI:
        total = math.log(parameters[0] + parameters[1] + stats[0])
        prepared[0] = math.log(parameters[0] + stats[1]) - total
        prepared[1] = math.log(parameters[1] + stats[0] - stats[1]) - total
    else:
        shape = parameters[0] + stats[1]
        rate = parameters[1] + stats[0]
        prepared[0] = shape
        prepared[1] = log_gamma(shape)
        prepared[2] = -shape * math.log1p(1.0 / rate)
        prepared[3] = math.log1p(rate)


@njit(cache=True, error_model="numpy")
def update_prepared(kind, parameters, stats, x, sign, prepared):
    """Update a prepared row after ``x`` joined its statistics or left them.

    The Cholesky factor of wide vectors is not computed again.
    """
    n = stats[0]
    if kind != MULTIVARIATE_GAUSSIAN or x.size <= WIDE or n <= 0 or n - sign <= 0:
        prepare(kind, parameters, stats, prepared)
        return
    d, strength = x.size, parameters[1] + n
    mean, change, factor = wide_parts(prepared, d)
    for a in range(d):
        change[a] = x[a] - mean[a]
        mean[a] += sign * change[a] / strength
    if update_upper(factor, change, sign * (strength - sign) / strength):
        write_constants(parameters, n, factor, prepared)
    else:
        prepare(kind, parameters, stats, prepared)


@njit(cache=True, error_model="numpy")
def wide_parts(prepared, d):
    """Return the mean, a scratch row and the upper Cholesky factor of a prepared row."""
    factor = prepared[3 + 2 * d : 3 + 2 * d + d * d].reshape((d, d))
    return prepared[3 : 3 + d], prepared[3 + d : 3 + 2 * d], factor


@njit(cache=True, error_model="numpy")
def prepare_wide(parameters, stats, prepared):
    """Prepare a row as `prepare_multivariate_gaussian` does, but with an upper factor."""
    d = int(parameters[0])
    strength0, mean0, n = parameters[1], parameters[3 : 3 + d], stats[0]
    mean, _, factor = wide_parts(prepared, d)
    scales, scale0 = factor.reshape((1, d, d)), parameters[3 + d :].reshape((d, d))
    posterior_scales(stats.reshape((1, stats.size)), mean0, strength0, scale0, scales)
    for a in range(d):
        mean[a] = (strength0 * mean0[a] + stats[1 + a]) / (strength0 + n)
    factor_upper(factor)
    write_constants(parameters, n, factor, prepared)


@njit(cache=True, error_model="numpy")
def write_constants(parameters, n, factor, prepared):
    """Write the constants of a multivariate-t predictive given the upper factor of its scale."""
    d, strength, degrees = int(parameters[0]), parameters[1] + n, parameters[2] + n
    log_root = 0.0
    for a in range(d):
        log_root += math.log(factor[a, a])
    write_student_constants(d, strength, degrees, 2.0 * log_root, prepared)


@njit(cache=True, error_model="numpy")
def write_student_constants(d, strength, degrees, log_determinant, prepared):
    """Write the three constants of a multivariate-t predictive."""
    prepared[0] = (
        log_gamma(0.5 * (degrees + 1.0))
        - log_gamma(0.5 * (degrees - d + 1.0))
        - 0.5 * d * (math.log(math.pi) + math.log1p(1.0 / strength))
        - 0.5 * log_determinant
    )
    prepared[1] = 0.5 * (degrees + 1.0)
    prepared[2] = strength / (strength + 1.0)


@njit(cache=True, error_model="numpy")
def prepare_gaussian(parameters, stats, prepared):
    """Write a Student-t predictive: mean, constant, power, factor of the squared distance."""
    mean0, strength0, shape0, rate0 = parameters[0], parameters[1], parameters[2], parameters[3]
    n = stats[0]
    strength = strength0 + n
    mean = (strength0 * mean0 + stats[1]) / strength
    shape = shape0 + 0.5 * n
    rate = rate0
    if n > 0:
        average = stats[1] / n
        rate += 0.5 * max(stats[2] - n * average * average, 0.0)
        rate += 0.5 * strength0 * n / strength * (average - mean0) ** 2
    prepared[0] = mean
    prepared[1] = (
        log_gamma(shape + 0.5)
        - log_gamma(shape)
        - 0.5 * math.log1p(1.0 / strength)
        - 0.5 * math.log(rate)
        - HALF_LOG_TWO_PI
    )
    prepared[2] = shape + 0.5
    prepared[3] = 0.5 * strength / ((strength + 1.0) * rate)


@njit(cache=True, error_model="numpy")
def prepare_multivariate_gaussian(parameters, stats, prepared):
    """Write a multivariate-t predictive: constants, mean, scratch, Cholesky factor of the scale."""
    d = int(parameters[0])
    strength0, degrees0 = parameters[1], parameters[2]
    mean0, scale0 = parameters[3 : 3 + d], parameters[3 + d :]
    n = stats[0]
    strength, degrees = strength0 + n, degrees0 + n
    factor = prepared[3 + 2 * d :]
    shrinkage = strength0 * n / strength
    for a in range(d):
        prepared[3 + a] = (strength0 * mean0[a] + stats[1 + a]) / strength
        for b in range(a + 1):
            value = scale0[a * d + b]
            if n > 0:
                value += stats[1 + d + a * d + b] - stats[1 + a] * stats[1 + b] / n
                value += shrinkage * (stats[1 + a] / n - mean0[a]) * (stats[1 + b] / n - mean0[b])
            factor[a * d + b] = value
    write_student_constants(d, strength, degrees, cholesky(factor, d), prepared)


@njit(cache=True, error_model="numpy")
def cholesky(matrix, d):
    """Replace a flat matrix (d × d,) by its Cholesky factor; return the log-determinant."""
    log_determinant = 0.0
    for a in range(d):
        for b in range(a + 1):
            value = matrix[a * d + b]
            for c in range(b):
                value -= matrix[a * d + c] * matrix[b * d + c]
            if a == b:
                # Only rounding can make a pivot negative: the prior's scale is positive definite.
                pivot = math.sqrt(max(value, 1e-300))
                matrix[a * d + a] = pivot
                log_determinant += 2.0 * math.log(pivot)
            else:
                matrix[a * d + b] = value / matrix[b * d + b]
    return log_determinant


@njit(cache=True, error_model="numpy")
def log_predictive(kind, prepared, x):
    """Return the log-density of one observation given a prepared row."""
    if kind == GAUSSIAN:
        distance = x[0] - prepared[0]
        return prepared[1] - prepared[2] * math.log1p(prepared[3] * distance * distance)
    if kind == BERNOULLI:
        return prepared[0] if x[0] > 0.5 else prepared[1]
    if kind == POISSON:
        count = x[0]
        gain = log_gamma(prepared[0] + count) - prepared[1] - log_gamma(count + 1.0)
        return gain + prepared[2] - count * prepared[3]
    d = x.size
    if d > WIDE:
        mean, rest, factor = wide_parts(prepared, d)
        for a in range(d):
            rest[a] = x[a] - mean[a]
        distance = squared_length(factor, rest)
        return prepared[0] - prepared[1] * math.log1p(prepared[2] * distance)
    mean, solved, factor = prepared[3 : 3 + d], prepared[3 + d : 3 + 2 * d], prepared[3 + 2 * d :]
    distance = 0.0
    for a in range(d):
        value = x[a] - mean[a]
        for b in range(a):
            value -= factor[a * d + b] * solved[b]
        value /= factor[a * d + a]
        solved[a] = value
        distance += value * value
    return prepared[0] - prepared[1] * math.log1p(prepared[2] * distance)
