"""Starts with given clusters, and clusters given topics, as the benchmarks use them."""

import numpy as np
import pytest

from benchmarks.questions import given_topics
from benchmarks.questions.starts import start_from
from mcsquared import datasets
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations, observe
from mcsquared.state import NO_BOUNDS, State


@pytest.fixture(scope="module")
def started() -> tuple[Observations, Priors, State]:
    """A chain that starts with five given clusters."""
    corpus = datasets.simulate(40, random_state=0).corpus
    priors = Priors.for_corpus(corpus, lam=5.0)
    observations = observe(corpus, priors)
    state = start_from(np.arange(40) % 5)(observations, priors, 0, 0, "auto", NO_BOUNDS)
    return observations, priors, state


def test_a_chain_starts_with_the_given_clusters(
    started: tuple[Observations, Priors, State],
) -> None:
    observations, _, state = started
    assert state.cluster_of_group.tolist() == (np.arange(40) % 5).tolist()
    assert state.counts.tokens_in_topic.sum() == observations.n_tokens
    assert state.n_topics > 1


def test_clusters_given_topics_change_and_topics_do_not(
    started: tuple[Observations, Priors, State],
) -> None:
    observations, priors, given = started
    topics, clusters = given.topic_of_token.copy(), given.cluster_of_group.copy()
    found = given_topics.resample(observations, priors, given, clusters, seed=0, n_sweeps=10)
    assert np.array_equal(given.topic_of_token, topics)
    assert not np.array_equal(found.state.cluster_of_group, clusters)
    assert np.array_equal(
        found.state.counts.tokens_in_topic[found.state.counts.tokens_in_topic > 0],
        np.bincount(topics)[np.bincount(topics) > 0],
    )
