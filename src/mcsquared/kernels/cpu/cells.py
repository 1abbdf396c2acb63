"""Topics of (cluster, word) cells when all groups of a cluster share one mixture (λ = ∞).

Tokens of the same cluster and word are exchangeable, so the C_kw topics of a cell are independent
draws from p(m) ∝ τ_km ψ_mw, and no topic is stored per token. Cells are visited word by word, so
that the word's row of topics stays in the first-level cache.

Only the number of tokens of each topic matters. Every random number is compared with the upper
edges of all topics' intervals, sixteen in one instruction, and registers count how often each edge
was reached: no table lookups, no dependent counts. With very many topics, cells with enough tokens
use a search in block sums instead.
"""

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add,
    add_counts,
    count_reached,
    element,
    fill_rows,
    increment,
    lane,
    larger,
    load,
    moved_up,
    nonzero,
    rising_sums,
    rows_of,
    store,
    store_rows,
    subtract,
    trailing_zeros,
)
from mcsquared.kernels.cpu.thresholds import (
    block_sums,
    running_sums,
    sum_lanes,
    topic_at,
    topic_in_block,
)
from mcsquared.kernels.rng import BLOCK, Step, fill_uniforms, uniform_of

F = np.float32
TOPICS = int(Step.TOPICS)
MANY_TOPICS, FEW = 240, 8  # a search is faster above this many topics, from this many tokens
AT_ONCE = 7  # blocks whose counts stay in registers, even if registers have eight floats
NUMBERS = 32 * BLOCK


