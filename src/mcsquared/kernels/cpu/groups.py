"""Layout of the tokens of groups in flat arrays, and the random numbers of a group's tokens."""

from typing import NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.rng import BLOCK, fill_uniforms


class Groups(NamedTuple):
    """The groups of a corpus, or of a shard of it. Random numbers are those of the whole corpus."""

    start: np.ndarray  # int64 (n_groups + 1,): tokens of group j are start[j]:start[j + 1]
    chunk_start: np.ndarray  # int64 (n_chunks + 1,): groups of each chunk
    longest: int  # tokens of the longest group
    first_group: int  # groups of the corpus before these
    first_token: int  # tokens of the corpus before these


@njit(cache=True, error_model="numpy")
def empty_numbers(groups):
    """Return an array for the random numbers of the tokens of any group."""
    return np.empty((groups.longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)


@njit(cache=True, error_model="numpy")
def fill_group_numbers(j, groups, key, step, numbers):
    """Write a random number for every token of group ``j``."""
    first, last = groups.start[j], groups.start[j + 1]
    n_blocks = (last - first + BLOCK - 1) // BLOCK
    # Every group begins a block of its own, so that no two groups share a number.
    block = (groups.first_token + first) // BLOCK + groups.first_group + j
    fill_uniforms(numbers, n_blocks, key, step, block)
