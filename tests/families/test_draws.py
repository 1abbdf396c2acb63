"""Posterior draws of the parameters follow the known distributions."""

import numpy as np
import pytest
from scipy import stats

from mcsquared.families import (
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)

N_DRAWS = 20_000


def draws(family, data):
    row = family.statistics(data).sum(axis=0)
    rows = np.broadcast_to(row, (N_DRAWS, family.n_stats))
    return family.sample_parameters(rows, np.random.default_rng(11)), row


def assert_follows(sample, distribution):
    assert stats.kstest(sample, distribution.cdf).pvalue > 1e-3


def test_gaussian_draws_follow_the_normal_gamma_posterior():
    data = np.array([2001.0, 2004.0, 1999.5])
    family = Gaussian(2000, 0.5, 2, 3).filled(data)
    drawn, row = draws(family, data)
    # By hand: mean 2001.5, squares 10.5, prior mean 1.5 away, weights 0.5 and 3.
    rate = 3 + 0.5 * (10.5 + 0.5 * 3 / 3.5 * 1.5**2)
    mean = (0.5 * 2000 + 3 * 2001.5) / 3.5
    assert_follows(drawn[:, 1], stats.gamma(3.5, scale=1 / rate))
    assert_follows(drawn[:, 0], stats.t(7, mean, np.sqrt(rate / (3.5 * 3.5))))
    standardised = (drawn[:, 0] - mean) * np.sqrt(3.5 * drawn[:, 1])
    assert_follows(standardised, stats.norm)
    expected = [[mean, 3.5 / rate]]
    np.testing.assert_allclose(family.mean_parameters(row[None]), expected, rtol=1e-12)
    np.testing.assert_allclose(drawn.mean(axis=0), expected[0], rtol=0.01)


def test_multivariate_draws_follow_the_normal_inverse_wishart_posterior():
    rng = np.random.default_rng(0)
    data = rng.normal([5, -3, 1], [1, 2, 0.5], (6, 3)) @ (np.eye(3) + 0.3)
    family = MultivariateGaussian(strength=0.5).filled(data)
    drawn, row = draws(family, data)
    mean, strength, degrees = np.array(family.mean), 6.5, 11.0
    scale = np.array(family.scale) + (data - data.mean(axis=0)).T @ (data - data.mean(axis=0))
    inverse = np.linalg.inv(scale)
    precision = drawn[:, 3:].reshape(-1, 3, 3)
    np.testing.assert_array_equal(precision, np.swapaxes(precision, 1, 2))
    direction = np.array([1.0, -0.5, 2.0])
    precision_along = np.einsum("i,nij,j->n", direction, precision, direction)
    assert_follows(precision_along / (direction @ inverse @ direction), stats.chi2(degrees))
    degrees_of_mean = degrees - 2
    spread = np.sqrt(direction @ scale @ direction / (strength * degrees_of_mean))
    assert_follows(drawn[:, :3] @ direction, stats.t(degrees_of_mean, mean @ direction, spread))
    deviation = drawn[:, :3] - mean
    distance = strength * np.einsum("ni,nij,nj->n", deviation, precision, deviation)
    assert_follows(distance, stats.chi2(3))
    expected = np.concatenate([mean, degrees * inverse.ravel()])
    np.testing.assert_allclose(family.mean_parameters(row[None])[0], expected, rtol=1e-10)
    standard_error = drawn.std(axis=0) / np.sqrt(N_DRAWS)
    assert (np.abs(drawn.mean(axis=0) - expected) < 5 * standard_error).all()


def test_categorical_draws_follow_the_dirichlet_posterior():
    family = Categorical(0.4, size=3)
    drawn, row = draws(family, np.array([0, 0, 2]))
    weights = np.array([2.4, 0.4, 1.4])
    for code in range(3):
        assert_follows(np.exp(drawn[:, code]), stats.beta(weights[code], 4.2 - weights[code]))
    share = np.exp(drawn[:, 1] - np.logaddexp(drawn[:, 1], drawn[:, 2]))
    assert_follows(share, stats.beta(0.4, 1.4))
    np.testing.assert_allclose(np.exp(family.mean_parameters(row[None])[0]), weights / 4.2)


def test_bernoulli_draws_follow_the_beta_posterior():
    family = Bernoulli(0.5, 1.5)
    drawn, row = draws(family, np.array([1.0, 1.0, 0.0]))
    assert_follows(np.exp(drawn[:, 0]), stats.beta(2.5, 2.5))
    np.testing.assert_allclose(np.exp(drawn).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(family.mean_parameters(row[None])), [[0.5, 0.5]])


@pytest.mark.parametrize("shape", [0.2, 3.0])
def test_poisson_draws_follow_the_gamma_posterior(shape):
    family = Poisson(shape, 0.5)
    drawn, row = draws(family, np.array([0.0, 4.0]))
    assert_follows(np.exp(drawn[:, 0]), stats.gamma(shape + 4, scale=1 / 2.5))
    np.testing.assert_allclose(np.exp(family.mean_parameters(row[None])), [[(shape + 4) / 2.5]])


def test_drawing_from_no_data_draws_from_the_prior():
    family = Poisson(0.2, 0.5)
    drawn, _ = draws(family, np.zeros(0))
    assert_follows(np.exp(drawn[:, 0]), stats.gamma(0.2, scale=2))
