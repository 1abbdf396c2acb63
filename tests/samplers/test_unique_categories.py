"""Groups with categories of their own move, exactly, and the same on any number of shards."""

import copy
import itertools
import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from mcsquared.corpus import Corpus
from mcsquared.families import Bag, Categorical, Gaussian
from mcsquared.families.numerics import log_rising_factorial
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.init.assignments import blocked_state
from mcsquared.samplers.steps import unique_categories
from mcsquared.samplers.steps.globals import draw_globals
from mcsquared.samplers.steps.unique_categories import move_groups_with_unique_categories
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS
from tests.oracles.counts import differences, recount

LAM, N_CLUSTERS = 1.7, 3
TOPICS = [[0, 0, 1], [0], [1, 1], [0, 1], [1]]  # of the tokens of five groups
# Of the categories of the bag the last three are unique, of the places "here" and "there".
TAGS = [[1, 0, 1, 0, 0], [2, 0, 0, 1, 0], [0, 1, 0, 0, 1], [1, 1, 0, 0, 0], [0, 2, 0, 0, 0]]
PLACES = ["near", "near", "here", None, "there"]
YEARS = [-0.4, 0.3, np.nan, 1.5, 0.1]
MOVABLE = [0, 1, 2, 4]
START = np.array([0, 1, 0, 1, 1])


def tiny():
    """Return a sweep with given topics and globals, and three open clusters."""
    counts = sparse.csr_matrix([[len(topics)] for topics in TOPICS])
    columns = {"tags": sparse.csr_matrix(TAGS), "place": PLACES, "year": YEARS}
    corpus = Corpus(counts, columns)
    families = {"tags": Bag(0.3), "place": Categorical("learned"), "year": Gaussian(0, 0.5, 1.5, 1)}
    given = {"alpha": 0.9, "v": 1.3, "eta": 1.0, "lam": LAM}
    priors = Priors.for_corpus(corpus, Categorical(0.5), families, **given)
    observations = observe(corpus, priors)
    topics = np.concatenate(TOPICS).astype(np.int32)
    state = blocked_state(observations, priors, START, topics, np.random.default_rng(0))
    state.category_shapes[len(TAGS[0]) :] = [0.05, 0.4, 0.1]
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, Key(0, 0, 1))
    sweep = Sweep(state, observations, priors, NO_BOUNDS, Key(0, 0, 1), backend, backend.threads)
    draw_globals(sweep)
    log_weights = sweep.globals.weights.log_cluster_weights.copy()
    log_weights[N_CLUSTERS:] = -math.inf
    sweep.globals = replace(
        sweep.globals, weights=replace(sweep.globals.weights, log_cluster_weights=log_weights)
    )
    return sweep


def log_density(sweep, clusters):
    """Return log p(z | l, τ, π, φ of years) with φ of bags integrated out, up to a constant."""
    weights, observations = sweep.globals.weights, sweep.observations
    base = LAM * np.exp(weights.log_shares)
    total = 0.0
    for j, k in enumerate(clusters):
        total += weights.log_cluster_weights[k]
        for m in set(TOPICS[j]):
            total += float(log_rising_factorial(base[k, m], float(TOPICS[j].count(m))))
        if not math.isnan(YEARS[j]):
            family = observations.dense_families[0]
            statistics = family.statistics(np.array([YEARS[j]]))[0]
            total += float(statistics @ sweep.globals.contexts.natural[:, k])
    for family, columns in observations.bag_columns_given(sweep.state.category_shapes):
        values = np.array(TAGS) if columns.start == 0 else np.zeros((5, family.n_stats), int)
        if columns.start:
            names = sorted(set(PLACES) - {None})
            for j, place in enumerate(PLACES):
                if place is not None:
                    values[j, names.index(place)] = 1
        for k in range(N_CLUSTERS):
            total += float(family.log_marginal(values[np.array(clusters) == k].sum(axis=0)))
    return total


def exact(sweep):
    """Return the probability of every assignment of the groups that may move."""
    found = {}
    for choice in itertools.product(range(N_CLUSTERS), repeat=len(MOVABLE)):
        clusters = START.copy()
        clusters[MOVABLE] = choice
        found[choice] = log_density(sweep, clusters)
    values = np.exp(np.array(list(found.values())) - max(found.values()))
    return dict(zip(found, values / values.sum(), strict=True))


