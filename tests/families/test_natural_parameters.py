"""The likelihood as statistics times natural parameters, wherever the data lie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcsquared.errors import InputError
from mcsquared.families import (
    Bag,
    Bernoulli,
    Categorical,
    ConjugateFamily,
    Gaussian,
    MultivariateGaussian,
    Poisson,
)
from mcsquared.families.numerics import cholesky, product, solve_transposed
from tests.families.cases import CASES

NATURAL = [name for name, case in CASES.items() if case.family.kernel != "dirichlet"]


def log_likelihood(family, x, parameters):
    """T(x) · natural + log h(x), and the size of the terms that were added."""
    statistics, natural = family.statistics(x), family.natural_parameters(parameters)
    terms = statistics[:, None, :] * natural
    return terms.sum(axis=-1) + family.log_base(x)[:, None], np.abs(terms).sum(axis=-1)


def assert_agree(family, x, parameters, digits=1e-9):
    found, _ = log_likelihood(family, x, parameters)
    expected = family.log_likelihood(x, parameters)
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits)


@pytest.mark.parametrize("name", NATURAL)
def test_statistics_times_natural_parameters_are_the_likelihood(name):
    family, stats = CASES[name].family, CASES[name].statistics_of_clusters()
    for parameters in (
        family.sample_parameters(stats, np.random.default_rng(1)),
        family.mean_parameters(stats),
    ):
        natural = family.natural_parameters(parameters)
        assert natural.shape == (4, family.n_stats)
        assert natural.dtype == np.float64
        assert_agree(family, CASES[name].x, parameters)


@pytest.mark.parametrize("name", NATURAL)
def test_no_clusters_have_no_natural_parameters(name):
    family = CASES[name].family
    parameters = family.mean_parameters(np.zeros((0, family.n_stats)))
    assert family.natural_parameters(parameters).shape == (0, family.n_stats)


@given(
    level=st.sampled_from([0.0, 2000.0, -1e6, 1e9]),
    spread=st.sampled_from([1e-3, 1.0, 50.0, 1e5]),
    width=st.integers(0, 4),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=80, deadline=None)
def test_gaussian_natural_parameters_keep_their_digits_at_any_level(level, spread, width, seed):
    """Width 0 is the univariate family."""
    rng = np.random.default_rng(seed)
    transform = np.eye(max(width, 1)) + 0.3 * rng.normal(size=(max(width, 1),) * 2)
    x = level + spread * rng.normal(size=(40, max(width, 1))) @ transform
    family = MultivariateGaussian().filled(x) if width else Gaussian().filled(x[:, 0])
    x = x if width else x[:, 0]
    stats = family.statistics_by_cluster(x, np.arange(40) % 3, 4)
    parameters = family.sample_parameters(stats, rng)
    found, size = log_likelihood(family, x, parameters)
    expected = family.log_likelihood(x, parameters)
    # An empty cluster may be drawn far away: its terms cancel among themselves, and only there.
    assert (np.abs(found - expected) <= 1e-9 * np.abs(expected) + 1e-13 * size + 1e-9).all()
    assert size[:, :3].max() < 1e6


def test_natural_parameters_from_zero_on_would_have_lost_every_digit():
    """What the origin is for: the same data, counted from zero."""
    rng = np.random.default_rng(0)
    x = rng.normal(1e9, 1, 40)
    family = Gaussian().filled(x)
    parameters = family.mean_parameters(family.statistics(x).sum(axis=0)[None])
    assert_agree(family, x, parameters)
    from_zero = Gaussian(family.mean, rate=family.rate)
    found, size = log_likelihood(from_zero, x, parameters)
    assert size.min() > 1e17
    assert np.abs(found - from_zero.log_likelihood(x, parameters)).max() > 1.0


@given(
    yeses=st.floats(0, 1e9),
    noes=st.floats(0, 1e9),
    prior=st.floats(1e-4, 10),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_bernoulli_natural_parameters_agree_for_any_probability(yeses, noes, prior, seed):
    family, x = Bernoulli(prior, prior), np.array([0.0, 1.0])
    stats = np.array([[yeses + noes, yeses], [0.0, 0.0]])
    parameters = family.sample_parameters(stats, np.random.default_rng(seed))
    found, size = log_likelihood(family, x, parameters)
    expected = family.log_likelihood(x, parameters)
    assert (np.abs(found - expected) <= 1e-9 * np.abs(expected) + 1e-15 * size).all()


def test_an_impossible_yes_or_no_is_as_good_as_impossible():
    parameters = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    found, _ = log_likelihood(Bernoulli(), np.array([0.0, 1.0]), parameters)
    np.testing.assert_array_equal(np.diagonal(found), -1e9)
    np.testing.assert_array_equal([found[1, 0], found[0, 1]], 0.0)


@given(shape=st.floats(1e-3, 10), total=st.floats(0, 1e9), seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_poisson_natural_parameters_agree_for_any_mean(shape, total, seed):
    family, x = Poisson(shape, 0.5), np.array([0.0, 1.0, 17.0, 1e6])
    stats = np.array([[100.0, total], [0.0, 0.0]])
    parameters = family.sample_parameters(stats, np.random.default_rng(seed))
    assert_agree(family, x, parameters)


def test_a_gaussian_drawn_with_the_smallest_precision_has_natural_parameters():
    family = Gaussian(mean=0, shape=1e-3, rate=1)
    drawn = family.sample_parameters(np.zeros((200, 3)), np.random.default_rng(0))
    assert drawn[:, 1].min() == np.finfo(np.float64).tiny
    assert np.isfinite(family.natural_parameters(drawn)).all()
    assert_agree(family, np.array([0.0, 3.0]), drawn)


@pytest.mark.parametrize("family", [Categorical(0.3, 4), Bag(0.2, 4)])
def test_dirichlet_families_say_that_they_have_no_natural_parameters(family):
    with pytest.raises(InputError, match=r"does not define natural_parameters"):
        family.natural_parameters(np.zeros((1, 4)))


def test_every_built_in_family_can_sample():
    assert all(case.family.can_sample for case in CASES.values())


def test_a_family_without_draws_or_without_likelihood_cannot_sample():
    class Three(ConjugateFamily):
        n_stats = 1

        def statistics(self, x):
            return np.ones((len(x), 1))

        def log_normaliser(self, stats):
            return -stats[..., 0]

    class Drawn(Three):
        def sample_parameters(self, stats, rng):
            return stats

    class Whole(Drawn):
        def log_likelihood(self, x, parameters):
            return np.zeros((len(x), len(parameters)))

    assert [family().can_sample for family in (Three, Drawn, Whole)] == [False, False, True]


@given(width=st.integers(1, 7), many=st.integers(0, 5), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_roots_and_solutions_solve_their_equations(width, many, seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(many, width, width + 2))
    matrices = factor @ np.swapaxes(factor, 1, 2)
    root = cholesky(matrices)
    np.testing.assert_array_equal(root, np.tril(root))
    np.testing.assert_allclose(root, np.linalg.cholesky(matrices), rtol=1e-9, atol=1e-9)
    right = rng.normal(size=(many, width, 3))
    solved = solve_transposed(root, right)
    scale = 1 + np.abs(root).max(initial=0) * np.abs(solved).max(initial=0)
    np.testing.assert_allclose(
        product(np.swapaxes(root, 1, 2), solved), right, rtol=0, atol=1e-12 * scale
    )


def test_only_the_matrix_that_rounding_broke_is_mended():
    whole, broken = np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [1.0, 1.0 - 1e-12]])
    roots = cholesky(np.stack([whole, broken, whole]))
    np.testing.assert_array_equal(roots[0], roots[2])
    np.testing.assert_array_equal(roots[0], cholesky(whole))
    assert np.isfinite(roots).all()
    np.testing.assert_allclose(product(roots, np.swapaxes(roots, 1, 2))[1], broken, atol=1e-11)


def test_matrices_side_by_side_are_computed_as_if_each_were_alone():
    rng = np.random.default_rng(4)
    matrices = np.cov(rng.normal(size=(5, 60)))[None] + np.arange(1, 8)[:, None, None] * np.eye(5)
    together = cholesky(matrices)
    alone = np.stack([cholesky(matrix) for matrix in matrices])
    np.testing.assert_array_equal(together, alone)
    right = rng.normal(size=(7, 5, 2))
    np.testing.assert_array_equal(
        solve_transposed(together, right),
        np.stack([solve_transposed(*pair) for pair in zip(alone, right, strict=True)]),
    )


def test_a_hundred_clusters_of_ten_dimensions_agree_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 10))
    family = MultivariateGaussian().filled(x)
    stats = family.statistics_by_cluster(x, np.arange(3000) % 100, 100)
    parameters = family.sample_parameters(stats, rng)
    assert family.natural_parameters(parameters).shape == (100, 111)
    assert_agree(family, x[:50], parameters)
