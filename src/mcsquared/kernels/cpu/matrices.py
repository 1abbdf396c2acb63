"""Stacks of small matrices: Cholesky factors, triangular systems and products.

Sums have a fixed order and never use BLAS, which may divide a sum among its threads: results are
the same to the last bit for any number of threads. Inner loops add multiples of rows to a row, four
at a time, because these loops use vector instructions without another order of the terms.
"""

import math

import numpy as np

from mcsquared.kernels.caching import njit

PANEL = 16  # columns of a factor that are multiplied at a time
# Even thousands of terms below e⁻⁵⁰ do not change the last digit of a sum.
NEGLIGIBLE_LOG_RATIO = 50.0


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def add_rows(weights, first, last, rows, begin, end, out):
    """Add Σ_i weights[i] rows[i] to a row, ``first <= i < last``, in columns ``begin:end``."""
    i = first
    while i + 4 <= last:
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            for n in range(begin, end):
                left = a * rows[i, n] + b * rows[i + 1, n]
                right = c * rows[i + 2, n] + d * rows[i + 3, n]
                out[n] += left + right
        i += 4
    while i < last:
        for n in range(begin, end):
            out[n] += weights[i] * rows[i, n]
        i += 1


@njit(cache=True, nogil=True, error_model="numpy")
def factor_matrices(matrices, factors):
    """Write the lower Cholesky factors of a stack (n, d, d), NaN where a pivot is negative."""
    width = matrices.shape[1]
    upper = np.empty((width, width))
    for k in range(matrices.shape[0]):
        for row in range(width):
            for c in range(row, width):
                upper[row, c] = matrices[k, c, row]
        factor_upper(upper)
        for row in range(width):
            for c in range(row + 1):
                factors[k, row, c] = upper[c, row]
            factors[k, row, row + 1 :] = 0.0


@njit(cache=True, error_model="numpy")
def factor_upper(upper):
    """Replace the upper triangle of a matrix by that of U, where the matrix is Uᵀ U."""
    width = upper.shape[0]
    weights = np.empty(width)
    for row in range(width):
        for c in range(row):
            weights[c] = -upper[c, row]
        add_rows(weights, 0, row, upper, row, width, upper[row])
        pivot = math.sqrt(upper[row, row])
        for c in range(row, width):
            upper[row, c] /= pivot


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def update_upper(upper, change, scale):
    """Make U the factor of Uᵀ U + scale x xᵀ, where x is ``change``; return whether it exists.

    ``change`` is overwritten. Rounding would be amplified more than 10⁸ times if False is returned.
    """
    width, root = change.size, math.sqrt(abs(scale))
    sign = 1.0 if scale > 0 else -1.0
    for c in range(width):
        change[c] *= root
    for row in range(width):
        sine = change[row] / upper[row, row]
        square = 1.0 + sign * sine * sine
        if not square > 1e-8:
            return False
        cosine = math.sqrt(square)
        upper[row, row] *= cosine
        for c in range(row + 1, width):
            upper[row, c] = (upper[row, c] + sign * sine * change[c]) / cosine
            change[c] = cosine * change[c] - sine * upper[row, c]
    return True


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def squared_length(upper, rest):
    """Return |U⁻ᵀ x|², where x is ``rest``, which is overwritten."""
    width, total = rest.size, 0.0
    for row in range(width):
        solved = rest[row] / upper[row, row]
        total += solved * solved
        for c in range(row + 1, width):
            rest[c] -= solved * upper[row, c]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def solve_systems(factors, solved):
    """Replace X (n, d, columns) by the solutions Y of ``factorᵀ Y = X``, factors lower."""
    width, n_columns = solved.shape[1:]
    weights = np.empty(width)
    for k in range(len(solved)):
        for row in range(width - 1, -1, -1):
            for r in range(row + 1, width):
                weights[r] = -factors[k, r, row]
            add_rows(weights, row + 1, width, solved[k], 0, n_columns, solved[k, row])
            solved[k, row] /= factors[k, row, row]


@njit(cache=True, nogil=True, error_model="numpy")
def multiply_matrices(left, right, products):
    """Write the products of two stacks of matrices: (n, a, b) times (n, b, c) is (n, a, c)."""
    for k in range(len(products)):
        for row in range(left.shape[1]):
            products[k, row] = 0.0
            out = products[k, row]
            add_rows(left[k, row], 0, right.shape[1], right[k], 0, right.shape[2], out)


@njit(cache=True, nogil=True, error_model="numpy")
def invert_matrices(factors, inverses):
    """Write the inverses of matrices (n, d, d), given their lower Cholesky factors."""
    width = factors.shape[1]
    rows, weights = np.empty((width, width)), np.empty(width)
    for k in range(len(factors)):
        for row in range(width):  # the inverse of the factor, lower triangular
            rows[row] = 0.0
            for c in range(row):
                weights[c] = -factors[k, row, c]
            add_rows(weights, 0, row, rows, 0, row, rows[row])
            rows[row, row] = 1.0
            rows[row, : row + 1] /= factors[k, row, row]
        multiply_by_transpose(rows, inverses[k])


