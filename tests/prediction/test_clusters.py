from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import MultivariateGaussian
from mcsquared.prediction import groups
from mcsquared.prediction.groups import cluster_probabilities
from tests.prediction.models import Counts, make_posterior, probability_in_cluster, words_corpus

BETA = 0.5
# Counts so large that the globals are known, but for the new cluster, which has no weight.
CLEAR = Counts(
    [0] * 30 + [1] * 20,
    [[6_000_000, 1_000_000], [0, 4_000_000]],
    [[5_000_000, 900_000, 100_000], [10_000, 10_000, 4_980_000]],
    [0.5, 0.4999999],
    alpha=1e-9,
)


def test_probabilities_are_bayes_rule_over_the_clusters_of_a_known_model():
    posterior = make_posterior([CLEAR], beta=BETA)
    groups = [[0], [2], [0, 2, 2], [1, 1], []]
    probability, new = cluster_probabilities(posterior, words_corpus(groups, 3))
    joint = np.array(
        [
            [
                30 * probability_in_cluster(w, 0, CLEAR, BETA),
                20 * probability_in_cluster(w, 1, CLEAR, BETA),
            ]
            for w in groups
        ]
    )
    np.testing.assert_allclose(probability, joint / joint.sum(axis=1, keepdims=True), atol=5e-3)
    assert new.max() < 1e-6


def test_rows_sum_to_one_even_for_a_group_that_is_surely_new():
    posterior = make_posterior([replace(CLEAR, alpha=1.0)], beta=1e-6)
    odd = words_corpus([[1] * 3000, [0, 2], []], 3)
    probability, new = cluster_probabilities(posterior, odd)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert new[0] > 0.99
    assert 0.0 < new[2] < 0.05
    assert ((new >= 0) & (new <= 1)).all()


def test_clusters_of_a_draw_count_for_consensus_clusters_by_their_members():
    """One draw joins what the others keep apart: its mass is shared by membership."""
    joined = Counts(
        [0] * 50, [[6_000_000, 5_000_000]], CLEAR.content, CLEAR.topic_weights, alpha=1e-9
    )
    posterior = make_posterior([CLEAR, CLEAR, joined], beta=BETA)
    assert posterior.n_clusters == 2
    probability, _ = cluster_probabilities(posterior, words_corpus([[0] * 10], 3))
    np.testing.assert_allclose(probability[0], [(2 + 0.6) / 3, 0.4 / 3], atol=1e-3)


def test_a_group_is_predicted_the_same_in_any_company():
    posterior = make_posterior([CLEAR, CLEAR], beta=BETA)
    test = words_corpus([[0, 1], [2], [], [1, 1, 2]], 3)
    probability, new = cluster_probabilities(posterior, test)
    alone, alone_new = cluster_probabilities(posterior, test[np.array([3, 0])])
    np.testing.assert_allclose(alone, probability[[3, 0]], rtol=1e-12)
    np.testing.assert_allclose(alone_new, new[[3, 0]], rtol=1e-9)


def test_simulated_groups_go_back_to_their_clusters():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(30, 0.1), 4)
    truth = np.repeat(np.arange(4), [40, 30, 20, 10])
    counts = np.array([rng.multinomial(60, words[k]) for k in truth])
    per_cluster = np.array([counts[truth == k].sum(axis=0) for k in range(4)])
    draw = Counts(truth, np.diag(per_cluster.sum(axis=1)), per_cluster, [0.24] * 4)
    posterior = make_posterior([draw], beta=0.05)
    new_truth = rng.integers(0, 4, 50)
    test = Corpus(sparse.csr_matrix([rng.multinomial(40, words[k]) for k in new_truth]))
    probability, new = cluster_probabilities(posterior, test)
    np.testing.assert_array_equal(probability.argmax(axis=1), new_truth)
    assert new.mean() < 0.05


def test_contexts_alone_place_groups_whose_words_are_all_unseen():
    posterior = make_posterior([CLEAR], {"x": np.r_[np.zeros(30), np.full(20, 10.0)]}, beta=BETA)
    test = Corpus(
        sparse.csr_matrix(np.array([[3], [2], [0]])),
        contexts={"x": np.array([0.1, 9.8, np.nan])},
        vocabulary=["never"],
    )
    probability, _ = cluster_probabilities(posterior, test)
    assert probability[0, 0] > 0.95
    assert probability[1, 1] > 0.95
    np.testing.assert_allclose(probability[2], [0.6, 0.4], atol=1e-6)


def test_content_of_another_kind_is_refused():
    posterior = make_posterior([CLEAR])
    with pytest.raises(InputError, match="vectors"):
        cluster_probabilities(posterior, Corpus([np.zeros((2, 2))]))
    family = MultivariateGaussian(mean=[0.0, 0.0], degrees=4.0, scale=np.eye(2))
    vectors = make_posterior([Counts([0], [[1]], np.zeros((1, 7)), [0.5])], content=family)
    with pytest.raises(InputError, match="width 2 as in training, got 3"):
        cluster_probabilities(vectors, Corpus([np.zeros((2, 3))]))


VARYING = replace(
    CLEAR, lam=3.0, tables_in_cluster=np.minimum(np.array(CLEAR.topics_in_cluster), 2_000)
)


def test_groups_that_vary_are_sampled_and_the_rows_still_sum_to_one():
    posterior = make_posterior([VARYING, VARYING], beta=BETA)
    test = words_corpus([[0] * 30, [2] * 30, [], [1]], 3)
    probability, new = cluster_probabilities(posterior, test)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert ((new >= 0) & (new <= 1)).all()
    np.testing.assert_allclose(probability[2], [0.6, 0.4], atol=1e-6)
    alone, _ = cluster_probabilities(posterior, test[np.array([3, 0])])
    np.testing.assert_allclose(alone, probability[[3, 0]], rtol=1e-12)


def test_with_a_huge_lam_clusters_are_those_of_an_infinite_one():
    huge = replace(CLEAR, lam=1e7, tables_in_cluster=CLEAR.topics_in_cluster)
    test = words_corpus([[0, 1, 2], [1, 1], [2, 2, 2, 2], [0]], 3)
    infinite, _ = cluster_probabilities(make_posterior([CLEAR] * 40, beta=BETA), test)
    sampled, _ = cluster_probabilities(make_posterior([huge] * 40, beta=BETA), test)
    np.testing.assert_allclose(sampled, infinite, atol=0.04)


def test_the_last_result_is_computed_once(monkeypatch):
    from tests.posterior.models import make_posterior

    posterior, corpus, _ = make_posterior(lam=5.0)
    computed = []
    original = groups._cluster_probabilities
    monkeypatch.setattr(
        groups, "_cluster_probabilities", lambda *pair: computed.append(1) or original(*pair)
    )
    first = groups.cluster_probabilities(posterior, corpus)
    groups.most_probable_cluster(posterior, corpus)
    again = groups.cluster_probabilities(posterior, corpus)
    assert len(computed) == 1
    np.testing.assert_array_equal(first[0], again[0])
    groups.cluster_probabilities(posterior, corpus[:5])
    assert len(computed) == 2
