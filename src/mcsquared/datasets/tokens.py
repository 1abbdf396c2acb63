"""Helpers of the synthetic corpora: sizes, categorical draws, order of tokens."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.errors import InputError


def as_counts(name: str, value: ArrayLike, length: int) -> NDArray[np.int64]:
    """Return ``length`` integers >= 0, from a scalar or an array."""
    given = np.asarray(value)
    if given.dtype.kind not in "iu" or given.ndim > 1 or (given < 0).any():
        raise InputError(f"{name} must be an integer >= 0 or an array of them, got {value!r:.60}")
    if given.ndim == 1 and given.size != length:
        raise InputError(f"{name} must have one entry per group ({length}), got {given.size}")
    return np.broadcast_to(given.astype(np.int64), (length,)).copy()


def sort_tokens(group: NDArray[np.integer], word: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the order of tokens in a corpus of counts: by group, then by word."""
    return np.lexsort((word, group))
