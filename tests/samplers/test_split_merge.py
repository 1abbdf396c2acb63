"""Splits and merges of clusters are exact, and the same on any number of threads and shards."""

import copy
import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

from mcsquared.corpus import Corpus
from mcsquared.families import Bag, Categorical, Gaussian
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.model.parameters import Gamma
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.init.assignments import blocked_state
from mcsquared.samplers.steps import split_merge
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS, Bounds
from tests.oracles.counts import differences, recount
from tests.samplers.test_python_families import DrawnVisits
from tests.statistics.corpora import Integrated
from tests.statistics.tiny import canonical, partitions

ALPHA, V, LAM = 0.9, 1.3, 1.7
EPSILON = np.array([0.5, 0.3])  # and 0.2 for topics that do not exist yet
TOPICS = [[0, 0, 1], [0, 0, 0, 0], [1, 1], [0, 1, 1, 1]]  # of the tokens of four groups
YEARS = np.array([-0.4, 0.3, np.nan, 1.5])


def contexts(name):
    tags = sparse.csr_matrix([[2, 0, 1], [0, 1, 0], [0, 3, 0], [0, 0, 0]])
    families = {
        "none": {},
        "year and bag": {"year": Gaussian(0.0, 0.5, 1.5, 1.0), "tags": Bag(0.6)},
        "drawn": {"visits": DrawnVisits()},
        "integrated": {"visits": Integrated(1.2, 0.4)},
    }[name]
    columns = {"year": YEARS, "tags": tags, "visits": np.array([1.0, 5.0, np.nan, 4.0])}
    return {column: columns[column] for column in families}, families


def tiny(name):
    """Return observations, priors and a state whose topics are given."""
    columns, families = contexts(name)
    counts = sparse.csr_matrix([[len(topics)] for topics in TOPICS])
    corpus = Corpus(counts, columns)
    concentrations = {"alpha": ALPHA, "v": V, "eta": 1.0, "lam": LAM}
    priors = Priors.for_corpus(corpus, Categorical(0.5), families, **concentrations)
    observations = observe(corpus, priors)
    topics = np.concatenate(TOPICS).astype(np.int32)
    state = blocked_state(observations, priors, np.zeros(4, int), topics, np.random.default_rng(0))
    state.topic_weights[:2] = EPSILON
    state.log_unused[:] = math.log(1.0 - EPSILON.sum())
    return observations, priors, state


def stirling(n):
    """Return |s(n, o)| for o = 0 ... n."""
    row = np.array([1.0])
    for i in range(n):
        row = np.append(0.0, row) + np.append(i * row, 0.0)
    return row


def log_content(groups):
    """Return log p(topics of the groups), their tables and τ summed out."""
    tables = []
    for m in range(2):
        weights = np.array([1.0])
        for j in groups:
            n = TOPICS[j].count(m)
            weights = np.convolve(weights, stirling(n) * LAM ** np.arange(n + 1))
        tables.append(weights)
    first, second = np.indices([len(weights) for weights in tables])
    prior = V * EPSILON
    log_density = gammaln(V) - gammaln(V + first + second)
    log_density += gammaln(prior[0] + first) - gammaln(prior[0])
    log_density += gammaln(prior[1] + second) - gammaln(prior[1])
    return math.log((np.exp(log_density) * np.outer(*tables)).sum())


def exact(observations):
    """Return the posterior probability of every partition, by enumeration."""
    table = {}
    for partition in partitions(4):
        labels = np.array(partition)
        value = 0.0
        for k in set(partition):
            groups = np.flatnonzero(labels == k)
            value += math.log(ALPHA) + gammaln(len(groups)) + log_content(groups)
            value += log_contexts(observations, groups)
        table[canonical(partition)] = value
    largest = max(table.values())
    total = sum(math.exp(value - largest) for value in table.values())
    return {partition: math.exp(value - largest) / total for partition, value in table.items()}


def log_contexts(observations, groups):
    """Return the log marginal density of contexts, observation by observation."""
    value = 0.0
    for c, family in enumerate(observations.dense_families):
        seen = [j for j in groups if observations.dense.observed[j, c]]
        raw = observations.dense.values[seen, c] + family.origin  # statistics subtract it
        statistics = family.statistics(raw).sum(axis=0)
        value += family.log_marginal(statistics[None])[0]
    for context in observations.python_contexts:
        value += context.family.log_marginal(context.statistics[groups].sum(axis=0)[None])[0]
    for c, family in enumerate(observations.bag_families):
        counts = np.zeros(family.n_stats)
        for j in groups:
            entries = slice(*observations.bags.start[c, j : j + 2])
            counts[observations.bags.category[entries]] += observations.bags.count[entries]
        value += family.log_marginal(counts[None])[0]
    return value


def visits(name, n_sweeps, seed=0):
    """Return how often splits and merges alone visit each partition, and its exact probability."""
    observations, priors, state = tiny(name)
    backend, seen = LocalBackend(observations, priors), Counter()
    backend.load_labels(state, Key(seed, 0, 0))
    for number in range(n_sweeps):
        sweep = Sweep(state, observations, priors, NO_BOUNDS, Key(seed, 0, number), backend)
        split_and_merge_clusters(sweep)
        seen[canonical(state.cluster_of_group)] += 1
    return seen, exact(observations)


def distance(seen, table):
    total = sum(seen.values())
    return 0.5 * sum(abs(seen[partition] / total - p) for partition, p in table.items())


TOLERANCE = 0.1  # 1,500 dependent draws of 15 partitions are 0.04 to 0.08 away by chance
CONTEXTS = ["none", "year and bag", "drawn", "integrated"]


