"""Layout of groups and their tokens in flat arrays, and the random numbers of the tokens."""

from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add,
    count_bits,
    fill,
    lane_numbers,
    less_mask,
    load,
    multiply,
)
from mcsquared.kernels.rng import BLOCK, fill_uniforms

F = np.float32


class Groups(NamedTuple):
    """Groups of a corpus or a shard. A shard uses the random numbers of the whole corpus."""

    start: np.ndarray  # int64 (n_groups + 1,): tokens of group j are start[j]:start[j + 1]
    chunk_start: np.ndarray  # int64 (n_chunks + 1,): bounds of the groups of each chunk
    longest: int  # number of tokens of the longest group
    first_group: int  # number of groups of the corpus before these
    first_token: int  # number of tokens of the corpus before these


@njit(cache=True, error_model="numpy")
def empty_uniforms(groups):
    """Return an uninitialised array for the random numbers of the longest group.

    Sixteen numbers may be read from any of its tokens on.
    """
    return np.empty((groups.longest + N_LANES + BLOCK - 1) // BLOCK * BLOCK, np.float32)


@njit(cache=True, error_model="numpy")
def fill_group_uniforms(j, groups, key, step, uniforms, n=-1):
    """Write a random number for every token of group ``j``, or for the first ``n`` only."""
    first, last = groups.start[j], groups.start[j + 1]
    n_blocks = ((last - first if n < 0 else n) + BLOCK - 1) // BLOCK
    # Every group starts a new block, so that no two groups share a random number.
    block = (groups.first_token + first) // BLOCK + groups.first_group + j
    fill_uniforms(uniforms, n_blocks, key, step, block)


@njit(cache=True, error_model="numpy")
def list_topics(j, groups, topic_of_token, tokens, topics, counts):
    """Write the topics of a group and their numbers of tokens; return the number of topics.

    Topics are in increasing order. ``tokens`` (topic slots,) is scratch and contains zeros.
    """
    for i in range(groups.start[j], groups.start[j + 1]):
        tokens[topic_of_token[i]] += 1
    n_topics = 0
    for m in range(tokens.size):
        if tokens[m] > 0:
            topics[n_topics] = m
            counts[n_topics] = tokens[m]
            tokens[m] = 0
            n_topics += 1
    return n_topics


@njit(cache=True, error_model="numpy")
def count_tables(a, n, uniforms, first):
    """Draw the number of tables CRT(n, a), n ≥ 1, with ``uniforms[first:first + n]``.

    Customer i opens a table if u (a + i) < a; the first one always does.
    """
    share, opened = fill(a), 0
    for i in range(0, n, N_LANES):
        customers = add(lane_numbers(), fill(float32(i)))
        opens = less_mask(multiply(load(uniforms, first + i), add(share, customers)), share)
        if i == 0:
            opens |= 1
        opened += count_bits(opens & first_lanes(n - i))
    return opened


@njit(cache=True, error_model="numpy")
def count_below(threshold, total, uniforms, first, n):
    """Return how many of ``uniforms[first:first + n]`` times ``total`` are below ``threshold``."""
    below = 0
    for i in range(0, n, N_LANES):
        is_below = less_mask(multiply(load(uniforms, first + i), fill(total)), fill(threshold))
        below += count_bits(is_below & first_lanes(n - i))
    return below


@njit(cache=True, error_model="numpy")
def first_lanes(n):
    """Return a bit mask of the first ``n`` of sixteen lanes."""
    return (1 << min(n, N_LANES)) - 1