@njit(cache=True, error_model="numpy")
def multiply_by_transpose(rows, out):
    """Write Rᵀ R, where R (d, d) is lower triangular."""
    width = rows.shape[0]
    for a in range(width):
        out[a, : a + 1] = 0.0
        add_rows(rows[:, a], a, width, rows, 0, a + 1, out[a])
    for a in range(width):
        for b in range(a):
            out[b, a] = out[a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_precisions(factors, bartlett, precisions, deviations):
    """Write draws of Wishart distributions, and solve for deviations from the mean.

    With C Cᵀ the scale and U upper triangular, R = C⁻ᵀ U is upper triangular, and the precision is
    R Rᵀ. ``bartlett`` are the transposes of U, in reversed order of rows and columns, (n, d, d);
    ``deviations`` (n, d) are replaced by the solutions of ``Rᵀ y = x``.
    """
    width = factors.shape[1]
    root, weights = np.zeros((width, width)), np.empty(width)
    transposed = np.zeros((width, width))
    for k in range(len(factors)):
        for row in range(width - 1, -1, -1):
            for c in range(row, width):
                root[row, c] = bartlett[k, width - 1 - row, width - 1 - c]
            for r in range(row + 1, width):
                weights[r] = -factors[k, r, row]
            add_rows(weights, row + 1, width, root, row + 1, width, root[row])
            for c in range(row, width):
                root[row, c] /= factors[k, row, row]
                transposed[c, row] = root[row, c]
        multiply_by_transpose(transposed, precisions[k])
        for row in range(width):
            deviations[k, row] /= root[row, row]
            for c in range(row + 1, width):
                deviations[k, c] -= deviations[k, row] * root[row, c]


@njit(cache=True, nogil=True, error_model="numpy")
def posterior_scales(statistics, mean, strength, scale, scales):
    """Write the scales of inverse Wishart posteriors (n, d, d), given the statistics (1, y, y yᵀ).

    ``mean`` and ``scale`` are those of the prior, whose mean is worth ``strength`` observations.
    """
    width = mean.size
    average = np.empty(width)
    for k in range(len(statistics)):
        row, n = statistics[k], statistics[k, 0]
        if not n > 0.0:
            scales[k] = scale
            continue
        weight = strength * (n / (n + strength))
        average[:] = row[1 : 1 + width] / n
        for a in range(width):
            for b in range(a + 1):
                first = row[1 + width + a * width + b] - row[1 + a] * average[b]
                second = row[1 + width + b * width + a] - row[1 + b] * average[a]
                between = weight * ((average[a] - mean[a]) * (average[b] - mean[b]))
                scales[k, a, b] = scale[a, b] + 0.5 * (first + second) + between
                scales[k, b, a] = scales[k, a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def log_likelihoods_of_vectors(first, last, values, whitened, start, log_bounds, out):
    """Write the log-likelihoods of vectors in every topic, −∞ where they cannot matter.

    The term −½ d ln 2π, the same for every topic, is omitted. With the precision P = L Lᵀ,
    −½ |Lᵀ (x − μ)|² is summed from the last column of L on, and the sum ends where the weight of
    the topic is certainly below e⁻⁵⁰ times that of another one.

    Parameters
    ----------
    values : float64 (n_vectors, d)
    whitened : tuple
        ½ ln|P| (n_topics,), −∞ for unused topics, means (n_topics, d) and L (n_topics, d, d).
    start : int64 (n_vectors,)
        The topic whose likelihood is computed first, preferably a large one.
    log_bounds : float64 (n_vectors, n_topics), or without rows
        Lower bounds of the log-prior of each topic, minus an upper bound for all topics.
        Without rows, all likelihoods are computed completely.
    out : float64 (n_vectors, n_topics)
    """
    constant, mean, factors = whitened
    n_topics, width = mean.shape
    rest, sums = np.empty(width), np.empty(PANEL)
    for i in range(first, last):
        cutoff = -math.inf
        for number in range(-1, n_topics):
            m = start[i] if number < 0 else number
            if number == start[i]:
                continue
            arguments = (constant[m], mean[m], factors[m])
            out[i, m] = log_likelihood_of_vector(values[i], arguments, cutoff, rest, sums)
            if log_bounds.shape[0] > 0:
                cutoff = max(cutoff, out[i, m] + log_bounds[i, m] - NEGLIGIBLE_LOG_RATIO)


def complete_log_likelihoods(values, whitened):
    """Return the log-likelihoods of vectors (n, d) in every topic: float64 (n, n_topics).

    They lack the term that `log_likelihoods_of_vectors` omits.
    """
    out, no_rows = np.empty((len(values), len(whitened[0]))), np.zeros((0, 0))
    log_likelihoods_of_vectors(
        0, len(values), values, whitened, np.zeros(len(values), np.int64), no_rows, out
    )
    return out


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_weighted_statistics(values, weights, totals):
    """Add Σ_i weights[r, i] (1, y_i, y_i y_iᵀ) to every row r of ``totals``.

    All arrays are float64: ``values`` (n, d), ``weights`` (n_rows, n) and ``totals`` (n_rows,
    1 + d + d²).
    """
    n, width = values.shape
    for r in range(len(totals)):
        total = totals[r]
        for i in range(n):
            weight = weights[r, i]
            if weight == 0.0:
                continue
            total[0] += weight
            for a in range(width):
                scaled, row = weight * values[i, a], 1 + width + a * width
                total[1 + a] += scaled
                for b in range(width):
                    total[row + b] += scaled * values[i, b]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def log_likelihood_of_vector(x, whitened, cutoff, rest, sums):
    """Return the log-likelihood of a vector in one topic, or −∞ if it is below ``cutoff``.

    ``whitened`` are the elements of that of `log_likelihoods_of_vectors` for the topic.
    """
    constant, mean, factor = whitened
    width, total = x.size, constant
    if total == -math.inf:
        return total
    for c in range(width):
        rest[c] = x[c] - mean[c]
    last = width
    while last > 0:
        first = max(last - PANEL, 0)
        sums[:] = 0.0
        for r in range(first, width):
            for c in range(last - first):
                sums[c] += rest[r] * factor[r, first + c]
        for c in range(last - first):
            total -= 0.5 * sums[c] * sums[c]
        if total < cutoff:
            return -math.inf
        last = first
    return total
