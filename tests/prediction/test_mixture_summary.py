from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from mcsquared.families import Bernoulli, Gaussian, MultivariateGaussian, Poisson
from mcsquared.prediction.contexts import mixture_summary


def test_gaussian_components_are_the_familys_own_predictive():
    family = Gaussian(mean=2000.0, strength=0.4, shape=2.5, rate=3.0, origin=1998.0)
    x = np.array([1990.0, 1994.0, 2003.0])
    statistics = np.vstack([family.statistics(x).sum(axis=0), np.zeros(3)])
    (components,) = family.predictive(statistics)
    points = np.array([1980.0, 1995.5, 2010.0])
    np.testing.assert_allclose(
        components.distribution.logpdf(points).T, family.log_predictive(points, statistics)
    )


def test_poisson_components_are_the_familys_own_predictive():
    family = Poisson(shape=1.5, rate=0.3)
    statistics = np.array([[4.0, 9.0], [0.0, 0.0]])
    (components,) = family.predictive(statistics)
    points = np.arange(30.0)
    np.testing.assert_allclose(
        components.distribution.logpmf(points).T, family.log_predictive(points, statistics)
    )
    np.testing.assert_allclose(components.mean, components.distribution.mean().ravel())
    np.testing.assert_allclose(components.variance, components.distribution.var().ravel())


def test_vectors_have_the_marginals_of_their_predictive():
    """In one dimension the Normal-inverse-Wishart is a Normal-Gamma."""
    wide = MultivariateGaussian(
        mean=[1.0, -2.0], strength=0.7, degrees=6.0, scale=[[2.0, 0.5], [0.5, 3.0]]
    )
    x = np.random.default_rng(0).normal(size=(12, 2))
    statistics = np.vstack([wide.statistics(x).sum(axis=0), np.zeros(wide.n_stats)])
    for i, components in enumerate(wide.predictive(statistics)):
        # A marginal of NIW(mean, k, ν, S) is NIW(mean_i, k, ν − d + 1, S_ii).
        narrow = MultivariateGaussian(
            mean=[wide.mean[i]], strength=0.7, degrees=5.0, scale=[[wide.scale[i][i]]]
        )
        one = np.vstack([narrow.statistics(x[:, [i]]).sum(axis=0), np.zeros(3)])
        points = np.array([-3.0, 0.2, 4.0])
        np.testing.assert_allclose(
            components.distribution.logpdf(points).T, narrow.log_predictive(points[:, None], one)
        )


def test_summary_of_a_mixture_has_its_moments_and_quantiles():
    family = Gaussian(mean=0.0, strength=1.0, shape=3.0, rate=2.0)
    x = [np.full(20, -5.0), np.linspace(2000, 2010, 50), np.array([])]
    statistics = np.array([family.statistics(values).sum(axis=0) for values in x])
    (components,) = family.predictive(statistics)
    weights = np.array([[0.3, 0.7, 0.0], [0.0, 1.0, 0.0], [0.08, 0.02, 0.9]])
    mean, sd, lower, upper = mixture_summary(weights, components)
    parts = components.distribution
    for j, row in enumerate(weights):
        expected = row @ parts.mean().ravel()
        assert mean[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        second = row @ (parts.var().ravel() + (parts.mean().ravel() - expected) ** 2)
        assert sd[j] == pytest.approx(np.sqrt(second), rel=1e-6)
        for level, found in ((0.05, lower[j]), (0.95, upper[j])):
            at = optimize.brentq(
                lambda q, row=row, level=level: row @ parts.cdf(q).ravel() - level, -1e4, 1e4
            )
            assert found == pytest.approx(at, abs=0.02 * max(1.0, sd[j] / 10))


def test_summary_of_counts_has_whole_bounds():
    (components,) = Poisson(shape=1.0, rate=0.1).predictive(np.array([[10.0, 40.0], [5.0, 2e7]]))
    _, _, lower, upper = mixture_summary(np.array([[1.0, 0.0], [0.0, 1.0]]), components)
    narrow = stats.nbinom(41.0, 10.1 / 11.1)
    assert (lower[0], upper[0]) == (1, 7)  # 0.916; to 8 it would be 0.950, from 2 0.839
    assert narrow.cdf(7) - narrow.cdf(0) == pytest.approx(0.916, abs=1e-3)
    large = stats.nbinom(2e7 + 1, 5.1 / 6.1)
    np.testing.assert_allclose([lower[1], upper[1]], large.ppf([0.05, 0.95]), rtol=1e-4)


def test_families_without_numbers_have_no_components():
    assert Gaussian().has_predictive
    assert not Bernoulli().has_predictive
