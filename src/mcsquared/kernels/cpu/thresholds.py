"""Where a number falls among the shares of topics: sums to search, made in two ways.

Running sums by lane are quick to make; prefix sums by block are dearer, and quicker to search.
"""

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add_product,
    count_at_most,
    fill,
    lane,
    load,
    multiply,
    prefix_sums,
    store,
)

__all__ = ["block_sums", "running_sums", "sum_lanes", "topic_at", "topic_in_block"]

F = np.float32


@njit(cache=True, inline="always")
def sum_lanes(left, left_at, right, right_at, n, sums):
    """Write the running sums of left × right over n topics, each lane for itself; return the last.

    Those of lane i are at i, i + 16, ...
    """
    total = multiply(load(left, left_at), load(right, right_at))
    store(sums, 0, total)
    for m in range(N_LANES, n, N_LANES):
        total = add_product(total, load(left, left_at + m), load(right, right_at + m))
        store(sums, m, total)
    return total


@njit(cache=True, inline="always")
def running_sums(left, left_at, right, right_at, n, sums):
    """Write the running sums of left × right over n topics, lane by lane; return their total.

    Sums of lane i are at i, i + 16, ...; a block of zeros and the sums over lanes follow them.
    """
    total = sum_lanes(left, left_at, right, right_at, n, sums)
    by_lane = prefix_sums(total)
    store(sums, n, fill(F(0.0)))
    store(sums, n + N_LANES, by_lane)
    return lane(by_lane, N_LANES - 1)


@njit(cache=True, inline="always")
def topic_at(sums, n, threshold):
    """Return the topic that ``threshold`` falls on: first its lane, then its block.

    It has a share if any has. Sums over lanes are rounded apart, so that a threshold at their edge
    can miss its lane, or fall on one without a share.
    """
    number = min(count_at_most(load(sums, n + N_LANES), threshold), N_LANES - 1)
    rest = max(threshold - lane(load(sums, n + N_LANES - 1 + number), 0), F(0.0))
    block = 0
    for m in range(0, n, N_LANES):
        block += np.int64(lane(load(sums, m + number), 0) <= rest)
    blocks = n // N_LANES
    if block >= blocks:  # by rounding: the last topic with a share, of this lane or one beside it
        last = n - N_LANES
        while number > 0 and sums[last + number] == F(0.0):
            number -= 1
        while number < N_LANES - 1 and sums[last + number] == F(0.0):
            number += 1
        block = blocks - 1
        while block > 0 and sums[(block - 1) * N_LANES + number] == sums[last + number]:
            block -= 1
    return block * N_LANES + number


@njit(cache=True, inline="always")
def block_sums(left, left_at, right, right_at, n, sums):
    """Write prefix sums inside each block of sixteen, then those of the blocks; return the total.

    The sums of blocks begin at n + 16, after a block of zeros.
    """
    store(sums, n, fill(F(0.0)))
    total = F(0.0)
    for m in range(0, n, N_LANES):
        inside = prefix_sums(multiply(load(left, left_at + m), load(right, right_at + m)))
        store(sums, m, inside)
        total += lane(inside, N_LANES - 1)
        sums[n + N_LANES + m // N_LANES] = total
    return total


@njit(cache=True, inline="always")
def topic_in_block(sums, n, threshold):
    """Return the topic that ``threshold`` falls on: first its block, then its place there.

    Sums inside a block are rounded apart, so that at the edge of a share a topic beside it can be
    meant, one without a share even.
    """
    blocks = n // N_LANES
    block = 0
    for b in range(0, blocks, N_LANES):
        block += count_at_most(load(sums, n + N_LANES + b), threshold)
    block = min(block, blocks - 1)
    rest = threshold - lane(load(sums, n + N_LANES - 1 + block), 0)
    number = count_at_most(load(sums, block * N_LANES), rest)
    if number >= N_LANES:  # by rounding: the last topic of the block that has a share
        number = N_LANES - 1
        at = block * N_LANES
        while number > 0 and sums[at + number - 1] == sums[at + N_LANES - 1]:
            number -= 1
    return block * N_LANES + number
