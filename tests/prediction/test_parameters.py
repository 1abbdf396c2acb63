from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mcsquared.prediction import parameters as module
from mcsquared.prediction.parameters import (
    MAX_UNUSED,
    draw_log_dirichlet,
    draw_parameters,
    parameters_of_draws,
    parameters_without_content,
    split_unused_weight,
    stream,
)
from tests.prediction.models import Counts, make_posterior

DRAW = Counts([0, 0, 0, 1], [[6, 1], [0, 4]], [[5, 1, 0], [1, 0, 4]], [0.4, 0.3], 2.0, 1.5, 1.2)


def test_log_dirichlet_draws_have_the_moments_of_the_distribution():
    shape = np.array([0.2, 1.0, 3.0])
    draws = np.exp(draw_log_dirichlet(np.tile(shape, (40_000, 1)), np.random.default_rng(0)))
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    mean = shape / shape.sum()
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.01)
    variance = mean * (1 - mean) / (shape.sum() + 1)
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.05)


def test_log_dirichlet_draws_do_not_underflow_with_tiny_shapes():
    draws = draw_log_dirichlet(np.full((200, 5), 1e-4), np.random.default_rng(0))
    assert np.isfinite(draws).all()
    assert draws.min() < -1000
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1.0)


def test_log_dirichlet_draws_are_numbers_at_the_smallest_floats():
    draws = draw_log_dirichlet(np.full((5, 3), 1e-307), np.random.default_rng(0))
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1.0)


def test_a_shape_of_zero_has_no_mass():
    draws = draw_log_dirichlet(np.array([[0.0, 2.0, 3.0]] * 9), np.random.default_rng(0))
    assert np.isneginf(draws[:, 0]).all()
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1.0)


@pytest.mark.parametrize("eta", [0.3, 1.0, 4.0])
def test_the_unused_weight_is_shared_as_stick_breaking_shares_it(eta):
    """Of GEM(η) weights, the expected sum of squares is 1 / (1 + η)."""
    rng = np.random.default_rng(0)
    squares = []
    for _ in range(4000):
        weights = split_unused_weight(0.5, eta, rng)
        assert weights.sum() == pytest.approx(0.5)
        assert len(weights) <= MAX_UNUSED
        squares.append(np.sum((weights / 0.5) ** 2))
    assert np.mean(squares) == pytest.approx(1 / (1 + eta), abs=0.02)


def test_an_unused_weight_of_zero_stays_zero():
    np.testing.assert_array_equal(split_unused_weight(0.0, 1.0, np.random.default_rng(0)), [0.0])


def test_cluster_weights_are_the_restaurant_process_and_sum_to_one():
    posterior = make_posterior([DRAW])
    drawn = draw_parameters(posterior, posterior.parameters[0], np.random.default_rng(0), n_new=4)
    weights = np.exp(drawn.log_weight_of_cluster)
    np.testing.assert_allclose(weights, [3 / 6, 1 / 6, *[2 / 6 / 4] * 4])
    assert (drawn.n_clusters, drawn.n_topics, drawn.n_new) == (2, 2, 4)


def test_drawn_globals_have_the_posterior_means():
    posterior = make_posterior([DRAW], beta=0.5)
    tau, psi = np.zeros((3, 3)), np.zeros((2, 3))
    n = 4000
    for _, drawn in parameters_of_draws(posterior, 1, n_new=1, n_repeats=n):
        topic = np.exp(drawn.log_topic_given_cluster)
        tau += np.column_stack([topic[:, :2], topic[:, 2:].sum(axis=1)]) / n
        psi += np.exp(drawn.content_parameters[:2]) / n
    prior = 1.5 * np.array([0.4, 0.3, 0.3])
    counts = np.array([[6, 1, 0], [0, 4, 0], [0, 0, 0]])
    expected = (prior + counts) / (1.5 + counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(tau, expected, atol=0.02)
    words = np.array(DRAW.content) + 0.5
    np.testing.assert_allclose(psi, words / words.sum(axis=1, keepdims=True), atol=0.02)


def test_globals_belong_to_the_seed_and_the_draw():
    posterior = make_posterior([DRAW, DRAW])
    first, again, other = (
        [drawn.content_parameters for _, drawn in parameters_of_draws(posterior, seed)]
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], other[0])


def test_streams_of_different_purposes_differ_even_if_one_begins_with_the_other():
    numbers = {stream(5, *purpose).random() for purpose in [(0,), (0, 0), (0, 0, 0), (1,)]}
    assert len(numbers) == 4


def test_topic_weights_of_clusters_whose_groups_vary_follow_tables_and_not_tokens():
    varying = replace(DRAW, lam=4.0, tables_in_cluster=[[3, 1], [0, 2]])
    posterior = make_posterior([varying], beta=0.5)
    tau = np.zeros((2, 2))
    n = 4000
    for _, drawn in parameters_of_draws(posterior, 1, n_new=1, n_repeats=n):
        assert drawn.lam == 4.0
        tau += np.exp(drawn.log_topic_given_cluster)[:2, :2] / n
    tables = np.array([[3, 1], [0, 2]])
    expected = (tables + 1.5 * np.array([0.4, 0.3])) / (1.5 + tables.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(tau, expected, atol=0.02)


def test_parameters_without_content_are_kept_for_one_seed_and_equal_new_ones(monkeypatch):
    posterior = make_posterior([DRAW, DRAW])
    first = parameters_without_content(posterior, 1, seed=3)
    assert parameters_without_content(posterior, 1, seed=3) is first
    assert first.topic_table is parameters_without_content(posterior, 1, seed=3).topic_table
    other = parameters_without_content(posterior, 1, seed=4)
    assert not np.array_equal(other.log_topic_given_cluster, first.log_topic_given_cluster)
    again = parameters_without_content(posterior, 1, seed=3)
    assert again is not first
    np.testing.assert_array_equal(again.log_topic_given_cluster, first.log_topic_given_cluster)
    posterior.parameters[1] = replace(posterior.parameters[1], alpha=9.0)
    assert parameters_without_content(posterior, 1, seed=3) is not again
    monkeypatch.setattr(module, "MAX_CACHE_BYTES", 10)
    monkeypatch.setattr(module, "_cache", {})
    large = parameters_without_content(posterior, 0, seed=3)
    assert parameters_without_content(posterior, 0, seed=3) is not large


def test_parameters_are_those_of_the_seed_if_another_thread_predicts_with_another_one(monkeypatch):
    posterior = make_posterior([DRAW])
    expected = parameters_without_content(posterior, 0, seed=3).log_topic_given_cluster

    class Shared(dict):
        """Another thread predicts as soon as the parameters of this one have a place."""

        def __setitem__(self, posterior, kept):
            super().__setitem__(posterior, kept)
            if kept[0][0] == 3:
                parameters_without_content(posterior, 0, seed=4)

    monkeypatch.setattr(module, "_cache", Shared())
    found = parameters_without_content(posterior, 0, seed=3)
    np.testing.assert_array_equal(found.log_topic_given_cluster, expected)
