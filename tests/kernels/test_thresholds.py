"""Topics selected by a threshold in cumulative shares, with two kinds of sums."""

import numpy as np
import pytest
from numba import njit

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.thresholds import (
    block_sums,
    running_sums,
    search_block_sums,
    search_running_sums,
)

F = np.float32
SIZES = [16, 32, 48, 112, 256, 272, 512]


@njit
def by_lanes(left, right, n, numbers, out):
    sums = np.full(n + 3 * N_LANES, np.nan, np.float32)
    total = running_sums(left, 1, right, 2, n, sums)
    for i in range(numbers.size):
        out[i] = search_running_sums(sums, n, numbers[i] * total)
    return total


@njit
def by_blocks(left, right, n, numbers, out):
    sums = np.full(2 * n + 3 * N_LANES, np.inf, np.float32)
    total = block_sums(left, 1, right, 2, n, sums)
    for i in range(numbers.size):
        out[i] = search_block_sums(sums, n, numbers[i] * total)
    return total


def order_of(function, n):
    """Topics in the order in which their shares lie side by side."""
    order = np.arange(n)
    return order.reshape(-1, N_LANES).T.reshape(-1) if function is by_lanes else order


def some_weights(n, empty, rng):
    left, right = (rng.gamma(0.5, size=n + 2).astype(F) for _ in range(2))
    left[1 : n + 1][rng.random(n) < empty] = 0.0
    left[1 + rng.integers(n)] = 1.0
    return left, right


def near_edges(cumulative):
    """Numbers at the edges of shares and a few floats to both sides of them."""
    edges = np.append(0.0, cumulative) / cumulative[-1]
    numbers = edges[:, None] * (1.0 + np.arange(-5, 6) * 2.0**-24)
    return np.clip(numbers.reshape(-1), 2.0**-32, 1.0 - 2.0**-24).astype(F)


@pytest.mark.parametrize("function", [by_lanes, by_blocks])
@pytest.mark.parametrize("n", SIZES)
def test_a_threshold_picks_the_topic_that_cumulative_sums_say(function, n):
    rng, order = np.random.default_rng(n), order_of(function, n)
    for empty in (0.0, 0.3, 0.95):
        for _ in range(10):
            left, right = some_weights(n, empty, rng)
            weights = left[1 : n + 1].astype(float) * right[2 : n + 2]
            cumulative = np.cumsum(weights[order])
            numbers = np.append(rng.random(500).astype(F), near_edges(cumulative))
            found = np.full(len(numbers), -1)
            total = function(left, right[: n + 2], n, numbers, found)
            assert total == pytest.approx(cumulative[-1], rel=2e-6)
            threshold = numbers * cumulative[-1]
            position = np.argsort(order)[found]
            # Between the sums before it and with it, but for what is lost in adding up floats.
            lost = 3e-6 * cumulative[-1]
            assert (np.append(0.0, cumulative)[position] <= threshold + lost).all()
            assert (threshold <= cumulative[position] + lost).all()
            if function is by_lanes:
                assert (weights[found] > 0).all()


@pytest.mark.parametrize("function", [by_lanes, by_blocks])
def test_the_only_topic_with_a_share_is_always_picked(function):
    for m in range(32):
        left, right = np.zeros(33, F), np.ones(34, F)
        left[1 + m] = 0.3
        found = np.full(4, -1)
        function(left, right, 32, F([2.0**-32, 0.5, 1 - 2.0**-24, 1.0]), found)
        np.testing.assert_array_equal(found[: 4 if function is by_lanes else 3], m)
