"""The clusters of a start are compared with those found from one cluster, given the topics."""

import math

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers import types
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.init import candidates, starts
from mcsquared.samplers.init.assignments import blocked_state
from mcsquared.samplers.init.candidates import log_probability, with_better_clusters
from mcsquared.samplers.steps.split_merge import ROUND_CHAIN
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS, Bounds
from tests.oracles.counts import differences, recount
from tests.samplers.test_counters import Record
from tests.samplers.test_split_merge import (
    ALPHA,
    EPSILON,
    LAM,
    TOPICS,
    log_content,
    log_contexts,
    separated,
    tiny,
)


def log_exact(observations, clusters):
    """Return log p(z, l, x, ε) of the tiny corpus: tables, τ, φ and π are summed out."""
    value = gammaln(ALPHA) - gammaln(ALPHA + len(TOPICS)) - np.log(EPSILON).sum()  # η = 1
    for topics in TOPICS:
        value += gammaln(LAM) - gammaln(LAM + len(topics))
    for k in np.unique(clusters):
        groups = np.flatnonzero(clusters == k)
        value += math.log(ALPHA) + gammaln(len(groups))
        value += log_content(groups) + log_contexts(observations, groups)
    return value


def ratio(name, clusters):
    """Return the mean of estimate / exact probability over random numbers, and its error."""
    observations, priors, start = tiny(name)
    clusters, rng = np.array(clusters), np.random.default_rng(0)
    state = blocked_state(observations, priors, clusters, start.topic_of_token, rng)
    state.topic_weights, state.log_unused = start.topic_weights, start.log_unused
    state.add_cluster_slots(N_LANES)
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, Key(0, 0, 0))
    exact, found = log_exact(observations, clusters), []
    for chain in range(400):
        sweep = Sweep(state, observations, priors, NO_BOUNDS, Key(0, chain, 1), backend)
        found.append(math.exp(log_probability(sweep) - exact))
    assert differences(state.counts, recount(state, observations)) == []
    np.testing.assert_array_equal(state.cluster_of_group, clusters)
    return np.mean(found), np.std(found) / math.sqrt(len(found))


@pytest.mark.parametrize("name", ["none", "year and bag"])
def test_estimates_have_the_right_mean_up_to_the_base_measure_of_contexts(name):
    constant, error = ratio(name, [0, 0, 0, 0])
    if name == "none":
        assert constant == pytest.approx(1.0, abs=4.0 * error)
    for clusters in ([0, 1, 1, 0], [0, 1, 2, 0]):
        found, other = ratio(name, clusters)
        assert other < 0.02
        assert found == pytest.approx(constant, abs=4.0 * math.hypot(error, other))


def start_with(clusters):
    """Return a state with these clusters, the observations, the priors and the true clusters."""
    corpus, kind = separated()
    priors = Priors.for_corpus(corpus, lam=Gamma(1, 0.1))
    observations = observe(corpus, priors)
    topics = BLOCKED.start(observations, priors, 0, 0, "auto").topic_of_token
    labels = clusters(kind)
    state = blocked_state(observations, priors, labels, topics, np.random.default_rng(0))
    return state, observations, priors, kind


def random_clusters(kind):
    return np.random.default_rng(1).integers(0, 60, len(kind))


def test_few_of_many_random_clusters_remain_and_counts_agree():
    state, observations, priors, kind = start_with(random_clusters)
    better = with_better_clusters(state, observations, priors, 0, 0, NO_BOUNDS)
    assert better.n_clusters < 15 < state.n_clusters
    assert adjusted_rand_score(better.cluster_of_group, kind) > 0.6
    assert better.sweep == 0
    np.testing.assert_array_equal(better.topic_of_token, state.topic_of_token)
    assert differences(better.counts, recount(better, observations)) == []
    assert ((better.tables > 0) == (better.counts.topics_in_cluster > 0)).all()


@pytest.mark.parametrize("best", [0, 1])
def test_the_more_probable_candidate_is_kept(best, monkeypatch):
    state, observations, priors, _ = start_with(random_clusters)
    sizes = []

    def sample(candidate, *_):
        sizes.append(candidate.n_clusters)
        return float(len(sizes) - 1 == best)

    monkeypatch.setattr(candidates, "sample_clusters", sample)
    better = with_better_clusters(state, observations, priors, 0, 0, NO_BOUNDS)
    assert sizes == [state.n_clusters, 1]
    assert better.n_clusters == sizes[best]


def test_one_cluster_is_not_compared(monkeypatch):
    monkeypatch.setattr(candidates, "sample_clusters", lambda *_: pytest.fail("sampled"))
    state, *arguments, _ = start_with(np.zeros_like)
    assert with_better_clusters(state, *arguments, 0, 0, NO_BOUNDS) is state


