"""Fits on a GPU with contexts that act on topics: the draws of the CPU, in batches, resumed.

Without a GPU these tests run in numba's simulator, on tiny data, see `test_simulator`. A single
sweep is compared in `test_cuda`.
"""

import copy

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key
from tests.kernels.test_cuda import (
    EFFECTS,
    MAX_DIFFERENT_GROUPS,
    VARYING,
    Case,
    corpus_of,
    memory,
    size,
)
from tests.oracles.counts import differences, recount
from tests.test_chain import assert_same_draws

__all__ = ["memory", "size"]  # fixtures
SCHEDULE = {"n_sweeps": 3, "burn_in": 0, "thin": 1, "random_state": 0, "progress": False}
BOUNDS = {"max_clusters": 16, "max_topics": 16, "init": "random"}


def model(device="cuda", **options):
    return mc2.MC2(effects=EFFECTS, device=device, **SCHEDULE, **BOUNDS, **options)


@pytest.fixture(scope="module", params=["words", "points"])
def case(request, size):
    return Case(request.param, VARYING, size, EFFECTS)


def test_groups_in_several_batches_have_the_same_draws(case, memory, monkeypatch):
    module = "mcsquared.samplers.backends.cuda"
    expected, log_likelihood, _ = case.swept(case.device())
    monkeypatch.setattr(f"{module}.effects.MAX_BASES", 2 * expected.tables.shape[1])
    monkeypatch.setattr(f"{module}.corpus.ITEMS_PER_BLOCK", 8)
    found, log_likelihood_found, _ = case.swept(case.device())
    np.testing.assert_array_equal(found.cluster_of_group, expected.cluster_of_group)
    np.testing.assert_array_equal(found.topic_of_token, expected.topic_of_token)
    np.testing.assert_array_equal(found.tables, expected.tables)
    np.testing.assert_array_equal(found.effects.tables, expected.effects.tables)
    assert log_likelihood_found == log_likelihood


def test_whole_sweeps_draw_what_those_on_the_cpu_draw(case, memory):
    """The split-merge step redraws all tables on the host, and the GPU continues with these.

    On a real GPU one topic that differs by rounding makes another chain: only counts are tested.
    """
    from mcsquared.kernels.cuda.launch import SIMULATED

    states = []
    for backend in (LocalBackend(case.observations, case.priors), case.device()):
        state = copy.deepcopy(case.state)
        backend.load_labels(state, Key(0, 0, state.sweep))
        for _ in range(2):
            given = (case.observations, case.priors, 0, 0, case.bounds)
            BLOCKED.sweep(state, *given, backend)
        backend.save_labels(state)
        assert differences(state.counts, recount(state, case.observations)) == []
        assert (state.tables <= state.counts.topics_in_cluster).all()
        all_tables = state.tables.sum(axis=0) + state.effects.tables.sum(axis=0)
        assert (all_tables <= state.counts.tokens_in_topic).all()
        states.append(state)
    expected, found = states
    same = np.array_equal(found.topic_of_token, expected.topic_of_token)
    if same and np.array_equal(found.cluster_of_group, expected.cluster_of_group):
        np.testing.assert_allclose(found.effects.weights, expected.effects.weights, rtol=1e-3)
        np.testing.assert_allclose(found.effects.v, expected.effects.v, rtol=1e-3)
        assert found.lam == pytest.approx(expected.lam, rel=1e-3)
        assert found.log_joint == pytest.approx(expected.log_joint, rel=1e-3)
    if SIMULATED:
        np.testing.assert_array_equal(found.cluster_of_group, expected.cluster_of_group)


@pytest.mark.parametrize("content", ["words", "points"])
def test_a_fit_draws_what_a_fit_on_the_cpu_draws_and_predicts_its_effects(content, size, memory):
    from mcsquared.kernels.cuda.launch import SIMULATED

    corpus = corpus_of(content, *size[:2])
    expected, found = model("cpu").fit(corpus), model().fit(corpus)
    first = [fitted.posterior_.cluster_of_group[0] for fitted in (found, expected)]
    assert (first[0] != first[1]).mean() <= MAX_DIFFERENT_GROUPS
    weights = [fitted.posterior_.parameters[0].effects.weights for fitted in (found, expected)]
    if SIMULATED:  # on a real GPU the chains differ after the first draw
        np.testing.assert_allclose(*weights, rtol=1e-3)
    frame = found.predict_context(corpus, "kind")
    np.testing.assert_allclose(frame.groupby("group")["probability"].sum(), 1.0)


def test_a_resumed_run_has_the_draws_of_an_uninterrupted_one(size, memory, tmp_path):
    corpus, path = corpus_of("words", *size[:2]), tmp_path / "run.checkpoint"
    uninterrupted = model().fit(corpus).posterior_
    stop = [lambda info: info.sweep == 1]
    model(checkpoint=path, checkpoint_every=1e-6, callbacks=stop).fit(corpus)
    assert_same_draws(uninterrupted, model(checkpoint=path).fit(corpus).posterior_)


def test_a_worker_with_a_gpu_draws_what_one_process_draws(size, memory):
    distributed = pytest.importorskip("distributed")
    corpus, found = corpus_of("words", *size[:2]), model()
    expected = model("cpu").fit(corpus)
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.Client(**one) as client:
        mc2.distributed.fit(found, corpus, client=client)
    first = [fitted.posterior_.cluster_of_group[0] for fitted in (found, expected)]
    assert (first[0] != first[1]).mean() <= MAX_DIFFERENT_GROUPS
