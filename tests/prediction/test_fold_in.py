"""Groups that vary inside their cluster, against sums over all clusters and topics."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from mcsquared.corpus import Corpus
from mcsquared.families import Gaussian
from mcsquared.prediction import fold_in, likelihood
from mcsquared.prediction.fold_in import Iterations, estimate_log_probability, fold_in_groups
from mcsquared.prediction.likelihood import (
    log_group_given_cluster,
    log_tokens_given_topics,
    token_batches,
)
from tests.prediction.enumeration import Sums, small_parameters, summed
from tests.prediction.models import words_corpus

GAUSSIAN = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
GROUPS = [[0], [3], [0, 0], [1, 2, 3], [2, 2, 2, 1], [0, 1, 2, 3, 3], []]


def priors_of(parameters, n_groups, log_context=None):
    log_prior = np.tile(parameters.log_weight_of_cluster, (n_groups, 1))
    return log_prior if log_context is None else log_prior + log_context


def enumerated(parameters, groups, log_prior) -> list[Sums]:
    tau, psi = (
        np.exp(parameters.log_topic_given_cluster),
        np.exp(parameters.content_parameters),
    )
    priors = np.exp(log_prior - logsumexp(log_prior, axis=1, keepdims=True))
    return [
        summed(psi[:, words].T, prior, tau, parameters.lam)
        for words, prior in zip(groups, priors, strict=True)
    ]


@pytest.mark.parametrize("lam", [0.05, 1.5, 40.0])
def test_folded_groups_have_the_enumerated_clusters_and_topics(lam):
    parameters = small_parameters(lam)
    log_prior = priors_of(parameters, len(GROUPS))
    corpus = words_corpus(GROUPS, 4)
    folded = fold_in_groups(corpus, parameters, log_prior, Iterations(n_kept=20_000))
    for j, exact in enumerate(enumerated(parameters, GROUPS, log_prior)):
        np.testing.assert_allclose(np.exp(folded.log_cluster[j]), exact.cluster, atol=0.015)
        np.testing.assert_allclose(folded.topics[j], exact.topics, atol=0.015)


def test_ctrl_c_is_heard_while_compiled_code_runs(monkeypatch):
    def interrupt():
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def slow(*arguments):
        threading.Timer(0.2, interrupt).start()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 6_000_000)  # some seconds without any Python

    began = []
    monkeypatch.setattr(fold_in, "fold_in", slow)
    parameters = small_parameters(1.0)
    with pytest.raises(KeyboardInterrupt):
        fold_in_groups(
            words_corpus(GROUPS[:1], 4), parameters, priors_of(parameters, 1), Iterations()
        )
    assert time.monotonic() - began[0] < 1.0


def test_groups_that_only_move_token_by_token_come_to_the_same(monkeypatch):
    monkeypatch.setattr(fold_in, "JOINT_MOVE_TOKENS", 0)
    parameters = small_parameters(1.0)
    log_prior = priors_of(parameters, len(GROUPS))
    folded = fold_in_groups(
        words_corpus(GROUPS, 4), parameters, log_prior, Iterations(n_kept=40_000)
    )
    for j, exact in enumerate(enumerated(parameters, GROUPS, log_prior)):
        np.testing.assert_allclose(np.exp(folded.log_cluster[j]), exact.cluster, atol=0.015)
        np.testing.assert_allclose(folded.topics[j], exact.topics, atol=0.015)


def test_contexts_are_evidence_of_clusters_and_a_group_without_tokens_has_nothing_else():
    parameters = small_parameters(1.5)
    log_context = np.log(np.random.default_rng(0).dirichlet(np.ones(3), len(GROUPS)))
    log_prior = priors_of(parameters, len(GROUPS), log_context)
    corpus = words_corpus(GROUPS, 4)
    folded = fold_in_groups(corpus, parameters, log_prior, Iterations(n_kept=10_000))
    exact = enumerated(parameters, GROUPS, log_prior)
    for j, sums in enumerate(exact):
        np.testing.assert_allclose(np.exp(folded.log_cluster[j]), sums.cluster, atol=0.02)
    assert GROUPS[-1] == []
    np.testing.assert_allclose(np.exp(folded.log_cluster[-1]), exact[-1].cluster, rtol=1e-12)
    np.testing.assert_allclose(folded.topics[-1], exact[-1].topics, rtol=1e-12)


@pytest.mark.parametrize("lam", [0.2, 40.0])
@pytest.mark.parametrize(("n_particles", "n_moves"), [(1, 0), (1, 3), (5, 2)])
def test_left_to_right_is_unbiased_for_any_number_of_particles_and_moves(lam, n_particles, n_moves):
    """The mean over many keys of the estimated probabilities, not of their logarithms."""
    n = 1500
    log_prior = priors_of(small_parameters(lam), len(GROUPS))
    corpus = words_corpus(GROUPS, 4)
    estimates = np.array(
        [
            estimate_log_probability(
                corpus, small_parameters(lam, key=(7, i)), log_prior, n_particles, n_moves
            )
            for i in range(n)
        ]
    )
    exact = [sums.probability for sums in enumerated(small_parameters(lam), GROUPS, log_prior)]
    relative = np.exp(estimates) / np.array(exact)
    error = relative.std(axis=0) / np.sqrt(n)
    assert (np.abs(relative.mean(axis=0) - 1.0) < 4.0 * error + 1e-9).all()


def test_left_to_right_is_exact_for_one_token_of_a_known_cluster_and_for_none():
    parameters, groups = small_parameters(0.7), [[0], [3], []]
    log_prior = np.log([[1.0, 1e-300, 1e-300]] * 3)
    estimate = estimate_log_probability(words_corpus(groups, 4), parameters, log_prior, 1, 0)
    exact = [sums.probability for sums in enumerated(parameters, groups, log_prior)]
    np.testing.assert_allclose(estimate, np.log(exact), rtol=1e-10, atol=1e-10)


def test_more_particles_and_moves_have_less_noise():
    groups = [[0, 1, 2, 3] * 10]
    log_prior = priors_of(small_parameters(2.0), 1)
    noise = []
    for n_particles, n_moves in ((1, 0), (20, 10)):
        estimates = [
            estimate_log_probability(
                words_corpus(groups, 4),
                small_parameters(2.0, key=(3, i)),
                log_prior,
                n_particles,
                n_moves,
            )[0]
            for i in range(200)
        ]
        noise.append(np.std(estimates))
    assert noise[1] < 0.5 * noise[0]


def test_a_huge_lam_is_the_model_without_variation():
    groups = [[0], [3, 3], [0, 1, 2, 3] * 5, [1] * 30, []]
    parameters = small_parameters(1e7)
    log_prior = priors_of(parameters, len(groups))
    corpus = words_corpus(groups, 4)
    log_joint = log_prior + log_group_given_cluster(corpus, parameters)
    expected = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    folded = fold_in_groups(corpus, parameters, log_prior, Iterations(n_kept=5000))
    np.testing.assert_allclose(np.exp(folded.log_cluster), expected, atol=0.03)
    whole = estimate_log_probability(corpus, parameters, log_prior, 2000, 2)
    np.testing.assert_allclose(whole, logsumexp(log_joint, axis=1), atol=0.03)


def gaussian_parameters(lam=1.2):
    """Topics N(-2, 1), N(0, 0.25), N(3, 4) as a Gaussian's parameters: mean and precision."""
    drawn = small_parameters(lam)
    content = np.array([[-2.0, 1.0], [0.0, 4.0], [3.0, 0.25]])
    return replace(drawn, content_parameters=content, family=GAUSSIAN)


