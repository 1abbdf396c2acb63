import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcsquared.kernels.cpu.exponentials import LOWEST, exponentials


def exponentials_of(row, largest=0.0):
    out = np.full(len(row), np.nan)
    exponentials(np.asarray(row, float), largest, out)
    return out


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e-3, 1.0, 30.0, 699.0])
def test_exponentials_are_those_of_the_c_library(size):
    x = -size * np.random.default_rng(0).random(10_000)
    np.testing.assert_allclose(exponentials_of(x), np.exp(x), rtol=4e-16)


@given(x=st.floats(LOWEST, 0, exclude_min=True), largest=st.floats(-1e6, 1e6))
def test_exponentials_are_relative_to_the_largest(x, largest):
    row = np.array([largest + x, largest])
    expected = np.exp(row[0] - largest) if row[0] - largest > LOWEST else 0.0
    np.testing.assert_allclose(exponentials_of(row, largest), [expected, 1.0], rtol=4e-16)


def test_one_is_exact():
    np.testing.assert_array_equal(exponentials_of([0.0, -0.0]), 1.0)


def test_what_is_far_below_or_no_number_counts_as_zero():
    found = exponentials_of([LOWEST, -1e300, -np.inf, np.nan, np.nextafter(LOWEST, 0)])
    np.testing.assert_array_equal(found[:4], 0.0)
    assert found[4] > 0


@pytest.mark.parametrize("length", range(20))
def test_rows_of_any_length_are_filled(length):
    row = -np.linspace(0, 3, length)
    np.testing.assert_allclose(exponentials_of(row), np.exp(row), rtol=4e-16)
