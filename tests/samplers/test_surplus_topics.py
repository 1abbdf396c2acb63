"""Surplus topics of a start are dissolved, others are kept."""

import numpy as np
import pytest

from mcsquared import MC2, Corpus
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.init.surplus_topics import (
    MIN_HELD_OUT,
    Tokens,
    Topics,
    without_surplus_topics,
)
from mcsquared.samplers.types import Key

N_WORDS, BETA, LAM = 60, 0.05, 2.0


def simulated(n_topics=4, n_groups=120, n_tokens=60, seed=0):
    """Return observations of groups that mix topics, and the topic of every token."""
    rng = np.random.default_rng(seed)
    psi = rng.dirichlet(np.full(N_WORDS, BETA), n_topics)
    group = np.repeat(np.arange(n_groups), n_tokens)
    shares = rng.dirichlet(np.full(n_topics, 0.5), n_groups)
    topic = np.array([rng.choice(n_topics, p=shares[j]) for j in group])
    word = np.array([rng.choice(N_WORDS, p=psi[m]) for m in topic])
    counts = np.zeros((n_groups, N_WORDS), np.int64)
    np.add.at(counts, (group, word), 1)
    corpus = Corpus(counts)
    order = np.lexsort((word, group))  # tokens of a group are sorted by word
    observations = observe(corpus, Priors.for_corpus(corpus))
    np.testing.assert_array_equal(observations.word, word[order])
    return observations, topic[order]


def dissolved(observations, topics):
    return without_surplus_topics(observations, topics, LAM, BETA, Key(3, 0, 0))


def test_topics_that_divide_another_one_at_random_are_dissolved():
    observations, truth = simulated()
    rng = np.random.default_rng(1)
    found = dissolved(observations, truth + 4 * rng.integers(0, 3, len(truth)))  # 12 topics
    assert len(np.unique(found)) == 4
    both = np.zeros((4, 4))
    np.add.at(both, (found, truth), 1)
    assert both.max(axis=1).sum() > 0.9 * len(truth)


def test_true_topics_are_kept():
    observations, truth = simulated(seed=5)
    assert len(np.unique(dissolved(observations, truth))) == 4


def test_topics_of_a_few_tokens_do_not_change():
    observations, truth = simulated(n_groups=5, n_tokens=MIN_HELD_OUT // 2)
    np.testing.assert_array_equal(dissolved(observations, truth), truth)


def test_the_same_key_gives_the_same_topics():
    observations, truth = simulated(n_groups=40)
    one, other = (dissolved(observations, truth) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("batch", [7, 4096])
def test_probabilities_of_tokens_sum_to_one_and_follow_the_formula(batch, monkeypatch):
    monkeypatch.setattr("mcsquared.samplers.init.surplus_topics.BATCH_SIZE", batch)
    observations, truth = simulated(n_groups=6)
    tokens = Tokens(observations.group_start, observations.word)
    topics = Topics(tokens, truth, N_WORDS, LAM, BETA)
    every_word = Tokens(np.array([0, N_WORDS, *[N_WORDS] * 5]), np.arange(N_WORDS, dtype=np.int32))
    found = topics.probability(every_word)
    in_group = np.bincount(truth[: observations.group_start[1]], minlength=4)
    words = np.zeros((4, N_WORDS))
    np.add.at(words, (truth, observations.word), 1)
    psi = (words + BETA) / (words.sum(axis=1, keepdims=True) + N_WORDS * BETA)
    base = LAM * topics.weights[:4]
    share = (in_group + base) / (in_group.sum() + base.sum())
    np.testing.assert_allclose(found, share @ psi, rtol=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_a_single_topic_remains():
    observations, _ = simulated(n_topics=1, n_groups=30)
    rng = np.random.default_rng(2)
    assert not dissolved(observations, rng.integers(0, 5, observations.n_tokens)).any()


def test_a_fit_finds_the_number_of_topics():
    observations, _ = simulated(n_groups=200)
    counts = np.zeros((200, N_WORDS), np.int64)
    np.add.at(counts, (np.repeat(np.arange(200), 60), observations.word), 1)
    model = MC2(n_sweeps=40, burn_in=20, random_state=0, progress=False).fit(counts)
    weights = np.sort(model.posterior_.topics()["weight"])[::-1]
    assert np.searchsorted(np.cumsum(weights), 0.99) + 1 == 4


@pytest.mark.parametrize("seed", [6, 16])
def test_sweeps_may_empty_the_topics_of_the_highest_numbers(seed):
    observations, truth = simulated(n_topics=3, n_groups=100, n_tokens=8, seed=seed)
    rng = np.random.default_rng(seed)
    few = rng.random(len(truth)) < 0.12
    found = dissolved(observations, np.where(few, rng.integers(4, 24, len(truth)), truth))
    assert 3 <= len(np.unique(found)) <= 6
