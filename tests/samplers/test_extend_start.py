"""A chain of a large corpus starts from a sample, and all groups have initial labels."""

import math

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.init import extend_start
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key
from tests.oracles.counts import differences, recount


@pytest.fixture
def sampled(monkeypatch):
    """Treat 200 groups as a large corpus, whose chains start from a sample of 60."""
    monkeypatch.setattr(extend_start, "MAX_UNSAMPLED_GROUPS", 100)
    monkeypatch.setattr(extend_start, "SAMPLED_GROUPS", 60)


def simulated():
    contexts = {"x": mc2.Gaussian(mean=0.0, rate=1.0)}
    options = {"tokens_per_group": 30, "n_words": 50, "random_state": 1}
    return mc2.datasets.simulate(200, contexts=contexts, **options).corpus


@pytest.mark.parametrize("lam", [math.inf, Gamma(1, 0.1)], ids=["shared", "varying"])
def test_after_the_first_sweep_all_groups_are_counted(lam, sampled):
    data = simulated()
    priors = Priors.for_corpus(data, lam=lam)
    observations = observe(data, priors)
    state = BLOCKED.start(observations, priors, 0, 0)
    assert state.counts.groups_in_cluster.sum() == 60
    assert len(state.cluster_of_group) == 200
    BLOCKED.sweep(state, observations, priors, 0, 0)
    assert state.counts.groups_in_cluster.sum() == 200
    assert state.counts.tokens_in_topic.sum() == data.n_tokens
    if not math.isinf(state.lam):
        assert differences(state.counts, recount(state, observations)) == []


def test_first_labels_do_not_depend_on_the_shard(sampled):
    data = simulated()
    priors = Priors.for_corpus(data, lam=2.0)
    observations = observe(data, priors)
    part = observations.shard(20, 40)
    groups = slice(part.first_group, part.first_group + part.n_groups)
    tokens = slice(part.first_token, part.first_token + part.n_tokens)
    found = BLOCKED.start(observations.take(np.arange(0, 200, 2)), priors, 0, 0)
    extension = extend_start.StartExtension(found, observations, priors, Key(0, 0, 0))
    np.testing.assert_array_equal(
        extension.labels(part).cluster_of_group,
        extension.labels(observations).cluster_of_group[groups],
    )
    np.testing.assert_array_equal(
        extension.labels(part).topic_of_token, extension.labels(observations).topic_of_token[tokens]
    )


def test_first_topics_follow_the_words_of_the_sample(sampled):
    data = simulated()
    priors = Priors.for_corpus(data, lam=2.0)
    observations = observe(data, priors)
    state = BLOCKED.start(observations, priors, 0, 0)
    found = np.zeros_like(state.counts.words_in_topic)
    np.add.at(found, (observations.word, state.topic_of_token), 1)
    expected = state.counts.words_in_topic / state.counts.words_in_topic.sum()
    assert np.abs(found / found.sum() - expected).sum() < 0.4


def test_a_sampled_start_finds_the_clusters_of_all_groups(monkeypatch):
    monkeypatch.setattr(extend_start, "MAX_UNSAMPLED_GROUPS", 100)
    monkeypatch.setattr(extend_start, "SAMPLED_GROUPS", 200)
    letters = mc2.datasets.letters(n_groups_per_cluster=150, random_state=0)
    model = mc2.MC2(n_sweeps=40, burn_in=20, random_state=1, progress=False).fit(letters.corpus)
    assert mc2.evaluation.nmi(letters.cluster_of_group, model.labels_) > 0.9


@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_taking_groups_gives_the_observations_of_the_smaller_corpus(kind):
    data = simulated()
    if kind == "vectors":
        rng = np.random.default_rng(0)
        data = mc2.Corpus([rng.normal(size=(j % 4, 2)) for j in range(200)], data.contexts)
    data = data.with_contexts({**data.contexts, "tags": [list("abc"[: j % 4]) for j in range(200)]})
    priors = Priors.for_corpus(data)
    rows = np.array([3, 17, 18, 190])
    taken, reference = observe(data, priors).take(rows), observe(data[rows], priors)
    for name in ("group_start", "word", "values"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(reference, name))
    for part in ("dense", "bags"):
        for found, expected in zip(getattr(taken, part), getattr(reference, part), strict=True):
            np.testing.assert_array_equal(found, expected)
