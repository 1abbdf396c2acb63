"""Topics of (cluster, word) cells: where shares end, and what is counted."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit
from scipy import sparse, stats

from mcsquared.kernels.cpu.cells import (
    MANY_TOKENS,
    MANY_TOPICS,
    MAX_BLOCKS_PER_PASS,
    blocks_per_pass,
    count_edges,
    draw_cells,
    upper_edges,
)
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.observations.layout import Layout

F = np.float32
SIZES = [16, 32, 48, 112, 144, 256, 272]


@njit
def write_edges(left, right, n, end, edges):
    return upper_edges(left, 1, right, 2, n, end, edges)


def edges_of(left, right):
    """Upper edges as (blocks, lanes), and the total."""
    n = len(left) - 1
    end, edges = np.zeros(N_LANES, F), np.full(n, np.nan, F)
    end[-1] = np.inf
    total = write_edges(left, right, n, end, edges)
    return edges.reshape(-1, N_LANES), total


def some_weights(n, empty, rng):
    left, right = rng.gamma(0.5, size=n + 1).astype(F), rng.gamma(0.5, size=n + 2).astype(F)
    left[1:][rng.random(n) < empty] = 0.0
    left[1 + rng.integers(n)] = 1.0
    return left, right


@pytest.mark.parametrize("n", SIZES)
def test_shares_of_topics_lie_side_by_side_lane_after_lane(n):
    rng = np.random.default_rng(n)
    for empty in (0.0, 0.3, 0.95):
        for _ in range(20):
            left, right = some_weights(n, empty, rng)
            edges, total = edges_of(left, right)
            in_order = edges.T.reshape(-1)
            weights = (left[1:].astype(float) * right[2:]).reshape(-1, N_LANES).T.reshape(-1)
            exact = np.cumsum(weights)
            assert np.isposinf(in_order[-1])
            assert total == pytest.approx(exact[-1], rel=2e-6)
            np.testing.assert_allclose(in_order[:-1], exact[:-1], rtol=0, atol=2e-6 * exact[-1])
            assert (np.diff(in_order[:-1]) >= 0).all()
            assert in_order[0] >= 0


@pytest.mark.parametrize("n", [32, 112])
def test_a_topic_without_share_at_the_end_of_its_lane_is_never_met(n):
    """Slots behind the last topic are there: rounding must not give them anything."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        left, right = some_weights(n, 0.1, rng)
        left[1 + n - N_LANES :] = 0.0
        edges, total = edges_of(left, right)
        np.testing.assert_array_equal(edges[-1, :-1], edges[-2, :-1])
        assert edges[-2, -1] == total


@njit
def count_all(numbers, total, n, edges, per_pass, reached):
    count_edges(numbers, 3, numbers.size, total, n, edges, per_pass, reached)


@pytest.mark.parametrize("n", SIZES)
def test_numbers_are_counted_by_the_edges_they_reach(n):
    rng = np.random.default_rng(n)
    left, right = some_weights(n, 0.3, rng)
    edges, total = edges_of(left, right)
    per_pass = blocks_per_pass(n)
    assert len(per_pass) <= MAX_BLOCKS_PER_PASS
    size = n + (1 + len(per_pass)) * N_LANES
    behind, reached = np.zeros(size, F), np.full(size, np.nan, F)
    behind[:n] = edges.reshape(-1)
    on_edges = (edges[edges < total] / total).clip(2.0**-32, 1 - 2.0**-24)
    numbers = np.concatenate([rng.random(1_000), on_edges, [2.0**-32, 1 - 2.0**-24]]).astype(F)
    count_all(numbers, total, n, behind, per_pass, reached)
    thresholds = numbers[3:] * total
    expected = (edges.reshape(-1)[:, None] <= thresholds).sum(axis=1)
    np.testing.assert_array_equal(reached[N_LANES : N_LANES + n], expected)
    counts = (reached[:n] - reached[N_LANES : N_LANES + n]).reshape(-1, N_LANES).T.reshape(-1)
    index = np.searchsorted(edges.T.reshape(-1), thresholds, side="right")
    np.testing.assert_array_equal(counts, np.bincount(index, minlength=n))


