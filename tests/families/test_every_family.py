import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from mcsquared import families
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from tests.families.cases import CASES, N_OBSERVATIONS, every_family


def log_joint(family, x, order):
    stats, total = np.zeros((1, family.n_stats)), 0.0
    for i in order:
        total += family.log_predictive(x[i : i + 1], stats)[0, 0]
        stats += family.statistics(x[i : i + 1])
    return total


@given(name=st.sampled_from(sorted(CASES)), order=st.permutations(range(N_OBSERVATIONS)))
@settings(max_examples=60, deadline=None)
def test_the_order_of_observations_does_not_matter(name, order):
    case = CASES[name]
    forwards = log_joint(case.family, case.x, range(N_OBSERVATIONS))
    assert log_joint(case.family, case.x, order) == pytest.approx(forwards, rel=1e-11)


@every_family
def test_the_chain_of_predictives_is_the_marginal_likelihood(case):
    family, x = case.family, case.x
    stats = family.statistics(x).sum(axis=0)
    expected = family.log_marginal(stats) + family.log_base(x).sum()
    assert log_joint(family, x, range(N_OBSERVATIONS)) == pytest.approx(expected, rel=1e-11)


@every_family
def test_the_predictive_of_a_family_equals_the_inherited_one(case):
    stats = case.statistics_of_clusters()
    derived = case.family.log_predictive(case.x, stats)
    inherited = ConjugateFamily.log_predictive(case.family, case.x, stats)
    np.testing.assert_allclose(derived, inherited, rtol=1e-11, atol=1e-11)
    assert derived.shape == (N_OBSERVATIONS, 4)


@every_family
def test_the_inherited_predictive_is_the_same_in_small_chunks(case, monkeypatch):
    stats = case.statistics_of_clusters()
    whole = ConjugateFamily.log_predictive(case.family, case.x, stats)
    monkeypatch.setattr("mcsquared.families.base._ENTRIES_PER_CHUNK", 5 * stats.size)
    monkeypatch.setattr("mcsquared.families.dirichlet._RATIOS_PER_CHUNK", 5)
    parts = ConjugateFamily.log_predictive(case.family, case.x, stats)
    np.testing.assert_allclose(parts, whole, rtol=1e-13)
    derived = case.family.log_predictive(case.x, stats)
    np.testing.assert_allclose(derived, whole, rtol=1e-11, atol=1e-11)


@every_family
def test_the_marginal_equals_the_inherited_one(case):
    stats = case.statistics_of_clusters()
    inherited = ConjugateFamily.log_marginal(case.family, stats)
    np.testing.assert_allclose(case.family.log_marginal(stats), inherited, rtol=1e-11, atol=1e-11)
    assert case.family.log_marginal(stats)[3] == 0.0
    assert case.family.log_marginal(stats[None]).shape == (1, 4)


@every_family
def test_statistics_by_cluster_are_sums_of_statistics(case):
    rows = case.family.statistics(case.x)
    assert rows.shape == (N_OBSERVATIONS, case.family.n_stats)
    assert rows.dtype == np.float64
    expected = np.stack([rows[case.labels == k].sum(axis=0) for k in range(4)])
    found = case.statistics_of_clusters()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)
    inherited = ConjugateFamily.statistics_by_cluster(case.family, case.x, case.labels, 4)
    np.testing.assert_allclose(inherited, expected, rtol=1e-12, atol=1e-10)


@every_family
def test_no_observations_are_no_problem(case):
    family, nothing = case.family, case.x[:0]
    stats = case.statistics_of_clusters()
    assert family.statistics(nothing).shape == (0, family.n_stats)
    assert family.log_base(nothing).shape == (0,)
    assert family.log_predictive(nothing, stats).shape == (0, 4)
    assert family.log_likelihood(nothing, family.mean_parameters(stats)).shape == (0, 4)
    by_cluster = family.statistics_by_cluster(nothing, np.zeros(0, int), 2)
    np.testing.assert_array_equal(by_cluster, np.zeros((2, family.n_stats)))
    assert family.filled(nothing).n_stats == family.n_stats


@every_family
def test_no_clusters_are_no_problem(case):
    family, stats = case.family, np.zeros((0, case.family.n_stats))
    assert family.log_predictive(case.x, stats).shape == (N_OBSERVATIONS, 0)
    assert family.log_normaliser(stats).shape == (0,)
    parameters = family.sample_parameters(stats, np.random.default_rng(0))
    assert parameters.shape == family.mean_parameters(stats).shape
    assert family.log_likelihood(case.x, parameters).shape == (N_OBSERVATIONS, 0)


