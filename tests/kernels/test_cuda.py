"""On equal inputs the GPU's kernels draw what the CPU's draw, except where sums round differently.

Without a GPU these tests run in numba's simulator, on tiny data, see `test_simulator`.
"""

import copy
import math

import numpy as np
import pytest

from mcsquared.corpus import Corpus
from mcsquared.families import Gaussian
from mcsquared.kernels.cpu.gammas import draw_gamma_rows as draw_on_cpu
from mcsquared.kernels.cpu.groups import Groups
from mcsquared.kernels.cpu.predictive import KINDS
from mcsquared.kernels.cpu.vector_tokens import (
    draw_vector_topics,
    fold_statistics,
    python_tokens,
    score_vector_groups,
)
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.backends.sharded import ShardedBackend, sweep_shard
from mcsquared.samplers.steps.collapsed import collapsed_step
from mcsquared.samplers.steps.contexts import draw_missing_bags
from mcsquared.samplers.steps.globals import draw_globals
from mcsquared.samplers.steps.groups import draw_cell_topics, sweep_groups
from mcsquared.samplers.steps.log_joint import begin_log_density_on_host
from mcsquared.samplers.steps.slots import add_empty_slots, grow_slots
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import Bounds
from tests.oracles.counts import differences, recount
from tests.samplers.test_python_families import DrawnVisits, SamePoisson

OUTLIERS = {"year": Gaussian(background=True), "kind": "auto"}
FAMILIES = {
    "own": (SamePoisson(), {"visits": DrawnVisits(), "year": "auto", "kind": "auto"}),
    "words with outliers": ("auto", {"tags": "auto", **OUTLIERS}),
    "own with outliers": (SamePoisson(), {"visits": DrawnVisits(), **OUTLIERS}),
}
BLOCKED_ALONE = BLOCKED.without(collapsed_step)
MAX_DIFFERENT = 1e-3  # share of draws
MAX_DIFFERENT_GROUPS = 0.03  # a different token changes the rest of its group
EFFECTS = ("kind", "tags", "year")  # a category, a bag, numbers in bins
KEY = (3, 1, 7)  # seed, chain, sweep
FIRST_TOKEN = 1000


@pytest.fixture(scope="module")
def memory():
    pytest.importorskip("numba.cuda")
    from mcsquared.kernels.cuda import memory
    from mcsquared.kernels.cuda.launch import SIMULATED

    if memory.unavailable_reason():
        pytest.skip(f"no GPU can be used: {memory.unavailable_reason()}")
    if not SIMULATED:
        yield memory
        return
    from tests.kernels.sequential_block import SequentialBlock

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numba.cuda.simulator.kernel.BlockManager", SequentialBlock)
        yield memory


@pytest.fixture(scope="module")
def size(memory):
    """Groups, words and topics."""
    from mcsquared.kernels.cuda.launch import SIMULATED

    return (5, 8, 16) if SIMULATED else (300, 400, 100)


def corpus_of(content, n_groups, n_words):
    """Groups of very different lengths, one of them empty, with missing contexts."""
    rng = np.random.default_rng(0)
    is_words = content.startswith("words")
    tokens = words_of(n_groups, n_words, rng) if is_words else points_of(n_groups, rng)
    contexts = {
        "year": np.where(rng.random(n_groups) < 0.2, np.nan, rng.normal(2000, 5, n_groups)),
        "tags": [list(map(str, rng.integers(0, 9, rng.integers(0, 4)))) for _ in range(n_groups)],
        "kind": [None if j % 5 == 0 else "ab"[j % 2] for j in range(n_groups)],
    }
    if content.startswith("own"):
        tokens = [rng.poisson(3.0, (len(points), 1)).astype(float) for points in tokens]
        visits = rng.poisson(4.0, n_groups)
        contexts["visits"] = np.where(rng.random(n_groups) < 0.2, np.nan, visits)
    return Corpus(tokens, contexts)


