"""The GPU's kernels draw what the CPU's draw, but for few draws where sums were rounded apart."""

import math

import numpy as np
import pytest

from mcsquared.corpus import Corpus
from mcsquared.kernels.cpu.contexts import JOIN
from mcsquared.kernels.cpu.mixtures import tabulate_log_mixtures as tabulate_on_cpu
from mcsquared.kernels.cpu.predictive import add_observation
from mcsquared.kernels.rng import Step
from mcsquared.observations import observe
from mcsquared.priors import Gamma, Priors
from mcsquared.samplers import blocked
from mcsquared.samplers.blocked.contexts import draw_contexts
from mcsquared.samplers.blocked.members import as_floats, place_members
from mcsquared.samplers.blocked.weights import Key, draw_weights, make_room
from mcsquared.samplers.blocked.words import draw_words, move_groups, visit_all_topics
from mcsquared.samplers.workers import ONE
from mcsquared.state import Bounds

N_GROUPS, N_WORDS, MOST = 300, 400, 128
APART = 1e-3  # share of draws that may differ


@pytest.fixture(scope="module")
def cuda():
    module = pytest.importorskip("numba.cuda")
    if not module.is_available():
        pytest.skip("no CUDA device is here")
    return module


class Case:
    """A state after a few sweeps, with all that the next one is drawn from."""

    def __init__(self, lam, bounds):
        rng = np.random.default_rng(0)
        counts = rng.poisson(rng.gamma(0.3, 0.5, (N_GROUPS, 1)) * rng.gamma(0.2, 5.0, N_WORDS))
        contexts = {
            "year": np.where(rng.random(N_GROUPS) < 0.2, np.nan, rng.normal(2000, 5, N_GROUPS)),
            "tags": [list(map(str, rng.integers(0, 40, rng.integers(0, 5)))) for _ in counts],
        }
        self.priors = Priors.for_corpus(Corpus(counts, contexts), lam=lam)
        self.observations = observe(Corpus(counts, contexts), self.priors)
        given = (self.observations, self.priors)
        self.state = blocked.start(*given, 0, 0, "random", 30, bounds.topics, bounds=bounds)
        for _ in range(3):
            blocked.sweep(self.state, *given, 0, 0, bounds)
        self.state.sweep += 1
        make_room(self.state, bounds)
        self.key = Key(0, 0, self.state.sweep)
        self.weights = draw_weights(self.state, bounds, self.key, ONE)
        self.contexts = draw_contexts(self.state, self.observations, self.key, ONE)
        self.variates, self.sums = draw_words(self.state, *given, self.key, ONE)

    def arguments_of_contexts(self, cuda):
        """Return what the kernels that draw clusters take, on the device."""
        dense, bags = self.observations.dense, self.observations.bags
        statistics = np.zeros((N_GROUPS, int(dense.stat_start[-1])))
        for j, c in np.argwhere(dense.observed):
            columns = slice(dense.stat_start[c], dense.stat_start[c + 1])
            values = dense.values[j, dense.value_start[c] : dense.value_start[c + 1]]
            add_observation(dense.kind[c], statistics[j, columns], values, JOIN)
        arrays = (
            self.weights.log_clusters,
            statistics,
            self.contexts.naturals.reshape(-1),
            bags.start.astype(np.int64),
            bags.category,
            bags.count,
            self.contexts.log_categories.reshape(-1),
        )
        return [cuda.to_device(np.ascontiguousarray(array)) for array in arrays]


@pytest.fixture(scope="module", params=[40, 100], ids="{} topics".format)
def varying(request):
    return Case(Gamma(1, 0.1), Bounds(30, request.param))


@pytest.fixture(scope="module", params=[40, 100], ids="{} topics".format)
def sharing(request):
    return Case(math.inf, Bounds(50, request.param))


def longest_first(start):
    return np.argsort(-np.diff(start), kind="stable").astype(np.int64)


@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize("shape", [0.05, 0.7, 1.5])
def test_gamma_variates_are_the_same(cuda, shape, in_logs):
    from mcsquared.kernels.cpu.gammas import draw_gamma_rows as on_cpu
    from mcsquared.kernels.cuda.gammas import draw_gamma_rows

    counts = np.random.default_rng(1).poisson(0.4, (40, 48)).astype(np.int32)
    expected, found = np.empty(counts.shape, np.float32), cuda.device_array(counts.size, np.float32)
    place = (int(Step.CONTENT), 3, 1, 9)
    on_cpu(0, 40, 48, counts.reshape(-1), shape, *place, in_logs, expected.reshape(-1))
    draw_gamma_rows(cuda.to_device(counts.reshape(-1)), shape, *place, in_logs, found)
    np.testing.assert_allclose(
        found.copy_to_host().reshape(counts.shape), expected, rtol=2e-4, atol=1e-6
    )