@every_family
def test_averaging_the_likelihood_over_drawn_parameters_gives_the_predictive(case):
    family, x = case.family, case.x[:4]
    n_draws, rng = 40_000, np.random.default_rng(5)
    for stats in case.statistics_of_clusters()[[0, 3]]:
        drawn = family.sample_parameters(np.broadcast_to(stats, (n_draws, family.n_stats)), rng)
        log_likelihood = family.log_likelihood(x, drawn)
        average = logsumexp(log_likelihood, axis=1) - np.log(n_draws)
        relative = np.exp(log_likelihood - average[:, None])
        error = relative.std(axis=1) / np.sqrt(n_draws)
        assert error.max() < 0.1
        expected = family.log_predictive(x, stats[None])[:, 0]
        assert (np.abs(np.expm1(average - expected)) <= 4.5 * error + 1e-9).all()


@every_family
def test_parameters_have_one_layout_and_one_row_per_cluster(case):
    stats = case.statistics_of_clusters()
    drawn = case.family.sample_parameters(stats, np.random.default_rng(0))
    means = case.family.mean_parameters(stats)
    assert drawn.shape == means.shape
    assert len(drawn) == 4
    assert drawn.dtype == means.dtype == np.float64
    assert np.isfinite(case.family.log_likelihood(case.x, drawn)).all()


@every_family
def test_the_same_generator_state_gives_the_same_draw(case):
    stats = case.statistics_of_clusters()
    first, second = (
        case.family.sample_parameters(stats, np.random.default_rng(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@every_family
def test_a_family_survives_json_pickle_and_comparison(case):
    family = case.family
    text = json.dumps(family.to_dict(), allow_nan=False)
    again = families.from_dict(json.loads(text))
    assert again == family
    assert type(again) is type(family)
    family.log_normaliser(np.zeros((1, family.n_stats)))
    assert pickle.loads(pickle.dumps(family)) == family
    assert hash(again) == hash(family)
    assert eval(repr(family), vars(families)) == family
    with pytest.raises(dataclasses.FrozenInstanceError):
        family.name = "other"


@pytest.mark.parametrize("name", families.names())
def test_an_unfilled_family_survives_json_too(name):
    family = families.by_name(name)
    assert families.from_dict(json.loads(json.dumps(family.to_dict()))) == family
    assert family.name == name


@every_family
def test_filling_a_filled_family_with_the_same_data_changes_nothing(case):
    once = case.family.filled(case.x)
    assert once.filled(case.x) == once


@every_family
def test_labels_outside_the_clusters_are_named(case):
    for labels in (case.labels - 1, case.labels + 2):
        with pytest.raises(InputError, match="labels must be between 0 and 3, got"):
            case.family.statistics_by_cluster(case.x, labels, 4)
    with pytest.raises(
        InputError, match=r"labels must have one entry per observation \(12\), got shape \(11,\)"
    ):
        case.family.statistics_by_cluster(case.x, case.labels[:-1], 4)
    with pytest.raises(InputError, match="labels must be integers, got float64"):
        case.family.statistics_by_cluster(case.x, case.labels * 1.0, 4)


def test_kernel_parameters_are_those_the_kernels_document():
    kernel_parameters = {name: CASES[name].family.kernel_parameters() for name in CASES}
    family = CASES["gaussian_given"].family
    expected = [1990 - family.origin, 0.7, 1.3, 2.5]
    np.testing.assert_array_equal(kernel_parameters["gaussian_given"], expected)
    family = CASES["multivariate_given"].family
    expected = [2, 0.5, 1.5, 40 - family.origin[0], 10 - family.origin[1], 2, 0.5, 0.5, 1]
    np.testing.assert_array_equal(kernel_parameters["multivariate_given"], expected)
    np.testing.assert_array_equal(kernel_parameters["categorical"], [0.3, 4])
    np.testing.assert_array_equal(kernel_parameters["bag"], [0.2, 5])
    np.testing.assert_array_equal(kernel_parameters["bernoulli"], [0.5, 2])
    np.testing.assert_array_equal(kernel_parameters["poisson"], [2.5, CASES["poisson"].family.rate])
