"""Sixteen floats at a time do what NumPy does with sixteen floats."""

import numpy as np
import pytest
from numba import njit

from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add,
    add_counts,
    add_product,
    aligned,
    block_in_lane,
    count_at_most,
    count_reached,
    element,
    fill,
    fill_row,
    increment,
    lane,
    load,
    load_row,
    maximum,
    monotone_prefix_sums,
    multiply,
    nonzero_mask,
    prefix_sums,
    shift_up,
    store,
    store_row,
    subtract,
    sum_segments,
    trailing_zeros,
)
from mcsquared.kernels.cpu.varying_tokens import empty_sums

F = np.float32


def floats(n, seed=0):
    return np.random.default_rng(seed).normal(size=n).astype(F)


@njit
def arithmetic(a, b, c, out):
    store(out, 0, add(load(a, 3), load(b, 0)))
    store(out, 16, multiply(load(a, 3), load(b, 0)))
    store(out, 32, add_product(load(c, 0), load(a, 3), load(b, 0)))
    store(out, 48, fill(a[5]))
    store(out, 64, prefix_sums(load(b, 0)))


def test_lanes_add_multiply_and_sum_up():
    a, b, c, out = floats(19), floats(16, 1), floats(16, 2), np.zeros(82, F)
    arithmetic(a, b, c, out)
    np.testing.assert_array_equal(out[:16], a[3:] + b)
    np.testing.assert_array_equal(out[16:32], a[3:] * b)
    exact = c.astype(float) + a[3:].astype(float) * b
    np.testing.assert_allclose(out[32:48], exact, rtol=3e-7, atol=3e-7)
    np.testing.assert_array_equal(out[48:64], a[5])
    np.testing.assert_allclose(out[64:80], np.cumsum(b.astype(float)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(out[80:], 0.0)


@njit
def lanes_of(a, out):
    for i in range(16):
        out[i] = lane(load(a, 2), i)


def test_a_lane_is_read_by_its_number():
    a, out = floats(18), np.zeros(16, F)
    lanes_of(a, out)
    np.testing.assert_array_equal(out, a[2:])


@njit
def how_many(a, value):
    return count_at_most(load(a, 1), value)


def test_lanes_at_most_a_value_are_counted():
    a = floats(17)
    for value in [*a[1:], F(-np.inf), F(np.inf), F(np.nan)]:
        assert how_many(a, value) == (a[1:] <= value).sum()


@njit
def bits(counts, offset):
    return nonzero_mask(counts, offset)


@njit
def lowest(number):
    return trailing_zeros(number)


def test_whole_numbers_that_are_not_zero_have_a_bit():
    counts = np.zeros(40, np.int32)
    nonzero_cells = np.array([9, 11, 12, 19, 24, 25])  # of which 9 to 24 are looked at
    counts[nonzero_cells] = [3, -1, 2**30, 1, 7, 1]
    assert bits(counts, 9) == sum(1 << int(i - 9) for i in nonzero_cells[:-1])
    assert bits(counts, 26 - 16) & (1 << 15) != 0
    assert bits(np.zeros(16, np.int32), 0) == 0


@pytest.mark.parametrize("bit", [0, 1, 15, 40, 62])
def test_the_lowest_bit_is_found(bit):
    assert lowest((1 << bit) | (1 << 62)) == bit


@njit
def add_one(counts, offset):
    increment(counts, offset)


def test_one_is_added_to_a_whole_number():
    counts = np.arange(5, dtype=np.int32)
    add_one(counts, 3)
    np.testing.assert_array_equal(counts, [0, 1, 2, 4, 4])


@njit
def weigh_row(weight, weight_at, factor, factor_at, sums, blocks, out):
    store(out, 0, sum_segments(weight, weight_at, factor, factor_at, sums, blocks))


@njit
def find_block(sums, number, value, blocks):
    return block_in_lane(sums, number, value, blocks)


@pytest.mark.parametrize("n_blocks", [1, 3, 4, 7, 16])
def test_a_row_is_weighed_by_running_sums_of_its_lanes(n_blocks):
    n, blocks = n_blocks * N_LANES, (0,) * n_blocks
    weight, factor = (np.round(4 * np.abs(floats(n + 7, seed))) for seed in range(2))
    sums, last = empty_sums(n_blocks), np.zeros(N_LANES, F)
    weigh_row(weight, 2, factor, 7, sums, blocks, last)
    products = (weight[2 : n + 2] * factor[7:]).reshape(n_blocks, N_LANES)
    running = np.cumsum(products, axis=0)  # exact: sums of small integers
    np.testing.assert_array_equal(last, running[-1])
    for number in range(N_LANES):
        lane_sums = running[:, number]
        for value in [F(0.0), *lane_sums, *np.nextafter(lane_sums, F(0.0))]:
            expected = (lane_sums <= value).sum()
            found = find_block(sums, number, value, blocks)
            assert found == expected or found >= n_blocks <= expected


@njit
def more_arithmetic(a, b, out):
    store(out, 0, subtract(load(a, 0), load(b, 0)))
    store(out, 16, maximum(load(a, 0), load(b, 0)))
    store(out, 32, shift_up(load(a, 0), F(7.5)))


def test_lanes_subtract_compare_and_move():
    a, b, out = floats(16), floats(16, 1), np.zeros(48, F)
    more_arithmetic(a, b, out)
    np.testing.assert_array_equal(out[:16], a - b)
    np.testing.assert_array_equal(out[16:32], np.maximum(a, b))
    np.testing.assert_array_equal(out[32:], [7.5, *a[:-1]])


@njit
def sum_rising(a, out):
    store(out, 0, monotone_prefix_sums(load(a, 0)))


def test_monotone_prefix_sums_never_decrease():
    """Sums of the common kind do, one time in a few hundred of these."""
    rng, out = np.random.default_rng(0), np.zeros(16, F)
    for _ in range(2_000):
        a = (rng.gamma(0.3, size=16) * (rng.random(16) < 0.7)).astype(F)
        sum_rising(a, out)
        np.testing.assert_allclose(out, np.cumsum(a.astype(float)), rtol=1e-6)
        assert (np.diff(out) >= 0).all()
        assert (np.diff(out)[a[1:] == 0.0] == 0.0).all()


@njit
def count_edges(edges, values, blocks, out):
    row, counts = load_row(edges, 0, blocks), fill_row(F(2.0), blocks)
    for i in range(values.size):
        counts = count_reached(counts, row, element(values, i))
    store_row(out, 0, counts)


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_edges_that_values_reach_are_counted(n_blocks):
    n = n_blocks * N_LANES
    edges, out = floats(n), np.zeros(n, F)
    values = np.concatenate([floats(40, 1), edges[:5], F([np.inf, -np.inf, np.nan])])
    count_edges(edges, values, (0,) * n_blocks, out)
    np.testing.assert_array_equal(out, 2 + (edges[:, None] <= values).sum(axis=1))


@njit
def add_whole(counts, offset, lanes):
    add_counts(counts, offset, load(lanes, 0))


def test_whole_numbers_in_lanes_are_added_to_counts():
    counts, lanes = np.arange(20, dtype=np.int32), np.arange(16).astype(F)
    add_whole(counts, 3, lanes)
    np.testing.assert_array_equal(counts[3:19], np.arange(3, 19) + np.arange(16))
    np.testing.assert_array_equal(counts[[0, 1, 2, 19]], [0, 1, 2, 19])


def test_an_aligned_array_begins_with_a_cache_line():
    arrays = [aligned(3, n) for n in range(1, 9)]
    assert [array.shape for array in arrays] == [(3, n) for n in range(1, 9)]
    assert all(array.ctypes.data % 64 == 0 and array.flags.c_contiguous for array in arrays)
    assert aligned(0, 16).shape == (0, 16)


def test_a_large_array_has_pages_of_its_own():
    array = aligned(9, 1 << 18, dtype=np.int32)
    assert array.dtype == np.int32
    assert array.shape == (9, 1 << 18)
    assert array.ctypes.data % 4096 == 0
    assert array.flags.writeable
    array[:] = 7
    assert (array == 7).all()
    assert not array.flags.owndata