def test_a_bound_on_clusters_holds():
    state, observations, priors, _ = start_with(lambda kind: kind % 2)
    better = with_better_clusters(state, observations, priors, 0, 0, Bounds(clusters=2))
    assert better.n_clusters <= 2


def test_candidates_share_no_random_numbers_with_sweeps_or_each_other(monkeypatch):
    record = Record()
    state, *arguments, _ = start_with(random_clusters)
    monkeypatch.setattr(types, "generator", record.generator)
    with_better_clusters(state, *arguments, 0, 3, NO_BOUNDS)
    chains = {chain - 3 for _, chain, *_ in record.streams}
    rounds = [n * ROUND_CHAIN for n in (0, 1, 3)]
    assert chains == {first + n for first in candidates.CANDIDATE_CHAINS for n in rounds}
    assert min(chains) > 3 * ROUND_CHAIN + 2**25  # the largest numbers of the moves of chains
    assert max(chains) + 2**25 <= 2**29  # those of the sweeps without clusters


@pytest.mark.parametrize(("limit", "is_compared"), [(0, True), (100_000, False)])
def test_clusters_of_large_corpora_are_compared(limit, is_compared, monkeypatch):
    calls = []
    _, observations, priors, _ = start_with(random_clusters)
    monkeypatch.setattr(starts, "MAX_SMALL_TOKENS", limit)
    monkeypatch.setattr(
        starts, "with_better_clusters", lambda state, *_: calls.append(state) or state
    )
    starts.start_blocked(observations, priors, 0, 0, "random")
    assert bool(calls) == is_compared
    calls.clear()
    infinite = Priors.for_corpus(separated()[0], lam=math.inf)
    starts.start_blocked(observations, infinite, 0, 0, "random")
    assert not calls


@pytest.mark.parametrize(
    ("values", "tried", "best"),
    [
        ({1: 0.0, 2: 1.0, 4: 2.0, 8: 1.0}, [1, 2, 4, 8], 4),
        ({1: 0.0, 2: -1.0, 4: 9.0}, [1, 2], 1),
        ({1: 0.0, 2: 1.0, 4: 2.0, 8: 3.0}, [1, 2, 4, 8], 8),
    ],
)
def test_numbers_of_clusters_are_tried_until_one_is_less_probable(values, tried, best, monkeypatch):
    state, *arguments, _ = start_with(np.zeros_like)
    sizes = []

    def sample(candidate, *_):
        sizes.append(candidate.n_clusters)
        return values[candidate.n_clusters]

    monkeypatch.setattr(candidates, "CLUSTER_COUNTS", (2, 4, 8))
    monkeypatch.setattr(candidates, "cluster_rows", lambda rows, n, _: np.arange(len(rows)) % n)
    monkeypatch.setattr(candidates, "sample_clusters", sample)
    found = candidates.with_best_number_of_clusters(state, *arguments, 0, 0, NO_BOUNDS)
    assert sizes == tried
    assert found.n_clusters == best
    np.testing.assert_array_equal(found.topic_of_token, state.topic_of_token)


def test_a_bound_on_clusters_limits_the_numbers_that_are_compared(monkeypatch):
    monkeypatch.setattr(candidates, "sample_clusters", lambda *_: pytest.fail("sampled"))
    state, *arguments, _ = start_with(np.zeros_like)
    bounds = Bounds(clusters=candidates.CLUSTER_COUNTS[0] - 1)
    assert candidates.with_best_number_of_clusters(state, *arguments, 0, 0, bounds) is state


def test_clusters_of_several_candidates_are_those_of_the_data():
    state, observations, priors, kind = start_with(np.zeros_like)
    found = candidates.with_best_number_of_clusters(state, observations, priors, 0, 0, NO_BOUNDS)
    assert adjusted_rand_score(found.cluster_of_group, kind) > 0.6
    assert found.sweep == 0
    assert differences(found.counts, recount(found, observations)) == []


@pytest.mark.parametrize("levels", [True, False])
def test_only_corpora_with_levels_compare_numbers_of_clusters(levels, monkeypatch):
    calls = []
    corpus, _ = separated()
    if levels:
        corpus = corpus.with_contexts({"unit": [f"u{j % 5}" for j in range(corpus.n_groups)]})
        corpus = corpus.with_levels("unit")
    priors = Priors.for_corpus(corpus, lam=Gamma(1, 0.1))
    monkeypatch.setattr(starts, "MAX_SMALL_TOKENS", 0)
    monkeypatch.setattr(
        starts, "with_best_number_of_clusters", lambda state, *_: calls.append(state) or state
    )
    starts.start_blocked(observe(corpus, priors), priors, 0, 0, "auto")
    assert bool(calls) == levels
    calls.clear()
    starts.start_blocked(observe(corpus, priors), priors, 0, 0, "random")
    assert not calls
