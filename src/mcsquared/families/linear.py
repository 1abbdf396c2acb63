"""Linear algebra of many small matrices at once, the same to the last bit on any number of threads.

BLAS may split a sum among its threads; here every sum runs in the order of the loops, and the
matrices of all clusters are handled side by side.
"""

import numpy as np

from mcsquared.families.types import Floats

__all__ = ["cholesky", "log_determinant", "product", "solve_transposed"]


def cholesky(matrices: Floats) -> np.ndarray:
    """Return lower triangular roots (..., d, d), also where rounding left a value below zero."""
    matrices = np.asarray(matrices, np.float64)
    width = matrices.shape[-1]
    root = np.zeros_like(matrices)
    with np.errstate(all="ignore"):
        for column in range(width):
            done = np.einsum(
                "...ij,...j->...i", root[..., column:, :column], root[..., column, :column]
            )
            rest = matrices[..., column:, column] - done
            root[..., column:, column] = rest / np.sqrt(rest[..., :1])
    broken = ~np.isfinite(root).all(axis=(-1, -2))
    if broken.any():
        root[broken] = _nearest_root(matrices[broken])
    return root


def _nearest_root(matrices: np.ndarray) -> np.ndarray:
    """Return roots of symmetric matrices whose eigenvalues are first lifted above zero."""
    values, vectors = np.linalg.eigh(matrices)
    floor = 1e-14 * np.abs(values).max(axis=-1, keepdims=True)
    scaled = vectors * np.sqrt(np.maximum(values, floor))[..., None, :]
    triangle = np.swapaxes(np.linalg.qr(np.swapaxes(scaled, -1, -2))[1], -1, -2)
    signs = np.sign(np.diagonal(triangle, axis1=-2, axis2=-1))
    return triangle * signs[..., None, :]


def solve_transposed(root: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return X with rootᵀ X = right, for lower triangular roots (..., d, d)."""
    solved = np.empty(np.broadcast_shapes(root.shape[:-2], right.shape[:-2]) + right.shape[-2:])
    for row in range(root.shape[-1] - 1, -1, -1):
        known = np.einsum("...j,...jc->...c", root[..., row + 1 :, row], solved[..., row + 1 :, :])
        solved[..., row, :] = (right[..., row, :] - known) / root[..., row, row, None]
    return solved


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the matrix products (..., a, b) of (..., a, d) and (..., d, b)."""
    return np.einsum("...ij,...jk->...ik", left, right)


def log_determinant(root: np.ndarray) -> Floats:
    """Return ln|A| from the triangular root of A."""
    return 2.0 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