@pytest.mark.parametrize("name", CONTEXTS)
def test_splits_and_merges_alone_agree_with_enumeration(name):
    seen, table = visits(name, 1_500)
    assert len(seen) == 15
    assert distance(seen, table) < TOLERANCE


@pytest.mark.calibrate
@pytest.mark.parametrize("name", CONTEXTS)
def test_many_splits_and_merges_alone_agree_with_enumeration(name, calibration):
    n_sweeps = 60_000
    seen, table = visits(name, n_sweeps, seed=1)
    calibration(
        f"enumeration, splits and merges alone: {name}",
        n=n_sweeps,
        total_variation=distance(seen, table),
    )
    assert distance(seen, table) < 0.012


@pytest.mark.parametrize("wrong", [0.8, 1.25])
def test_a_wrong_acceptance_ratio_is_detected(wrong, monkeypatch):
    correct = split_merge.SplitMergeRound.log_gain

    def log_gain(self, *given):
        return correct(self, *given) + math.log(wrong) * 3

    monkeypatch.setattr(split_merge.SplitMergeRound, "log_gain", log_gain)
    assert distance(*visits("year and bag", 1_500)) > TOLERANCE


def separated(n_groups=120):
    """Groups of four kinds, each with its own words and years."""
    rng = np.random.default_rng(0)
    kind = np.arange(n_groups) % 4
    counts = rng.poisson(np.where(np.arange(12) // 3 == kind[:, None], 6.0, 0.3))
    year = np.where(rng.random(n_groups) < 0.2, np.nan, 1990.0 + 8.0 * kind)
    return Corpus(counts, {"year": year + rng.normal(size=n_groups)}), kind


def run(corpus, n_sweeps=45, n_clusters=1, bounds=NO_BOUNDS, make=LocalBackend, **options):
    """Sweep from ``n_clusters`` random clusters; return the state and the observations."""
    priors = Priors.for_corpus(corpus, lam=Gamma(1, 0.1))
    observations = observe(corpus, priors)
    state = BLOCKED.start(observations, priors, 0, 0, "random", n_clusters, 8)
    backend = make(observations, priors, **options)
    backend.load_labels(state, Key(0, 0, 0))
    for _ in range(n_sweeps):
        BLOCKED.sweep(state, observations, priors, 0, 0, bounds, backend)
    backend.save_labels(state)
    return state, observations


@pytest.mark.parametrize("n_clusters", [1, 30])
def test_clusters_are_found_from_one_and_from_many(n_clusters):
    corpus, kind = separated()
    state, _ = run(corpus, 60, n_clusters)
    assert adjusted_rand_score(state.cluster_of_group, kind) > 0.95


def test_counts_and_tables_agree_with_the_labels():
    state, observations = run(separated()[0], 12)
    assert state.n_clusters > 1
    assert differences(recount(state, observations), state.counts) == []
    assert (state.tables_in_cluster <= state.counts.topics_in_cluster).all()
    assert ((state.tables_in_cluster > 0) == (state.counts.topics_in_cluster > 0)).all()


def test_a_bound_on_clusters_holds():
    state, _ = run(separated()[0], 40, 1, Bounds(clusters=3))
    assert state.n_clusters <= 3


@pytest.mark.parametrize("n_shards", [1, 3, 50])
def test_draws_do_not_depend_on_shards_and_threads(n_shards):
    corpus, _ = separated()
    state, _ = run(corpus)
    with ThreadPool(2) as threads:
        other, _ = run(corpus, make=ShardedBackend, n_shards=n_shards, threads=threads)
    np.testing.assert_array_equal(state.cluster_of_group, other.cluster_of_group)
    np.testing.assert_array_equal(state.tables_in_cluster, other.tables_in_cluster)
    assert state.log_joint == other.log_joint


def test_a_rejected_round_changes_nothing(monkeypatch):
    """A gain of −∞ for splits and ∞ for merges rejects everything; λ is fixed."""
    corpus, _ = separated()
    state, observations = run(corpus, 5, 6)
    priors = Priors.for_corpus(corpus, lam=state.lam)
    before = copy.deepcopy(state)

    def log_gain(self, *given):
        return np.where(self.pairs.is_split, -np.inf, np.inf)

    monkeypatch.setattr(split_merge.SplitMergeRound, "log_gain", log_gain)
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, Key(0, 0, 5))
    split_and_merge_clusters(Sweep(state, observations, priors, NO_BOUNDS, Key(0, 0, 5), backend))
    np.testing.assert_array_equal(state.cluster_of_group, before.cluster_of_group)
    np.testing.assert_array_equal(state.tables_in_cluster, before.tables_in_cluster)
    assert differences(before.counts, state.counts) == []


def test_backends_that_do_not_move_clusters_skip_the_step(monkeypatch):
    monkeypatch.setattr(
        split_merge.SplitMergeRound, "run", lambda self: pytest.fail("a round took place")
    )
    monkeypatch.setattr(LocalBackend, "moves_clusters", False)
    run(separated()[0], 2)


def test_new_slots_fill_whole_vectors(monkeypatch):
    """Kernels read and write sixteen clusters at a time."""
    corpus, _ = separated()
    original = split_merge.SplitMergeRound.accept

    def accept(self, log_gain, *given):
        counts = self.sweep.state.counts
        counts.groups_in_cluster[counts.groups_in_cluster == 0] = 1  # as if no slot were empty
        return original(self, log_gain, *given)

    monkeypatch.setattr(split_merge.SplitMergeRound, "accept", accept)
    state, _ = run(corpus, 3)
    assert len(state.counts.groups_in_cluster) % N_LANES == 0
    assert state.counts.topics_in_cluster.shape[0] % N_LANES == 0
