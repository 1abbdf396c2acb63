"""Topics of the paper's model are split and merged by word, exactly."""

from math import inf

import numpy as np
import pytest

from mcsquared.corpus import Corpus
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.init.starts import start_collapsed
from mcsquared.samplers.steps import word_moves
from mcsquared.samplers.steps.word_moves import move_topics_by_word
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS, Bounds, count
from tests.statistics.agreement import compare, is_exact
from tests.statistics.test_enumeration_blocked import make


def initial_state(n_topics=6):
    corpus = Corpus(np.random.default_rng(0).poisson(0.7, (30, 12)))
    priors = Priors.for_corpus(corpus, lam=inf)
    observations = observe(corpus, priors)
    state = start_collapsed(observations, priors, 0, 0, "random", 3, n_topics)
    return state, observations, priors


def test_counts_and_weights_are_those_of_the_labels():
    state, observations, priors = initial_state()
    total, n_topics = state.topic_weights.sum(), []
    for number in range(30):
        key = Key(0, 0, number)
        move_topics_by_word(Sweep(state, observations, priors, NO_BOUNDS, key))
        n_topics.append(state.n_topics)
    labels = (state.cluster_of_group, state.topic_of_token)
    counts = count(observations, *labels, *state.counts.topics_in_cluster.shape)
    for name in ("tokens_in_topic", "words_in_topic", "topics_in_cluster"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(state.counts, name))
    assert state.topic_weights.sum() == pytest.approx(total)
    assert ((state.topic_weights > 0) == (state.counts.tokens_in_topic > 0)).all()
    assert np.diff(n_topics).min() < 0 < np.diff(n_topics).max()  # merges and splits


def test_a_bound_on_topics_holds():
    state, observations, priors = initial_state(4)
    for number in range(30):
        sweep = Sweep(state, observations, priors, Bounds(None, 4), Key(0, 0, number))
        move_topics_by_word(sweep)
        assert state.n_topics <= 4


def test_a_wrong_ratio_is_detected_by_enumeration(monkeypatch):
    log_ratio = word_moves._log_ratio
    monkeypatch.setattr(word_moves, "_log_ratio", lambda *arguments: log_ratio(*arguments) + 2.0)
    found = compare(make("repeated words", "λ = ∞"), n_sweeps=1000, seed=2, sampler=BLOCKED)
    assert not is_exact(found, allowance=0.03, n_errors=4), found
