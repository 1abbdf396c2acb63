"""The compiled blocked sampler and the plain one draw the same labels from the same numbers."""

import numpy as np
import pytest

from mcsquared.samplers.steps.slots import grow_slots
from mcsquared.state import NO_BOUNDS
from tests.oracles import blocked as plain_blocked
from tests.samplers.word_cases import BLOCKED_ALONE, add_plain_slots, every_case, plain_data, start

SEED, CHAIN = 5, 2


@every_case
def test_compiled_and_plain_sampler_draw_the_same_labels(case):
    """Each sampler continues from its own draws; only the number of slots is shared."""
    observations, data = case.observations, plain_data(case)
    state, plain = start(case, SEED, CHAIN)
    moved = 0
    for _ in range(4):
        before = state.cluster_of_group.copy()
        grow_slots(state, NO_BOUNDS)
        add_plain_slots(plain, *state.tables.shape)
        BLOCKED_ALONE.sweep(state, observations, case.priors, SEED, CHAIN)
        plain_blocked.sweep(plain, data, case.priors, SEED, CHAIN)
        assert_same(state, plain)
        moved += (state.cluster_of_group != before).sum()
    assert moved > 5
    assert state.n_topics > 2


def assert_same(state, plain):
    np.testing.assert_array_equal(state.cluster_of_group, plain.cluster_of_group)
    np.testing.assert_array_equal(state.topic_of_token, plain.topic_of_token)
    np.testing.assert_array_equal(state.counts.words_in_topic, plain.words_in_topic)
    np.testing.assert_array_equal(state.tables, plain.tables)
    np.testing.assert_allclose(state.topic_weights, plain.topic_weights, rtol=1e-9)
    assert state.log_unused[0] == pytest.approx(plain.log_unused, rel=1e-9)
    for name in ("alpha", "v", "eta", "lam"):
        assert getattr(state, name) == pytest.approx(getattr(plain, name), rel=1e-9)
