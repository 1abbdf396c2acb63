"""Chains begin with consistent counts, within their bounds, near the structure of the data."""

import numpy as np
import pytest
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.families import Categorical
from mcsquared.kernels.rng import Step, generator
from mcsquared.model.priors import Priors
from mcsquared.samplers.init.assignments import state_from_assignments
from mcsquared.samplers.init.mixture import without_topics
from mcsquared.samplers.init.starts import STARTS
from mcsquared.samplers.init.starts import start_collapsed as start
from mcsquared.state import Bounds
from tests.oracles.counts import differences, recount
from tests.samplers.cases import CASES, Case, every_case

every_start = pytest.mark.parametrize("init", STARTS)


@every_start
@every_case
def test_a_start_has_consistent_counts_and_weights(case, init):
    observations = case.observations
    state = start(observations, case.priors, 3, 0, init)
    assert differences(state.counts, recount(state, observations)) == []
    assert state.topic_weights.sum() + np.exp(state.log_unused[0]) == pytest.approx(1.0)
    np.testing.assert_array_equal(state.topic_weights > 0, state.counts.tokens_in_topic > 0)
    assert state.sweep == 0


@every_start
@every_case
def test_a_start_keeps_the_bounds(case, init):
    state = start(case.observations, case.priors, 3, 0, init, bounds=Bounds(clusters=2, topics=2))
    assert state.n_clusters <= 2
    assert state.n_topics <= 2


@every_start
def test_a_start_depends_on_seed_and_chain_alone(init):
    case = CASES["words_all_contexts"]
    arguments = case.observations, case.priors

    def labels(seed, chain):
        state = start(*arguments, seed, chain, init)
        return np.concatenate([state.cluster_of_group, state.topic_of_token])

    np.testing.assert_array_equal(labels(3, 0), labels(3, 0))
    assert (labels(3, 0) != labels(3, 1)).any()
    assert (labels(3, 0) != labels(4, 0)).any()


def test_an_unknown_start_is_named():
    case = CASES["words"]
    with pytest.raises(InputError, match="init must be 'auto' or 'random', got 'best'"):
        start(case.observations, case.priors, 0, 0, "best")


def test_the_automatic_start_finds_clusters_that_words_alone_tell_apart():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 10)
    chances = np.array([[8, 8, 1, 1, 1, 1], [1, 1, 8, 8, 1, 1], [1, 1, 1, 1, 8, 8]]) / 20
    counts = np.array([rng.multinomial(40, chances[k]) for k in truth])
    corpus = Corpus(sparse.csr_matrix(counts))
    case = Case(corpus, Priors.for_corpus(corpus, Categorical(0.5)))
    state = start(case.observations, case.priors, 1, 0, "auto")
    together = state.cluster_of_group[:, None] == state.cluster_of_group
    # A draw, not an estimate: a group may sit alone.
    assert (together != (truth[:, None] == truth)).mean() < 0.05


def test_words_become_one_more_bag_without_losing_any():
    case = CASES["words_all_contexts"]
    observations = case.observations
    rng = generator(1, 0, 0, int(Step.START))
    mixture = without_topics(observations, case.priors, rng)
    assert mixture.n_tokens == 0
    words = case.corpus.content.counts.toarray()
    labels = np.zeros(observations.n_groups, int)
    state = state_from_assignments(mixture, case.priors, labels, np.zeros(0, int), rng)
    counted = state.counts.category_counts[0, observations.n_categories :]
    np.testing.assert_array_equal(counted, words.sum(axis=0))


def test_labels_of_a_start_are_made_compact():
    case = CASES["words"]
    observations = case.observations
    clusters = np.full(observations.n_groups, 7)
    clusters[0] = 100
    topics = np.full(observations.n_tokens, 3)
    rng = np.random.default_rng(0)
    state = state_from_assignments(observations, case.priors, clusters, topics, rng)
    assert state.cluster_of_group.tolist() == [1] + [0] * (observations.n_groups - 1)
    assert set(state.topic_of_token.tolist()) == {0}
