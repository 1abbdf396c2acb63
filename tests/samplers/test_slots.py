"""Empty slots for topics, clusters and types: fewer in a large corpus."""

import numpy as np
import pytest

from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.steps.slots import MANY_TOKENS, MAX_EMPTY, MAX_EMPTY_IF_MANY, grow_slots
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.state import NO_BOUNDS
from tests.samplers.leveled_cases import two_levels_above
from tests.samplers.word_cases import CASES


@pytest.mark.parametrize(
    ("n_tokens", "n_empty"), [(MANY_TOKENS, MAX_EMPTY), (MANY_TOKENS + 1, MAX_EMPTY_IF_MANY)]
)
def test_a_corpus_of_many_tokens_has_fewer_empty_topics(n_tokens, n_empty):
    case = CASES["contexts-resampled"]
    state = BLOCKED.start(case.observations, case.priors, 5, 0, "random", 4, 5, NO_BOUNDS)
    state.eta, state.log_unused = 100.0, np.zeros(1)
    state.counts.tokens_in_topic[np.argmax(state.counts.tokens_in_topic)] += (
        n_tokens - state.counts.tokens_in_topic.sum()
    )
    grow_slots(state, NO_BOUNDS, ())
    needed = state.n_topics + n_empty
    assert needed <= len(state.topic_weights) < needed + 16


@pytest.mark.parametrize(
    ("n_tokens", "n_empty"), [(MANY_TOKENS, MAX_EMPTY), (MANY_TOKENS + 1, MAX_EMPTY_IF_MANY)]
)
def test_a_corpus_of_many_tokens_has_fewer_empty_clusters_and_types(n_tokens, n_empty):
    corpus = two_levels_above("words")
    priors = Priors.for_corpus(corpus, lam=3.0)
    state = BLOCKED.start(observe(corpus, priors), priors, 5, 0, "random", 4, 5, NO_BOUNDS)
    level = state.levels[0]
    state.alpha = level.alpha = 100.0
    state.counts.tokens_in_topic[np.argmax(state.counts.tokens_in_topic)] += (
        n_tokens - state.counts.tokens_in_topic.sum()
    )
    grow_slots(state, NO_BOUNDS)
    for n_slots, n_used in (
        (len(state.counts.groups_in_cluster), state.n_clusters),
        (level.n_slots, int((level.units_in_type > 0).sum())),
    ):
        assert n_used + n_empty <= n_slots < n_used + n_empty + 16
