"""The joint density is the one of the model, term by term."""

from itertools import product
from math import exp, lgamma, log

import numpy as np
import pytest

from mcsquared.corpus import Words
from mcsquared.model.priors import vector_observations
from mcsquared.samplers.steps.log_joint import log_joint, log_ratio_given_tables
from mcsquared.samplers.sweep import COLLAPSED
from tests.samplers.cases import every_case


def log_seating(case, state):
    """Groups in clusters: K log α + Σ ln Γ(n_k) + ln Γ(α) − ln Γ(α + J)."""
    z, alpha = state.cluster_of_group.tolist(), state.alpha
    total = lgamma(alpha) - lgamma(alpha + len(z))
    return total + sum(log(alpha) + lgamma(z.count(k)) for k in set(z))


def log_contexts(case, state):
    """Every cluster's contexts, one observation after another, each given those before it."""
    total = 0.0
    for name, column in case.priors.columns(case.corpus).items():
        family, x = case.priors.contexts[name], column.observations()
        labels = state.cluster_of_group[column.observed]
        statistics = {k: np.zeros((1, family.n_stats)) for k in set(labels.tolist())}
        rows = family.statistics(x)
        for i, k in enumerate(labels.tolist()):
            total += family.log_predictive(x[i : i + 1], statistics[k])[0, 0]
            statistics[k] = statistics[k] + rows[i]
        total -= family.log_base(x).sum()
    return total


def log_topics(case, state):
    """Tokens in topics given ε: Σ_k of a Dirichlet-multinomial with weights v ε."""
    observations = case.observations
    cluster = np.repeat(state.cluster_of_group, np.diff(observations.group_start)).tolist()
    topic, total = state.topic_of_token.tolist(), 0.0
    for k in set(cluster):
        topics = [m for m, c in zip(topic, cluster, strict=True) if c == k]
        total += lgamma(state.v) - lgamma(state.v + len(topics))
        for m in set(topics):
            prior = state.v * state.topic_weights[m]
            total += lgamma(prior + topics.count(m)) - lgamma(prior)
    return total


def log_content(case, state):
    """Every topic's tokens, one after another, each given those before it."""
    corpus, family = case.corpus, case.priors.content
    words = isinstance(corpus.content, Words)
    x = case.observations.word if words else vector_observations(corpus, family)
    total, rows = -family.log_base(x).sum(), family.statistics(x)
    statistics = {m: np.zeros((1, family.n_stats)) for m in set(state.topic_of_token.tolist())}
    for i, m in enumerate(state.topic_of_token.tolist()):
        total += family.log_predictive(x[i : i + 1], statistics[m])[0, 0]
        statistics[m] = statistics[m] + rows[i]
    return total


def log_weights(case, state):
    """The density of ε: M log η + (η − 1) log ε_new − Σ log ε_m."""
    weights = state.topic_weights[np.unique(state.topic_of_token)]
    unused = 1.0 - weights.sum()
    return len(weights) * log(state.eta) + (state.eta - 1) * log(unused) - np.log(weights).sum()


@every_case
def test_the_joint_density_equals_its_terms_written_out(case):
    observations, state = case.observations, case.start()
    for _ in range(4):
        COLLAPSED.sweep(state, observations, case.priors, 2, 0)
        expected = log_seating(case, state) + log_contexts(case, state)
        if observations.n_tokens:
            for term in (log_topics, log_content, log_weights):
                expected += term(case, state)
        assert log_joint(state, observations, case.priors) == pytest.approx(expected, rel=1e-9)


@every_case
def test_the_joint_density_does_not_depend_on_labels(case):
    observations, state = case.observations, case.start()
    COLLAPSED.sweep(state, observations, case.priors, 2, 0)
    before = log_joint(state, observations, case.priors)
    counts = state.counts
    order = np.random.default_rng(0).permutation(len(state.topic_weights))
    state.topic_weights = state.topic_weights[order]
    for name in ("topics_in_cluster", "words_in_topic"):
        setattr(counts, name, np.ascontiguousarray(getattr(counts, name)[:, order]))
    for name in ("tokens_in_topic", "topic_statistics"):
        setattr(counts, name, getattr(counts, name)[order])
    assert log_joint(state, observations, case.priors) == pytest.approx(before, rel=1e-12)


def test_the_difference_of_two_joints_is_the_ratio_of_the_conditional():
    """p(l_i = m | ·) of a single token is the joint of each choice, normalised."""
    from tests.oracles.collapsed import topic_conditional
    from tests.oracles.counts import recount
    from tests.samplers.cases import CASES
    from tests.samplers.test_reference import plain_data, plain_state

    case = CASES["words_all_contexts"]
    observations, state = case.observations, case.start()
    data, plain = plain_data(case), plain_state(state)
    token = int(np.flatnonzero(np.bincount(state.topic_of_token)[state.topic_of_token] > 1)[0])
    choices, log_chances = topic_conditional(token, plain, data)
    joints = []
    for m in choices[:-1]:
        state.topic_of_token[token] = m
        state.counts = recount(state, observations)
        joints.append(log_joint(state, observations, case.priors))
    chances = [exp(value) for value in log_chances[:-1] - log_chances[0]]
    ratios = [exp(value - joints[0]) for value in joints]
    np.testing.assert_allclose(ratios, chances, rtol=1e-9)


STIRLING = {(1, 1): 1, (2, 1): 1, (2, 2): 1, (3, 1): 2, (3, 2): 3, (3, 3): 1}  # unsigned, s(n, o)


@pytest.mark.parametrize("shares", [(0.5, 0.3), (0.05, 0.9)])
def test_the_mean_over_tables_is_the_density_without_topic_weights_for_any_of_them(shares):
    """Σ_o p(o | n, τ) p(n | τ) p(τ) / p(τ | o) = Σ_o Π_jm s(n_jm, o_jm) λ^o_jm DM(O; vε)."""
    lam, shape = 1.7, np.array([1.2, 0.4, 0.9])  # the last one of unused topics
    customers = np.array([[3, 0], [2, 1], [0, 2]])  # of three groups and two topics
    log_shares, cells = np.log([shares]), np.argwhere(customers)
    found = expected = 0.0
    for choice in product(*(range(1, customers[j, m] + 1) for j, m in cells)):
        tables, weight, given = np.zeros((1, 2), np.int64), 1.0, 1.0
        for (j, m), o in zip(cells, choice, strict=True):
            tables[0, m] += o
            weight *= STIRLING[customers[j, m], o] * lam**o
            given *= shares[m] ** o  # p(o | n, τ) p(n | τ) = s(n, o) (λτ)^o
        found += weight * given * exp(log_ratio_given_tables(log_shares, shape, tables))
        rising = sum(lgamma(s + o) - lgamma(s) for s, o in zip(shape[:2], tables[0], strict=True))
        total = lgamma(shape.sum() + tables.sum()) - lgamma(shape.sum())
        expected += weight * exp(rising - total)
    assert found == pytest.approx(expected, rel=1e-12)
