"""Helpers of the synthetic corpora: sizes, categorical draws, order of tokens."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.errors import InputError


def as_counts(name: str, value: ArrayLike, length: int) -> NDArray[np.int64]:
    """Return ``length`` integers >= 0, from a scalar or an array."""
    given = np.asarray(value)
    if given.dtype.kind not in "iu" or given.ndim > 1 or (given < 0).any():
        raise InputError(f"{name} must be an integer >= 0 or an array of them, got {value!r:.60}")
    if given.ndim == 1 and given.size != length:
        raise InputError(f"{name} must have one entry per group ({length}), got {given.size}")
    return np.broadcast_to(given.astype(np.int64), (length,)).copy()


def draw_categories(
    probabilities: NDArray[np.float64], row: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw one category for each entry of ``row`` from that row of ``probabilities``.

    Parameters
    ----------
    probabilities : float64 (n_rows, n_categories)
        Rows need not sum to 1 exactly; each is scaled by its sum.
    row : int (n,)

    Returns
    -------
    int32 (n,)
    """
    uniform = rng.random(row.size)
    category = np.empty(row.size, dtype=np.int32)
    order = np.argsort(row, kind="stable")
    bounds = np.searchsorted(row[order], np.arange(len(probabilities) + 1))
    for i, weights in enumerate(probabilities):
        here = order[bounds[i] : bounds[i + 1]]
        cumulative = np.cumsum(weights)
        # A uniform close to 1 times the sum may round up to the sum, which is past the end.
        threshold = np.minimum(uniform[here] * cumulative[-1], np.nextafter(cumulative[-1], 0.0))
        category[here] = np.searchsorted(cumulative, threshold, side="right")
    return category


def sort_tokens(group: NDArray[np.integer], word: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the order of tokens in a corpus of counts: by group, then by word."""
    return np.lexsort((word, group))


def count_matrix(
    group: NDArray[np.integer], word: NDArray[np.integer], shape: tuple[int, int]
) -> sparse.csr_matrix:
    """Count the words of each group: int32 CSR matrix, sorted, without duplicates."""
    ones = np.ones(word.size, dtype=np.int32)
    counts = sparse.coo_matrix((ones, (group, word)), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts.astype(np.int32)
