"""Splits and merges of topics run on the host, and the GPU continues with their labels and counts.

Without a GPU these tests run in numba's simulator, on tiny data, see `test_simulator`.
"""

import copy

import numpy as np
import pytest

from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.steps import topic_moves
from mcsquared.samplers.steps.log_joint import begin_log_density_on_host
from mcsquared.samplers.steps.topic_moves import TopicMoves
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key
from tests.kernels.test_cuda import VARYING, Case, memory, size
from tests.oracles.counts import differences, recount

__all__ = ["memory", "size"]  # fixtures
N_SWEEPS = 4
SEEDS = {"words": 2, "points": 0}  # with which moves are accepted


@pytest.fixture(scope="module", params=["words", "points"])
def case(request, size):
    case = Case(request.param, VARYING, size)
    case.seed = SEEDS[request.param]
    return case


def swept(case, backend, monkeypatch):
    """Return the states after each of several sweeps with moves, and the number of moves."""
    accept, moves, states = TopicMoves.accept, [], []

    def note(self, *arguments, **options):
        moves.append(self.state.sweep)
        return accept(self, *arguments, **options)

    monkeypatch.setattr(topic_moves, "SWEEPS_BEFORE_MOVES", 0)
    monkeypatch.setattr(TopicMoves, "accept", note)
    state = copy.deepcopy(case.state)
    backend.load_labels(state, Key(case.seed, 0, state.sweep))
    for _ in range(N_SWEEPS):
        BLOCKED.sweep(state, case.observations, case.priors, case.seed, 0, case.bounds, backend)
        saved = copy.deepcopy(state)
        backend.save_labels(saved)
        states.append(saved)
    return states, moves


def test_topics_are_split_and_merged_as_on_the_cpu(case, memory, monkeypatch):
    """On a real GPU a topic that differs by rounding may change moves: only counts are tested."""
    from mcsquared.kernels.cuda.launch import SIMULATED

    with monkeypatch.context() as patch:
        expected, moves = swept(case, LocalBackend(case.observations, case.priors), patch)
    with monkeypatch.context() as patch:
        found, moves_found = swept(case, case.device(), patch)
    for state in found:
        assert differences(state.counts, recount(state, case.observations)) == []
        assert (state.tables <= state.counts.topics_in_cluster).all()
    if SIMULATED:
        assert moves
        assert moves_found
        one, other = found[0], expected[0]
        np.testing.assert_array_equal(one.topic_of_token, other.topic_of_token)
        np.testing.assert_array_equal(one.cluster_of_group, other.cluster_of_group)
        np.testing.assert_array_equal(one.tables, other.tables)
        assert one.lam == pytest.approx(other.lam, rel=1e-3)
        assert one.log_joint == pytest.approx(other.log_joint, rel=1e-3)


def test_log_densities_follow_the_moved_topics(case, memory, monkeypatch):
    densities = []
    device = case.device()
    begin = device.begin_log_density

    def note(state):
        finish = begin(state)

        def finished():
            saved = copy.deepcopy(state)
            device.save_labels(saved)
            on_host = begin_log_density_on_host(saved, case.observations, case.priors)()
            densities.append((finish(), on_host))
            return densities[-1][0]

        return finished

    monkeypatch.setattr(device, "begin_log_density", note)
    swept(case, device, monkeypatch)
    found, expected = np.array(densities).T
    assert len(found) == N_SWEEPS
    np.testing.assert_allclose(found, expected, rtol=1e-9)
