"""Chains of the paper's model start from topics found by a hierarchical Dirichlet process."""

import dataclasses
import math

import numpy as np
import pytest

from mcsquared.datasets import identifiable_letters
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers import hdp
from mcsquared.samplers.hdp import sweeps_for, topics_without_clusters
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.state import NO_BOUNDS, Bounds


def observed(truth):
    priors = Priors.for_corpus(truth.corpus, lam=math.inf)
    return observe(truth.corpus, priors), priors


@pytest.fixture(scope="module")
def few():
    return observed(identifiable_letters(n_clusters=20, n_groups_per_cluster=5))


def cosine_to_letters(truth, observations, topics):
    """Return the cosine of each true letter with the nearest topic, mean."""
    found = np.zeros((int(topics.max()) + 1, observations.n_words))
    np.add.at(found, (topics, observations.word), 1.0)
    found = found[found.sum(axis=1) > 0]
    lengths = np.linalg.norm(truth.word_given_topic, axis=1)[:, None]
    cosines = truth.word_given_topic @ found.T / lengths / np.linalg.norm(found, axis=1)
    return cosines.max(axis=1).mean()


def test_topics_spread_at_random_become_letters():
    truth = identifiable_letters()
    observations, priors = observed(truth)
    first = np.random.default_rng(0).integers(0, 15, observations.n_tokens, dtype=np.int32)
    topics = topics_without_clusters(observations, priors, first, 1, 0, NO_BOUNDS)
    assert cosine_to_letters(truth, observations, first) < 0.8
    assert cosine_to_letters(truth, observations, topics) > 0.9


def test_the_same_seed_and_chain_give_the_same_topics_and_others_do_not(few):
    observations, priors = few
    first = np.zeros(observations.n_tokens, np.int32)
    given = (observations, priors, first)
    once = topics_without_clusters(*given, 1, 0, NO_BOUNDS)
    np.testing.assert_array_equal(once, topics_without_clusters(*given, 1, 0, NO_BOUNDS))
    assert (once != topics_without_clusters(*given, 1, 1, NO_BOUNDS)).any()
    assert (once != topics_without_clusters(*given, 2, 0, NO_BOUNDS)).any()


def test_a_bound_on_topics_holds_from_the_start(few):
    observations, priors = few
    state = BLOCKED.start(observations, priors, 0, 0, bounds=Bounds(None, 4))
    assert state.n_topics <= 4


@pytest.mark.parametrize(
    ("n_tokens", "n_sweeps"),
    [(0, 0), (30, 0), (1_000, 20), (20_000, 250), (500_000, 40), (10**9, 20)],
)
def test_small_and_large_corpora_get_few_sweeps(n_tokens, n_sweeps):
    assert sweeps_for(n_tokens) == n_sweeps


def test_counts_of_long_text_are_halved_less_often_from_third_to_third(few, monkeypatch):
    observations, priors = few
    priors = dataclasses.replace(priors, lam=priors.v)
    first, n_halved = np.zeros(observations.n_tokens, np.int32), []
    monkeypatch.setattr(hdp, "sweep", lambda *_, **options: n_halved.append(options["n_halved"]))
    monkeypatch.setattr(hdp, "MAX_COLLAPSED_TOKENS", 0)
    for least in (observations.n_words, observations.n_words + 1):
        monkeypatch.setattr(hdp, "MIN_TEXT_VOCABULARY", least)
        topics_without_clusters(observations, priors, first, 1, 0, NO_BOUNDS, n_sweeps=6)
    assert n_halved == [2, 2, 1, 1, 0, 0] + 6 * [0]


def test_a_tempered_sweep_counts_all_words(few, monkeypatch):
    observations, priors = few
    state = BLOCKED.start(observations, dataclasses.replace(priors, lam=priors.v), 0, 0, "random")
    words = np.bincount(observations.word, minlength=observations.n_words)
    for n_halved in (3, 1):
        arguments = (observations, dataclasses.replace(priors, lam=priors.v), 0, 0, NO_BOUNDS)
        hdp.sweep(state, *arguments, n_halved=n_halved)
        np.testing.assert_array_equal(state.counts.words_in_topic.sum(axis=1), words)
