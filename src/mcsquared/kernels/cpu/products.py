"""Products of small matrices, without the threads of BLAS, which are busy while they wait."""

import numpy as np

from mcsquared.kernels.caching import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def multiply(left, right):
    """Return the product of two float64 matrices; sums have a fixed order."""
    n, width = left.shape[0], right.shape[1]
    result = np.zeros((n, width))
    for i in range(n):
        for m in range(right.shape[0]):
            factor = left[i, m]
            for k in range(width):
                result[i, k] += factor * right[m, k]
    return result
