"""On equal inputs the GPU's kernels draw what the CPU's draw, but where sums are rounded apart.

Where there is no GPU these tests run in numba's simulator, on tiny data, see `test_simulator`.
"""

import copy
import math

import numpy as np
import pytest

from mcsquared.corpus import Corpus
from mcsquared.kernels.cpu.gammas import draw_gamma_rows as draw_on_cpu
from mcsquared.kernels.rng import Step
from mcsquared.observations import observe
from mcsquared.priors import Gamma, Priors
from mcsquared.samplers import blocked
from mcsquared.samplers.blocked.weights import Key, draw_weights, make_room
from mcsquared.samplers.joint import log_tables
from mcsquared.state import Bounds, differences, recount

APART = 1e-3  # share of draws that may differ
GROUPS_APART = 0.03  # a token that differs takes the rest of its group along


@pytest.fixture(scope="module")
def memory():
    pytest.importorskip("numba.cuda")
    from mcsquared.kernels.cuda import memory
    from mcsquared.kernels.cuda.warp import SIMULATED

    if memory.missing():
        pytest.skip(f"no GPU can be used here: {memory.missing()}")
    if not SIMULATED:
        yield memory
        return
    from tests.kernels.in_turn import Block

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numba.cuda.simulator.kernel.BlockManager", Block)
        yield memory


@pytest.fixture(scope="module")
def size(memory):
    """Groups, words and topics."""
    from mcsquared.kernels.cuda.warp import SIMULATED

    return (5, 8, 16) if SIMULATED else (300, 400, 100)


def corpus_of(n_groups, n_words):
    """Groups of very different lengths, one of them empty, with contexts that have holes."""
    rng = np.random.default_rng(0)
    rate = rng.gamma(0.3, 0.5, (n_groups, 1)) * rng.gamma(0.2, 5.0, n_words)
    counts = rng.poisson(rate + 0.05)
    counts[n_groups // 2] = 0
    contexts = {
        "year": np.where(rng.random(n_groups) < 0.2, np.nan, rng.normal(2000, 5, n_groups)),
        "tags": [list(map(str, rng.integers(0, 9, rng.integers(0, 4)))) for _ in counts],
        "kind": [None if j % 5 == 0 else "ab"[j % 2] for j in range(n_groups)],
    }
    return Corpus(counts, contexts)


class Case:
    """A state after a few sweeps."""

    def __init__(self, lam, size):
        n_groups, n_words, n_topics = size
        corpus = corpus_of(n_groups, n_words)
        self.bounds = Bounds(16 if n_groups < 100 else 50, n_topics)
        self.priors = Priors.for_corpus(corpus, lam=lam)
        self.observations = observe(corpus, self.priors)
        given = (self.observations, self.priors)
        slots = (min(30, n_groups), n_topics)
        self.state = blocked.start(*given, 0, 0, "random", *slots, bounds=self.bounds)
        for _ in range(3):
            blocked.sweep(self.state, *given, 0, 0, self.bounds)

    def device(self, most_bytes=10**9):
        from mcsquared.samplers.blocked.device import Device, DeviceCorpus

        varies = not math.isinf(self.state.lam)
        corpus = DeviceCorpus(self.observations, varies, most_bytes)
        return Device(self.observations, self.priors, corpus)

    def moved(self, place):
        """Return the state after its groups have moved, and what the move returned."""
        state = copy.deepcopy(self.state)
        place.put(state)
        state.sweep += 1
        key = Key(0, 0, state.sweep)
        make_room(state, self.bounds)
        place.begin(state, key)
        weights = draw_weights(state, self.bounds, key, place.draw_shares)
        log_rising = place.move(state, weights, place.draw_contexts(state, key), key)
        tables = place.log_tables(state)
        place.fetch(state)
        return state, log_rising, tables


@pytest.fixture(scope="module", params=[math.inf, Gamma(1, 0.1)], ids=["shared", "varying"])
def case(request, size):
    return Case(request.param, size)


@pytest.fixture(scope="module")
def on_device(case):
    """The device, and what one move there leaves."""
    device = case.device()
    return device, case.moved(device)


@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize("shape", [0.05, 0.7, 1.5])
def test_gamma_variates_are_the_same(memory, size, shape, in_logs):
    from mcsquared.kernels.cuda.gammas import draw_gamma_rows

    n_rows = 8 if size[0] < 100 else 40
    counts = np.random.default_rng(1).poisson(0.4, (n_rows, 16)).astype(np.int32)
    expected, found = np.empty(counts.shape, np.float32), memory.empty(counts.size, np.float32)
    place = (int(Step.CONTENT), 3, 1, 9)
    draw_on_cpu(0, n_rows, 16, counts.reshape(-1), shape, *place, in_logs, expected.reshape(-1))
    given = memory.put(counts.reshape(-1))
    draw_gamma_rows(0, counts.size, given, shape, *place, in_logs, found)
    np.testing.assert_allclose(
        memory.take(found).reshape(counts.shape), expected, rtol=2e-4, atol=1e-6
    )


def test_groups_move_as_on_the_cpu(case, on_device):
    expected, log_rising, _ = case.moved(blocked.Place(case.observations, case.priors))
    found, log_rising_found, _ = on_device[1]
    n_tokens = case.observations.n_tokens
    share = GROUPS_APART if len(found.topic_of_token) else APART
    apart = found.cluster_of_group != expected.cluster_of_group
    assert apart.mean() <= share
    for name in ("topics_in_cluster", "words_in_topic"):
        difference = getattr(found.counts, name) - getattr(expected.counts, name)
        assert np.abs(difference).sum() <= 2 * share * n_tokens
    if len(found.topic_of_token):
        assert (found.topic_of_token != expected.topic_of_token).mean() <= share
        assert np.abs(found.tables - expected.tables).sum() <= 2 * share * expected.tables.sum()
    assert log_rising_found == pytest.approx(log_rising, rel=1e-2 if apart.any() else 1e-4)


def test_counts_are_those_of_the_labels(case, on_device):
    state, _, tables = on_device[1]
    assert tables == pytest.approx(log_tables(state.counts, case.observations, case.priors))
    known = differences(state.counts, recount(state, case.observations))
    if not len(state.topic_of_token):  # then nothing tells the topics
        of_topics = {"topics_in_cluster", "tokens_in_cluster", "tokens_in_topic", "words_in_topic"}
        known = [name for name in known if name not in of_topics]
        assert state.counts.words_in_topic.sum() == case.observations.n_tokens
    assert known == []


def test_shards_that_come_and_go_give_the_same_draws(case, on_device, monkeypatch):
    whole, (expected, log_rising, _) = on_device
    monkeypatch.setattr("mcsquared.samplers.blocked.device.corpus.SHARE_OF_SHARD", 0.6)
    in_shards = case.device(most_bytes=whole.corpus.n_bytes - 1)
    assert whole.corpus.is_resident
    assert not in_shards.corpus.is_resident
    found, log_rising_found, _ = case.moved(in_shards)
    np.testing.assert_array_equal(found.cluster_of_group, expected.cluster_of_group)
    np.testing.assert_array_equal(found.topic_of_token, expected.topic_of_token)
    assert differences(found.counts, expected.counts) == []
    assert log_rising_found == log_rising
