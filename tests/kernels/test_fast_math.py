"""Logarithms, exponentials and cosines, to some units in the last place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from mcsquared.kernels.cpu.fast_math import (
    MIN_EXPONENT,
    cos_of_turns,
    exp32,
    exponentials,
    log32,
    log64,
    log_lanes,
)
from mcsquared.kernels.cpu.lanes import N_LANES, load, store

F = np.float32


@njit
def logs(x, out):
    for i in range(x.size):
        out[i] = log32(x[i])


@njit
def logs_of_lanes(x, out):
    for i in range(0, x.size, N_LANES):
        store(out, i, log_lanes(load(x, i)))


@njit
def double_logs(x, out):
    for i in range(x.size):
        out[i] = log64(x[i])


@njit
def float_exponentials(x, out):
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


@pytest.mark.parametrize("function", [logs, logs_of_lanes])
def test_logarithms_are_right_over_all_normal_floats(function):
    x = np.exp2(spread(-125.99, 127.99))
    np.testing.assert_allclose(values_of(function, x), np.log(x.astype(float)), rtol=3e-7)


def test_logarithms_keep_their_digits_near_one():
    x = np.unique(1.0 + spread(-1e-3, 1e-3))
    x = np.append(x, [np.nextafter(F(1), F(0)), np.nextafter(F(1), F(2))]).astype(F)
    np.testing.assert_allclose(values_of(logs, x), np.log(x.astype(float)), rtol=3e-7)
    assert values_of(logs, np.ones(1, F))[0] == 0.0


@pytest.mark.parametrize("x", [F(1.17549435e-38), F(3.4e38), F(np.sqrt(0.5)), F(np.sqrt(2))])
def test_logarithms_are_right_where_ranges_meet(x):
    near = np.array([np.nextafter(x, F(1)), x, np.nextafter(np.nextafter(x, F(1)), F(1))], F)
    np.testing.assert_allclose(values_of(logs, near), np.log(near.astype(float)), rtol=3e-7)


def test_logarithms_of_doubles_are_right():
    rng = np.random.default_rng(1)
    near_one = 1.0 + np.append(rng.uniform(-1e-3, 1e-3, 50_000), [0.0, 2.0**-52, -(2.0**-53)])
    ends = [2.2250738585072014e-308, 1.7976931348623157e308, np.sqrt(0.5), np.sqrt(2.0)]
    x = np.concatenate([np.exp2(rng.uniform(-1021.9, 1023.9, 200_000)), near_one, ends])
    out = np.empty(len(x))
    double_logs(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=4e-16)


def test_exponentials_are_right():
    x = spread(-87, 88)
    np.testing.assert_allclose(values_of(float_exponentials, x), np.exp(x.astype(float)), rtol=3e-7)
    x = spread(-1e-3, 1e-3)
    np.testing.assert_allclose(values_of(float_exponentials, x), np.exp(x.astype(float)), rtol=2e-7)


def test_exponentials_stop_at_the_ends_of_their_range():
    x = np.array([-np.inf, -1e30, -100, -87, 88, 89, 1e30, np.inf], F)
    found = values_of(float_exponentials, x)
    np.testing.assert_allclose(found[:4], np.exp(-87.0), rtol=3e-7)
    np.testing.assert_allclose(found[4:], np.exp(88.0), rtol=3e-7)


def test_cosines_of_turns_are_right():
    x = spread(0, 1)
    x = np.append(x[(x > 0) & (x < 1)], F([2.0**-32, 0.25, 0.5, 0.75, 1 - 2.0**-24]))
    exact = np.cos(2 * np.pi * x.astype(float))
    np.testing.assert_allclose(values_of(cosines, x), exact, rtol=0, atol=2e-7)


def exponentials_of(row, largest=0.0):
    out = np.full(len(row), np.nan)
    exponentials(np.asarray(row, float), largest, out)
    return out


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e-3, 1.0, 30.0, 699.0])
def test_exponentials_of_doubles_are_those_of_the_c_library(size):
    x = -size * np.random.default_rng(0).random(10_000)
    np.testing.assert_allclose(exponentials_of(x), np.exp(x), rtol=4e-16)


@given(x=st.floats(MIN_EXPONENT, 0, exclude_min=True), largest=st.floats(-1e6, 1e6))
def test_exponentials_are_relative_to_the_largest(x, largest):
    row = np.array([largest + x, largest])
    expected = np.exp(row[0] - largest) if row[0] - largest > MIN_EXPONENT else 0.0
    np.testing.assert_allclose(exponentials_of(row, largest), [expected, 1.0], rtol=4e-16)


def test_the_exponential_of_zero_is_exact():
    np.testing.assert_array_equal(exponentials_of([0.0, -0.0]), 1.0)


def test_exponentials_far_below_the_largest_and_of_nan_are_zero():
    found = exponentials_of([MIN_EXPONENT, -1e300, -np.inf, np.nan, np.nextafter(MIN_EXPONENT, 0)])
    np.testing.assert_array_equal(found[:4], 0.0)
    assert found[4] > 0


@pytest.mark.parametrize("length", range(20))
def test_exponentials_of_rows_of_any_length_are_written(length):
    row = -np.linspace(0, 3, length)
    np.testing.assert_allclose(exponentials_of(row), np.exp(row), rtol=4e-16)
