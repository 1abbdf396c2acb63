from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from mcsquared.corpus import Corpus
from mcsquared.families import Bag, Categorical, Gaussian, MultivariateGaussian
from mcsquared.prediction import likelihood
from mcsquared.prediction.likelihood import (
    log_cluster_prior,
    log_context_given_cluster,
    log_group_given_cluster,
    log_mixture,
    log_word_given_cluster,
)
from mcsquared.prediction.parameters import ModelParameters, draw_parameters
from tests.prediction.models import Counts, make_posterior, words_corpus

DRAW = Counts([0, 0, 0, 1], [[6, 1], [0, 4]], [[5, 1, 0], [1, 0, 4]], [0.4, 0.3], 2.0, 1.5, 1.2)


def drawn(posterior, seed=0, n_new=3):
    return draw_parameters(
        posterior, posterior.parameters[0], np.random.default_rng(seed), n_new=n_new
    )


def test_mixtures_are_sums_in_logs_also_where_floats_end():
    rng = np.random.default_rng(0)
    log_likelihood = rng.normal(0, 5, (40, 6))
    log_weights = rng.normal(0, 5, (5, 6))
    log_likelihood[:10] -= 5000.0
    log_likelihood[20] = -np.inf
    log_likelihood[5, 0], log_weights[:, 0] = 0.0, -2000.0  # the likely topic has no weight
    with np.errstate(divide="ignore"):
        expected = logsumexp(log_likelihood[:, None, :] + log_weights[None], axis=2)
    np.testing.assert_allclose(log_mixture(log_likelihood, log_weights), expected, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.001, 0.05, 2.0])
def test_word_probabilities_of_every_cluster_sum_to_one(beta, monkeypatch):
    monkeypatch.setattr(likelihood, "BLOCK_SIZE", 7)
    log_word = log_word_given_cluster(drawn(make_posterior([DRAW], beta=beta)))
    np.testing.assert_allclose(np.exp(log_word).sum(axis=0), 1.0, rtol=1e-12)
    assert np.isfinite(log_word).all()


def test_words_of_probability_that_do_not_sum_to_one_are_an_error():
    wrong = ModelParameters(
        np.zeros(1), np.zeros((1, 1)), np.log([[0.5, 0.4]]), Categorical(0.5, size=2), 1, 1
    )
    with pytest.raises(ArithmeticError, match="sum to 1"):
        log_word_given_cluster(wrong)


def test_content_of_words_is_the_product_over_tokens():
    posterior = make_posterior([DRAW])
    parameters = drawn(posterior)
    groups = [[0, 0, 2], [], [1, 2]]
    result = log_group_given_cluster(words_corpus(groups, 3), parameters)
    tau, psi = np.exp(parameters.log_topic_given_cluster), np.exp(parameters.content_parameters)
    expected = [np.prod((tau @ psi)[:, words], axis=1) for words in groups]
    np.testing.assert_allclose(result, np.log(expected), rtol=1e-10)
    np.testing.assert_array_equal(result[1], 0.0)


@pytest.mark.parametrize("block", [1 << 21, 20])
def test_content_of_vectors_is_the_product_of_mixtures_of_gaussians(block, monkeypatch):
    monkeypatch.setattr(likelihood, "BLOCK_SIZE", block)
    monkeypatch.setattr(likelihood, "BATCH_SIZE", block)
    rng = np.random.default_rng(2)
    family = MultivariateGaussian(
        mean=[0.0, 0.0], strength=1.0, degrees=5.0, scale=[[1.0, 0.2], [0.2, 2.0]]
    )
    samples = [rng.normal(m, 1, (30, 2)) for m in (-3, 2)]
    content = np.stack([family.statistics(x).sum(axis=0) for x in samples])
    draw = Counts([0, 0, 1], [[20, 10], [10, 20]], content, [0.5, 0.4])
    posterior = make_posterior([draw], content=family)
    parameters = drawn(posterior)
    groups = [rng.normal(0, 3, (n, 2)) for n in (4, 0, 13, 1)]
    result = log_group_given_cluster(Corpus(groups), parameters)
    tau = np.exp(parameters.log_topic_given_cluster)
    means = parameters.content_parameters[:, :2]
    precisions = parameters.content_parameters[:, 2:].reshape(-1, 2, 2)
    for values, row in zip(groups, result, strict=True):
        density = [
            stats.multivariate_normal(mean, np.linalg.inv(precision)).pdf(values).reshape(-1)
            for mean, precision in zip(means, precisions, strict=True)
        ]
        expected = np.log(tau @ np.array(density)).sum(axis=1)
        np.testing.assert_allclose(row, expected, rtol=1e-7, atol=1e-9)