def blocks_at_once(n_topics: int) -> tuple[int, ...]:
    """Return a tuple whose length is the number of blocks of topics to count in one pass."""
    n_blocks = n_topics // N_LANES
    n_passes = -(-n_blocks // AT_ONCE)
    return (0,) * -(-n_blocks // n_passes)


@njit(cache=True, inline="always")
def upper_edges(left, left_at, right, right_at, n, end, edges):
    """Write the upper edges of the intervals left × right of n topics; return their sum.

    Intervals are ordered by lane; edges of lane i are at i, i + 16, .... Rounding never makes an
    edge smaller than the one before. ``end`` is 0 except for infinity in its last lane, so that no
    number lies beyond all edges.
    """
    total = sum_lanes(left, left_at, right, right_at, n, edges)
    by_lane = rising_sums(total)
    before = moved_up(by_lane, F(0.0))
    for m in range(0, n - N_LANES, N_LANES):
        behind = subtract(total, load(edges, m))
        store(edges, m, larger(subtract(by_lane, behind), before))
    store(edges, n - N_LANES, add(by_lane, load(end, 0)))
    return lane(by_lane, N_LANES - 1)


@njit(cache=True, inline="always")
def count_topics(numbers, first, last, total, n, edges, at_once, reached):
    """Count how many of ``numbers[first:last] * total`` reach each of the n edges.

    The count of edge m is written to 16 + m, that of the edge before it to m.
    """
    for begin in range(0, n, len(at_once) * N_LANES):
        row, counts = rows_of(edges, begin, at_once), fill_rows(F(0.0), at_once)
        for i in range(first, last):
            counts = count_reached(counts, row, element(numbers, i) * total)
        store_rows(reached, N_LANES + begin, counts)
    # The edge before the first block of a lane is in the last block of the lane below.
    store(reached, 0, moved_up(load(reached, n), F(last - first)))


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cells(
    first_word,
    last_word,
    n,
    at_once,
    entries,
    word_start,
    cluster_of_group,
    shares,
    weights,
    key,
    topics_in_cluster,
    words_in_topic,
):
    """Draw the topics of all tokens of the words ``first_word:last_word``.

    Parameters
    ----------
    n : int
        Number of topic slots.
    at_once : tuple
        From `blocks_at_once`; its length is a compile-time constant.
    entries : Entries
        Groups of each word with their counts.
    word_start : int64 (n_words + 1,)
        First token of each word, in the order of words.
    shares : float32 (cluster slots × topic slots,)
        τ_km divided by the sum of the topic's variates.
    weights : float32 (n_words × topic slots,)
        Gamma variates of the topics' words.
    topics_in_cluster : int32 (cluster slots × topic slots,)
        Counts are added to it.
    words_in_topic : int32 (n_words × topic slots,)
        Rows of these words are overwritten.
    """
    entry_start, group_of_entry, count_of_entry = entries
    n_clusters = topics_in_cluster.size // n
    tokens_of_cell = np.zeros(n_clusters, np.int32)
    # The last pass may read blocks after the last.
    size = n + (1 + len(at_once)) * N_LANES
    edges, reached = np.zeros(size, np.float32), np.zeros(size, np.float32)
    end = np.zeros(N_LANES, np.float32)
    end[N_LANES - 1] = np.inf
    by_block = np.full(2 * n + 3 * N_LANES, np.inf, np.float32)
    numbers = np.empty(NUMBERS, np.float32)
    for w in range(first_word, last_word):
        words_in_topic[w * n : (w + 1) * n] = 0
        for e in range(entry_start[w], entry_start[w + 1]):
            k = cluster_of_group[np.uint32(group_of_entry[e])]
            tokens_of_cell[np.uint32(k)] += count_of_entry[e]
        # Every word begins a block of its own, so that no two words share a number.
        block = word_start[w] // BLOCK + w
        used = NUMBERS
        left = word_start[w + 1] - word_start[w]
        for first in range(0, n_clusters, N_LANES):
            occupied = nonzero(tokens_of_cell, first)
            while occupied != 0:
                k = first + trailing_zeros(occupied)
                occupied &= occupied - 1
                n_tokens = np.int64(tokens_of_cell[k])
                tokens_of_cell[k] = 0
                is_searched = n > MANY_TOPICS and n_tokens >= FEW
                if is_searched:
                    total = block_sums(shares, k * n, weights, w * n, n, by_block)
                else:
                    total = upper_edges(shares, k * n, weights, w * n, n, end, edges)
                while n_tokens > 0:
                    if used == NUMBERS:
                        n_blocks = min(NUMBERS, left + BLOCK - 1) // BLOCK
                        fill_uniforms(numbers, n_blocks, key, TOPICS, block)
                        block += n_blocks
                        used = 0
                    take = min(n_tokens, NUMBERS - used)
                    if is_searched:
                        for i in range(used, used + take):
                            m = topic_in_block(by_block, n, numbers[i] * total)
                            increment(words_in_topic, w * n + m)
                            increment(topics_in_cluster, k * n + m)
                    else:
                        count_topics(numbers, used, used + take, total, n, edges, at_once, reached)
                        for m in range(0, n, N_LANES):
                            found = subtract(load(reached, m), load(reached, m + N_LANES))
                            add_counts(words_in_topic, w * n + m, found)
                            add_counts(topics_in_cluster, k * n + m, found)
                    used += take
                    n_tokens -= take
                    left -= take


@njit(cache=True, nogil=True, error_model="numpy")
def draw_topics_by_word(
    first_word,
    last_word,
    n,
    word_start,
    token_by_word,
    weights,
    key,
    step,
    topic_of_token,
):
    """Draw the first topic of every token given its word alone: p(m) ∝ weights[w, m].

    ``weights`` is float32 (n_words × n,), ``topic_of_token`` int32 (n_tokens,).
    """
    sums = np.zeros(n + 3 * N_LANES, np.float32)
    ones = np.ones(n, np.float32)
    for w in range(first_word, last_word):
        total = running_sums(ones, 0, weights, w * n, n, sums)
        for i in range(word_start[w], word_start[w + 1]):
            u = np.float32(uniform_of(key, step, i, 0))
            topic_of_token[token_by_word[i]] = topic_at(sums, n, u * total)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_first_topics(
    first_group,
    last_group,
    group_start,
    words,
    cluster_of_group,
    shares,
    variates,
    key,
    step,
    first_token,
    topic_of_token,
):
    """Draw l_ji ∝ τ_km ψ_mw with k = z_j for every token of some groups.

    ``shares`` and ``variates`` have the values of ``shares`` and ``weights`` in `draw_cells`.
    ``first_token`` tokens of the corpus precede the first of these arrays.
    """
    n_topics = shares.shape[1]
    sums = np.empty(n_topics, np.float32)
    for j in range(first_group, last_group):
        share = shares[cluster_of_group[j]]
        for i in range(group_start[j], group_start[j + 1]):
            weight, total = variates[words[i]], np.float32(0.0)
            for m in range(n_topics):
                total += share[m] * weight[m]
                sums[m] = total
            u = np.float32(uniform_of(key, step, first_token + i, 0))
            drawn = min(np.searchsorted(sums, u * total, side="right"), n_topics - 1)
            while drawn > 0 and share[drawn] == 0.0:  # a slot without weight, by rounding
                drawn -= 1
            topic_of_token[i] = drawn
