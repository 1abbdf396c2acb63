"""Concentrations and root weights follow their conditionals."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln

from mcsquared.model.parameters import Gamma
from mcsquared.samplers.init.starts import start_collapsed as start
from mcsquared.samplers.steps.concentrations import (
    draw_dp_weights,
    resample_concentration,
    resample_eta_given_weights,
    resample_given_lengths,
    resample_v_given_weights,
)
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.types import Key
from tests.samplers.cases import CASES

PRIOR = Gamma(2.0, 1.5)


def moments(log_density):
    """Mean and standard deviation of a density on (0, ∞), by quadrature over its logarithm."""
    grid = np.linspace(-12, 6, 4001)
    x = np.exp(grid)
    logs = np.array([log_density(value) for value in x]) + grid
    weights = np.exp(logs - logs.max())
    weights /= integrate.trapezoid(weights, grid)
    mean = integrate.trapezoid(weights * x, grid)
    return mean, np.sqrt(integrate.trapezoid(weights * (x - mean) ** 2, grid))


def from_all_tables(value, prior, customers, tables, rng):
    """The same conditional, of whose restaurants only lengths and the sum of tables are known."""
    lengths, times = np.unique(customers[customers > 0], return_counts=True)
    return resample_given_lengths(value, prior, lengths, times, int(tables.sum()), rng)


@pytest.mark.parametrize("resample", [resample_concentration, from_all_tables])
@pytest.mark.parametrize(
    ("customers", "tables"),
    [([9], [3]), ([1], [1]), ([40], [1]), ([5, 0, 12, 3], [2, 0, 4, 1]), ([10**6], [20])],
)
def test_a_concentration_follows_its_conditional(customers, tables, resample):
    """p(c | T, N) ∝ c^(a-1) e^(-bc) Π c^T Γ(c) / Γ(c + N), here by quadrature."""
    customers, tables = np.array(customers), np.array(tables)

    def log_density(c):
        ratio = (gammaln(c) - gammaln(c + customers[customers > 0])).sum()
        prior = (PRIOR.shape - 1) * np.log(c) - PRIOR.rate * c
        return prior + tables.sum() * np.log(c) + ratio

    mean, deviation = moments(log_density)
    rng, value, drawn = np.random.default_rng(1), 1.0, []
    for _ in range(6000):
        value = resample(value, PRIOR, customers, tables, rng)
        drawn.append(value)
    batches = np.array(drawn).reshape(30, -1).mean(axis=1)
    assert abs(batches.mean() - mean) < 4 * batches.std(ddof=1) / np.sqrt(30)
    assert np.std(drawn) == pytest.approx(deviation, rel=0.1)


def test_v_given_weights_follows_its_conditional():
    """p(v | O, ε) ∝ v^(a-1) e^(-bv) Π_k Γ(v) / Γ(v + O_k) Π_m Γ(v ε_m + O_km) / Γ(v ε_m)."""
    tables, weights = np.array([[3, 0, 9], [0, 0, 0], [1, 6, 2]]), np.array([0.2, 0.3, 0.4])

    def log_density(v):
        totals = tables.sum(axis=1)
        ratio = (gammaln(v) - gammaln(v + totals)).sum()
        ratio += (gammaln(v * weights + tables) - gammaln(v * weights)).sum()
        return (PRIOR.shape - 1) * np.log(v) - PRIOR.rate * v + ratio

    mean, deviation = moments(log_density)
    rng, state = np.random.default_rng(1), SimpleNamespace(tables=tables, topic_weights=weights)
    state.v, drawn = 1.0, []
    for _ in range(6000):
        state.v = resample_v_given_weights(state, PRIOR, rng)
        drawn.append(state.v)
    batches = np.array(drawn).reshape(30, -1).mean(axis=1)
    assert abs(batches.mean() - mean) < 4 * batches.std(ddof=1) / np.sqrt(30)
    assert np.std(drawn) == pytest.approx(deviation, rel=0.1)


def test_a_concentration_without_data_is_drawn_from_its_prior():
    rng = np.random.default_rng(2)
    drawn = [resample_concentration(7.0, PRIOR, [0, 0], [0, 0], rng) for _ in range(3000)]
    assert stats.kstest(drawn, stats.gamma(PRIOR.shape, scale=1 / PRIOR.rate).cdf).pvalue > 1e-3
    none = np.zeros(0, np.int64)
    drawn = [1.0]
    for _ in range(30_000):
        drawn.append(resample_given_lengths(drawn[-1], PRIOR, none, none, 0, rng))
    apart = drawn[10::10]  # a slice sampler remembers a little
    assert stats.kstest(apart, stats.gamma(PRIOR.shape, scale=1 / PRIOR.rate).cdf).pvalue > 1e-3
    drawn = [resample_eta_given_weights(PRIOR, 0, 0.0, rng) for _ in range(3000)]
    assert stats.kstest(drawn, stats.gamma(PRIOR.shape, scale=1 / PRIOR.rate).cdf).pvalue > 1e-3


def test_a_fixed_concentration_stays():
    rng = np.random.default_rng(3)
    assert resample_concentration(0.7, 0.7, [5], [2], rng) == 0.7
    assert resample_eta_given_weights(1.3, 4, -2.0, rng) == 1.3
    assert resample_given_lengths(0.7, 0.7, np.array([5]), np.array([2]), 3, rng) == 0.7


def test_eta_given_the_root_weights_is_a_gamma():
    rng = np.random.default_rng(4)
    drawn = [resample_eta_given_weights(PRIOR, 5, -3.0, rng) for _ in range(3000)]
    expected = stats.gamma(PRIOR.shape + 5, scale=1 / (PRIOR.rate + 3.0))
    assert stats.kstest(drawn, expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("eta", [0.3, 4.0])
def test_root_weights_are_a_dirichlet(eta):
    rng, tables = np.random.default_rng(5), np.array([1, 4, 2])
    drawn = []
    for _ in range(4000):
        weights, log_unused = draw_dp_weights(tables, eta, rng)
        assert weights.sum() + np.exp(log_unused) == pytest.approx(1.0)
        drawn.append([*weights, np.exp(log_unused)])
    drawn, shapes = np.array(drawn), np.array([1.0, 4.0, 2.0, eta])
    for weights, shape in zip(drawn.T, shapes, strict=True):
        expected = stats.beta(shape, shapes.sum() - shape)
        assert stats.kstest(weights, expected.cdf).pvalue > 1e-3


def test_a_tiny_eta_leaves_an_unused_weight_below_any_float():
    weights, log_unused = draw_dp_weights(np.array([3, 2]), 1e-5, np.random.default_rng(6))
    assert weights.sum() == pytest.approx(1.0)
    assert np.isfinite(log_unused)
    assert log_unused < -800


def test_tables_of_a_cell_do_not_depend_on_the_slots_around_it():
    customers = np.random.default_rng(7).integers(0, 50, (4, 5)).astype(np.int32)
    concentration = np.array([0.5, 1.0, 3.0, 0.1, 2.0])
    small = draw_tables(customers, concentration, Key(1, 0, 1))
    wide = draw_tables(
        np.pad(customers, ((0, 3), (0, 11))), np.append(concentration, np.zeros(11)), Key(1, 0, 1)
    )
    np.testing.assert_array_equal(wide[:4, :5], small)
    assert not wide[4:].any()
    assert not wide[:, 5:].any()
    np.testing.assert_array_equal(small > 0, customers > 0)
    assert (small <= customers).all()


def test_a_random_start_has_the_prior_means_and_weights_that_sum_to_one():
    case = CASES["words_all_contexts"]
    state = start(case.observations, case.priors, 1, 0, "random", 3, 6)
    assert (state.n_clusters, state.n_topics) == (3, 6)
    assert (state.alpha, state.v, state.eta) == (2.0, 3.0, 3.0)
    assert state.topic_weights.sum() + np.exp(state.log_unused[0]) == pytest.approx(1.0)


def test_a_density_that_is_no_number_is_reported_instead_of_tried_for_ever():
    lengths = np.array([3]), np.array([1])
    with pytest.raises(FloatingPointError, match="no candidate for a concentration was accepted"):
        resample_given_lengths(np.nan, PRIOR, *lengths, 2, np.random.default_rng(0))
