"""Kernels of small matrices agree with NumPy, whatever the number of dimensions."""

import numpy as np
import pytest

from mcsquared.families import MultivariateGaussian
from mcsquared.kernels.cpu import matrices as kernels

widths = pytest.mark.parametrize("width", [1, 2, 3, 5, 16, 17, 41])


def positive_definite(width, n=3, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, width, width + 3))
    return root @ np.swapaxes(root, 1, 2)


@widths
def test_factors_inverses_and_products_are_those_of_numpy(width):
    matrices = positive_definite(width)
    factors, inverses, products = (np.empty_like(matrices) for _ in range(3))
    kernels.factor_matrices(matrices, factors)
    kernels.invert_matrices(factors, inverses)
    kernels.multiply_matrices(matrices, inverses, products)
    np.testing.assert_allclose(factors, np.linalg.cholesky(matrices), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(products, np.tile(np.eye(width), (3, 1, 1)), atol=1e-7)
    np.testing.assert_array_equal(inverses, np.swapaxes(inverses, 1, 2))


@widths
@pytest.mark.parametrize("scale", [0.7, -0.7])
def test_an_updated_factor_is_that_of_the_changed_matrix(width, scale):
    matrix, change = positive_definite(width)[0], np.random.default_rng(1).normal(size=width)
    before, after = matrix, matrix + scale * np.outer(change, change)
    if scale < 0:  # the result, which has to be positive definite, is the simpler matrix
        before, after = matrix - scale * np.outer(change, change), matrix
    upper = np.linalg.cholesky(before).T.copy()
    assert kernels.update_upper(upper, change.copy(), scale)
    np.testing.assert_allclose(np.triu(upper), np.linalg.cholesky(after).T, rtol=1e-8, atol=1e-9)
    length = kernels.squared_length(upper, change.copy())
    assert length == pytest.approx(change @ np.linalg.solve(after, change), rel=1e-9)


def test_an_update_that_leaves_no_factor_is_refused():
    assert not kernels.update_upper(np.eye(2), np.array([1.0, 1.0]), -0.5)
    assert not kernels.update_upper(np.eye(2), np.array([2.0, 0.0]), -1.0)


@widths
def test_precisions_are_built_from_bartlett_matrices_in_reversed_order(width):
    rng, matrices = np.random.default_rng(2), positive_definite(width)
    factors = np.linalg.cholesky(matrices)
    bartlett = rng.normal(size=matrices.shape)
    diagonal = np.arange(width)
    bartlett[:, diagonal, diagonal] = 1.0 + rng.random((3, width))
    precisions, noise = np.empty_like(matrices), rng.normal(size=(3, width))
    deviations = noise.copy()
    kernels.draw_precisions(factors, bartlett, precisions, deviations)
    upper = np.tril(bartlett)[:, ::-1, ::-1]
    root = np.linalg.solve(np.swapaxes(factors, 1, 2), upper)
    np.testing.assert_allclose(root, np.triu(root), atol=1e-8)
    expected = root @ np.swapaxes(root, 1, 2)
    np.testing.assert_allclose(precisions, expected, rtol=1e-6, atol=1e-9)
    solved = np.linalg.solve(np.swapaxes(root, 1, 2), noise[:, :, None])[:, :, 0]
    np.testing.assert_allclose(deviations, solved, rtol=1e-6, atol=1e-9)


def drawn(width, n_topics=6, n=40):
    rng = np.random.default_rng(width)
    x = rng.normal(size=(n, width)) + 4.0 * (np.arange(n) % n_topics)[:, None]
    family = MultivariateGaussian().filled(x)
    seen = family.statistics_by_cluster(x, np.arange(n) % n_topics, n_topics)
    return family, x, family.sample_parameters(seen, rng)


@widths
def test_complete_log_likelihoods_are_those_of_the_family(width):
    family, x, parameters = drawn(width)
    expected = family.log_likelihood(x, parameters) - family.log_base(x)[:, None]
    parameters[2] = 0.0  # a slot that cannot be used
    expected[:, 2] = -np.inf
    values = x - np.array(family.origin)
    found = kernels.complete_log_likelihoods(values, family.whitened_parameters(parameters))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


@widths
@pytest.mark.parametrize("size", [0.1, 1e3])
def test_log_likelihoods_are_left_out_only_where_they_cannot_matter(width, size):
    family, x, parameters = drawn(width)
    values, whitened = x - np.array(family.origin), family.whitened_parameters(parameters)
    complete = kernels.complete_log_likelihoods(values, whitened)
    rng = np.random.default_rng(3)
    least, found = -size * rng.random(complete.shape), np.empty_like(complete)
    start = rng.integers(0, complete.shape[1], len(x))
    kernels.log_likelihoods_of_vectors(0, len(x), values, whitened, start, least, found)
    left_out = np.isneginf(found)
    np.testing.assert_array_equal(found[~left_out], complete[~left_out])
    best = (complete + least).max(axis=1, keepdims=True)
    assert (complete < best - kernels.NEGLIGIBLE_LOG_RATIO)[left_out].all()
    assert left_out.any() or width < 16 or size > 1.0


@widths
def test_weighted_statistics_are_sums_over_the_vectors(width):
    family, x, _ = drawn(width)
    values, weights = x - np.array(family.origin), np.random.default_rng(4).random((2, len(x)))
    weights[0, :5] = 0.0
    totals = np.ones((2, family.n_stats))
    kernels.add_weighted_statistics(values, weights, totals)
    np.testing.assert_allclose(totals, 1.0 + weights @ family.statistics(x), rtol=1e-9, atol=1e-9)
