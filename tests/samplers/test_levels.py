"""Types of units above groups: counts, threads, shards, and what they add to the trace."""

import copy
import math

import numpy as np
import pytest

from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.content import groups
from mcsquared.samplers.steps.levels import draw_crt, draw_labels
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key
from mcsquared.state import recount_levels
from tests.oracles.counts import differences, recount
from tests.samplers.leveled_cases import two_levels_above

LAMS = {"infinite": math.inf, "resampled": Gamma(1, 0.1)}
every_content = pytest.mark.parametrize("content", ["words", "points"])
every_lam = pytest.mark.parametrize("lam", LAMS)


def given(content, lam):
    corpus = two_levels_above(content)
    priors = Priors.for_corpus(corpus, lam=LAMS[lam])
    return observe(corpus, priors), priors


def same_levels(one, other):
    return all(
        np.array_equal(a.type_of_unit, b.type_of_unit)
        and np.array_equal(a.children, b.children)
        and np.array_equal(a.draws_below, b.draws_below)
        and (a.alpha, a.v) == (b.alpha, b.v)
        for a, b in zip(one.levels, other.levels, strict=True)
    )


@every_content
@every_lam
def test_counts_agree_with_the_labels_after_every_sweep(content, lam):
    observations, priors = given(content, lam)
    state = BLOCKED.start(observations, priors, 1, 0, "random", 5, 6)
    for _ in range(8):
        BLOCKED.sweep(state, observations, priors, 1, 0)
        if len(state.topic_of_token):
            assert not differences(state.counts, recount(state, observations))
        fresh = copy.deepcopy(state)
        recount_levels(fresh, observations)
        assert same_levels(state, fresh)
        for level in state.levels:
            most = level.children.sum(axis=0) + level.orphans
            least = (level.children > 0).sum(axis=0) + level.orphans
            assert (level.draws_below <= most).all()
            assert (level.draws_below >= least).all()
        assert math.isfinite(state.log_joint)


@every_content
@every_lam
@pytest.mark.parametrize(("n_threads", "n_shards"), [(2, 0), (1, 3), (2, 200)])
def test_draws_do_not_depend_on_threads_and_shards(content, lam, n_threads, n_shards):
    observations, priors = given(content, lam)
    state = BLOCKED.start(observations, priors, 3, 0, "random", 5, 6)
    whole, divided = copy.deepcopy(state), copy.deepcopy(state)
    with ThreadPool(n_threads) as threads:
        if n_shards:
            backend = ShardedBackend(observations, priors, n_shards, threads)
        else:
            backend = LocalBackend(observations, priors, threads)
        backend.load_labels(divided, Key(3, 0, 0))
        for _ in range(4):
            BLOCKED.sweep(whole, observations, priors, 3, 0)
            BLOCKED.sweep(divided, observations, priors, 3, 0, backend=backend)
        backend.save_labels(divided)
    assert np.array_equal(whole.cluster_of_group, divided.cluster_of_group)
    assert np.array_equal(whole.topic_of_token, divided.topic_of_token)
    assert same_levels(whole, divided)
    assert whole.log_joint == divided.log_joint


@pytest.mark.parametrize("n_shards", [0, 3])
def test_draws_do_not_depend_on_whether_scores_are_kept(n_shards, monkeypatch):
    observations, priors = given("words", "resampled")
    kept = BLOCKED.start(observations, priors, 3, 0, "random", 5, 6)
    states = [kept, copy.deepcopy(kept)]
    for state, most in zip(states, (groups.MAX_SCORES, 0), strict=True):
        monkeypatch.setattr(groups, "MAX_SCORES", most)
        backend = (
            ShardedBackend(observations, priors, n_shards)
            if n_shards
            else LocalBackend(observations, priors)
        )
        backend.load_labels(state, Key(3, 0, 0))
        for _ in range(4):
            BLOCKED.sweep(state, observations, priors, 3, 0, backend=backend)
        backend.save_labels(state)
    assert np.array_equal(kept.cluster_of_group, states[1].cluster_of_group)
    assert np.array_equal(kept.topic_of_token, states[1].topic_of_token)
    assert same_levels(*states)
    assert kept.log_joint == states[1].log_joint


def test_table_counts_have_the_mean_of_a_chinese_restaurant():
    customers, concentration = np.array([[0, 1, 5, 40]]), np.array([2.0, 2.0, 0.5, 3.0])
    rng = np.random.default_rng(0)
    draws = np.array([draw_crt(customers, concentration, rng)[0] for _ in range(4000)])
    expected = [
        sum(a / (a + i) for i in range(n)) for n, a in zip(customers[0], concentration, strict=True)
    ]
    error = np.maximum(draws.std(axis=0), 1e-12) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 4 * error).all()


def test_labels_have_the_given_probabilities_and_never_a_closed_slot():
    weights = np.array([0.0, 0.2, 0.5, 0.3, 0.0])
    with np.errstate(divide="ignore"):
        log_weights = np.tile(np.log(weights) - 1000.0, (20_000, 1))
    drawn = np.bincount(draw_labels(log_weights, np.random.default_rng(1)), minlength=5) / 20_000
    assert drawn[[0, 4]].tolist() == [0.0, 0.0]
    assert np.abs(drawn - weights).max() < 0.015