def test_topics_of_tokens_are_the_same(cuda, varying):
    from mcsquared.kernels.cuda.members import sweep_tokens

    state, observed = varying.state, varying.observations
    psi = varying.variates * (N_WORDS / varying.sums).astype(np.float32)
    base = as_floats(state.lam * np.exp(varying.weights.log_shares))
    topics = cuda.to_device(state.topic_of_token)
    words = cuda.to_device(np.zeros(psi.size, np.int32))
    sweep_tokens(
        N_GROUPS,
        cuda.to_device(longest_first(observed.group_start)),
        cuda.to_device(observed.group_start.astype(np.int64)),
        cuda.to_device(observed.word.astype(np.int32)),
        cuda.to_device(base),
        cuda.to_device(psi.reshape(-1)),
        *varying.key,
        cuda.to_device(state.cluster_of_group),
        topics,
        words,
    )
    visit_all_topics(state, observed, base, psi, varying.key, ONE)
    found = topics.copy_to_host()
    group = np.repeat(np.arange(N_GROUPS), np.diff(observed.group_start))
    apart = np.unique(group[found != state.topic_of_token])
    assert len(apart) < 0.03 * N_GROUPS  # a token that differs takes the rest of its group along
    recounted = np.zeros(psi.shape, np.int32)
    np.add.at(recounted, (observed.word, found), 1)
    np.testing.assert_array_equal(words.copy_to_host().reshape(psi.shape), recounted)


def test_clusters_and_tables_of_groups_are_the_same(cuda, varying):
    from mcsquared.kernels.cuda.placing import place_groups, tabulate_log_rising

    state, observed = varying.state, varying.observations
    base = as_floats(state.lam * np.exp(varying.weights.log_shares))
    on_device = cuda.to_device(base)
    most = min(MOST, observed.layout.longest)
    rising = cuda.device_array(base.size * (most + 1), np.float32)
    tabulate_log_rising(on_device, most, rising)
    clusters = cuda.to_device(state.cluster_of_group)
    topics, tables = (cuda.to_device(np.zeros(base.size, np.int32)) for _ in range(2))
    scores = cuda.device_array(N_GROUPS, np.float32)
    place_groups(
        N_GROUPS,
        cuda.to_device(observed.group_start.astype(np.int64)),
        cuda.to_device(state.topic_of_token),
        on_device,
        rising,
        most,
        *varying.arguments_of_contexts(cuda),
        *varying.key,
        clusters,
        topics,
        tables,
        scores,
    )
    total = place_members(state, observed, varying.weights, varying.contexts, varying.key, ONE)
    assert (clusters.copy_to_host() != state.cluster_of_group).mean() <= APART
    for found, expected in ((topics, state.counts.topics_in_cluster), (tables, state.tables)):
        apart = np.abs(found.copy_to_host().reshape(base.shape) - expected).sum()
        assert apart <= APART * expected.sum()
    assert scores.copy_to_host().sum(dtype=np.float64) == pytest.approx(total, rel=1e-5)


def test_clusters_and_cells_of_shared_mixtures_are_the_same(cuda, sharing):
    from mcsquared.kernels.cuda.cells import draw_cells
    from mcsquared.kernels.cuda.mixtures import draw_clusters_of_words, tabulate_log_mixtures

    state, observed, layout = sharing.state, sharing.observations, sharing.observations.layout
    shares = as_floats(np.exp(sharing.weights.log_shares)) / sharing.sums.astype(np.float32)
    by_topic, entries = np.ascontiguousarray(shares.T), layout.words_of_group
    weights = cuda.to_device(sharing.variates.reshape(-1))
    table = cuda.device_array(N_WORDS * len(shares), np.float32)
    tabulate_log_mixtures(N_WORDS, weights, cuda.to_device(by_topic), table)
    expected = np.empty((N_WORDS, len(shares)), np.float32)
    tabulate_on_cpu(
        0,
        N_WORDS,
        sharing.variates.reshape(-1),
        by_topic.reshape(-1),
        expected,
        np.empty(N_WORDS, np.float32),
    )
    np.testing.assert_allclose(table.copy_to_host().reshape(expected.shape), expected, atol=2e-5)

    clusters = cuda.to_device(state.cluster_of_group)
    cells = cuda.to_device(np.zeros(expected.size, np.int32))
    draw_clusters_of_words(
        N_GROUPS,
        cuda.to_device(longest_first(entries.start)),
        *(cuda.to_device(a) for a in (entries.start, entries.column, entries.count)),
        table,
        *sharing.arguments_of_contexts(cuda),
        *sharing.key,
        clusters,
        cells,
    )
    topics = cuda.to_device(np.zeros(shares.size, np.int32))
    words = cuda.to_device(np.zeros(sharing.variates.size, np.int32))
    draw_cells(
        N_WORDS,
        cuda.to_device(longest_first(layout.word_start)),
        cuda.to_device(layout.word_start),
        cuda.to_device(shares),
        weights,
        cells,
        *sharing.key,
        topics,
        words,
    )
    move_groups(
        state, observed, sharing.priors, sharing.weights, sharing.contexts, sharing.key, ONE
    )
    assert (clusters.copy_to_host() != state.cluster_of_group).mean() <= APART
    assert not cells.copy_to_host().any()
    for found, held in (
        (topics, state.counts.topics_in_cluster),
        (words, state.counts.words_in_topic),
    ):
        apart = np.abs(found.copy_to_host().reshape(held.shape) - held).sum()
        assert apart <= APART * observed.n_tokens
