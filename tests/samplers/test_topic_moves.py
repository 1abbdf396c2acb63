"""Splits and merges of topics: counts stay right, draws do not depend on threads."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from mcsquared.corpus import Corpus
from mcsquared.families import Categorical
from mcsquared.kernels.cpu.topic_moves import TopicTokens, divide_tokens, find_cells
from mcsquared.model.priors import Priors
from mcsquared.observations import observe
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.steps import topic_moves
from mcsquared.samplers.steps.topic_moves import TopicMoves, move_topics
from mcsquared.samplers.sweep import BLOCKED
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Key
from mcsquared.state import NO_BOUNDS, Bounds, count

N_TOPICS, N_WORDS, N_TOKENS = 6, 30, 80
KEY = Key(1, 0, 3)


@pytest.fixture(autouse=True)
def _moves_from_the_start(monkeypatch):
    monkeypatch.setattr(topic_moves, "SWEEPS_BEFORE_MOVES", 1)


def words(rng, theta):
    """Topics of five words each."""
    psi = np.kron(np.eye(N_TOPICS), np.ones(N_WORDS // N_TOPICS)) * N_TOPICS / N_WORDS
    return rng.multinomial(N_TOKENS, theta @ psi), Categorical(0.1)


def vectors(rng, theta):
    """Topics that are points of the plane, with noise."""
    labels = np.array([rng.choice(N_TOPICS, N_TOKENS, p=weights) for weights in theta])
    points = rng.normal(scale=5.0, size=(N_TOPICS, 2))
    return list(points[labels] + rng.normal(size=(*labels.shape, 2))), "multivariate_gaussian"


@pytest.fixture(scope="module", params=[words, vectors])
def data(request):
    """Groups of six topics."""
    rng = np.random.default_rng(0)
    content, family = request.param(rng, rng.dirichlet(np.full(N_TOPICS, 0.3), 60))
    corpus = Corpus(content)
    priors = Priors.for_corpus(corpus, family, {}, alpha=1.0, v=2.0, eta=1.0, lam=3.0)
    return observe(corpus, priors), priors


def sweep(
    data,
    n_sweeps=12,
    sampler=BLOCKED,
    threads=1,
    backend=LocalBackend,
    bounds=NO_BOUNDS,
    n_topics=2,
):
    observations, priors = data
    state = BLOCKED.start(observations, priors, 0, 0, "random", 2, n_topics)
    with ThreadPool(threads) as pool:
        where = backend(observations, priors, threads=pool)
        where.load_labels(state, Key(0, 0, 0))
        for _ in range(n_sweeps):
            sampler.sweep(state, observations, priors, 0, 0, bounds, where)
        where.save_labels(state)
    return state


def test_splits_find_the_topics_that_a_start_with_two_lacks(data):
    assert sweep(data, 30).n_topics >= N_TOPICS
    assert sweep(data, 30, BLOCKED.without(move_topics)).n_topics < N_TOPICS


@pytest.mark.parametrize("kind", ["flat", "words"])
def test_word_moves_join_topics_that_share_groups_but_not_words(kind, monkeypatch):
    rng = np.random.default_rng(0)
    corpus = Corpus(rng.multinomial(30, np.full(12, 1 / 12), 100))
    priors = Priors.for_corpus(corpus, Categorical(0.1), {}, alpha=1.0, v=2.0, eta=1.0, lam=3.0)
    observations = observe(corpus, priors)
    state = BLOCKED.start(observations, priors, 0, 0, "random", 1, 2)
    state.topic_of_token = (observations.word % 2).astype(state.topic_of_token.dtype)
    slots = state.counts.topics_in_cluster.shape
    state.counts = count(observations, state.cluster_of_group, state.topic_of_token, *slots)
    monkeypatch.setattr(topic_moves, "MOVE_KINDS", [topic_moves.MoveKind(kind, 0.9, 5)])
    for _ in range(15):
        BLOCKED.sweep(state, observations, priors, 0, 0)
    assert (state.n_topics == 1) == (kind == "words")


def test_counts_equal_a_recount_after_every_move(data, monkeypatch):
    observations, _ = data
    n_accepted = []

    def check(sweep):
        state = sweep.state
        slots = state.tables.shape
        recount = count(observations, state.cluster_of_group, state.topic_of_token, *slots)
        for name in ("topics_in_cluster", "tokens_in_topic", "words_in_topic"):
            np.testing.assert_array_equal(getattr(state.counts, name), getattr(recount, name))
        statistics = state.counts.topic_statistics
        np.testing.assert_allclose(statistics, recount.topic_statistics, rtol=1e-9, atol=1e-9)
        tables, topics = state.tables, recount.topics_in_cluster
        assert ((tables > 0) == (topics > 0)).all()
        assert (tables <= topics).all()
        weights, occupied = sweep.globals.weights, recount.tokens_in_topic > 0
        assert (weights.topic_weights[occupied] > 0).all()
        assert weights.topic_weights.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(np.exp(weights.log_shares).sum(axis=1), 1.0)
        in_group = np.zeros((observations.n_groups, slots[1]))
        group = np.repeat(np.arange(observations.n_groups), np.diff(observations.group_start))
        np.add.at(in_group, (group, state.topic_of_token), 1)
        base = state.lam * np.exp(weights.log_shares[state.cluster_of_group])
        with np.errstate(invalid="ignore"):
            rising = np.where(in_group > 0, gammaln(base + in_group) - gammaln(base), 0.0)
        assert sweep.sums.topic_log_likelihood.sum() == pytest.approx(rising.sum(), rel=1e-5)

    def try_and_note(self, kind, trial, move):
        before = self.n_accepted
        move(self, kind, trial)
        n_accepted.append((move.__name__, self.n_accepted - before))

    for name in ("try_split", "try_merge"):
        move = getattr(TopicMoves, name)
        monkeypatch.setattr(TopicMoves, name, lambda *given, move=move: try_and_note(*given, move))
    steps = list(BLOCKED.steps)
    steps.insert(steps.index(move_topics) + 1, check)
    for n_topics in (2, 15):
        sweep(data, 40, replace(BLOCKED, steps=tuple(steps)), n_topics=n_topics)
    assert {("try_split", 1), ("try_merge", 1), ("try_split", 0), ("try_merge", 0)} <= {*n_accepted}


def test_draws_do_not_depend_on_the_number_of_threads(data):
    one, two = (sweep(data, threads=threads) for threads in (1, 2))
    assert one.n_topics > 2
    np.testing.assert_array_equal(one.topic_of_token, two.topic_of_token)
    np.testing.assert_array_equal(one.tables, two.tables)
    assert one.log_joint == two.log_joint


def test_a_bound_on_the_number_of_topics_holds(data):
    assert sweep(data, 30, bounds=Bounds(topics=3)).n_topics <= 3


def sharded(*given, threads):
    return ShardedBackend(*given, n_shards=3, threads=threads)


def test_moves_do_not_depend_on_shards(data):
    state, whole = sweep(data, backend=sharded), sweep(data)
    np.testing.assert_array_equal(state.topic_of_token, whole.topic_of_token)
    np.testing.assert_array_equal(state.tables_in_cluster, whole.tables_in_cluster)


def test_backends_that_do_not_move_topics_skip_the_step(data, monkeypatch):
    monkeypatch.setattr(LocalBackend, "moves_topics", False)
    without = sweep(data, sampler=BLOCKED.without(move_topics))
    np.testing.assert_array_equal(sweep(data).topic_of_token, without.topic_of_token)


def test_topics_of_a_large_corpus_move_in_every_fifth_sweep_only(data, monkeypatch):
    moved = []

    class NoMoves(TopicMoves):
        def __init__(self, sweep):
            moved.append(sweep.state.sweep)
            super().__init__(sweep)

    monkeypatch.setattr(topic_moves, "TopicMoves", NoMoves)
    monkeypatch.setattr(topic_moves, "MOVE_KINDS", [])
    monkeypatch.setattr(topic_moves, "SWEEPS_BEFORE_MOVES", 10)
    monkeypatch.setattr(topic_moves, "SMALL_CORPUS", 0)
    sweep(data, 20)
    assert moved == list(range(11, 21))
    monkeypatch.setattr(topic_moves, "LARGE_CORPUS", 0)
    sweep(data, 20)
    assert moved[10:] == [15, 20]


@pytest.mark.parametrize("segment", [2, 3, 10])
def test_the_probability_of_words_is_a_sum_over_all_sides(segment):
    """For every division of a cell, that of the division itself is then a ratio of the two."""
    word = np.array([0, 1, 1, 2, 0], np.int32)
    psi, base = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), np.array([[0.4], [1.1]])
    token = np.array([4, 5, 6, 7, 8])
    start, group = find_cells(token, np.array([0, 2, 4, 10]))
    np.testing.assert_array_equal(group, [2])
    tokens = TopicTokens(token, word, start, group, np.zeros(1, np.int64))
    log_sums, total = np.empty(1), 0.0
    for sides in product(range(2), repeat=len(word)):
        in_b = np.array(sides, np.uint8)
        divide_tokens(0, 1, tokens, psi, base, segment, False, KEY, 0, in_b, log_sums)
        joint, urn = 1.0, base[:, 0].copy()
        for w, side in zip(word, sides, strict=True):
            joint *= urn[side] / urn.sum() * psi[side, w]
            urn[side] += 1
        total += joint / np.exp(log_sums[0])  # the probability of the division as a proposal
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("segment", [2, 10])
def test_divisions_are_drawn_with_their_probabilities(segment):
    word = np.array([0, 1, 1], np.int32)
    psi, base = np.array([[0.6, 0.4], [0.1, 0.9]]), np.array([[0.4], [1.1]])
    tokens = TopicTokens(np.arange(3), word, np.array([0, 3]), np.zeros(1, int), np.zeros(1, int))
    in_b, log_sums, seen = np.zeros(3, np.uint8), np.empty(1), np.zeros(8)
    expected, n = np.zeros(8), 20_000
    given = (0, 1, tokens, psi, base, segment)
    for trial in range(n):
        divide_tokens(*given, True, KEY, trial, in_b, log_sums)
        number = in_b @ [4, 2, 1]
        seen[number] += 1
        urn, joint = base[:, 0].copy(), 1.0
        for w, side in zip(word, in_b, strict=True):
            joint *= urn[side] / urn.sum() * psi[side, w]
            urn[side] += 1
        expected[number] = joint / np.exp(log_sums[0])
    assert expected.sum() == pytest.approx(1.0)
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(seen / n - expected) < 4 * error).all()
