"""Perplexities where groups vary inside their cluster, against sums over clusters and topics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.evaluation.perplexity import perplexity, whole_group_method
from mcsquared.families import Gaussian
from mcsquared.prediction.likelihood import log_cluster_prior, log_context_given_cluster
from mcsquared.prediction.parameters import parameters_of_draws
from tests.prediction.enumeration import summed
from tests.prediction.models import Counts, make_posterior, words_corpus

BETA = 0.5
# Hardly any weight is unused and a new cluster is drawn twice, so that sums stay short.
DRAW = Counts(
    cluster_of_group=[0] * 12 + [1] * 8,
    topics_in_cluster=[[60, 10], [0, 40]],
    content=[[50, 9, 1], [8, 2, 40]],
    topic_weights=[0.6, 0.4 - 1e-9],
    alpha=2.0,
    v=1.5,
    eta=1.2,
    lam=1.5,
    tables_in_cluster=[[12, 4], [0, 9]],
)
OTHER = replace(DRAW, content=[[5, 40, 5], [30, 20, 0]], lam=6.0)
GROUPS = [[0], [0, 0], [0, 2, 2], [1, 1, 1, 1], [1, 2], []]
EQUAL = [[0, 0], [1, 1, 1], [2, 2, 2, 2], [1], []]  # any half of a group is like any other


def per_draw(posterior, corpus, seed, contexts=False, n_new=2):
    """The globals and cluster priors that a perplexity with this seed sums over."""
    for draw, parameters in parameters_of_draws(posterior, seed, n_new):
        context = np.zeros((corpus.n_groups, parameters.n_clusters + 1))
        if contexts:
            context = log_context_given_cluster(posterior, draw, corpus)
        yield parameters, log_cluster_prior(parameters, context)


def sums_of(parameters, log_prior, words):
    likelihood = np.exp(parameters.content_parameters)[:, words].T
    prior = np.exp(log_prior - logsumexp(log_prior))
    return summed(likelihood, prior, np.exp(parameters.log_topic_given_cluster), parameters.lam)


def test_left_to_right_is_the_enumerated_mean_over_draws():
    posterior = make_posterior([DRAW, OTHER], beta=BETA)
    corpus = words_corpus(GROUPS, 3)
    result = perplexity(
        posterior, corpus, "left_to_right", random_state=1, n_new=2, n_particles=3000
    )
    probability = np.zeros(len(GROUPS))
    for parameters, log_prior in per_draw(posterior, corpus, 1):
        for j, words in enumerate(GROUPS):
            probability[j] += 0.5 * sums_of(parameters, log_prior[j], words).probability
    np.testing.assert_allclose(result.log_likelihood, np.log(probability), atol=0.02)
    assert result.method == "left_to_right"
    assert result.n_tokens == sum(map(len, GROUPS))
    assert result.value == pytest.approx(math.exp(-np.log(probability).sum() / 12), rel=0.01)


def test_contexts_weigh_clusters_and_draws_as_bayes_rule_says():
    x = np.repeat([1.0, 1.2, np.nan, 3.0, 3.4], 4)
    families = {"x": Gaussian(mean=2.0, strength=0.5, shape=2.0, rate=0.5)}
    posterior = make_posterior([DRAW, OTHER], {"x": x}, families, beta=BETA)
    value = np.array([1.1, 3.0, np.nan, 2.0, 1.0, np.nan])
    corpus = words_corpus(GROUPS, 3, contexts={"x": value})
    options = {"random_state": 2, "n_new": 2, "n_particles": 3000}
    result = perplexity(posterior, corpus, "left_to_right", given_contexts=True, **options)
    joint, evidence = np.zeros(len(GROUPS)), np.zeros(len(GROUPS))
    for parameters, log_prior in per_draw(posterior, corpus, 2, contexts=True):
        for j, words in enumerate(GROUPS):
            weight = np.exp(logsumexp(log_prior[j]))
            evidence[j] += weight
            joint[j] += weight * sums_of(parameters, log_prior[j], words).probability
    np.testing.assert_allclose(result.log_likelihood, np.log(joint / evidence), atol=0.02)
    without = perplexity(posterior, corpus, "left_to_right", **options)
    assert abs(without.log_likelihood[0] - result.log_likelihood[0]) > 0.05


@pytest.mark.parametrize("given_contexts", [False, True])
def test_completion_is_the_enumerated_mean_of_each_token_with_topics_at_their_means(given_contexts):
    x = np.r_[np.zeros(12), np.full(8, 4.0)]
    posterior = make_posterior([DRAW, OTHER], {"x": x}, beta=BETA)
    value = np.array([4.0, 0.0, np.nan, 0.0, 4.0])
    corpus = words_corpus(EQUAL, 3, contexts={"x": value})
    result = perplexity(
        posterior, corpus, "completion", given_contexts, random_state=3, n_new=2, n_kept=20_000
    )
    token = np.zeros(len(EQUAL))
    for parameters, log_prior in per_draw(posterior, corpus, 3, given_contexts):
        psi = parameters.content_statistics + BETA  # topics at their means, unused ones too
        psi /= psi.sum(axis=1, keepdims=True)
        parameters = replace(parameters, content_parameters=np.log(psi))
        for j, words in enumerate(EQUAL):
            if len(words) > 1:
                first = words[: (len(words) + 1) // 2]
                theta = sums_of(parameters, log_prior[j], first).topics
                token[j] += 0.5 * theta @ psi[:, words[0]]
    expected = [1 * np.log(token[0]), np.log(token[1]), 2 * np.log(token[2]), 0.0, 0.0]
    np.testing.assert_allclose(result.log_likelihood, expected, atol=0.02)
    assert result.n_tokens == 4


def test_vectors_are_scored_by_both_methods():
    """With a great many training tokens the globals are known."""
    family = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
    n, means, sds = 4_000_000, np.array([-2.0, 1.0]), np.array([0.5, 1.5])
    content = np.stack([np.full(2, n), n * means, n * (sds**2 + means**2)], axis=1)
    tau = np.array([[0.75, 0.25], [0.1, 0.9]])
    draw = Counts(
        [0] * 60 + [1] * 40,
        tau * n,
        content,
        [0.5, 0.5 - 1e-12],
        alpha=1e-9,
        lam=2.0,
        tables_in_cluster=tau * n / 4,
    )
    posterior = make_posterior([draw], content=family)
    groups = [np.array([[-2.1]]), np.array([[0.5], [-2.0], [1.0], [3.0]]), np.zeros((0, 1))]

    def density(values):
        return np.exp(-0.5 * ((values - means) / sds) ** 2) / (sds * np.sqrt(2 * np.pi))

    prior = np.array([0.6, 0.4])
    whole = perplexity(posterior, Corpus(groups), "left_to_right", n_particles=3000)
    exact = [summed(density(g), prior, tau, 2.0).probability for g in groups]
    np.testing.assert_allclose(whole.log_likelihood, np.log(exact), atol=0.03)
    pair = Corpus([np.full((2, 1), 0.5)])
    half = perplexity(posterior, pair, "completion", n_kept=20_000)
    theta = summed(density(np.array([[0.5]])), prior, tau, 2.0).topics
    expected = np.log(theta @ density(np.array([[0.5]]))[0])
    assert half.log_likelihood[0] == pytest.approx(expected, abs=0.02)


def test_a_huge_lam_has_the_perplexities_of_an_infinite_one():
    """One draw of globals, the same for both: tables stand where tokens stood."""
    tokens = DRAW.topics_in_cluster
    infinite = replace(DRAW, lam=math.inf, tables_in_cluster=None)
    huge = replace(DRAW, lam=1e6, tables_in_cluster=tokens)
    groups = [[0, 2, 1, 0, 0, 1] * 3, [2] * 8, [1, 0], []]
    corpus = words_corpus(groups, 3)
    exact = perplexity(make_posterior([infinite], beta=BETA), corpus, "exact", random_state=4)
    estimate = perplexity(
        make_posterior([huge], beta=BETA),
        corpus,
        "left_to_right",
        random_state=4,
        n_particles=3000,
    )
    np.testing.assert_allclose(estimate.log_likelihood, exact.log_likelihood, atol=0.05)


def test_groups_that_vary_are_predicted_better_by_a_model_that_allows_it():
    rng = np.random.default_rng(0)
    topics = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])
    rows = [
        rng.choice(3, 60, p=rng.dirichlet(np.full(3, 0.2)) @ topics).tolist() for _ in range(40)
    ]
    content = np.round(topics * 3000)
    draw = Counts([0] * 20, [[3000] * 3], content, [0.33] * 3, alpha=1e-60, v=3.0)
    varying = replace(draw, lam=0.6, tables_in_cluster=[[300] * 3])
    corpus = words_corpus(rows, 3)
    for method in ("whole", "completion"):
        values = []
        for model in (draw, varying):
            posterior = make_posterior([model], beta=BETA)
            chosen = whole_group_method(posterior) if method == "whole" else method
            values.append(perplexity(posterior, corpus, chosen, random_state=0).value)
        assert values[1] < 0.8 * values[0]


@pytest.mark.parametrize(("method", "named"), [("exact", "left_to_right"), ("printed", "lam=inf")])
def test_methods_of_an_infinite_lam_are_refused_in_one_sentence(method, named):
    with pytest.raises(InputError, match=named):
        perplexity(make_posterior([DRAW]), words_corpus(GROUPS, 3), method)


def test_the_method_for_whole_groups_follows_from_lam():
    infinite = replace(DRAW, lam=math.inf, tables_in_cluster=None)
    assert whole_group_method(make_posterior([DRAW])) == "left_to_right"
    assert whole_group_method(make_posterior([infinite])) == "exact"


def test_same_random_state_same_number_and_nothing_to_score_has_none():
    posterior = make_posterior([DRAW], beta=BETA)
    test = words_corpus([[0, 1, 2, 2], [1, 1, 0]], 3)
    for method in ("left_to_right", "completion"):
        values = [perplexity(posterior, test, method, random_state=s).value for s in (7, 7, 8)]
        assert values[0] == values[1]
        assert values[0] != values[2]
        assert math.isnan(perplexity(posterior, words_corpus([[], []], 3), method).value)
