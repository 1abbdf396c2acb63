"""Logarithm, exponential and cosine of floats, to some units in the last place."""

import numpy as np
import pytest
from numba import njit

from mcsquared.kernels.cpu.fast_math import cos_of_turns, exp32, log32

F = np.float32


@njit
def logs(x, out):
    for i in range(x.size):
        out[i] = log32(x[i])


@njit
def exponentials(x, out):
    for i in range(x.size):
        out[i] = exp32(x[i])


@njit
def cosines(x, out):
    for i in range(x.size):
        out[i] = cos_of_turns(x[i])


def values_of(function, x):
    out = np.empty(len(x), F)
    function(x, out)
    return out


def spread(low, high, n=200_000):
    return np.random.default_rng(0).uniform(low, high, n).astype(F)


def test_logarithms_are_right_over_all_normal_floats():
    x = np.exp2(spread(-125.99, 127.99))
    np.testing.assert_allclose(values_of(logs, x), np.log(x.astype(float)), rtol=3e-7)


def test_logarithms_keep_their_digits_near_one():
    x = np.unique(1.0 + spread(-1e-3, 1e-3))
    x = np.append(x, [np.nextafter(F(1), F(0)), np.nextafter(F(1), F(2))]).astype(F)
    np.testing.assert_allclose(values_of(logs, x), np.log(x.astype(float)), rtol=3e-7)
    assert values_of(logs, np.ones(1, F))[0] == 0.0


@pytest.mark.parametrize("x", [F(1.17549435e-38), F(3.4e38), F(np.sqrt(0.5)), F(np.sqrt(2))])
def test_logarithms_are_right_where_ranges_meet(x):
    near = np.array([np.nextafter(x, F(1)), x, np.nextafter(np.nextafter(x, F(1)), F(1))], F)
    np.testing.assert_allclose(values_of(logs, near), np.log(near.astype(float)), rtol=3e-7)


def test_exponentials_are_right():
    x = spread(-87, 88)
    np.testing.assert_allclose(values_of(exponentials, x), np.exp(x.astype(float)), rtol=3e-7)
    x = spread(-1e-3, 1e-3)
    np.testing.assert_allclose(values_of(exponentials, x), np.exp(x.astype(float)), rtol=2e-7)


def test_exponentials_stop_at_the_ends_of_their_range():
    x = np.array([-np.inf, -1e30, -100, -87, 88, 89, 1e30, np.inf], F)
    found = values_of(exponentials, x)
    np.testing.assert_allclose(found[:4], np.exp(-87.0), rtol=3e-7)
    np.testing.assert_allclose(found[4:], np.exp(88.0), rtol=3e-7)


def test_cosines_of_turns_are_right():
    x = spread(0, 1)
    x = np.append(x[(x > 0) & (x < 1)], F([2.0**-32, 0.25, 0.5, 0.75, 1 - 2.0**-24]))
    exact = np.cos(2 * np.pi * x.astype(float))
    np.testing.assert_allclose(values_of(cosines, x), exact, rtol=0, atol=2e-7)
