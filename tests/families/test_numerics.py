"""Large values, large counts and small shapes: where the textbook form loses its digits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp

from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from mcsquared.families.numerics import log_rising_factorial

starts = st.floats(1e-3, 1e12)


@given(start=starts)
def test_one_step_of_the_gamma_ratio_is_a_logarithm(start):
    assert log_rising_factorial(start, 1.0) == pytest.approx(math.log(start), rel=1e-13, abs=2e-14)


@given(start=starts, first=st.floats(0, 1e10), second=st.floats(0, 1e10))
def test_gamma_ratios_add_up(start, first, second):
    whole = log_rising_factorial(start, first + second)
    parts = log_rising_factorial(start, first) + log_rising_factorial(start + first, second)
    assert whole == pytest.approx(parts, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("start", [0.05, 3.7, 9.99, 10.0, 12.5, 1e4 + 0.05, 1e9 + 0.25])
@pytest.mark.parametrize("added", [0, 1, 2, 17, 1000])
def test_whole_steps_of_the_gamma_ratio_are_sums_of_logarithms(start, added):
    expected = math.fsum(math.log(start + i) for i in range(added))
    assert log_rising_factorial(start, added) == pytest.approx(expected, rel=1e-14, abs=1e-14)


def exact_normal_gamma(family, x):
    """The posterior in exact rational arithmetic, then rounded once."""
    mean, strength, shape, rate = (
        Fraction(value) for value in (family.mean, family.strength, family.shape, family.rate)
    )
    values = [Fraction(float(value)) for value in x]
    n = len(values)
    average = sum(values) / n
    squares = sum((value - average) ** 2 for value in values)
    rate += (squares + strength * n / (strength + n) * (average - mean) ** 2) / 2
    return (
        (strength * mean + sum(values)) / (strength + n),
        strength + n,
        shape + Fraction(n, 2),
        rate,
    )


@pytest.mark.parametrize("level", [0.0, 2000.0, 1e9])
@pytest.mark.parametrize("mean", ["near", "far"])
def test_gaussian_predictives_keep_their_digits_at_any_level(level, mean):
    rng = np.random.default_rng(1)
    x = level + np.round(rng.normal(0, 1, 50) * 1024) / 1024
    prior_mean = level + 0.25 if mean == "near" else 0.0
    family = Gaussian(mean=prior_mean, rate=0.5).filled(x)
    exact_mean, strength, shape, rate = exact_normal_gamma(family, x)
    new = level + 1.5
    found = family.log_predictive([new], family.statistics(x).sum(axis=0)[None])[0, 0]
    distance = (Fraction(new) - exact_mean) ** 2 * strength / (2 * (strength + 1) * rate)
    expected = (
        float(log_rising_factorial(float(shape), 0.5))
        + 0.5 * math.log(float(strength / (strength + 1)) / float(rate) / (2 * math.pi))
        - float(shape + Fraction(1, 2)) * math.log1p(float(distance))
    )
    # A prior mean a billion deviations away leaves the rate at 1e16, known to sixteen digits.
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_origin_does_not_show_in_gaussian_results():
    rng = np.random.default_rng(2)
    x = rng.normal(2000, 5, 40)
    labels = rng.integers(0, 3, 40)
    results = []
    for origin in (1995.0, 2000.25, 2011.0):
        family = Gaussian(mean=1998, rate=3, origin=origin)
        stats = family.statistics_by_cluster(x, labels, 4)
        results.append(
            np.concatenate(
                [
                    family.log_predictive(x, stats).ravel(),
                    family.mean_parameters(stats).ravel(),
                    family.sample_parameters(stats, np.random.default_rng(0)).ravel(),
                    family.log_marginal(stats),
                ]
            )
        )
    np.testing.assert_allclose(results[1], results[0], rtol=1e-10)
    np.testing.assert_allclose(results[2], results[0], rtol=1e-10)


def test_the_origin_does_not_show_in_multivariate_results():
    rng = np.random.default_rng(2)
    x = rng.normal([2000, -300, 4], [5, 2, 1], (40, 3))
    labels = rng.integers(0, 3, 40)
    results = []
    for origin in ([1995.0, -301, 4], [2003.0, -290, 0]):
        family = MultivariateGaussian(
            mean=[1998, -305, 3], degrees=4, scale=np.eye(3) + 0.2, origin=origin
        )
        stats = family.statistics_by_cluster(x, labels, 4)
        results.append(
            np.concatenate(
                [
                    family.log_predictive(x, stats).ravel(),
                    family.mean_parameters(stats).ravel(),
                    family.sample_parameters(stats, np.random.default_rng(0)).ravel(),
                    family.log_marginal(stats),
                ]
            )
        )
    np.testing.assert_allclose(results[1], results[0], rtol=1e-9)


@pytest.mark.parametrize("level", [2000.0, 1e9])
def test_shifting_gaussian_data_shifts_nothing_but_the_means(level):
    rng = np.random.default_rng(3)
    # Multiples of 2⁻⁶, so that the shift itself is exact, and the mean of 64 of them nearly so.
    near = np.round(rng.normal(0, 1, (64, 2)) * 64) / 64
    labels = np.arange(64) % 3
    for take in (lambda values: values[:, 0], lambda values: values):
        x, y = take(near), take(near + level)
        family = Gaussian if x.ndim == 1 else MultivariateGaussian
        first, second = family().filled(x), family().filled(y)
        found = [
            filled.log_predictive(data, filled.statistics_by_cluster(data, labels, 4))
            for filled, data in ((first, x), (second, y))
        ]
        # The mean of the data, as a float, is known to 6e-8 only near 1e9.
        np.testing.assert_allclose(found[1], found[0], atol=1e-6 if level > 1e6 else 1e-11)


@given(
    level=st.sampled_from([0.0, 2000.0, 1e9]),
    spread=st.sampled_from([1e-3, 1.0, 50.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_moving_observations_in_and_out_leaves_the_statistics_of_a_recount(level, spread, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(level, spread, 30)
    family = Gaussian().filled(x)
    rows = family.statistics(x)
    running = rows[:20].sum(axis=0)
    for i in rng.integers(20, 30, 200):
        running += rows[i]
        running -= rows[i]
    scale = np.abs(rows).sum(axis=0)
    np.testing.assert_allclose(running, rows[:20].sum(axis=0), rtol=0, atol=1e-9 * scale.min())
    found = family.log_normaliser(np.stack([running, rows[:20].sum(axis=0)]))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_an_emptied_cluster_is_a_new_one_in_spite_of_rounding():
    family = Gaussian(mean=0, rate=1)
    residue = np.array([[0.0, 1e-12, -1e-12]])
    assert family.log_normaliser(residue)[0] == family.log_normaliser(np.zeros((1, 3)))[0]
    wide = MultivariateGaussian([0, 0], 0.1, 4, np.eye(2))
    residue = np.concatenate([[0.0], np.full(6, 1e-12)])[None]
    assert wide.log_normaliser(residue)[0] == wide.log_normaliser(np.zeros((1, 7)))[0]


def test_a_thousand_equal_values_far_from_the_origin_have_no_negative_spread():
    x = np.full(1000, 12345.678)
    family = Gaussian(mean=0, rate=1e-6, origin=0.1)
    predictive = family.log_predictive(x[:1], family.statistics(x).sum(axis=0)[None])
    assert np.isfinite(predictive).all()
    wide = MultivariateGaussian([0, 0], 0.1, 4, 1e-9 * np.eye(2), origin=[0.1, 0.3])
    both = np.stack([x, 7 * x], axis=1)
    stats = wide.statistics(both).sum(axis=0)[None]
    assert np.isfinite(wide.log_predictive(both[:1], stats)).all()
    assert np.isfinite(wide.log_normaliser(stats)).all()
    drawn = wide.sample_parameters(stats, np.random.default_rng(0))
    assert np.isfinite(wide.log_likelihood(both[:1], drawn)).all()


def test_predictives_are_exact_in_clusters_of_a_billion():
    n = 1e9
    normal = Gaussian(mean=0, strength=1, shape=1, rate=1)
    found = normal.log_predictive([0.5], np.array([[n, 0.0, n]]))[0, 0]
    # Student-t with 1e9 degrees: a Gaussian but for terms of order 1e-9.
    assert found == pytest.approx(-0.5 * math.log(2 * math.pi) - 0.125, abs=1e-8)
    counts = np.array([[n, 3.0, 0.0]])
    category = Categorical(0.5, 3).log_predictive([0, 1, 2], counts)[:, 0]
    np.testing.assert_allclose(
        category, np.log(np.array([n + 0.5, 3.5, 0.5]) / (n + 4.5)), rtol=1e-14
    )
    bag = sparse.csr_matrix([[0, 2, 0]])
    expected = math.log(3.5 * 4.5 / ((n + 4.5) * (n + 5.5)))
    assert Bag(0.5, 3).log_predictive(bag, counts)[0, 0] == pytest.approx(expected, rel=1e-14)
    coin = Bernoulli(1, 1).log_predictive([0.0, 1.0], np.array([[n, n - 2]]))[:, 0]
    np.testing.assert_allclose(coin, np.log([3 / (n + 2), (n - 1) / (n + 2)]), rtol=1e-12)
    event = Poisson(1, 1).log_predictive([0.0, 1.0], np.array([[n, 2 * n]]))[:, 0]
    np.testing.assert_allclose(event, [-2, math.log(2) - 2], atol=1e-8)


def test_a_bag_may_hold_a_billion_of_something():
    big = sparse.csr_matrix(np.array([[10**9, 2 * 10**9, 0], [0, 1, 0]], np.int64))
    family = Bag(0.5).filled(big)
    stats = family.statistics_by_cluster(big, [0, 0], 2)
    np.testing.assert_array_equal(stats[0], [1e9, 2e9 + 1, 0])
    assert np.isfinite(family.log_predictive(big, stats)).all()
    as_int32 = sparse.csr_matrix(np.array([[2 * 10**9, 2 * 10**9]], np.int32))
    assert Bag(0.5, 2).log_marginal(as_int32) == pytest.approx(
        Bag(0.5, 2).log_marginal(as_int32.toarray()), rel=1e-14
    )
    np.testing.assert_array_equal(Bag(0.5, 2).statistics_by_cluster(as_int32, [0], 1), [[2e9, 2e9]])
    assert Bag(0.5, 1).log_predictive(big[:, :1], np.zeros((1, 1)))[0, 0] == pytest.approx(
        0, abs=1e-5
    )


def test_dirichlet_draws_with_tiny_shapes_stay_in_logs():
    family = Categorical(1e-3, size=1000)
    drawn = family.sample_parameters(np.zeros((20, 1000)), np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    assert drawn.min() < -745
    np.testing.assert_allclose(logsumexp(drawn, axis=1), 0.0, atol=1e-12)
    coin = Bernoulli(1e-3, 1e-3).sample_parameters(np.zeros((50, 2)), np.random.default_rng(0))
    assert np.isfinite(coin).all()
    event = Poisson(1e-3, 1).sample_parameters(np.zeros((50, 2)), np.random.default_rng(0))
    assert np.isfinite(event).all()


def test_a_gaussian_draw_with_a_tiny_shape_is_a_number():
    family = Gaussian(mean=0, shape=1e-3, rate=1)
    drawn = family.sample_parameters(np.zeros((200, 3)), np.random.default_rng(0))
    assert np.isfinite(family.log_likelihood([0.0], drawn)).all()
