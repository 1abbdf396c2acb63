"""Draw a topic by its weight: cumulative sums of the weights, and searches in them.

Running sums by lane are fast to compute; prefix sums by block cost more and are faster to search.
Rows of doubles have running sums only. Sums of different lanes are independent of each other, so
that processors can overlap them. Their order is fixed: the same rows always have the same sums.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from mcsquared.kernels.cpu.lanes import (
    ARRAY,
    FUSED,
    INT32,
    N_LANES,
    add_product,
    count_at_most,
    fill,
    instruction,
    lane,
    load,
    multiply,
    prefix_sums,
    prefix_sums_of,
    store,
)

F = np.float32
DOUBLES = ir.VectorType(ir.DoubleType(), N_LANES)


@njit(cache=True, inline="always")
def sum_lanes(left, left_at, right, right_at, n, sums):
    """Write the running sums of left × right over n topics in each lane; return the last.

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
    """Return the topic whose interval contains ``threshold``: first its lane, then its block.

    The topic has a positive weight if any topic has. Sums over lanes are rounded differently, so a
    threshold at their edge can miss its lane or select one without weight.
    """
    number = min(count_at_most(load(sums, n + N_LANES), threshold), N_LANES - 1)
    rest = max(threshold - lane(load(sums, n + N_LANES - 1 + number), 0), F(0.0))
    block = 0
    for m in range(0, n, N_LANES):
        block += np.int64(lane(load(sums, m + number), 0) <= rest)
    blocks = n // N_LANES
    if block >= blocks:  # by rounding: the last topic with a share, of this lane or one next to it
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
    """Return the topic whose interval contains ``threshold``: first its block, then its lane.

    Sums inside a block are rounded differently, so a threshold at the edge of an interval can
    select the neighbouring topic, even one without weight.
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


@instruction(types.float64, ARRAY, ARRAY, types.int64, ARRAY)
def sum_products(builder, left, right, n, sums):
    """Return Σ left[m] right[m] over n float64, and write what `pick_product` reads to ``sums``.

    n is a multiple of 16. ``sums`` has n + 16 elements: the running sum of each lane over m = lane,
    lane + 16, ..., then the sums of the lanes up to each.
    """

    def address(array, offset):
        return builder.bitcast(builder.gep(array, [offset]), DOUBLES.as_pointer())

    total = cgutils.alloca_once_value(builder, ir.Constant(DOUBLES, [0.0] * N_LANES))
    zero, step = ir.Constant(n.type, 0), ir.Constant(n.type, N_LANES)
    with cgutils.for_range_slice(builder, zero, n, step) as (offset, _):
        one, other = (builder.load(address(array, offset), align=8) for array in (left, right))
        product = builder.fmul(one, other, flags=FUSED)
        running = builder.fadd(builder.load(total), product, flags=FUSED)
        builder.store(running, total)
        builder.store(running, address(sums, offset), align=8)
    lanes = prefix_sums_of(builder, builder.load(total))
    builder.store(lanes, address(sums, n), align=8)
    return builder.extract_element(lanes, ir.Constant(INT32, N_LANES - 1))


@njit(cache=True, error_model="numpy")
def pick_product(sums, threshold):
    """Return the element of the rows of `sum_products` where the sum passes the threshold.

    Elements are ordered by lane. Return −1 if, by rounding, no sum exceeds the threshold.
    """
    n = sums.size - N_LANES
    number = 0
    for i in range(N_LANES - 1):
        number += sums[n + i] <= threshold
    if number > 0:
        threshold -= sums[n + number - 1]
    block = 0
    for i in range(n // N_LANES):
        block += sums[i * N_LANES + number] <= threshold
    return block * N_LANES + number if block < n // N_LANES else -1
