from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from mcsquared.corpus import Corpus
from mcsquared.families import Gaussian
from mcsquared.prediction import likelihood
from mcsquared.prediction.groups import topic_proportions
from tests.prediction.enumeration import summed
from tests.prediction.models import Counts, make_posterior, words_corpus

BETA = 0.5
DRAW = Counts(
    [0] * 30 + [1] * 20,
    [[1_000, 6_000], [4_000, 0]],
    [[10, 10, 4_980], [5_000, 900, 100]],
    [0.5, 0.4999999],
    alpha=1e-9,
)


def test_proportions_are_the_mean_responsibilities_of_the_groups_tokens():
    posterior = make_posterior([DRAW], beta=BETA)
    groups = [[0] * 9 + [2], [2] * 6 + [0], [0, 1, 2] * 3]
    result = topic_proportions(posterior, words_corpus(groups, 3))
    np.testing.assert_allclose(result.sum(axis=1), 1.0, rtol=1e-12)
    # The three groups belong to clusters 0, 1, 0 beyond doubt; public topics: 1 is the larger.
    prior = DRAW.v * np.array(DRAW.topic_weights)
    tau = np.array(DRAW.topics_in_cluster) + prior
    psi = np.array(DRAW.content) + BETA
    psi = psi / psi.sum(axis=1, keepdims=True)
    for words, cluster, row in zip(groups, [0, 1, 0], result, strict=True):
        weights = tau[cluster][:, None] * psi[:, words]
        expected = (weights / weights.sum(axis=0)).mean(axis=1)
        np.testing.assert_allclose(row, expected[posterior.topic_order], atol=2e-3)


def test_topics_come_in_the_public_order():
    posterior = make_posterior([DRAW], beta=BETA)
    result = topic_proportions(posterior, words_corpus([[0] * 20], 3))
    column = list(posterior.topic_order).index(1)
    assert result[0, column] > 0.95
    assert list(posterior.topic_order) == [1, 0]


def test_a_group_without_tokens_has_its_clusters_topics():
    posterior = make_posterior([DRAW], {"x": np.r_[np.zeros(30), np.full(20, 50.0)]}, beta=BETA)
    test = words_corpus([[], []], 3, contexts={"x": np.array([0.0, np.nan])})
    result = topic_proportions(posterior, test)[:, np.argsort(posterior.topic_order)]
    np.testing.assert_allclose(result[0], [1 / 7, 6 / 7], atol=2e-3)
    mixed = 0.6 * np.array([1 / 7, 6 / 7]) + 0.4 * np.array([1.0, 0.0])
    np.testing.assert_allclose(result[1], mixed, atol=2e-3)


def test_groups_of_unseen_words_have_rows_that_sum_to_one():
    posterior = make_posterior([DRAW], beta=BETA)
    test = Corpus(sparse.csr_matrix(np.array([[3], [0]])), vocabulary=["never"])
    result = topic_proportions(posterior, test)
    assert result.shape == (2, 2)
    np.testing.assert_allclose(result.sum(axis=1), 1.0)


def test_vectors_belong_to_the_component_they_lie_in(monkeypatch):
    family = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
    n = 100_000
    content = np.array([[n, 4.0 * n, 17.0 * n], [n, -4.0 * n, 17.0 * n]])  # N(4, 1), N(-4, 1)
    draw = Counts([0, 0], [[n, n]], content, [0.5, 0.499999], alpha=1e-9)
    posterior = make_posterior([draw], content=family)
    groups = [np.array([[4.0], [3.0], [-4.0]]), np.zeros((0, 1)), np.array([[0.1]])]
    result = topic_proportions(posterior, Corpus(groups))
    back = result[:, np.argsort(posterior.topic_order)]
    np.testing.assert_allclose(back[0], [2 / 3, 1 / 3], atol=1e-3)
    np.testing.assert_allclose(back[1], [0.5, 0.5], atol=1e-3)
    odds = stats.norm.pdf(0.1, [4.0, -4.0])
    np.testing.assert_allclose(back[2], odds / odds.sum(), atol=1e-3)
    monkeypatch.setattr(likelihood, "BATCH_SIZE", 1)
    np.testing.assert_allclose(topic_proportions(posterior, Corpus(groups)), result, rtol=1e-10)


def test_vectors_far_from_everything_still_have_proportions():
    family = Gaussian(mean=0.0, strength=0.1, shape=2.0, rate=1.0)
    draw = Counts([0, 0], [[9, 3]], [[9, 9.0, 12.0], [3, -3.0, 5.0]], [0.5, 0.4])
    result = topic_proportions(make_posterior([draw], content=family), Corpus([np.array([[1e9]])]))
    assert result.sum() == pytest.approx(1.0)


def test_groups_that_vary_have_the_mean_of_their_own_weights():
    """Tables so many that τ is known: then E[θ | words] is a sum over clusters and topics."""
    tau = np.array([[1 / 7, 6 / 7], [1.0 - 1e-6, 1e-6]])
    tables = np.round(tau * 1e8)
    content = np.round(np.array([[0.002, 0.002, 0.996], [0.83, 0.15, 0.02]]) * 1e8)
    draw = Counts(
        [0] * 30 + [1] * 20,
        tables,
        content,
        [0.5, 0.5 - 1e-9],
        alpha=1e-9,
        lam=2.0,
        tables_in_cluster=tables,
    )
    posterior = make_posterior([draw], beta=BETA)
    groups = [[0], [0, 2], [2, 2, 1, 0], []]
    result = topic_proportions(posterior, words_corpus(groups, 3))
    np.testing.assert_allclose(result.sum(axis=1), 1.0, rtol=1e-9)
    psi = content / content.sum(axis=1, keepdims=True)
    for words, row in zip(groups, result[:, np.argsort(posterior.topic_order)], strict=True):
        exact = summed(psi[:, words].T, np.array([0.6, 0.4]), tau, 2.0)
        np.testing.assert_allclose(row, exact.topics, atol=0.08)
    np.testing.assert_allclose(
        result[3, np.argsort(posterior.topic_order)], [0.6 / 7 + 0.4, 0.6 * 6 / 7], atol=1e-3
    )
