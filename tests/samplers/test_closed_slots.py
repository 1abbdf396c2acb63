"""No topic occupies a slot beyond the bound, regardless of rounding."""

import numpy as np
import pytest

from mcsquared.samplers.steps.groups import clear_closed_slots
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.state import Bounds
from tests.samplers.word_cases import CASES


def test_tokens_in_closed_slots_move_to_the_open_slot_beside_them():
    is_open = np.array([False, True, False, False, True, False])
    topics = np.array([[1, 2, 3, 0, 5, 0], [0, 0, 1, 0, 1, 7]], np.int32)
    words = np.array([[0, 0, 4, 0, 0, 3], [1, 2, 0, 0, 6, 4]], np.int32)
    clear_closed_slots(topics, words, is_open)
    np.testing.assert_array_equal(topics, [[0, 6, 0, 0, 5, 0], [0, 1, 0, 0, 8, 0]])
    np.testing.assert_array_equal(words, [[0, 4, 0, 0, 3, 0], [0, 3, 0, 0, 10, 0]])


@pytest.mark.parametrize("name", ["contexts-infinite", "contexts-resampled"])
@pytest.mark.parametrize("most", [1, 3])
def test_topics_stay_within_their_bound(name, most):
    case, bounds = CASES[name], Bounds(topics=most)
    state = BLOCKED.start(case.observations, case.priors, 5, 0, "random", 4, 5, bounds)
    for _ in range(20):
        BLOCKED.sweep(state, case.observations, case.priors, 5, 0, bounds)
        assert 1 <= state.n_topics <= most
