"""Layout of groups and their tokens in flat arrays, and the random numbers of the tokens."""

from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.rng import BLOCK, fill_uniforms


class Groups(NamedTuple):
    """Groups of a corpus or a shard. A shard uses the random numbers of the whole corpus."""

    start: np.ndarray  # int64 (n_groups + 1,): tokens of group j are start[j]:start[j + 1]
    chunk_start: np.ndarray  # int64 (n_chunks + 1,): bounds of the groups of each chunk
    longest: int  # number of tokens of the longest group
    first_group: int  # number of groups of the corpus before these
    first_token: int  # number of tokens of the corpus before these


@njit(cache=True, error_model="numpy")
def empty_uniforms(groups):
    """Return an uninitialised array for the random numbers of the longest group."""
    return np.empty((groups.longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)


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
def count_tables(a, uniforms):
    """Draw the number of tables CRT(n, a), with a random number for each of the n customers."""
    opened = 1
    for i in range(1, uniforms.size):
        opened += 1 if uniforms[i] * (a + float32(i)) < a else 0
    return opened
