"""With levels above groups, the GPU sends the messages and draws the labels of the CPU.

Without a GPU these tests run in numba's simulator, on tiny data, see `test_simulator`.
"""

import copy
import math

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.corpus.levels import Level
from mcsquared.kernels.cpu.messages import FIXED_POINT
from mcsquared.model.parameters import Gamma
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.steps.globals import draw_globals
from mcsquared.samplers.steps.groups import draw_cell_topics, sweep_groups
from mcsquared.samplers.steps.levels import draw_types
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.type_moves import move_types
from mcsquared.samplers.types import Key, Sweep
from tests.kernels import test_cuda
from tests.kernels.test_cuda import MAX_DIFFERENT_GROUPS, Case, corpus_of, memory, size
from tests.oracles.counts import differences, recount

__all__ = ["memory", "size"]  # fixtures
MAX_ERROR = 1e-3  # of a message; scores of clusters are sums of floats of single precision
SCHEDULE = {"n_sweeps": 2, "burn_in": 0, "thin": 1, "random_state": 0, "progress": False}
BOUNDS = {"max_clusters": 16, "max_topics": 16, "init": "random"}


def with_levels(content, n_groups, n_words):
    """Groups in cities in countries; the last group has no city, the last city no country."""
    corpus, n_cities = corpus_of(content, n_groups, n_words), max(n_groups // 10, 3)
    city = np.append(np.arange(n_groups - 1) % n_cities, -1).astype(np.int32)
    country = np.append(np.arange(n_cities - 1) % 2, -1).astype(np.int32)
    names = [np.array([f"{i}" for i in range(n)], object) for n in (n_cities, 2)]
    contexts = mc2.Corpus(np.ones((n_cities, 1), int), {"size": [None, *range(1, n_cities)]})
    none = mc2.Corpus(np.ones((2, 1), int))
    corpus.levels = (
        Level("city", names[0], contexts.contexts, city),
        Level("country", names[1], none.contexts, country),
    )
    return corpus


class LeveledCase(Case):
    """A state after a few sweeps."""

    def swept(self, backend):
        """Return the state after its groups were swept, and the messages that they sent."""
        state, sent = copy.deepcopy(self.state), []
        backend.load_labels(state, Key(0, 0, state.sweep))
        state.sweep += 1
        key = Key(0, 0, state.sweep)
        sweep = Sweep(state, self.observations, self.priors, self.bounds, key, backend)
        send = backend.sum_messages

        def note(argument):
            found = send(argument)
            sent.append(found["messages"] / FIXED_POINT)
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backend, "sum_messages", note)
            steps = (add_empty_slots, draw_globals, draw_types, sweep_groups, draw_cell_topics)
            for step in (*steps, move_types):
                step(sweep)
        backend.save_labels(state)
        return state, sent[0]


@pytest.fixture(scope="module", params=[math.inf, Gamma(1, 0.1)], ids=["shared", "varying"])
def lam(request):
    return request.param


@pytest.fixture(scope="module", params=["words", "points", "own", "words with outliers"])
def case(request, lam, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_cuda, "corpus_of", with_levels)
        return LeveledCase(request.param, lam, size)


@pytest.fixture(scope="module")
def on_device(case):
    """The backend, and the state after one sweep on it with the messages."""
    backend = case.device()
    return backend, case.swept(backend)


def test_messages_and_types_are_those_of_the_cpu(case, on_device):
    expected, messages = case.swept(LocalBackend(case.observations, case.priors))
    found, messages_found = on_device[1]
    same = np.array_equal(found.topic_of_token, expected.topic_of_token)
    assert np.ptp(messages, axis=1).max() > 0.1
    if same:
        np.testing.assert_allclose(messages_found, messages, rtol=1e-5, atol=MAX_ERROR)
    different = found.cluster_of_group != expected.cluster_of_group
    assert different.mean() <= MAX_DIFFERENT_GROUPS
    if same and not different.any():
        for one, other in zip(found.levels, expected.levels, strict=True):
            np.testing.assert_array_equal(one.type_of_unit, other.type_of_unit)
            np.testing.assert_array_equal(one.children, other.children)
        np.testing.assert_array_equal(found.levels[0].orphans, expected.levels[0].orphans)


