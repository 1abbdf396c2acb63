"""Each predictive against SciPy's distribution of that name, and against the number 1."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import integrate, sparse, stats

from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from tests.families.cases import CASES


def posterior_normal_gamma(family, x):
    """The textbook update, data in their own units and no care for rounding."""
    n, strength = len(x), family.strength
    average = x.mean() if n else 0.0
    mean = (strength * family.mean + n * average) / (strength + n)
    rate = family.rate + 0.5 * ((x - average) ** 2).sum()
    rate += 0.5 * strength * n / (strength + n) * (average - family.mean) ** 2
    return mean, strength + n, family.shape + n / 2, rate


@pytest.mark.parametrize("n", [0, 1, 12])
def test_a_gaussian_predicts_a_student_t(n):
    family, x = CASES["gaussian_given"].family, CASES["gaussian_given"].x[:n]
    mean, strength, shape, rate = posterior_normal_gamma(family, x)
    scale = np.sqrt(rate * (strength + 1) / (strength * shape))
    grid = np.linspace(1980, 2030, 7)
    found = family.log_predictive(grid, family.statistics(x).sum(axis=0)[None])[:, 0]
    expected = stats.t.logpdf(grid, 2 * shape, mean, scale)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 12])
def test_a_multivariate_gaussian_predicts_a_multivariate_t(n):
    case = CASES["multivariate_given"]
    family, x = case.family, case.x[:n]
    prior_mean, width = np.array(family.mean), 2
    average = x.mean(axis=0) if n else np.zeros(width)
    strength, degrees = family.strength + n, family.degrees + n
    mean = (family.strength * prior_mean + n * average) / strength
    apart = np.outer(average - prior_mean, average - prior_mean) * family.strength * n / strength
    scale = np.array(family.scale) + (x - average).T @ (x - average) + apart
    freedom = degrees - width + 1
    shape = scale * (strength + 1) / (strength * freedom)
    found = family.log_predictive(case.x, family.statistics(x).sum(axis=0)[None])[:, 0]
    expected = stats.multivariate_t(mean, shape, freedom).logpdf(case.x)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_a_bernoulli_predicts_a_beta_binomial():
    family = Bernoulli(0.7, 2.5)
    n, yeses = 9, np.arange(10)
    marginal = family.log_marginal(np.stack([np.full(10, n), yeses], axis=1))
    ways = stats.binom.logpmf(yeses, n, 0.5) + n * np.log(2)
    np.testing.assert_allclose(marginal + ways, stats.betabinom.logpmf(yeses, n, 0.7, 2.5))


def test_a_poisson_predicts_a_negative_binomial():
    family, seen = Poisson(1.5, 0.5), np.array([3.0, 0.0, 8.0])
    x = np.arange(30.0)
    found = family.log_predictive(x, family.statistics(seen).sum(axis=0)[None])[:, 0]
    expected = stats.nbinom.logpmf(x, 1.5 + 11, 3.5 / 4.5)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_a_bag_predicts_a_dirichlet_multinomial():
    case = CASES["bag"]
    seen = case.statistics_of_clusters()
    found = case.family.log_predictive(case.x, seen)
    for row, bag in enumerate(case.x.toarray()):
        for k, counts in enumerate(seen):
            expected = 0.0  # an empty bag, which older versions of SciPy refuse
            if bag.any():
                law = stats.dirichlet_multinomial(0.2 + counts, int(bag.sum()))
                expected = law.logpmf(bag)
            assert found[row, k] == pytest.approx(expected, abs=1e-11)


def test_a_bag_of_one_item_is_a_category():
    codes = np.array([0, 2, 1, 3], np.int32)
    one_hot = sparse.csr_matrix(np.eye(4, dtype=np.int32)[codes])
    seen = np.array([[0.0, 0, 0, 0], [3, 0, 1, 5]])
    np.testing.assert_allclose(
        Bag(0.3, 4).log_predictive(one_hot, seen), Categorical(0.3, 4).log_predictive(codes, seen)
    )


def test_an_empty_bag_has_probability_one_everywhere():
    case = CASES["bag"]
    stats_of_clusters = case.statistics_of_clusters()
    assert case.x[3].sum() == 0
    np.testing.assert_array_equal(case.family.log_predictive(case.x[3], stats_of_clusters), 0.0)
    parameters = case.family.mean_parameters(stats_of_clusters)
    np.testing.assert_array_equal(case.family.log_likelihood(case.x[3], parameters), 0.0)


def test_one_dimension_of_the_multivariate_gaussian_is_the_gaussian():
    x = CASES["gaussian"].x
    plain = Gaussian(2000, 0.3, 1.5, 4).filled(x)
    wide = MultivariateGaussian([2000], 0.3, 3, [[8]]).filled(x[:, None])
    labels = np.arange(12) % 3
    np.testing.assert_allclose(
        wide.log_predictive(x[:, None], wide.statistics_by_cluster(x[:, None], labels, 4)),
        plain.log_predictive(x, plain.statistics_by_cluster(x, labels, 4)),
        rtol=1e-11,
    )


@pytest.mark.parametrize("name", ["gaussian", "gaussian_given", "gaussian_off_centre"])
def test_gaussian_predictives_integrate_to_one(name):
    case = CASES[name]

    def density(x, row):
        return np.exp(case.family.log_predictive(np.array([x]), row[None])[0, 0])

    for row in case.statistics_of_clusters()[[0, 3]]:
        halves = [
            integrate.quad(density, *ends, args=(row,), limit=200)[0]
            for ends in ((-np.inf, 2003), (2003, np.inf))
        ]
        assert sum(halves) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", ["multivariate", "multivariate_given"])
def test_multivariate_predictives_integrate_to_one(name):
    """The plane is folded into a square by tangents, so that heavy tails are inside."""
    case = CASES[name]
    nodes, weights = np.polynomial.legendre.leggauss(240)
    angle = nodes * np.pi / 2
    scale = 8.0
    offset, step = scale * np.tan(angle), scale * weights * np.pi / 2 / np.cos(angle) ** 2
    center = case.x.mean(axis=0)
    points = np.stack(np.meshgrid(center[0] + offset, center[1] + offset), axis=-1).reshape(-1, 2)
    area = np.outer(step, step).ravel()
    density = np.exp(case.family.log_predictive(points, case.statistics_of_clusters()[:1]))
    assert area @ density[:, 0] == pytest.approx(1.0, abs=2e-4)


@pytest.mark.parametrize(
    ("family", "everything"),
    [
        (Categorical(0.3, size=4), np.arange(4)),
        (Bernoulli(0.5, 2), np.array([0.0, 1.0])),
        (Poisson(2.5, 0.4), np.arange(4000.0)),
    ],
)
def test_discrete_predictives_sum_to_one(family, everything):
    seen = family.statistics_by_cluster(everything[:2], np.array([0, 0]), 2)
    total = np.exp(family.log_predictive(everything, seen)).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-10)


@pytest.mark.parametrize("length", [0, 1, 4])
def test_the_bags_of_one_length_sum_to_one(length):
    case = CASES["bag"]
    bags = [
        np.bincount(np.array(items, int), minlength=5)
        for items in combinations_with_replacement(range(5), length)
    ]
    total = np.exp(
        case.family.log_predictive(sparse.csr_matrix(bags), case.statistics_of_clusters())
    ).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-11)
