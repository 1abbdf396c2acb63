"""Log-likelihood of tokens that are not words, on the GPU: a matrix product, in tiles.

    log ψ_m(x)  =  T(x) · natural_m

A statistic is the product of up to two coordinates of the token, named by `factors_of`. The product
is not a library's, because sums run in the order of the statistics.
"""

import numpy as np
from numba import cuda, float64, int64

from mcsquared.kernels.cpu.predictive import GAUSSIAN, MULTIVARIATE_GAUSSIAN
from mcsquared.kernels.cuda.launch import SIMULATED

SIDE = 2 if SIMULATED else 16  # threads of a block: SIDE × SIDE
EACH = 4  # tokens and topics of a thread: EACH × EACH
TILE, CELLS = SIDE * EACH, EACH * EACH
DEPTH = 4 if SIMULATED else 16  # statistics at a time


def factors_of(kind: int, width: int) -> np.ndarray:
    """Return the coordinates whose product each statistic is, −1 for the number 1.

    Statistics in the order of `mcsquared.kernels.cpu.vector_tokens.fold_statistics`.

    Returns
    -------
    int32 (2, folded statistics)
    """
    coordinates = np.arange(width)
    left, right = [-1, *coordinates], [-1] * (1 + width)
    if kind in (GAUSSIAN, MULTIVARIATE_GAUSSIAN):
        below = np.tril_indices(width)
        left, right = [*left, *below[0]], [*right, *below[1]]
    return np.array([left, right], np.int32)


def unfold_statistics(kind: int, width: int, folded: np.ndarray) -> np.ndarray:
    """Return statistics with both of each pair of equal products: rows (n, n_stats)."""
    if kind != MULTIVARIATE_GAUSSIAN:
        return folded
    position = np.zeros((width, width), np.int64)
    below = np.tril_indices(width)
    position[below] = position.T[below] = 1 + width + np.arange(len(below[0]))
    return np.hstack([folded[:, : 1 + width], folded[:, position.reshape(-1)]])


@cuda.jit(device=True)
def statistic(values, at, left, right):
    """Return a statistic of the token whose coordinates begin at ``at``."""
    value = 1.0
    if left >= 0:
        value = values[at + left]
    if right >= 0:
        value *= values[at + right]
    return value


@cuda.jit
def _log_likelihood_rows(first, last, n_topics, width, values, factors, natural, out):
    of_token = cuda.shared.array((DEPTH, TILE), float64)
    of_topic = cuda.shared.array((DEPTH, TILE), float64)
    sums = cuda.local.array(CELLS, float64)
    thread = cuda.threadIdx.x
    row, column = thread // SIDE, thread % SIDE
    token, topic = first + int64(cuda.blockIdx.x) * TILE, int64(cuda.blockIdx.y) * TILE
    n_statistics = factors.shape[1]
    for cell in range(CELLS):
        sums[cell] = 0.0
    for begin in range(0, n_statistics, DEPTH):
        for cell in range(thread, DEPTH * TILE, SIDE * SIDE):
            depth, at = cell // TILE, cell % TILE
            s = begin + depth
            value = parameter = 0.0
            if s < n_statistics and token + at < last:
                value = statistic(values, (token + at) * width, factors[0, s], factors[1, s])
            if s < n_statistics and topic + at < n_topics:
                parameter = natural[s * n_topics + topic + at]
            of_token[depth, at] = value
            of_topic[depth, at] = parameter
        cuda.syncthreads()
        for depth in range(DEPTH):
            for a in range(EACH):
                for b in range(EACH):
                    sums[a * EACH + b] += (
                        of_token[depth, row + a * SIDE] * of_topic[depth, column + b * SIDE]
                    )
        cuda.syncthreads()
    for a in range(EACH):
        i = token + row + a * SIDE
        for b in range(EACH):
            m = topic + column + b * SIDE
            if i < last and m < n_topics:
                out[(i - first) * n_topics + m] = sums[a * EACH + b]


def log_likelihood_rows(first, last, n_topics, width, values, factors, natural, out):
    """Write T(x_i) · natural_m for the tokens ``first:last``.

    Parameters
    ----------
    width : int
        Coordinates of a token.
    values : float64 (n_tokens × width,)
        Relative to the family's origin.
    factors : int32 (2, folded statistics)
        From `factors_of`.
    natural : float64 (folded statistics × topic slots,)
    out : float64 (tokens × topic slots,) or more
    """
    grid = (-(-(last - first) // TILE), -(-n_topics // TILE))
    if grid[0] > 0:
        arguments = (first, last, n_topics, width, values, factors, natural, out)
        _log_likelihood_rows[grid, SIDE * SIDE](*arguments)