def test_counts_are_those_of_the_labels(case, on_device):
    state, _ = on_device[1]
    known = differences(state.counts, recount(state, case.observations))
    if case.observations.background_columns:  # which values come from it is not stored
        known = [name for name in known if name != "context_statistics"]
    if not len(state.topic_of_token):  # λ = ∞: labels do not include topics
        by_topic = {"topics_in_cluster", "tokens_in_cluster", "tokens_in_topic", "words_in_topic"}
        known = [name for name in known if name not in by_topic]
        assert state.counts.words_in_topic.sum() == case.observations.n_tokens
    assert known == []
    parents, level = case.observations.parent_of_group, state.levels[0]
    children = np.zeros_like(level.children)
    inside = parents >= 0
    types = level.type_of_unit[parents[inside]]
    np.add.at(children, (types, state.cluster_of_group[inside]), 1)
    np.testing.assert_array_equal(level.children, children)
    assert level.orphans.sum() == (~inside).sum()


def test_a_corpus_copied_shard_by_shard_sends_the_same_messages(case, on_device, monkeypatch):
    whole, (expected, messages) = on_device
    corpus = "mcsquared.samplers.backends.cuda.corpus"
    monkeypatch.setattr(f"{corpus}.SHARD_SHARE", 0.6)
    monkeypatch.setattr(f"{corpus}.ITEMS_PER_BLOCK", 8)
    found, messages_found = case.swept(case.device(max_bytes=whole.corpus.n_bytes - 1))
    np.testing.assert_array_equal(messages_found, messages)
    np.testing.assert_array_equal(found.cluster_of_group, expected.cluster_of_group)
    np.testing.assert_array_equal(found.topic_of_token, expected.topic_of_token)
    np.testing.assert_array_equal(found.levels[0].type_of_unit, expected.levels[0].type_of_unit)


def test_messages_of_clusters_without_a_common_weight_are_the_same(memory):
    """Sums that underflow are computed in logs; a likelihood of 0 everywhere says nothing."""
    from mcsquared.kernels.cpu.messages import add_messages
    from mcsquared.kernels.cuda.messages import add_messages_by_scores

    rng, n_groups, n_clusters = np.random.default_rng(2), 6, 40
    scores = 5.0 * rng.normal(size=(n_groups, n_clusters))
    scores[1, 1:] -= 2000.0
    scores[2] = -np.inf
    log_rows = np.log(rng.dirichlet(np.full(n_clusters, 0.5), 3))
    log_rows[1, 0], log_rows[2, ::2] = -3000.0, -np.inf
    parents, rows = np.array([0, 1, 1, -1, 0, 1], np.int32), np.exp(log_rows)
    expected = np.zeros((2, 3), np.int64)
    add_messages(0, scores.copy(), log_rows, np.ascontiguousarray(rows.T), parents, expected)
    copied = memory.copy_to_device
    found = copied(np.zeros((2, 3), np.int64))
    bags = (np.zeros((0, n_groups + 1), np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    contexts = (np.zeros((n_groups, 0)), *bags, np.zeros(0), np.zeros(0, np.float32))
    given = (*contexts, np.zeros((0, 0)), np.zeros(0, np.int32), parents, rows, log_rows)
    send = add_messages_by_scores(per_thread=2)
    sizes = (n_groups, 0, n_clusters, copied(scores.reshape(-1)))
    send(*sizes, *(copied(array) for array in given), found)
    difference = memory.copy_to_host(found) - expected
    assert np.abs(difference).max() <= 2
    assert expected.min() < -1000 * FIXED_POINT


@pytest.mark.parametrize("lam", [math.inf, 2.0])
@pytest.mark.parametrize("on_worker", [False, True], ids=["alone", "worker"])
def test_a_fit_on_a_gpu_draws_what_a_fit_on_the_cpu_draws(lam, on_worker, size, memory):
    corpus = with_levels("words", *size[:2])
    expected = mc2.MC2(lam=lam, **SCHEDULE, **BOUNDS).fit(corpus)
    model = mc2.MC2(lam=lam, device="cuda", **SCHEDULE, **BOUNDS)
    if on_worker:
        distributed = pytest.importorskip("distributed")
        one = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
        with distributed.Client(**one, dashboard_address=None) as client:
            mc2.distributed.fit(model, corpus, client=client)
    else:
        model.fit(corpus)
    first = [fitted.posterior_.cluster_of_group[0] for fitted in (model, expected)]
    different = first[0] != first[1]
    assert different.mean() <= MAX_DIFFERENT_GROUPS
    if not different.any():
        types = [fit.posterior_.level("city").cluster_of_group[0] for fit in (model, expected)]
        np.testing.assert_array_equal(*types)