class Cells:
    """Some words of some groups, and what `draw_cells` reads."""

    def __init__(self, counts, n_slots, n_clusters=16, seed=0):
        rng = np.random.default_rng(seed)
        counts = sparse.csr_matrix(counts)
        word = np.repeat(counts.indices, counts.data).astype(np.int32)
        start = np.append(0, np.cumsum(counts.sum(axis=1))).astype(np.int64)
        self.layout = Layout(start, word, counts.shape[1])
        self.clusters = rng.integers(0, n_clusters, counts.shape[0]).astype(np.int32)
        self.tau = rng.dirichlet(np.full(n_slots, 0.3), n_clusters).astype(F)
        self.psi = rng.gamma(0.4, size=(counts.shape[1], n_slots)).astype(F)
        self.tokens = np.zeros((n_clusters, counts.shape[1]), int)
        np.add.at(self.tokens, self.clusters, counts.toarray())

    def draw(self, bounds=None, sweep=7):
        n_words, n_slots = self.psi.shape
        topics, words = np.zeros(self.tau.shape, np.int32), np.full(self.psi.shape, 99, np.int32)
        entries = self.layout.groups_of_word
        bounds = [0, n_words] if bounds is None else bounds
        for first, last in pairwise(bounds):
            draw_cells(
                first,
                last,
                n_slots,
                blocks_per_pass(n_slots),
                entries,
                self.layout.word_start,
                self.clusters,
                self.tau.reshape(-1),
                self.psi.reshape(-1),
                (5, 1, sweep),
                topics.reshape(-1),
                words.reshape(-1),
            )
        return topics, words


def some_cells(n_slots=48):
    counts = np.random.default_rng(1).poisson(1.5, (50, 21))
    counts[:, 4] += 60  # more tokens than numbers are made at a time
    counts[:, 6] = 0
    return Cells(counts, n_slots, n_clusters=32)


MANY = MANY_TOPICS + N_LANES


@pytest.mark.parametrize("n_slots", [16, 48, 144, MANY])
@pytest.mark.parametrize("weight", ["some", "none", "not a number"])
def test_every_token_is_counted_in_its_cluster_and_word(n_slots, weight):
    """Also where weights have gone out of the range of floats: no token is ever lost."""
    cells = some_cells(n_slots)
    if weight != "some":
        cells.psi[2] = 0.0 if weight == "none" else np.nan
    topics, words = cells.draw()
    np.testing.assert_array_equal(topics.sum(axis=1), cells.tokens.sum(axis=1))
    np.testing.assert_array_equal(words.sum(axis=1), cells.tokens.sum(axis=0))
    np.testing.assert_array_equal(topics.sum(axis=0), words.sum(axis=0))
    assert cells.tokens.sum(axis=0).max() > 2048


@pytest.mark.parametrize("n_slots", [48, MANY])
def test_any_split_of_the_words_gives_the_same_counts(n_slots):
    cells = some_cells(n_slots)
    topics, words = cells.draw()
    for bounds in ([0, 1, 21], [0, 8, 16, 21], list(range(22))):
        again = cells.draw(bounds)
        np.testing.assert_array_equal(again[0], topics)
        np.testing.assert_array_equal(again[1], words)


@pytest.mark.parametrize("n_slots", [16, 112, MANY])
@pytest.mark.parametrize("n_tokens", [1, MANY_TOKENS - 1, 6000])
def test_topics_of_a_cell_have_their_chances(n_slots, n_tokens):
    """Cells of few and of many tokens, which are searched where there are very many topics."""
    cells = Cells(np.full((1, 6000 // n_tokens), n_tokens), n_slots)
    cells.psi[:] = cells.psi[0]
    topics, _ = cells.draw()
    chances = cells.tau[cells.clusters[0]].astype(float) * cells.psi[0]
    expected = topics.sum() * chances / chances.sum()
    often = expected > 5
    found = np.append(topics[cells.clusters[0]][often], topics.sum() - topics[:, often].sum())
    expected = np.append(expected[often], topics.sum() - expected[often].sum())
    assert stats.chisquare(found, expected).pvalue > 1e-4
