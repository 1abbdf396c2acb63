"""Small corpora whose groups share the mixture of their cluster have a start of their own."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mcsquared import Corpus, Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.init import shared_mixtures
from mcsquared.samplers.init.even_topics import EvenTopics, even_topics
from mcsquared.samplers.init.shared_mixtures import is_eligible, with_shared_mixtures
from mcsquared.samplers.types import Key
from mcsquared.state import NO_BOUNDS

N_WORDS, N_GROUPS, N_TOKENS = 24, 120, 100
# Three topics of eight words each; clusters have two of them.
PSI = np.kron(np.eye(3), np.full(8, 1 / 8))
SHARES = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])


def simulated(lam=math.inf, seed=0):
    """Return observations and priors, and the clusters and topics that they were drawn with."""
    rng = np.random.default_rng(seed)
    clusters = np.arange(N_GROUPS) % 3
    counts, topics = np.zeros((N_GROUPS, N_WORDS), np.int64), []
    for j, k in enumerate(clusters):
        share = SHARES[k] if math.isinf(lam) else rng.dirichlet(lam * SHARES[k] + 1e-9)
        counts[j] = rng.multinomial(N_TOKENS, share @ PSI)
        topics.append(np.repeat(np.arange(N_WORDS), counts[j]) // 8)
    corpus = Corpus(counts)
    priors = Priors.for_corpus(corpus, lam=Gamma(1, 0.1))
    return observe(corpus, priors), priors, clusters.astype(np.int32), np.concatenate(topics)


def start(observations, priors, clusters, topics, seed=0):
    given = (clusters, topics, 6, observations, priors, seed, 0, NO_BOUNDS)
    return with_shared_mixtures(*given)


@pytest.fixture(scope="module")
def started():
    """Return the observations of groups that share mixtures, and their start."""
    observations, priors, clusters, topics = simulated()
    assert is_eligible(observations, priors)
    return observations, start(observations, priors, clusters, topics)


def test_groups_that_share_mixtures_are_recognised(started):
    _, state = started
    assert state is not None
    assert state.lam > N_TOKENS
    assert state.sweep == 0
    assert state.n_clusters == 3
    np.testing.assert_array_equal(np.bincount(state.cluster_of_group), N_GROUPS // 3)


def test_groups_that_vary_keep_the_usual_start():
    observations, priors, clusters, topics = simulated(lam=5.0)
    assert start(observations, priors, clusters, topics) is None


def test_counts_and_tables_of_the_start_are_those_of_its_labels(started):
    observations, state = started
    words = np.zeros_like(state.counts.words_in_topic)
    np.add.at(words, (observations.word, state.topic_of_token), 1)
    np.testing.assert_array_equal(words, state.counts.words_in_topic)
    cluster_of_token = np.repeat(state.cluster_of_group, np.diff(observations.group_start))
    cells = np.zeros_like(state.counts.topics_in_cluster)
    np.add.at(cells, (cluster_of_token, state.topic_of_token), 1)
    tables = state.tables[:, : cells.shape[1]]
    np.testing.assert_array_equal(tables > 0, cells > 0)
    assert (tables <= cells).all()


def test_even_topics_of_the_right_number_are_the_true_ones():
    observations, _, clusters, truth = simulated()
    found = even_topics(observations, 3, clusters, 0.05, seed=1, chain=0)
    both = np.zeros((3, 3))
    np.add.at(both, (found, truth), 1)
    assert both.max(axis=1).sum() > 0.99 * len(truth)


def test_counts_of_even_topics_follow_their_sweeps():
    observations, _, clusters, truth = simulated()
    topics = EvenTopics(observations, clusters, truth, 3, 0.05)
    topics.sweep(2, Key(0, 0, 0))
    recount = EvenTopics(observations, clusters, topics.topic, 3, 0.05)
    for name in ("group_counts", "cluster_counts", "word_counts"):
        np.testing.assert_array_equal(getattr(topics, name), getattr(recount, name))


def test_the_least_missed_topic_is_a_copy_of_another_one():
    observations, _, clusters, truth = simulated()
    rng = np.random.default_rng(0)
    copied = np.where((truth == 1) & (rng.random(len(truth)) < 0.5), 3, truth)
    topics = EvenTopics(observations, clusters, copied, 4, 0.05)
    m = topics.missed_least()
    assert m in (1, 3)
    rest = topics.without(m, rng)
    assert rest.n_topics == 3
    assert rest.word_counts.sum() == len(truth)


@pytest.mark.parametrize("change", ["tokens", "words", "groups"])
def test_other_corpora_are_not_eligible(change, monkeypatch):
    observations, priors, *_ = simulated()
    if change == "words":
        observations = replace(observations, n_words=shared_mixtures.MAX_VOCABULARY)
    elif change == "tokens":
        monkeypatch.setattr(shared_mixtures, "MIN_TOKENS", observations.n_tokens + 1)
    else:
        monkeypatch.setattr(shared_mixtures, "MIN_GROUPS", N_GROUPS + 1)
    assert not is_eligible(observations, priors)
