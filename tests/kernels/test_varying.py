"""Groups that vary around their cluster: topics of tokens, clusters and tables."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from mcsquared.kernels.cpu import groups as kernel_groups
from mcsquared.kernels.cpu.contexts import GivenContexts
from mcsquared.kernels.cpu.effects import divide_tables
from mcsquared.kernels.cpu.groups import count_tables
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.mixtures import tabulate_mixtures
from mcsquared.kernels.cpu.varying_groups import (
    add_tables,
    resample_groups,
    score_clusters,
    tabulate_log_rising_factorials,
)
from mcsquared.kernels.cpu.varying_tokens import (
    count_words_in_topics,
    sweep_tokens,
    sweep_tokens_by_group_topics,
)
from mcsquared.observations.layout import Layout
from tests.kernels.test_mixtures import N_GROUPS, Contexts

F = np.float32
N_SLOTS, N_CLUSTERS, N_WORDS = 32, 16, 10
KEY = (5, 1, 7)  # seed, chain, sweep


class Groups:
    """Groups of given lengths with random words, topics and clusters."""

    def __init__(self, lengths, seed=0):
        rng = np.random.default_rng(seed)
        self.start = np.append(0, np.cumsum(lengths)).astype(np.int64)
        n = int(self.start[-1])
        self.word = rng.integers(0, N_WORDS, n).astype(np.int32)
        self.topic = rng.integers(0, N_SLOTS, n).astype(np.uint16)
        self.cluster = rng.integers(0, N_CLUSTERS, len(lengths)).astype(np.int32)
        self.base = (3 * rng.dirichlet(np.full(N_SLOTS, 0.3), N_CLUSTERS)).astype(F)
        self.psi = rng.gamma(0.4, size=(N_WORDS, N_SLOTS)).astype(F)

    @property
    def layout(self):
        return Layout(self.start, self.word, N_WORDS)

    def arrays(self, chunk_start):
        return kernel_groups.Groups(self.start, chunk_start, self.layout.longest, 0, 0)


def visit_all(groups, bounds, order, parts):
    topics = groups.topic.copy()
    for first, last in pairwise(parts):
        sweep_tokens(
            first,
            last,
            bounds,
            order,
            groups.arrays(bounds),
            groups.word,
            groups.base,
            groups.psi.reshape(-1),
            (0,) * (N_SLOTS // N_LANES),
            KEY,
            groups.cluster,
            topics,
        )
    return topics


def visit_group_topics(groups, bounds, order, parts):
    topics = groups.topic.copy()
    table, by_topic = np.zeros((N_WORDS, N_CLUSTERS), F), np.ascontiguousarray(groups.base.T)
    tabulate_mixtures(0, N_WORDS, groups.psi.reshape(-1), by_topic.reshape(-1), table)
    for first, last in pairwise(parts):
        sweep_tokens_by_group_topics(
            first,
            last,
            groups.arrays(bounds),
            groups.word,
            N_SLOTS,
            groups.base.reshape(-1),
            groups.psi.reshape(-1),
            table,
            KEY,
            groups.cluster,
            topics,
        )
    return topics


both_kernels = pytest.mark.parametrize("visit", [visit_all, visit_group_topics])


@both_kernels
def test_topics_of_tokens_drawn_in_turn_have_their_chances(visit):
    """Many copies of a group of three tokens; all 4³ outcomes beside their exact chances."""
    n, topics = 30_000, np.array([0, 5, 16, 31])  # in different lanes and blocks
    groups = Groups(np.full(n, 3))
    groups.word[:], groups.cluster[:] = np.tile([2, 7, 2], n), 4
    groups.topic[:] = np.tile([5, 31, 5], n)
    groups.base[:] = 0.0
    groups.base[4, topics] = [0.8, 0.1, 1.5, 0.4]
    psi, base = groups.psi.astype(float), groups.base[4].astype(float)
    chances = []
    for outcome in product(topics, repeat=3):
        labels, chance = [5, 31, 5], 1.0
        for i, (word, m) in enumerate(zip([2, 7, 2], outcome, strict=True)):
            token_counts = np.bincount(labels[:i] + labels[i + 1 :], minlength=N_SLOTS)
            weights = (token_counts + base) * psi[word]
            chance *= weights[m] / weights.sum()
            labels[i] = m
        chances.append(chance)
    found = visit(groups, np.array([0, n]), np.arange(n), [0, 1]).reshape(n, 3)
    numbers = np.searchsorted(topics, found)
    np.testing.assert_array_equal(topics[numbers], found)
    seen = np.bincount(numbers @ [16, 4, 1], minlength=64)
    often = n * np.array(chances) > 5
    expected = np.append(n * np.array(chances)[often], n * (1 - np.array(chances)[often].sum()))
    assert stats.chisquare(np.append(seen[often], seen[~often].sum()), expected).pvalue > 1e-4


@both_kernels
def test_any_split_of_the_groups_and_any_pairing_give_the_same_topics(visit):
    rng = np.random.default_rng(2)
    lengths = np.append(rng.integers(0, 40, 14), [0, 64, 65, 200, 1])
    groups = Groups(lengths)
    bounds = np.array([0, 3, 3, 10, 18, 19])
    order = np.concatenate([a + np.argsort(lengths[a:b]) for a, b in pairwise(bounds)])
    expected = visit(groups, bounds, order, [0, 5])
    assert (expected != groups.topic).mean() > 0.3
    for parts in ([0, 1, 5], [0, 1, 2, 3, 4, 5], [0, 2, 4, 5]):
        np.testing.assert_array_equal(visit(groups, bounds, order, parts), expected)
    in_order = visit(groups, np.array([0, 19]), np.arange(19), [0, 1])
    np.testing.assert_array_equal(in_order, expected)


@both_kernels
def test_a_token_that_no_topic_explains_keeps_its_topic(visit):
    groups = Groups([5, 1])
    groups.psi[:] = 0.0
    topics = visit(groups, np.array([0, 2]), np.arange(2), [0, 1])
    np.testing.assert_array_equal(topics, groups.topic)


def test_log_rising_factorials_are_tabulated():
    base = np.random.default_rng(0).gamma(0.3, size=(N_CLUSTERS, 6)).astype(F)
    base[2, 3] = 0.0
    out = np.full((6, 40, N_CLUSTERS), np.nan, F)
    tabulate_log_rising_factorials(0, 2, base, out)
    tabulate_log_rising_factorials(2, 6, base, out)
    a = np.maximum(base.T.astype(float), 1e-30)[:, None, :]
    exact = gammaln(a + np.arange(40)[None, :, None]) - gammaln(a)
    np.testing.assert_allclose(out, exact, rtol=3e-6, atol=1e-4)


def test_topics_of_a_group_are_scored_also_beyond_the_table():
    base = np.random.default_rng(1).gamma(0.5, size=(N_CLUSTERS, 8)).astype(F)
    most, part = 20, np.full(N_CLUSTERS, np.nan, F)
    out = np.zeros((8, most + 1, N_CLUSTERS), F)
    tabulate_log_rising_factorials(0, 8, base, out)
    topics, token_counts = np.array([1, 4, 7, -1]), np.array([20, 3, 500, -1])
    score_clusters(topics, token_counts, 3, base, out.reshape(-1), most, part)
    a = base[:, topics[:3]].astype(float)
    exact = (gammaln(a + token_counts[:3]) - gammaln(a)).sum(axis=1)
    np.testing.assert_allclose(part, exact, rtol=3e-6)


def chances_of_tables(n, a):
    """Chances of 0, 1, ..., n tables of n customers."""
    chances = np.array([1.0])
    for i in range(n):
        opens = a / (a + i)
        chances = np.append(chances * (1 - opens), 0) + np.append(0, chances * opens)
    return chances


@pytest.mark.parametrize("a", [0.05, 0.7, 6.0])
def test_tables_of_a_group_have_their_distribution(a):
    n, rng = 4000, np.random.default_rng(6)
    topics, token_counts = np.array([3, 0, 5]), np.array([2, 7, 1])
    base = np.full(6, a, F)
    found = np.zeros((n, 6), np.int32)
    for row in found:
        uniforms = np.append(rng.random(10), np.zeros(16)).astype(F)
        add_tables(topics, token_counts, 3, base, uniforms, row)
    np.testing.assert_array_equal(found[:, [1, 2, 4]], 0)
    np.testing.assert_array_equal(found[:, 5], 1)
    for m, customers in ((3, 2), (0, 7)):
        expected = n * chances_of_tables(customers, a)
        often = expected > 5
        seen = np.bincount(found[:, m], minlength=customers + 1)
        seen, expected = (np.append(x[often], x[~often].sum() + 1e-9) for x in (seen, expected))
        assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100])
@pytest.mark.parametrize("a", [0.0, 0.05, 0.7, 6.0, 900.0])
def test_a_customer_opens_a_table_if_its_random_number_is_small(n, a):
    rng, first = np.random.default_rng(n), 5
    uniforms = rng.random(first + n + 16).astype(F)
    customer = np.arange(1, n, dtype=F)
    opened = 1 + (uniforms[first + 1 : first + n] * (F(a) + customer) < F(a)).sum()
    assert count_tables(F(a), n, uniforms, first) == opened


@pytest.mark.parametrize("n", [1, 3, 16, 40])
@pytest.mark.parametrize("parts", [(), (0.2,), (0.0, 0.3, 0.0), (0.5, 0.0, 1e-8)])
def test_tables_are_divided_in_proportion_to_the_parts(n, parts):
    rng, first, cluster = np.random.default_rng(n), 3, F(0.4)
    uniforms = rng.random(first + n + 16).astype(F)
    uniforms[first] = 1.0  # a product that was rounded to the total
    values = np.array(parts, F).reshape(len(parts), 1)
    edges = np.cumsum(np.append(cluster, values), dtype=F)
    source = np.searchsorted(edges, uniforms[first : first + n] * edges[-1], side="right")
    possible = np.flatnonzero(np.append(cluster, values) > 0)
    expected = np.bincount(np.minimum(source, possible[-1]), minlength=len(edges))
    found = np.full(len(parts), -1)
    in_cluster = divide_tables(cluster, values, len(parts), 0, n, uniforms, first, found)
    np.testing.assert_array_equal([in_cluster, *found], expected)


def test_groups_are_placed_and_counted_the_same_on_any_split():
    contexts = Contexts(N_CLUSTERS)
    groups = Groups(np.random.default_rng(3).integers(0, 90, N_GROUPS))
    rising = np.zeros((N_SLOTS, 9, N_CLUSTERS), F)
    tabulate_log_rising_factorials(0, N_SLOTS, groups.base, rising)
    log_weights = np.log(np.random.default_rng(4).dirichlet(np.ones(N_CLUSTERS)))
    bounds = np.array([0, 2, 2, 9, 12])

    def resample(parts):
        clusters = groups.cluster.copy()
        tokens, tables = (np.zeros(groups.base.shape, np.int32) for _ in range(2))
        log_likelihood = np.zeros(4)
        for first, last in pairwise(parts):
            resample_groups(
                first,
                last,
                groups.arrays(bounds),
                groups.topic,
                groups.base,
                rising.reshape(-1),
                log_weights,
                GivenContexts(contexts.dense, contexts.bags, contexts.parameters),
                KEY,
                clusters,
                tokens,
                tables,
                log_likelihood,
            )
        return clusters, tokens, tables, log_likelihood

    clusters, tokens, tables, log_likelihood = expected = resample([0, 4])
    for parts in ([0, 1, 4], [0, 1, 2, 3, 4]):
        for found, whole in zip(resample(parts), expected, strict=True):
            np.testing.assert_array_equal(found, whole)
    token_counts = np.zeros((N_GROUPS, N_SLOTS), int)
    np.add.at(
        token_counts, (np.repeat(np.arange(N_GROUPS), np.diff(groups.start)), groups.topic), 1
    )
    np.testing.assert_array_equal(tokens, np.eye(N_CLUSTERS, dtype=int)[clusters].T @ token_counts)
    assert ((tables >= (tokens > 0)) & (tables <= tokens)).all()
    a = np.maximum(groups.base[clusters].astype(float), 1e-30)
    exact = np.where(token_counts > 0, gammaln(a + token_counts) - gammaln(a), 0.0).sum(axis=1)
    np.testing.assert_allclose(
        log_likelihood, [exact[a:b].sum() for a, b in pairwise(bounds)], rtol=1e-5
    )


def test_words_of_topics_are_counted_anew():
    groups = Groups([30, 0, 25])
    layout, found = groups.layout, np.full((N_WORDS, N_SLOTS), 77, np.int32)
    for first, last in ((0, 4), (4, 4), (4, N_WORDS)):
        count_words_in_topics(
            first, last, layout.word_start, layout.token_by_word, groups.topic, found
        )
    expected = np.zeros_like(found)
    np.add.at(expected, (groups.word, groups.topic), 1)
    np.testing.assert_array_equal(found, expected)