def test_vectors_go_the_way_of_words():
    parameters = gaussian_parameters()
    groups = [np.array([[0.1]]), np.array([[-2.0], [3.0], [2.5], [0.0]]), np.zeros((0, 1))]
    log_prior = priors_of(parameters, 3)
    exact = [
        summed(
            np.exp(GAUSSIAN.log_likelihood(values[:, 0], parameters.content_parameters)),
            np.exp(prior),
            np.exp(parameters.log_topic_given_cluster),
            parameters.lam,
        )
        for values, prior in zip(groups, log_prior, strict=True)
    ]
    folded = fold_in_groups(Corpus(groups), parameters, log_prior, Iterations(n_kept=20_000))
    for j, sums in enumerate(exact):
        np.testing.assert_allclose(np.exp(folded.log_cluster[j]), sums.cluster, atol=0.015)
        np.testing.assert_allclose(folded.topics[j], sums.topics, atol=0.015)
    whole = estimate_log_probability(Corpus(groups), parameters, log_prior, 5000, 2)
    np.testing.assert_allclose(whole, np.log([s.probability for s in exact]), atol=0.03)


def test_a_token_far_from_everything_still_finds_its_topic_and_probability():
    """Likelihoods below the smallest float, under a topic whose weight is below it as well."""
    parameters = replace(
        gaussian_parameters(),
        log_topic_given_cluster=np.array([[-1e-9, -800.0, -3000.0]] * 3),
        content_parameters=np.array([[0.0, 1.0], [0.0, 0.25], [0.0, 0.01]]),
    )
    values = np.array([[100.0], [0.0]])
    log_psi = GAUSSIAN.log_likelihood(values[:, 0], parameters.content_parameters)
    far = log_psi[0] + parameters.log_topic_given_cluster[0]
    assert far.argmax() == 1  # neither the likeliest topic nor the heaviest
    log_prior = priors_of(parameters, 1)
    folded = fold_in_groups(Corpus([values]), parameters, log_prior, Iterations(n_kept=50))
    near = np.exp(log_psi[1, :2]) * [
        1.2,
        1.0,
    ]  # the other token: from the cluster, or with the far one
    expected = (near / near.sum() + [1.2, 1.0]) / 3.2
    np.testing.assert_allclose(folded.topics[0], [*expected, 0.0], atol=1e-6)
    whole = estimate_log_probability(Corpus([values]), parameters, log_prior, 5, 1)
    assert whole[0] == pytest.approx(far[1] + np.log(near.sum() / 2.2), rel=1e-3)


