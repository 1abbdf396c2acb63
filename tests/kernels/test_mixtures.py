"""Clusters with topics summed out, beside dense products in doubles."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from mcsquared.kernels.cpu.contexts import (
    Background,
    BagContexts,
    ContextParameters,
    DenseContexts,
    GivenContexts,
    add_context_scores,
    sum_contexts,
    sum_exponentials,
)
from mcsquared.kernels.cpu.groups import Groups
from mcsquared.kernels.cpu.mixtures import (
    add_word_scores,
    draw_clusters_of_words,
    tabulate_log_mixtures,
    tabulate_mixtures,
)
from mcsquared.kernels.cpu.predictive import KINDS
from mcsquared.kernels.rng import Step, uniform
from mcsquared.observations.layout import Entries

F = np.float32
N_GROUPS = 12


def some_tables(n_words, n_topics, n_clusters, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.2, size=(n_words, n_topics)).astype(F)
    shares = rng.dirichlet(np.full(n_topics, 0.5), n_clusters).T.astype(F)
    return weights, np.ascontiguousarray(shares)


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("n_clusters", [16, 48])
def test_log_mixtures_are_those_of_a_product_in_doubles(n_words, n_clusters):
    weights, shares = some_tables(n_words, 32, n_clusters)
    table, means = np.full((n_words, n_clusters), np.nan, F), np.full(n_words, np.nan, F)
    tabulate_log_mixtures(0, n_words, weights.reshape(-1), shares.reshape(-1), table, means)
    exact = np.log(weights.astype(float) @ shares)
    np.testing.assert_allclose(means, exact.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(table + means[:, None], exact, atol=4e-6)
    plain = np.full((n_words, n_clusters), np.nan, F)
    tabulate_mixtures(0, n_words, weights.reshape(-1), shares.reshape(-1), plain)
    np.testing.assert_allclose(plain, np.exp(exact), rtol=3e-6)


def test_a_word_that_no_topic_of_a_cluster_has_is_as_unlikely_as_floats_say():
    weights, shares = np.ones((1, 16), F), np.zeros((16, 16), F)
    shares[:, 3] = 1 / 16
    table, means = np.zeros((1, 16), F), np.zeros(1, F)
    tabulate_log_mixtures(0, 1, weights.reshape(-1), shares.reshape(-1), table, means)
    expected = np.where(np.arange(16) == 3, 0.0, np.log(1e-37))
    np.testing.assert_allclose(table[0] + means[0], expected, rtol=1e-5, atol=1e-5)


def test_any_split_of_the_words_gives_the_same_mixtures():
    weights, shares = some_tables(30, 32, 32)

    def tabulate(bounds):
        table, means = np.zeros((30, 32), F), np.zeros(30, F)
        plain = np.zeros((30, 32), F)
        flat = weights.reshape(-1), shares.reshape(-1)
        for first, last in pairwise(bounds):
            tabulate_log_mixtures(first, last, *flat, table, means)
            tabulate_mixtures(first, last, *flat, plain)
        return table, means, plain

    expected = tabulate([0, 30])
    for bounds in ([0, 8, 30], [0, 1, 3, 6, 30], list(range(31))):
        for found, reference in zip(tabulate(bounds), expected, strict=True):
            np.testing.assert_array_equal(found, reference)


@pytest.mark.parametrize("n_clusters", [16, 32, 48, 112])
@pytest.mark.parametrize("n_entries", [0, 1, 127, 128, 129, 700])
def test_word_scores_are_those_of_a_product_in_doubles(n_clusters, n_entries):
    rng = np.random.default_rng(n_entries)
    table = rng.normal(size=(50, n_clusters)).astype(F)
    word = rng.integers(0, 50, n_entries + 5).astype(np.int32)
    count = rng.integers(1, 9, n_entries + 5).astype(np.int32)
    scores = rng.normal(size=n_clusters)
    some = slice(3, 3 + n_entries)
    exact = scores + count[some].astype(float) @ table[word[some]]
    part = np.empty(n_clusters, F)
    add_word_scores(3, 3 + n_entries, word, count, table.reshape(-1), part, scores)
    size = count[some].astype(float) @ np.abs(table[word[some]])
    assert (np.abs(scores - exact) <= 3e-6 * size + 1e-12).all()


class Contexts:
    """A Gaussian and a Poisson context, two bags, and additional scores; some are missing."""

    def __init__(self, n_clusters=16):
        rng = np.random.default_rng(3)
        self.x = rng.normal(size=(N_GROUPS, 2))
        self.observed = rng.random((N_GROUPS, 2)) < 0.7
        self.counts = [rng.poisson(0.7, (N_GROUPS, size)) for size in (4, 3)]
        matrices = [sparse.csr_matrix(counts) for counts in self.counts]
        second = matrices[0].nnz + matrices[1].indptr
        self.dense = DenseContexts(
            kind=np.array([KINDS["gaussian"], KINDS["poisson"]]),
            parameters=np.zeros(0),
            parameter_start=np.zeros(3, np.int64),
            values=self.x,
            value_start=np.array([0, 1, 2]),
            observed=self.observed,
            stat_start=np.array([0, 3, 5]),
            prepared_start=np.zeros(3, np.int64),
        )
        self.bags = BagContexts(
            start=np.vstack([matrices[0].indptr, second]).astype(np.int64),
            category=np.append(matrices[0].indices, matrices[1].indices + 4).astype(np.int32),
            count=np.append(matrices[0].data, matrices[1].data).astype(np.int32),
            shapes=np.ones(7),
            smoothing=np.ones(2),
        )
        self.parameters = ContextParameters(
            natural=rng.normal(size=(5, n_clusters)),
            log_categories=rng.normal(size=(7, n_clusters)).astype(F),
            python_scores=rng.normal(size=(N_GROUPS, n_clusters)),
            background=Background(np.array([[0.0, -np.inf]] * 2), np.zeros(5)),
        )

    @property
    def statistics(self):
        a, b = self.x.T
        rows = np.column_stack([np.ones(N_GROUPS), a, a * a, np.ones(N_GROUPS), b])
        return rows * np.repeat(self.observed, [3, 2], axis=1)

    @property
    def scores(self):
        given = self.parameters
        categories = np.hstack(self.counts) @ given.log_categories.astype(float)
        return self.statistics @ given.natural + categories + given.python_scores


def test_contexts_are_scored_by_their_statistics_and_categories():
    contexts = Contexts()
    given = GivenContexts(contexts.dense, contexts.bags, contexts.parameters)
    for j in range(N_GROUPS):
        scores = np.zeros(16)
        add_context_scores(j, given, np.full(5, np.nan), scores)
        np.testing.assert_allclose(scores, contexts.scores[j], rtol=1e-6, atol=1e-6)


def test_contexts_are_summed_by_cluster_and_chunk():
    contexts, clusters = Contexts(), np.random.default_rng(0).integers(0, 3, N_GROUPS)
    bounds = np.array([0, 5, 5, 12])

    def total(parts):
        groups, statistics = np.zeros(4, np.int32), np.full((3, 4, 5), np.nan)
        categories, totals = np.zeros((7, 4), np.int32), np.zeros((4, 2), np.int64)
        given = clusters, contexts.dense, contexts.bags, groups, statistics, categories, totals
        for first, last in pairwise(parts):
            sum_contexts(first, last, bounds, *given)
        return groups, statistics, categories, totals

    groups, statistics, categories, totals = total([0, 3])
    in_cluster = np.eye(4)[clusters]
    np.testing.assert_array_equal(groups, in_cluster.sum(axis=0))
    np.testing.assert_allclose(
        statistics.sum(axis=0), in_cluster.T @ contexts.statistics, atol=1e-12
    )
    np.testing.assert_array_equal(categories, np.hstack(contexts.counts).T @ in_cluster)
    expected = np.column_stack([in_cluster.T @ counts.sum(axis=1) for counts in contexts.counts])
    np.testing.assert_array_equal(totals, expected)
    for found, reference in zip(
        total([0, 1, 2, 3]), (groups, statistics, categories, totals), strict=True
    ):
        np.testing.assert_array_equal(found, reference)


def test_exponentials_are_summed_by_chunk_whatever_their_size():
    logs = np.random.default_rng(0).normal(0, 300, (9, 16)).astype(F)
    logs[:, 3] = -1e6 * np.arange(1, 10)
    largest, total = np.full((2, 4, 16), np.nan)
    sum_exponentials(1, 3, 4, logs, largest, total)
    for chunk, rows in ((1, logs[4:8]), (2, logs[8:])):
        expected = logsumexp(rows.astype(float), axis=0)
        np.testing.assert_allclose(largest[chunk] + np.log(total[chunk]), expected, rtol=1e-6)
    assert np.isnan(total[[0, 3]]).all()


def test_clusters_are_picked_by_words_contexts_and_weights():
    contexts, rng = Contexts(32), np.random.default_rng(8)
    counts = sparse.csr_matrix(rng.poisson(1.0, (N_GROUPS, 20)))
    table = rng.normal(size=(20, 32)).astype(F)
    log_weights = np.log(rng.dirichlet(np.ones(32)))
    log_weights[[3, 9]] = -np.inf
    bounds = np.array([0, 0, 4, 11, 12])

    def draw(parts):
        clusters = np.full(N_GROUPS, -1, np.int32)
        for first, last in pairwise(parts):
            draw_clusters_of_words(
                first,
                last,
                Groups(np.zeros(N_GROUPS + 1, np.int64), bounds, 0, 0, 0),
                Entries.from_matrix(counts),
                table.reshape(-1),
                log_weights,
                GivenContexts(contexts.dense, contexts.bags, contexts.parameters),
                (5, 1, 7),
                clusters,
            )
        return clusters

    scores = log_weights + contexts.scores + counts @ table.astype(float)
    cumulative = np.cumsum(np.exp(scores - logsumexp(scores, axis=1, keepdims=True)), axis=1)
    u = [uniform(5, 1, 7, int(Step.CLUSTERS), j, 0) for j in range(N_GROUPS)]
    expected = (cumulative <= np.array(u)[:, None]).sum(axis=1)
    np.testing.assert_array_equal(draw([0, 4]), expected)
    np.testing.assert_array_equal(draw([0, 1, 2, 3, 4]), expected)