def visited(sweep, n_sweeps):
    """Return the share of every assignment after repeated moves."""
    shares = dict.fromkeys(itertools.product(range(N_CLUSTERS), repeat=len(MOVABLE)), 0.0)
    for number in range(n_sweeps):
        sweep.key = Key(3, 0, number)
        sweep.globals = replace(sweep.globals, key=sweep.key)
        move_groups_with_unique_categories(sweep)
        shares[tuple(sweep.state.cluster_of_group[MOVABLE].tolist())] += 1.0 / n_sweeps
    return shares


def distance(one, other):
    return 0.5 * sum(abs(one[choice] - other[choice]) for choice in one)


def test_moves_have_the_exact_distribution_with_parameters_of_bags_integrated_out():
    sweep = tiny()
    probabilities = exact(sweep)
    assert distance(probabilities, visited(sweep, 6000)) < 0.05
    assert sweep.state.cluster_of_group[3] == START[3]
    recounted = recount(sweep.state, sweep.observations)
    assert "category_counts" not in differences(sweep.state.counts, recounted)
    assert "category_totals" not in differences(sweep.state.counts, recounted)


def test_moves_without_the_ratio_of_the_bags_are_detected(monkeypatch):
    def accept_all(proposed, dense, bags, counts, log_uniforms, clusters):
        clusters[:] = proposed

    sweep = tiny()
    probabilities = exact(sweep)
    monkeypatch.setattr(unique_categories, "accept_clusters", accept_all)
    assert distance(probabilities, visited(sweep, 2000)) > 0.15


def corpus_with_unique_places():
    """Return four kinds of groups whose places tell them apart, and twelve groups without words.

    The place of each of the twelve occurs nowhere else.
    """
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(4), 10)
    words = [[f"word{k}{rng.integers(3)}" for _ in range(12)] for k in kind] + [[]] * 12
    places = [f"place{k}{rng.integers(3)}" for k in kind] + [f"unique{i}" for i in range(12)]
    return Corpus.from_tokens(words, {"place": places})


def test_draws_do_not_depend_on_shards_and_threads():
    corpus = corpus_with_unique_places()
    priors = Priors.for_corpus(corpus, lam=2.0)
    observations = observe(corpus, priors)
    first = BLOCKED.start(observations, priors, 0, 0)
    states = []
    for threads, n_shards in ((1, 1), (3, 1), (1, 3)):
        state = copy.deepcopy(first)
        with ThreadPool(threads) as pool:
            local = n_shards == 1
            backend = (
                LocalBackend(observations, priors, pool)
                if local
                else ShardedBackend(observations, priors, n_shards, pool)
            )
            backend.load_labels(state, Key(0, 0, 0))
            for _ in range(4):
                BLOCKED.sweep(state, observations, priors, 0, 0, backend=backend)
            backend.save_labels(state)
        states.append(state)
    for state in states[1:]:
        np.testing.assert_array_equal(state.cluster_of_group, states[0].cluster_of_group)
        assert differences(state.counts, states[0].counts) == []


def share_moved(steps, seed):
    """Return how often a group without words changes its cluster in a sweep."""
    corpus = corpus_with_unique_places()
    priors = Priors.for_corpus(
        corpus, contexts={"place": Categorical(0.01)}, lam=2.0, alpha=1.0, v=1.0
    )
    observations = observe(corpus, priors)
    state = steps.start(observations, priors, seed, 0)
    moved = []
    for _ in range(60):
        before = state.cluster_of_group.copy()
        steps.sweep(state, observations, priors, seed, 0)
        moved.append((before != state.cluster_of_group)[-12:].mean())
    return float(np.mean(moved[10:]))


def test_groups_with_unique_categories_move():
    """Without the step they stay where they are in most sweeps."""
    stuck = share_moved(BLOCKED.without(move_groups_with_unique_categories), 0)
    moving = share_moved(BLOCKED, 0)
    assert moving > 2 * stuck