def words_of(n_groups, n_words, rng):
    rate = rng.gamma(0.3, 0.5, (n_groups, 1)) * rng.gamma(0.2, 5.0, n_words)
    counts = rng.poisson(rate + 0.05)
    counts[n_groups // 2] = 0
    return counts


def points_of(n_groups, rng):
    """Points around a few centres, and one outlier."""
    lengths = rng.poisson(rng.gamma(1.0, 3.0 if n_groups < 100 else 20.0, n_groups))
    lengths[n_groups // 2] = 0
    points = [rng.normal(rng.integers(-2, 3, (n, 2)), 0.3) for n in lengths]
    points[int(lengths.argmax())][0] = (400.0, -300.0)
    return points


class Case:
    """A state after a few sweeps."""

    def __init__(self, content, lam, size, effects=()):
        n_groups, n_words, n_topics = size
        corpus = corpus_of(content, n_groups, n_words)
        self.bounds = Bounds(16 if n_groups < 100 else 50, n_topics)
        families = FAMILIES.get(content, ())
        self.priors = Priors.for_corpus(corpus, *families, lam=lam, effects=effects)
        self.observations = observe(corpus, self.priors)
        given = (self.observations, self.priors)
        slots = (min(30, n_groups), n_topics)
        self.state = BLOCKED.start(*given, 0, 0, "random", *slots, bounds=self.bounds)
        for _ in range(3):
            BLOCKED_ALONE.sweep(self.state, *given, 0, 0, self.bounds)

    def device(self, max_bytes=10**9):
        from mcsquared.samplers.backends.cuda.backend import CudaBackend
        from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus

        groups_vary = not math.isinf(self.state.lam)
        corpus = DeviceCorpus(self.observations, groups_vary, max_bytes)
        return CudaBackend(self.observations, self.priors, corpus)

    def swept(self, backend):
        """Return the state after its groups were swept, its log-likelihood and the log-density."""
        state = copy.deepcopy(self.state)
        backend.load_labels(state, Key(0, 0, state.sweep))
        state.sweep += 1
        key = Key(0, 0, state.sweep)
        sweep = Sweep(state, self.observations, self.priors, self.bounds, key, backend)
        for step in (add_empty_slots, draw_globals, sweep_groups, draw_cell_topics):
            step(sweep)
        log_likelihood = (
            0.0
            if sweep.sums.topic_log_likelihood is None
            else float(sweep.sums.topic_log_likelihood.sum())
        )
        log_density = backend.begin_log_density(state)()
        backend.save_labels(state)
        return state, log_likelihood, log_density


VARYING = Gamma(1, 0.1)
CASES = {
    **{f"{content}-shared": (content, math.inf, ()) for content in ("words", "points", "own")},
    **{f"{content}-varying": (content, VARYING, ()) for content in ("words", "points", "own")},
    "words-effects": ("words", VARYING, EFFECTS),
    "words-effects-large-lam": ("words", 5000.0, EFFECTS),
    "points-effects": ("points", VARYING, EFFECTS),
    "words-outliers": ("words with outliers", math.inf, ()),
    "own-outliers": ("own with outliers", VARYING, ()),
    "words-effects-outliers": ("words with outliers", VARYING, EFFECTS),
    "own-effects": ("own", VARYING, ("kind", "year")),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def case(request, size):
    content, lam, effects = request.param
    return Case(content, lam, size, effects)


@pytest.fixture(scope="module")
def on_device(case):
    """The backend, and the state after one sweep on it."""
    backend = case.device()
    return backend, case.swept(backend)


@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize("shape", [0.05, 0.7, 1.5])
def test_gamma_variates_are_the_same(memory, size, shape, in_logs):
    from mcsquared.kernels.cuda.gammas import draw_gamma_rows

    n_rows = 8 if size[0] < 100 else 40
    counts = np.random.default_rng(1).poisson(0.4, (n_rows, 16)).astype(np.int32)
    expected, found = np.empty(counts.shape, np.float32), memory.empty(counts.size, np.float32)
    step = (int(Step.CONTENT), 3, 1, 9)
    before = (0, n_rows, 16, counts.reshape(-1), shape)
    draw_on_cpu(*before, step[0], step[1:], in_logs, expected.reshape(-1))
    given = memory.copy_to_device(counts.reshape(-1))
    draw_gamma_rows(counts.size, 0, given, shape, *step, in_logs, found)
    np.testing.assert_allclose(
        memory.copy_to_host(found).reshape(counts.shape), expected, rtol=2e-4, atol=1e-6
    )


class Likelihoods:
    """Groups of tokens with given log-likelihoods, some of them hard to sum."""

    def __init__(self, size):
        rng = np.random.default_rng(3)
        n_groups, _, self.n_topics = size
        self.n_clusters, lengths = 5, rng.integers(3, 9 if n_groups < 100 else 40, n_groups)
        lengths[1] = 0
        self.start = np.concatenate([[0], np.cumsum(lengths)])
        rows = 3.0 * rng.normal(size=(int(self.start[-1]), self.n_topics))
        rows[1::4] *= 1e3  # one topic has nearly all
        rows[2::8] = -np.inf
        rows[3::16, ::2] = np.nan
        self.rows = rows
        self.log_tau = np.log(rng.dirichlet(np.full(self.n_topics, 0.5), self.n_clusters))
        self.log_tau[0] -= 5e3 * rng.random(self.n_topics)  # less than any double
        self.log_tau[1, 3:] = -np.inf
        self.clusters = rng.integers(0, self.n_clusters, n_groups).astype(np.int32)
        self.topics = rng.integers(0, self.n_topics, len(rows)).astype(np.uint16)
        self.tokens = python_tokens(rows, 0, np.zeros((len(rows), 1)))

    def on_cpu(self, lam):
        """Return what the CPU's kernel draws, and the counts."""
        topics = self.topics.copy()
        counts = np.zeros((self.n_clusters, self.n_topics), np.int32)
        chunks, statistics = np.array([0, len(self.clusters)]), np.zeros((1, self.n_topics, 1))
        groups = Groups(self.start, chunks, 0, 0, FIRST_TOKEN)
        before = (0, 1, groups, self.tokens, self.log_tau, float(lam))
        draw_vector_topics(*before, self.clusters, topics, counts, statistics, KEY)
        return topics, counts

    def on_device(self, memory, lam):
        """Return what the GPU's kernel draws, and the counts, if λ = ∞."""
        from mcsquared.kernels.cuda import vector_tokens

        copy, n_groups = memory.copy_to_device, len(self.clusters)
        slots, start = (self.n_clusters, self.n_topics), copy(self.start)
        given = [copy(x.reshape(-1)) for x in (self.rows, np.exp(self.log_tau), self.log_tau)]
        labels, counts = (copy(self.clusters), copy(self.topics)), copy(np.zeros(slots, "i4"))
        if math.isinf(lam):
            groups = (len(self.topics), 0, n_groups, FIRST_TOKEN, start)
            draw = vector_tokens.draw_vector_topics(self.n_topics)
            draw(*groups, *given, *KEY, *labels, counts.reshape(-1))
        else:
            groups = (n_groups, 0, FIRST_TOKEN, copy(np.arange(n_groups)[::-1]), start)
            sweep = vector_tokens.sweep_vector_groups(self.n_topics)
            sweep(*groups, *given, lam, *KEY, *labels)
        topics = labels[1]
        return memory.copy_to_host(topics), memory.copy_to_host(counts)


@pytest.fixture(scope="module")
def likelihoods(memory, size):
    return Likelihoods(size)


@pytest.mark.filterwarnings("ignore:invalid value")  # −∞ − (−∞), in the simulator
@pytest.mark.parametrize("lam", [math.inf, 0.4], ids=["shared", "varying"])
def test_topics_are_the_same_also_where_doubles_underflow(lam, memory, likelihoods):
    topics, counts = likelihoods.on_cpu(lam)
    found, counts_found = likelihoods.on_device(memory, lam)
    np.testing.assert_array_equal(found, topics)
    if math.isinf(lam):
        np.testing.assert_array_equal(counts_found, counts)


def test_scores_of_clusters_are_the_same_also_where_doubles_underflow(memory, likelihoods):
    from mcsquared.kernels.cuda.vector_groups import score_vector_groups as on_device

    case, n_groups = likelihoods, len(likelihoods.clusters)
    expected = np.zeros((n_groups, case.n_clusters))
    score_vector_groups(0, n_groups, case.start, case.tokens, case.log_tau, expected)
    given = (np.arange(n_groups)[::-1], case.start, case.rows, case.log_tau, np.exp(case.log_tau.T))
    given = [memory.copy_to_device(np.ascontiguousarray(x).reshape(-1)) for x in given]
    found = memory.copy_to_device(np.full(expected.size, np.nan))
    on_device(case.n_topics, per_thread=1)(n_groups, 0, case.n_clusters, *given, found)
    found = memory.copy_to_host(found).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_are_products_of_the_coordinates_that_are_named(memory, kind):
    from mcsquared.kernels.cuda.vector_statistics import factors_of

    width = 4 if kind == "multivariate_gaussian" else 1
    x = np.random.default_rng(0).normal(size=width)
    left, right = factors_of(KINDS[kind], width)
    expected = np.empty(len(left))
    fold_statistics(KINDS[kind], x, expected)
    np.testing.assert_array_equal(np.append(x, 1.0)[left] * np.append(x, 1.0)[right], expected)


def test_groups_are_swept_as_on_the_cpu(case, on_device):
    expected, log_likelihood, _ = case.swept(LocalBackend(case.observations, case.priors))
    found, log_likelihood_found, _ = on_device[1]
    n_tokens = case.observations.n_tokens
    share = MAX_DIFFERENT_GROUPS if len(found.topic_of_token) else MAX_DIFFERENT
    different = found.cluster_of_group != expected.cluster_of_group
    assert different.mean() <= share
    assert found.counts.words_in_topic.shape == expected.counts.words_in_topic.shape
    for name in ("topics_in_cluster", "words_in_topic"):
        difference = getattr(found.counts, name) - getattr(expected.counts, name)
        assert np.abs(difference).sum() <= 2 * share * n_tokens
    same_labels = not different.any()
    if len(found.topic_of_token):
        different_topics = found.topic_of_token != expected.topic_of_token
        same_labels = same_labels and not different_topics.any()
        assert different_topics.mean() <= share
        assert_similar(found.tables, expected.tables, 2 * share)
    if found.effects is not None:
        assert found.effects.tables.sum() > 0
        assert_similar(found.effects.tables, expected.effects.tables, 2 * share)
    assert log_likelihood_found == pytest.approx(log_likelihood, rel=1e-4 if same_labels else 1e-2)
    if not different.any():
        assert_near(found.counts.context_statistics, expected.counts.context_statistics)


def assert_similar(found, expected, share):
    """Counts of both are the same, but for a share of them."""
    assert found.shape == expected.shape
    assert np.abs(found - expected).sum() <= share * expected.sum()


def test_counts_are_those_of_the_labels(case, on_device):
    state, _, log_density = on_device[1]
    assert log_density == pytest.approx(
        begin_log_density_on_host(state, case.observations, case.priors)()
    )
    known = differences(state.counts, recount(state, case.observations))
    if case.observations.background_columns:  # which values come from it is not stored
        known = [name for name in known if name != "context_statistics"]
    if not len(state.topic_of_token):  # λ = ∞: labels do not include topics
        by_topic = {"topics_in_cluster", "tokens_in_cluster", "tokens_in_topic", "words_in_topic"}
        known = [name for name in known if name not in by_topic]
        assert state.counts.words_in_topic.sum() == case.observations.n_tokens
    assert known == []


def test_a_shard_on_a_gpu_draws_what_it_draws_on_the_cpu(case, memory):
    from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
    from mcsquared.samplers.backends.cuda.device_shard import DeviceShard

    state, key = copy.deepcopy(case.state), Key(0, 0, case.state.sweep + 1)
    backend = ShardedBackend(case.observations, case.priors, 2)
    backend.load_labels(state, key)
    grow_slots(state, case.bounds)
    sweep = Sweep(state, case.observations, case.priors, case.bounds, key, backend)
    sweep.globals = backend.draw_globals(sweep)
    draw_missing_bags(sweep)
    given = sweep.globals
    shard, labels = backend.shard(1), backend.labels[1]
    assert shard.first_group > 0
    corpus = DeviceCorpus(shard, groups_vary=not math.isinf(state.lam), max_bytes=10**9)
    device = DeviceShard(corpus, case.priors)
    expected, sums = sweep_shard(shard, labels, given)
    for _ in range(2):  # the second time, its own labels have to be replaced
        found, sums_found = device.sweep_shard(labels, given)
    different = (found.cluster_of_group != expected.cluster_of_group).mean()
    different += (
        (found.topic_of_token != expected.topic_of_token).mean()
        if len(found.topic_of_token)
        else 0.0
    )
    assert different <= MAX_DIFFERENT_GROUPS
    names = (
        "words_in_topic",
        "cell_counts",
        "topics_in_cluster",
        "tables_in_cluster",
        "topic_log_likelihood",
        "topic_statistics",
    )
    for name in names:
        one, other = getattr(sums_found, name), getattr(sums, name)
        assert (one is None) == (other is None)
        if one is not None and not different:
            floats = one.dtype.kind == "f"  # summed as one chunk
            assert_near(one.sum(axis=0), other.sum(axis=0)) if floats else assert_near(one, other)
    for name in ("groups", "categories", "totals"):
        one, other = getattr(sums_found, name), getattr(sums, name)
        assert one.sum() == other.sum()
        if not different:
            np.testing.assert_array_equal(one, other)
    one, other = sums_found.context_statistics, sums.context_statistics
    assert_near(one.sum(axis=(0, 1)), other.sum(axis=(0, 1)))


@pytest.mark.parametrize("lam", [math.inf, 2.0])
def test_a_worker_with_a_gpu_draws_what_one_process_draws(lam, size, memory):
    distributed = pytest.importorskip("distributed")
    import mcsquared as mc2

    corpus = corpus_of("words", *size[:2])
    schedule = {"n_sweeps": 2, "burn_in": 0, "thin": 1, "random_state": 0, "progress": False}
    bounds = {"max_clusters": 16, "max_topics": 16, "init": "random"}
    alone = mc2.MC2(lam=lam, **schedule, **bounds).fit(corpus)
    model = mc2.MC2(lam=lam, device="cuda", **schedule, **bounds)
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.Client(**one) as client:
        mc2.distributed.fit(model, corpus, client=client)
    first = [model.posterior_.cluster_of_group[0] for model in (model, alone)]
    assert (first[0] != first[1]).mean() <= MAX_DIFFERENT_GROUPS


def assert_near(found, expected):
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * scale)


def test_a_corpus_copied_shard_by_shard_gives_the_same_draws(case, on_device, monkeypatch):
    whole, (expected, log_likelihood, _) = on_device
    corpus = "mcsquared.samplers.backends.cuda.corpus"
    monkeypatch.setattr(f"{corpus}.SHARD_SHARE", 0.6)
    monkeypatch.setattr(f"{corpus}.ITEMS_PER_BLOCK", 8)
    in_shards = case.device(max_bytes=whole.corpus.n_bytes - 1)
    assert whole.corpus.is_resident
    assert not in_shards.corpus.is_resident
    found, log_likelihood_found, _ = case.swept(in_shards)
    np.testing.assert_array_equal(found.cluster_of_group, expected.cluster_of_group)
    np.testing.assert_array_equal(found.topic_of_token, expected.topic_of_token)
    assert differences(found.counts, expected.counts) == []
    assert log_likelihood_found == log_likelihood
