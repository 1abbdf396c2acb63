"""λ is drawn from its posterior with the tables integrated out, and tables given it."""

import math

import numpy as np
import pytest

from mcsquared.model.parameters import Gamma
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.content import divisions
from mcsquared.samplers.steps import lam
from mcsquared.samplers.steps.lam import resample_lam_and_tables
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS
from tests.samplers import test_split_merge as clusters
from tests.samplers.test_split_merge import tiny

PRIOR = Gamma(2.0, 0.5)


def sampled(n_draws, seed=0):
    """Return draws of log λ and of the number of tables; topics and the one cluster are given."""
    observations, priors, state = tiny("none")
    object.__setattr__(priors, "lam", PRIOR)
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, Key(seed, 0, 0))
    chosen = divisions.ChosenGroups(len(state.topic_weights), np.zeros(0, np.int64))
    backend.map_groups(divisions.begin_division, chosen)
    draws = np.empty((n_draws, 2))
    for number in range(n_draws):
        key = Key(seed, 0, number)
        sweep = Sweep(state, observations, priors, NO_BOUNDS, key, backend)
        resample_lam_and_tables(sweep, key, backend.sum_groups)
        draws[number] = math.log(state.lam), state.tables_in_cluster.sum()
    return draws


def exact(monkeypatch):
    """Return the mean and standard deviation of log λ, by enumeration of tables on a grid."""
    grid = np.linspace(-6.0, 6.0, 600)
    log_density = np.empty(len(grid))
    for i, x in enumerate(grid):
        monkeypatch.setattr(clusters, "LAM", math.exp(x))
        lengths = [math.lgamma(math.exp(x)) - math.lgamma(math.exp(x) + n) for n in (3, 4, 2, 4)]
        prior = PRIOR.shape * x - PRIOR.rate * math.exp(x)
        log_density[i] = prior + sum(lengths) + clusters.log_content(range(4))
    weights = np.exp(log_density - log_density.max())
    mean = np.average(grid, weights=weights)
    return mean, math.sqrt(np.average((grid - mean) ** 2, weights=weights))


def distance(monkeypatch):
    """Return how far the mean and spread of draws are from the exact ones, in standard errors."""
    mean, spread = exact(monkeypatch)
    batches = sampled(4000)[:, 0].reshape(20, -1)
    means, spreads = batches.mean(axis=1), ((batches - mean) ** 2).mean(axis=1)
    errors = means.std() / math.sqrt(20), spreads.std() / math.sqrt(20)
    found = (means.mean() - mean) / errors[0], (spreads.mean() - spread**2) / errors[1]
    return max(map(abs, found))


def test_draws_agree_with_the_posterior_given_topics(monkeypatch):
    assert distance(monkeypatch) < 4.0


def test_a_missing_prior_is_detected(monkeypatch):
    monkeypatch.setattr(
        lam, "log_terms_without_topics", lambda sweep, prior, lams: np.zeros(len(lams))
    )
    assert distance(monkeypatch) > 10.0


def test_tables_are_those_of_the_new_value():
    draws = sampled(2000)
    assert np.corrcoef(draws.T)[0, 1] > 0.3
    assert draws[:, 1].min() >= 6  # one for each topic of each group
    assert draws[:, 1].max() <= 13


def test_a_fixed_value_and_its_tables_do_not_change():
    observations, priors, state = tiny("none")
    before = state.lam, state.tables_in_cluster.copy()
    sweep = Sweep(state, observations, priors, NO_BOUNDS, Key(0, 0, 1))
    resample_lam_and_tables(sweep, sweep.key, lambda *given: pytest.fail("groups were visited"))
    assert state.lam == before[0]
    np.testing.assert_array_equal(state.tables_in_cluster, before[1])
