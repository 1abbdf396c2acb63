"""Counts as a bit and, where they are not 0, a byte per cell: nearly all are 0 or small."""

import numpy as np

from mcsquared.kernels.caching import njit

LARGE = 255  # larger counts, and this one, are stored separately


@njit(cache=True, nogil=True, error_model="numpy")
def pack_counts(cells):
    """Pack counts that are at least 0.

    Parameters
    ----------
    cells : int32 or int64 (n_cells,)

    Returns
    -------
    bitmap : uint8 (⌈n_cells / 8⌉,)
        A bit per cell, the lowest first: whether its count is positive.
    small : uint8 (n_positive,)
        Positive counts, or `LARGE`.
    large : int32 or int64 (n_large,)
        Counts of at least `LARGE`.
    """
    n_positive = n_large = 0
    for i in range(cells.size):
        n_positive += cells[i] > 0
        n_large += cells[i] >= LARGE
    bitmap = np.zeros((cells.size + 7) // 8, np.uint8)
    small, large = np.empty(n_positive, np.uint8), np.empty(n_large, cells.dtype)
    n_positive = n_large = 0
    for i in range(cells.size):
        count = cells[i]
        if count > 0:
            bitmap[i >> 3] |= np.uint8(1 << (i & 7))
            small[n_positive] = min(count, LARGE)
            n_positive += 1
            if count >= LARGE:
                large[n_large] = count
                n_large += 1
    return bitmap, small, large


@njit(cache=True, nogil=True, error_model="numpy")
def unpack_counts(bitmap, small, large, first, cells):
    """Write the counts packed by `pack_counts` to ``cells``, which are 0.

    ``bitmap`` begins with byte ``first``; earlier and later ones, if left out, are 0.
    """
    n_positive = n_large = 0
    for byte in range(bitmap.size):
        bits = bitmap[byte]
        for bit in range(8):
            if bits >> bit & 1:
                count = np.int64(small[n_positive])
                n_positive += 1
                if count == LARGE:
                    count = np.int64(large[n_large])
                    n_large += 1
                cells[(first + byte) * 8 + bit] = count
