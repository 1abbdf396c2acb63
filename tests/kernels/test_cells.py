"""Topics of (cluster, word) cells: where a threshold falls, and what is counted."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit
from scipy import sparse, stats

from mcsquared.kernels.cpu.cells import (
    FEW,
    block_sums,
    draw_cells,
    running_sums,
    topic_at,
    topic_in_block,
)
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.observations.layout import Layout

F = np.float32
SIZES = [16, 32, 48, 112, 256, 272, 512]


@njit
def by_lanes(left, right, n, numbers, out):
    sums = np.full(n + 3 * N_LANES, np.nan, np.float32)
    total = running_sums(left, 1, right, 2, n, sums)
    for i in range(numbers.size):
        out[i] = topic_at(sums, n, numbers[i] * total)
    return total


@njit
def by_blocks(left, right, n, numbers, out):
    sums = np.full(2 * n + 3 * N_LANES, np.inf, np.float32)
    total = block_sums(left, 1, right, 2, n, sums)
    for i in range(numbers.size):
        out[i] = topic_in_block(sums, n, numbers[i] * total)
    return total


def order_of(function, n):
    """Topics in the order in which their shares lie side by side."""
    order = np.arange(n)
    return order.reshape(-1, N_LANES).T.reshape(-1) if function is by_lanes else order


def some_weights(n, empty, rng):
    left, right = (rng.gamma(0.5, size=n + 2).astype(F) for _ in range(2))
    left[1 : n + 1][rng.random(n) < empty] = 0.0
    left[1 + rng.integers(n)] = 1.0
    return left, right


def near_edges(cumulative):
    """Numbers at the edges of shares and a few floats to both sides of them."""
    edges = np.append(0.0, cumulative) / cumulative[-1]
    numbers = edges[:, None] * (1.0 + np.arange(-5, 6) * 2.0**-24)
    return np.clip(numbers.reshape(-1), 2.0**-32, 1.0 - 2.0**-24).astype(F)


@pytest.mark.parametrize("function", [by_lanes, by_blocks])
@pytest.mark.parametrize("n", SIZES)
def test_a_threshold_picks_the_topic_that_cumulative_sums_say(function, n):
    rng, order = np.random.default_rng(n), order_of(function, n)
    for empty in (0.0, 0.3, 0.95):
        for _ in range(10):
            left, right = some_weights(n, empty, rng)
            weights = left[1 : n + 1].astype(float) * right[2 : n + 2]
            cumulative = np.cumsum(weights[order])
            numbers = np.append(rng.random(500).astype(F), near_edges(cumulative))
            found = np.full(len(numbers), -1)
            total = function(left, right[: n + 2], n, numbers, found)
            assert total == pytest.approx(cumulative[-1], rel=2e-6)
            threshold = numbers * cumulative[-1]
            place = np.argsort(order)[found]
            # Between the sums before it and with it, but for what is lost in adding up floats.
            lost = 3e-6 * cumulative[-1]
            assert (np.append(0.0, cumulative)[place] <= threshold + lost).all()
            assert (threshold <= cumulative[place] + lost).all()
            if function is by_lanes:
                assert (weights[found] > 0).all()


@pytest.mark.parametrize("function", [by_lanes, by_blocks])
def test_the_only_topic_with_a_share_is_always_picked(function):
    for m in range(32):
        left, right = np.zeros(33, F), np.ones(34, F)
        left[1 + m] = 0.3
        found = np.full(4, -1)
        function(left, right, 32, F([2.0**-32, 0.5, 1 - 2.0**-24, 1.0]), found)
        np.testing.assert_array_equal(found[: 4 if function is by_lanes else 3], m)


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
                entries.start,
                entries.column,
                entries.count,
                self.layout.word_start,
                self.clusters,
                self.tau.reshape(-1),
                self.psi.reshape(-1),
                5,
                1,
                sweep,
                topics.reshape(-1),
                words.reshape(-1),
            )
        return topics, words


def some_cells():
    counts = np.random.default_rng(1).poisson(1.5, (50, 21))
    counts[:, 4] += 60  # more tokens than numbers are made at a time
    counts[:, 6] = 0
    return Cells(counts, 48, n_clusters=32)


def test_every_token_is_counted_in_its_cluster_and_word():
    cells = some_cells()
    topics, words = cells.draw()
    np.testing.assert_array_equal(topics.sum(axis=1), cells.tokens.sum(axis=1))
    np.testing.assert_array_equal(words.sum(axis=1), cells.tokens.sum(axis=0))
    np.testing.assert_array_equal(topics.sum(axis=0), words.sum(axis=0))
    assert cells.tokens.sum(axis=0).max() > 2048


def test_any_split_of_the_words_gives_the_same_counts():
    cells = some_cells()
    topics, words = cells.draw()
    for bounds in ([0, 1, 21], [0, 8, 16, 21], list(range(22))):
        again = cells.draw(bounds)
        np.testing.assert_array_equal(again[0], topics)
        np.testing.assert_array_equal(again[1], words)


@pytest.mark.parametrize("n_tokens", [FEW - 1, 6000])
def test_topics_of_a_cell_have_their_chances(n_tokens):
    """Cells of few and of many tokens, which are searched in two ways."""
    cells = Cells(np.full((1, 6000 // n_tokens), n_tokens), 16)
    cells.psi[:] = cells.psi[0]
    topics, _ = cells.draw()
    chances = cells.tau[cells.clusters[0]].astype(float) * cells.psi[0]
    expected = topics.sum() * chances / chances.sum()
    often = expected > 5
    found = np.append(topics[cells.clusters[0]][often], topics.sum() - topics[:, often].sum())
    expected = np.append(expected[often], topics.sum() - expected[often].sum())
    assert stats.chisquare(found, expected).pvalue > 1e-4
