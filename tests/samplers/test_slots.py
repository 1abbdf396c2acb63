"""Empty slots for topics: fewer in a large corpus."""

import numpy as np
import pytest

from mcsquared.samplers.steps.slots import MANY_TOKENS, MAX_EMPTY, MAX_EMPTY_IF_MANY, grow_slots
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.state import NO_BOUNDS
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
