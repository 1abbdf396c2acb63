"""Kernels of tokens that are not words, each beside its twin in NumPy, draw by draw."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from mcsquared.families import Bernoulli, Gaussian, MultivariateGaussian, Poisson
from mcsquared.kernels.cpu.groups import Groups
from mcsquared.kernels.cpu.predictive import KINDS
from mcsquared.kernels.cpu.vector_tokens import (
    draw_vector_topics,
    fold_statistics,
    natural_tokens,
    python_tokens,
    score_vector_groups,
    weighted_sum,
)
from mcsquared.kernels.rng import Step, uniform

# Groups of no token, one token and many; chunks of no group, of empty groups alone, of several.
GROUP_START = np.array([0, 0, 5, 6, 6, 6, 19, 30, 30], np.int64)
CHUNK_START = np.array([0, 2, 2, 4, 5, 8], np.int64)
N_GROUPS, N_TOKENS, N_CHUNKS = 8, 30, 5
N_CLUSTERS, N_TOPICS = 5, 13
KEY = (3, 1, 7)  # seed, chain, sweep
TOPICS = int(Step.TOPICS)
GROUPS = Groups(GROUP_START, CHUNK_START, 13, 0, 0)


def families():
    rng = np.random.default_rng(2)
    years, places = rng.normal(2003, 4, N_TOKENS), rng.normal([50, 8, -4], [3, 1, 2], (N_TOKENS, 3))
    return {
        "gaussian": (Gaussian().filled(years), years),
        "gaussian_huge": (Gaussian().filled(years + 1e9), years + 1e9),
        "multivariate": (MultivariateGaussian().filled(places), places),
        "one_dimension": (MultivariateGaussian().filled(years[:, None]), years[:, None]),
        "bernoulli": (Bernoulli(0.5, 2.0), (rng.random(N_TOKENS) < 0.6).astype(float)),
        "poisson": (Poisson(2.5, 0.4), rng.poisson(6, N_TOKENS).astype(float)),
    }


@dataclass
class Case:
    tokens: object
    log_likelihood: np.ndarray
    statistics: np.ndarray
    log_tau: np.ndarray
    clusters: np.ndarray

    @property
    def n_topics(self):
        return self.log_tau.shape[1]


def make_case(log_likelihood, log_tau=None, tokens=None, statistics=None, seed=5):
    rng = np.random.default_rng(seed)
    if statistics is None:
        statistics = rng.normal(size=(N_TOKENS, 4))
    if tokens is None:
        tokens = python_tokens(log_likelihood, 0, statistics)
    if log_tau is None:
        log_tau = np.log(rng.dirichlet(np.ones(log_likelihood.shape[1]), N_CLUSTERS))
    clusters = rng.integers(0, N_CLUSTERS, N_GROUPS).astype(np.int32)
    return Case(tokens, log_likelihood, statistics, log_tau, clusters)


def values_of(family, x):
    origin = getattr(family, "origin", None)
    return np.ascontiguousarray((x - (0.0 if origin is None else origin)).reshape(len(x), -1))


def case_of(name, n_topics=N_TOPICS):
    family, x = families()[name]
    rng = np.random.default_rng(9)
    seen = family.statistics_by_cluster(x, np.arange(N_TOKENS) % n_topics, n_topics)
    seen[-1] = 0.0  # an empty topic
    parameters = family.sample_parameters(seen, rng)
    tokens = natural_tokens(
        KINDS[family.kernel], values_of(family, x), family.natural_parameters(parameters)
    )
    likelihood = family.log_likelihood(x, parameters) - family.log_base(x)[:, None]
    return make_case(likelihood, tokens=tokens, statistics=family.statistics(x))


def rough_case(seed):
    """Likelihoods and weights of any size, some of them zero, in rows of any length."""
    rng = np.random.default_rng(seed)
    n_topics = int(rng.integers(1, 22))
    size = 10.0 ** rng.integers(-1, 8)
    likelihood = size * rng.normal(size=(N_TOKENS, n_topics))
    likelihood[rng.random(likelihood.shape) < rng.choice([0.0, 0.3, 0.95])] = -np.inf
    log_tau = -(10.0 ** rng.integers(0, 5)) * rng.random((N_CLUSTERS, n_topics))
    log_tau[rng.random(log_tau.shape) < rng.choice([0.0, 0.3])] = -np.inf
    log_tau[:, 0] = -1.0
    return make_case(likelihood, log_tau, seed=seed)


# Twins ----------------------------------------------------------------------------------------


def log_sum(terms):
    with np.errstate(invalid="ignore"):
        return logsumexp(terms, axis=-1)


def scores_of(case):
    by_token = log_sum(case.log_likelihood[:, None, :] + case.log_tau)
    by_token[np.isneginf(case.log_likelihood).all(axis=1)] = 0.0
    return np.stack([by_token[a:b].sum(axis=0) for a, b in pairwise(GROUP_START)])


def picked(log_prior, log_likelihood, u):
    log_weights = log_prior + log_likelihood
    if np.isneginf(log_weights).all():
        log_weights = log_prior
    sums = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(sums, u * sums[-1], side="right"))


def drawn_topics(case, start=None, lam=None):
    """Topics of one sweep, group by group and token by token; λ = ∞ without ``start``."""
    topics = np.zeros(N_TOKENS, int) if start is None else start.astype(int)
    with np.errstate(divide="ignore"):
        for j, k in enumerate(case.clusters):
            first, last = GROUP_START[j : j + 2]
            for i in range(first, last):
                log_prior = case.log_tau[k]
                if start is not None:
                    others = np.delete(topics[first:last], i - first)
                    counts = np.bincount(others, minlength=case.n_topics)
                    log_prior = np.logaddexp(np.log(counts), np.log(lam) + log_prior)
                u = uniform(*KEY, TOPICS, i, 0)
                topics[i] = picked(log_prior, case.log_likelihood[i], u)
    return topics


# Kernels --------------------------------------------------------------------------------------


def log_likelihood_rows(first_token, last_token, tokens, out):
    """Write T(x_i) · natural_m for a range of tokens."""
    statistics = np.empty(len(tokens.natural))
    for i in range(first_token, last_token):
        fold_statistics(tokens.kind, tokens.values[i], statistics)
        weighted_sum(statistics, tokens.natural, out[i - first_token])


def scored(case, first=0, last=N_GROUPS):
    scores = np.zeros((last - first, len(case.log_tau)))
    score_vector_groups(first, last, GROUP_START, case.tokens, case.log_tau, scores)
    return scores


def drawn(case, first=0, last=N_CHUNKS, start=None, lam=None, key=KEY, first_token=0):
    topics = np.full(N_TOKENS, 60_000, np.uint16) if start is None else start.copy()
    counts = np.zeros(case.log_tau.shape, np.int32)
    statistics = np.zeros((last - first, case.n_topics, case.statistics.shape[1]))
    groups = GROUPS._replace(first_token=first_token)
    before = (first, last, groups, case.tokens, case.log_tau, np.inf if start is None else lam)
    draw_vector_topics(*before, case.clusters, topics, counts, statistics, key)
    return topics, counts, statistics


def first_topics(case, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, case.n_topics, N_TOKENS).astype(np.uint16)


def assert_counted(case, topics, counts, statistics):
    cluster_of_token = np.repeat(case.clusters, np.diff(GROUP_START))
    expected = np.zeros_like(counts)
    np.add.at(expected, (cluster_of_token, topics), 1)
    np.testing.assert_array_equal(counts, expected)
    chunk_of_token = np.repeat(
        np.repeat(np.arange(N_CHUNKS), np.diff(CHUNK_START)), np.diff(GROUP_START)
    )
    sums = np.zeros_like(statistics)
    np.add.at(sums, (chunk_of_token, topics), case.statistics)
    np.testing.assert_allclose(statistics, sums, rtol=1e-12, atol=1e-12)


every_family = pytest.mark.parametrize("name", families().keys())
any_seed = given(seed=st.integers(0, 10**6))


@every_family
@pytest.mark.parametrize("n_topics", [1, 2, 4, 7, 16])
def test_rows_are_the_familys_log_likelihood(name, n_topics):
    case = case_of(name, n_topics)
    rows = np.full((20, n_topics), np.nan)
    log_likelihood_rows(3, 23, case.tokens, rows)
    np.testing.assert_allclose(rows, case.log_likelihood[3:23], rtol=1e-9, atol=1e-9)


@every_family
def test_scores_are_those_of_the_twin(name):
    case = case_of(name)
    np.testing.assert_allclose(scored(case), scores_of(case), rtol=1e-9, atol=1e-9)


@every_family
def test_draws_are_those_of_the_twin(name):
    case = case_of(name)
    topics, counts, statistics = drawn(case)
    np.testing.assert_array_equal(topics, drawn_topics(case))
    assert_counted(case, topics, counts, statistics)


@every_family
@pytest.mark.parametrize("lam", [0.01, 2.0, 300.0])
def test_sweeps_are_those_of_the_twin(name, lam):
    case = case_of(name)
    start = first_topics(case)
    topics, counts, statistics = drawn(case, start=start, lam=lam)
    np.testing.assert_array_equal(topics, drawn_topics(case, start, lam))
    assert_counted(case, topics, counts, statistics)


@any_seed
@settings(max_examples=80, deadline=None)
def test_rough_scores_are_those_of_the_twin(seed):
    case = rough_case(seed)
    np.testing.assert_allclose(scored(case), scores_of(case), rtol=1e-11, atol=1e-9)


@any_seed
@settings(max_examples=80, deadline=None)
def test_rough_draws_are_those_of_the_twin(seed):
    case = rough_case(seed)
    topics, counts, statistics = drawn(case)
    np.testing.assert_array_equal(topics, drawn_topics(case))
    assert_counted(case, topics, counts, statistics)


@given(seed=st.integers(0, 10**6), lam=st.sampled_from([1e-300, 0.3, 1e4]))
@settings(max_examples=80, deadline=None)
def test_rough_sweeps_are_those_of_the_twin(seed, lam):
    case = rough_case(seed)
    start = first_topics(case, seed)
    topics, counts, statistics = drawn(case, start=start, lam=lam)
    np.testing.assert_array_equal(topics, drawn_topics(case, start, lam))
    assert_counted(case, topics, counts, statistics)


@every_family
def test_rows_that_the_caller_holds_give_the_same_draws_to_the_last_bit(name):
    case = case_of(name)
    rows = np.empty((N_TOKENS - 5, N_TOPICS))
    log_likelihood_rows(5, N_TOKENS, case.tokens, rows)
    kept = Case(
        case.tokens._replace(log_likelihood=rows, first_token=5),
        case.log_likelihood,
        case.statistics,
        case.log_tau,
        case.clusters,
    )
    np.testing.assert_array_equal(scored(kept, 2), scored(case, 2))
    for start, lam in ((None, None), (first_topics(case), 3.0)):
        found = drawn(kept, 1, start=start, lam=lam)
        expected = drawn(case, 1, start=start, lam=lam)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("lam", [None, 3.0])
def test_chunks_visited_apart_give_the_same_draws_and_sums_to_the_last_bit(lam):
    case = case_of("multivariate")
    start = None if lam is None else first_topics(case)
    topics, counts, statistics = drawn(case, start=start, lam=lam)
    total = np.zeros_like(counts)
    for c in range(N_CHUNKS):
        some, counts_of_c, statistics_of_c = drawn(case, c, c + 1, start, lam)
        inside = slice(*GROUP_START[CHUNK_START[c : c + 2]])
        np.testing.assert_array_equal(some[inside], topics[inside])
        np.testing.assert_array_equal(statistics_of_c[0], statistics[c])
        total += counts_of_c
    np.testing.assert_array_equal(total, counts)
    nothing = drawn(case, 2, 2, start, lam)
    assert not nothing[1].any()


def test_groups_scored_apart_have_the_same_scores_to_the_last_bit():
    case = case_of("gaussian")
    together = scored(case)
    for j in range(N_GROUPS):
        np.testing.assert_array_equal(scored(case, j, j + 1)[0], together[j])
    np.testing.assert_array_equal(together[np.diff(GROUP_START) == 0], 0.0)


def test_scores_counts_and_statistics_are_added_to_what_is_there():
    case = case_of("gaussian")
    scores = np.full((N_GROUPS, N_CLUSTERS), 7.0)
    scores[:, 1] = -np.inf  # a cluster that the caller has ruled out
    score_vector_groups(0, N_GROUPS, GROUP_START, case.tokens, case.log_tau, scores)
    expected = scored(case) + 7.0
    expected[:, 1] = -np.inf
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    topics, counts, statistics = drawn(case)
    before = (0, N_CHUNKS, GROUPS, case.tokens, case.log_tau, np.inf)
    more, sums = counts.copy(), statistics.copy()
    draw_vector_topics(*before, case.clusters, topics, more, sums, KEY)
    np.testing.assert_array_equal(more, 2 * counts)
    np.testing.assert_allclose(sums, 2 * statistics, rtol=1e-12, atol=1e-12)


def test_every_part_of_the_key_and_the_first_token_change_the_draws():
    case = make_case(np.zeros((N_TOKENS, 9)))
    usual = drawn(case)[0]
    assert len(set(usual.tolist())) > 2
    for part in range(3):
        key = tuple(value + (i == part) for i, value in enumerate(KEY))
        assert (drawn(case, key=key)[0] != usual).any()
    assert (drawn(case, first_token=1)[0] != usual).any()


@pytest.mark.parametrize("bad", [-np.inf, np.nan])
def test_a_token_that_no_topic_can_have_made_is_drawn_by_the_weights_alone(bad):
    rng = np.random.default_rng(1)
    likelihood = rng.normal(size=(N_TOKENS, 6))
    likelihood[::2] = bad
    case, flat = make_case(likelihood), likelihood.copy()
    flat[::2] = 0.0  # every topic alike
    np.testing.assert_array_equal(drawn(case)[0], drawn(make_case(flat))[0])
    start = first_topics(case)
    found = drawn(case, start=start, lam=2.0)[0]
    np.testing.assert_array_equal(found, drawn(make_case(flat), start=start, lam=2.0)[0])
    np.testing.assert_allclose(scored(case), scored(make_case(flat)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("log_weight", [-1.8, -2000.0])
def test_a_likelihood_that_is_no_number_counts_as_zero(log_weight):
    likelihood = np.random.default_rng(1).normal(size=(N_TOKENS, 6))
    likelihood[:, 2] = np.nan
    log_tau = np.full((N_CLUSTERS, 6), log_weight)
    case = make_case(likelihood, log_tau)
    without = make_case(np.nan_to_num(likelihood, nan=-np.inf), log_tau)
    np.testing.assert_array_equal(drawn(case)[0], drawn_topics(without))
    start = first_topics(case)
    found = drawn(case, start=start, lam=2.0)[0]
    np.testing.assert_array_equal(found, drawn_topics(without, start, 2.0))
    np.testing.assert_allclose(scored(case), scores_of(without), rtol=1e-12)


def test_a_topic_without_weight_is_never_drawn():
    log_tau = np.log(np.random.default_rng(0).dirichlet(np.ones(6), N_CLUSTERS))
    log_tau[:, [1, 4]] = -np.inf
    likelihood = np.zeros((N_TOKENS, 6))
    likelihood[:, 4] = 500.0  # as likely as can be, and nevertheless ruled out
    case = make_case(likelihood, log_tau)
    assert not np.isin(drawn(case)[0], [1, 4]).any()
    start = np.zeros(N_TOKENS, np.uint16)
    assert not np.isin(drawn(case, start=start, lam=2.0)[0], [1, 4]).any()
    np.testing.assert_allclose(scored(case), scores_of(case), rtol=1e-12, atol=1e-11)


def test_a_cluster_that_cannot_have_made_a_token_is_ruled_out():
    likelihood = np.zeros((N_TOKENS, 3))
    likelihood[7, :2] = -np.inf
    log_tau = np.log(np.full((N_CLUSTERS, 3), 1 / 3))
    log_tau[2, 2] = -np.inf
    scores = scored(make_case(likelihood, log_tau))
    group = np.searchsorted(GROUP_START, 7, side="right") - 1
    assert np.isneginf(scores[group, 2])
    assert np.isneginf(scores).sum() == 1


def test_weights_below_the_smallest_double_are_not_lost():
    """Only one topic explains the tokens, and one cluster holds e^(−2000) of it."""
    likelihood = np.full((N_TOKENS, 4), -1e5)
    likelihood[:, 3] = 0.0
    log_tau = np.full((N_CLUSTERS, 4), np.log(0.25))
    log_tau[1] = [np.log(0.5), np.log(0.3), np.log(0.2), -2000.0]
    case = make_case(likelihood, log_tau)
    expected = np.outer(np.diff(GROUP_START), [np.log(0.25), -2000.0, *3 * [np.log(0.25)]])
    np.testing.assert_allclose(scored(case), expected, rtol=1e-12)
    case.clusters[:] = 1
    np.testing.assert_array_equal(drawn(case)[0], 3)
    start = np.zeros(N_TOKENS, np.uint16)
    np.testing.assert_array_equal(drawn(case, start=start, lam=1e-3)[0], 3)


def test_a_token_alone_is_drawn_by_the_weights_of_its_cluster_whatever_lam_is():
    case = case_of("gaussian")
    alone = GROUP_START[2]
    assert np.diff(GROUP_START)[2] == 1
    expected = drawn(case)[0][alone]
    for lam in (1e-6, 1.0, 1e6):
        assert drawn(case, start=first_topics(case), lam=lam)[0][alone] == expected


def test_a_huge_lam_draws_as_an_infinite_one():
    case = case_of("poisson")
    found = drawn(case, start=first_topics(case), lam=1e15)[0]
    np.testing.assert_array_equal(found, drawn(case)[0])


def test_a_group_of_many_tokens_is_scored_without_underflow():
    rng = np.random.default_rng(0)
    n, n_topics = 20_000, 8
    likelihood = 3 * rng.normal(size=(n, n_topics)) - 40.0
    log_tau = np.log(rng.dirichlet(np.ones(n_topics), 3))
    scores = np.zeros((1, 3))
    tokens = python_tokens(likelihood, 0, np.zeros((n, 1)))
    score_vector_groups(0, 1, np.array([0, n]), tokens, log_tau, scores)
    expected = logsumexp(likelihood[:, None] + log_tau, axis=2).sum(axis=0)
    np.testing.assert_allclose(scores[0], expected, rtol=1e-12)


def test_sweeps_visit_the_topics_of_a_group_as_often_as_their_probability_says():
    """Two tokens, two topics, four joint states, counted over many sweeps."""
    lam, tau = 0.7, np.array([0.4, 0.6])
    likelihood = np.log([[0.5, 0.2], [0.3, 0.9]])
    tokens = python_tokens(likelihood, 0, np.zeros((2, 1)))
    exact = np.empty((2, 2))
    for a in range(2):
        for b in range(2):
            prior = lam * tau[a] * (lam * tau[b] + (a == b))
            exact[a, b] = prior * np.exp(likelihood[0, a] + likelihood[1, b])
    exact /= exact.sum()
    topics, seen, n_sweeps = np.zeros(2, np.uint16), np.zeros((2, 2)), 40_000
    groups = Groups(np.array([0, 2]), np.array([0, 1]), 2, 0, 0)
    clusters = np.zeros(1, np.int32)
    counts, statistics = np.zeros((1, 2), np.int32), np.zeros((1, 2, 1))
    for sweep in range(n_sweeps):
        draw_vector_topics(
            *(0, 1, groups, tokens, np.log(tau[None]), lam),
            *(clusters, topics, counts, statistics, (1, 0, sweep)),
        )
        seen[topics[0], topics[1]] += 1
    np.testing.assert_allclose(seen / n_sweeps, exact, atol=0.012)
    assert counts.sum() == 2 * n_sweeps
