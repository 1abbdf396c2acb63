"""Draw a topic in proportion to its weight: cumulative sums of the weights, and searches in them.

Running sums by lane are fast to compute; prefix sums by block cost more but are faster to search.
For rows of doubles there are running sums only. Sums of different lanes are independent, so that
the processor can overlap them. The order of summation is fixed, so the sums are reproducible.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import (
    ARRAY,
    FUSED,
    INT32,
    N_LANES,
    add_product,
    build_prefix_sums,
    count_at_most,
    fill,
    lane,
    llvm_intrinsic,
    load,
    multiply,
    prefix_sums,
    store,
)

F = np.float32
DOUBLES = ir.VectorType(ir.DoubleType(), N_LANES)


@njit(cache=True, inline="always")
def sum_lanes(left, left_offset, right, right_offset, n, sums):
    """Write the running sums of left × right over n topics in each lane; return the last vector.

    The sums of lane i are at i, i + 16, ...
    """
    total = multiply(load(left, left_offset), load(right, right_offset))
    store(sums, 0, total)
    for m in range(N_LANES, n, N_LANES):
        total = add_product(total, load(left, left_offset + m), load(right, right_offset + m))
        store(sums, m, total)
    return total


@njit(cache=True, inline="always")
def running_sums(left, left_offset, right, right_offset, n, sums):
    """Write the running sums of left × right over n topics, lane by lane; return their total.

    The sums of lane i are at i, i + 16, ..., followed by a block of zeros and prefix sums of lanes.
    """
    total = sum_lanes(left, left_offset, right, right_offset, n, sums)
    by_lane = prefix_sums(total)
    store(sums, n, fill(F(0.0)))
    store(sums, n + N_LANES, by_lane)
    return lane(by_lane, N_LANES - 1)


@njit(cache=True, inline="always")
def search_running_sums(sums, n, threshold):
    """Return the topic whose interval contains ``threshold``: first its lane, then its block.

    Rounding can select a lane of weight 0 or run past the end; the fallback then returns a nearby
    topic of positive weight.
    """
    lane_index = min(count_at_most(load(sums, n + N_LANES), threshold), N_LANES - 1)
    rest = max(threshold - lane(load(sums, n + N_LANES - 1 + lane_index), 0), F(0.0))
    block = 0
    for m in range(0, n, N_LANES):
        block += np.int64(lane(load(sums, m + lane_index), 0) <= rest)
    n_blocks = n // N_LANES
    if block >= n_blocks:  # by rounding: take the last topic of positive weight nearby
        last = n - N_LANES
        while lane_index > 0 and sums[last + lane_index] == F(0.0):
            lane_index -= 1
        while lane_index < N_LANES - 1 and sums[last + lane_index] == F(0.0):
            lane_index += 1
        block = n_blocks - 1
        while block > 0 and sums[(block - 1) * N_LANES + lane_index] == sums[last + lane_index]:
            block -= 1
    return block * N_LANES + lane_index


@njit(cache=True, inline="always")
def block_sums(left, left_offset, right, right_offset, n, sums):
    """Write prefix sums within each block of sixteen, then of the blocks; return the total.

    The prefix sums of the blocks begin at n + 16, after a block of zeros.
    """
    store(sums, n, fill(F(0.0)))
    total = F(0.0)
    for m in range(0, n, N_LANES):
        inside = prefix_sums(multiply(load(left, left_offset + m), load(right, right_offset + m)))
        store(sums, m, inside)
        total += lane(inside, N_LANES - 1)
        sums[n + N_LANES + m // N_LANES] = total
    return total


@njit(cache=True, inline="always")
def search_block_sums(sums, n, threshold):
    """Return the topic whose interval contains ``threshold``: first its block, then its lane.

    Sums within a block are rounded differently, so a threshold near the edge of an interval can
    select the neighbouring topic, even one of weight 0.
    """
    n_blocks = n // N_LANES
    block = 0
    for b in range(0, n_blocks, N_LANES):
        block += count_at_most(load(sums, n + N_LANES + b), threshold)
    block = min(block, n_blocks - 1)
    rest = threshold - lane(load(sums, n + N_LANES - 1 + block), 0)
    lane_index = count_at_most(load(sums, block * N_LANES), rest)
    if lane_index >= N_LANES:  # by rounding: take the block's last topic of positive weight
        lane_index = N_LANES - 1
        offset = block * N_LANES
        while lane_index > 0 and sums[offset + lane_index - 1] == sums[offset + N_LANES - 1]:
            lane_index -= 1
    return block * N_LANES + lane_index


@llvm_intrinsic(types.float64, ARRAY, ARRAY, types.int64, ARRAY)
def sum_products(builder, left, right, n, sums):
    """Return Σ left[m] right[m] over n float64; write the sums that `search_products` searches.

    n is a multiple of 16. ``sums`` has n + 16 elements: the running sums of lane i at i, i + 16,
    ..., then the prefix sums of the lanes.
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
    lanes = build_prefix_sums(builder, builder.load(total))
    builder.store(lanes, address(sums, n), align=8)
    return builder.extract_element(lanes, ir.Constant(INT32, N_LANES - 1))


@njit(cache=True, error_model="numpy")
def search_products(sums, threshold):
    """Return the index at which the sums of `sum_products` exceed the threshold.

    Indices are ordered by lane. Return −1 if, by rounding, no sum exceeds the threshold.
    """
    n = sums.size - N_LANES
    lane_index = 0
    for i in range(N_LANES - 1):
        lane_index += sums[n + i] <= threshold
    if lane_index > 0:
        threshold -= sums[n + lane_index - 1]
    block = 0
    for i in range(n // N_LANES):
        block += sums[i * N_LANES + lane_index] <= threshold
    return block * N_LANES + lane_index if block < n // N_LANES else -1
