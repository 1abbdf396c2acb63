"""First labels for groups and tokens that had no part in the start of a chain."""

import numpy as np
from numba import njit

from mcsquared.kernels.rng import uniform

__all__ = ["draw_from_sums", "draw_topics_of_words"]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_from_sums(sums, seed, chain, sweep, step, first, labels):
    """Fill ``labels`` with draws from one distribution, given by its running sums.

    The number of a label is that of ``first`` plus its place, wherever its shard is.
    """
    total = sums[-1]
    for i in range(len(labels)):
        u = uniform(seed, chain, sweep, step, first + i, 0)
        labels[i] = min(np.searchsorted(sums, u * total, side="right"), len(sums) - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_topics_of_words(words, sums, seed, chain, sweep, step, first, topics):
    """Draw the topic of every token by its word: ``sums[w]`` are the running sums of its weights.

    The number of a token is that of ``first`` plus its place, wherever its shard is.
    """
    for i in range(len(topics)):
        row = sums[words[i]]
        u = uniform(seed, chain, sweep, step, first + i, 0)
        topics[i] = min(np.searchsorted(row, u * row[-1], side="right"), len(row) - 1)