def test_contexts_are_student_t_densities_and_missing_ones_say_nothing():
    x = np.array([1.0, 2.0, np.nan, 7.0])
    family = Gaussian(mean=3.0, strength=0.5, shape=2.0, rate=1.5)
    posterior = make_posterior([DRAW], {"x": x}, {"x": family})
    test = words_corpus([[], [0], [1]], 3, contexts={"x": np.array([2.5, np.nan, 6.0])})
    result = log_context_given_cluster(posterior, posterior.parameters[0], test)
    assert result.shape == (3, 3)
    np.testing.assert_array_equal(result[1], 0.0)
    prior = stats.t(4, 3.0, np.sqrt(1.5 / 2.0 * 1.5 / 0.5)).logpdf([2.5, 6.0])
    np.testing.assert_allclose(result[[0, 2], 2], prior)
    mean, strength, shape = (0.5 * 3 + 7) / 1.5, 1.5, 2.5
    rate = 1.5 + 0.5 * (0.5 * 1 / 1.5) * (7 - 3) ** 2
    one = stats.t(2 * shape, mean, np.sqrt(rate / shape * (strength + 1) / strength))
    np.testing.assert_allclose(result[[0, 2], 1], one.logpdf([2.5, 6.0]))


def test_several_contexts_multiply_and_one_can_be_left_out():
    contexts = {"x": np.array([1.0, 2.0, 3.0, 7.0]), "tags": [["a"], ["a", "b"], ["b"], ["c"]]}
    posterior = make_posterior([DRAW], contexts, {"x": Gaussian(), "tags": Bag()})
    test = words_corpus([[0], [1]], 3, contexts={"x": [2.0, 5.0], "tags": [["a"], ["c", "c"]]})
    from mcsquared.prediction.groups import align

    test, draw = align(posterior, test), posterior.parameters[0]
    both = log_context_given_cluster(posterior, draw, test)
    x = log_context_given_cluster(posterior, draw, test, leave_out="tags")
    tags = log_context_given_cluster(posterior, draw, test, leave_out="x")
    np.testing.assert_allclose(both, x + tags)
    assert (x != 0).all()
    assert (tags != 0).all()


def test_every_auxiliary_new_cluster_has_the_prior_density_of_the_contexts():
    posterior = make_posterior([DRAW], {"x": np.array([1.0, 2.0, 3.0, 7.0])})
    test = words_corpus([[0], [1]], 3, contexts={"x": np.array([2.0, 5.0])})
    draw, parameters = posterior.parameters[0], drawn(posterior, n_new=3)
    context = log_context_given_cluster(posterior, draw, test)
    prior = log_cluster_prior(parameters, context)
    np.testing.assert_allclose(np.exp(prior[:, 2:]).sum(axis=1), 2.0 / 6.0 * np.exp(context[:, 2]))
    without = log_cluster_prior(parameters, np.zeros((2, 3)))
    np.testing.assert_allclose(np.exp(without).sum(axis=1), 1.0)


def test_products_with_and_without_blas_are_equal(monkeypatch):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(30, 17)), rng.normal(size=(40, 17)).T
    without = likelihood.matrix_product(left, right)
    monkeypatch.setattr(likelihood, "MAX_TERMS", 0)
    np.testing.assert_allclose(
        without, likelihood.matrix_product(left, right), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(without, left @ right, rtol=1e-12, atol=1e-12)