def test_rare_topics_are_weighed_in_logs():
    """λτ far below the smallest float decides between clusters that both hardly have the topic."""
    parameters = replace(
        small_parameters(1.0),
        log_topic_given_cluster=np.array([[-1e-9, -1000.0], [-1e-9, -1001.0], [-1e-9, -1002.0]]),
        content_parameters=np.array([[-1200.0, 0.0], [-1e-9, -30.0]]),
        n_topics=2,
    )
    log_prior = np.full((1, 3), -np.log(3.0))
    folded = fold_in_groups(
        words_corpus([[0] * 9], 2), parameters, log_prior, Iterations(n_kept=200)
    )
    # Nine tokens through one door of weight τ each: only the first pays it.
    expected = np.exp([0.0, -1.0, -2.0]) / np.exp([0.0, -1.0, -2.0]).sum()
    np.testing.assert_allclose(np.exp(folded.log_cluster[0]), expected, atol=1e-6)


def test_a_group_is_the_same_alone_and_in_company(monkeypatch):
    rng = np.random.default_rng(0)
    groups = [rng.integers(0, 4, n).tolist() for n in (3, 0, 150, 8, 1, 40)]
    parameters = small_parameters(3.0)
    log_prior = priors_of(parameters, len(groups))
    corpus = words_corpus(groups, 4)
    together = fold_in_groups(corpus, parameters, log_prior)
    whole = estimate_log_probability(corpus, parameters, log_prior, 5, 2)
    some = np.array([4, 2])
    alone = fold_in_groups(corpus[some], parameters, log_prior[some])
    np.testing.assert_allclose(alone.log_cluster, together.log_cluster[some], rtol=1e-12)
    np.testing.assert_allclose(alone.topics, together.topics[some], rtol=1e-12)
    few = estimate_log_probability(corpus[some], parameters, log_prior[some], 5, 2)
    np.testing.assert_allclose(few, whole[some], rtol=1e-12)
    monkeypatch.setattr(likelihood, "BATCH_SIZE", 6)
    cut = fold_in_groups(corpus, parameters, log_prior)
    np.testing.assert_allclose(cut.log_cluster, together.log_cluster, rtol=1e-12)
    np.testing.assert_allclose(cut.topics, together.topics, rtol=1e-12)


def test_samples_belong_to_the_key_of_the_globals():
    corpus = words_corpus([[0, 1, 2, 3]], 4)
    results = [
        fold_in_groups(corpus, small_parameters(2.0, key=key), np.zeros((1, 3))).topics
        for key in ((1, 2), (1, 2), (1, 3), (2, 2))
    ]
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[3])


def test_tokens_are_scored_by_the_topics_of_their_group(monkeypatch):
    parameters, groups = small_parameters(2.0), [[0, 0, 3], [], [1]]
    theta = np.random.default_rng(1).dirichlet(np.ones(3), 3)
    psi = np.exp(parameters.content_parameters)
    expected = np.log([theta[0] @ psi[:, 0], theta[0] @ psi[:, 3], theta[2] @ psi[:, 1]])
    for numbers in (likelihood.BATCH_SIZE, 4):
        monkeypatch.setattr(likelihood, "BATCH_SIZE", numbers)
        found = [
            log_tokens_given_topics(batch, theta[batch.groups])
            for batch in token_batches(words_corpus(groups, 4), parameters)
        ]
        np.testing.assert_allclose(np.concatenate(found), expected)
