"""Topics of (cluster, word) cells when all groups of a cluster share one mixture (λ = ∞).

Tokens of the same cluster and word are exchangeable, so the C_kw topics of a cell are independent
draws from p(m) ∝ τ_km ψ_mw, and no topic is stored per token. Cells are visited word by word, so
that the word's row of topics stays in the first-level cache.

Only the number of tokens of each topic matters. Each random number is compared with the upper edges
of the intervals of all topics, sixteen per instruction. Registers count how many numbers reached
each edge, without lookups or dependent updates. If there are very many topics, the block sums of
cells with enough tokens are searched instead.
"""

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add,
    add_counts,
    count_reached,
    element,
    fill_row,
    increment,
    lane,
    load,
    load_row,
    maximum,
    monotone_prefix_sums,
    nonzero_mask,
    shift_up,
    store,
    store_row,
    subtract,
    trailing_zeros,
)
from mcsquared.kernels.cpu.thresholds import (
    block_sums,
    running_sums,
    search_block_sums,
    search_running_sums,
    sum_lanes,
)
from mcsquared.kernels.rng import BLOCK, Step, fill_uniforms, uniform_of

F = np.float32
TOPICS = int(Step.TOPICS)
# A search is faster for more than MANY_TOPICS topics and at least MANY_TOKENS tokens.
MANY_TOPICS, MANY_TOKENS = 240, 8
MAX_BLOCKS_PER_PASS = 7  # their counts fit in the registers even if these have eight floats
N_UNIFORMS = 32 * BLOCK  # random numbers generated at a time


def blocks_per_pass(n_slots: int) -> tuple[int, ...]:
    """Return a tuple whose length is the number of blocks of topics to count per pass."""
    n_blocks = n_slots // N_LANES
    n_passes = -(-n_blocks // MAX_BLOCKS_PER_PASS)
    return (0,) * -(-n_blocks // n_passes)


@njit(cache=True, inline="always")
def upper_edges(left, left_offset, right, right_offset, n, end, edges):
    """Write the upper edges of the intervals of n topics; return the total length.

    The length of interval m is ``left[left_offset + m] * right[right_offset + m]``. Intervals are
    ordered by lane; the edges of lane i are at i, i + 16, .... Edges never decrease, despite
    rounding. ``end`` is 0 except for infinity in its last lane, so that no number lies beyond the
    last edge.
    """
    total = sum_lanes(left, left_offset, right, right_offset, n, edges)
    by_lane = monotone_prefix_sums(total)
    before = shift_up(by_lane, F(0.0))
    for m in range(0, n - N_LANES, N_LANES):
        after = subtract(total, load(edges, m))
        store(edges, m, maximum(subtract(by_lane, after), before))
    store(edges, n - N_LANES, add(by_lane, load(end, 0)))
    return lane(by_lane, N_LANES - 1)


@njit(cache=True, inline="always")
def count_edges(uniforms, first, last, total, n, edges, per_pass, reached):
    """Count how many of ``uniforms[first:last] * total`` reach each of the n edges.

    ``reached[16 + m]`` is the count of edge m, and ``reached[m]`` that of the edge before it.
    """
    for begin in range(0, n, len(per_pass) * N_LANES):
        row, counts = load_row(edges, begin, per_pass), fill_row(F(0.0), per_pass)
        for i in range(first, last):
            counts = count_reached(counts, row, element(uniforms, i) * total)
        store_row(reached, N_LANES + begin, counts)
    # The edge before the first block of a lane is in the last block of the previous lane.
    store(reached, 0, shift_up(load(reached, n), F(last - first)))


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cells(
    first_word,
    last_word,
    n,
    per_pass,
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
    per_pass : tuple
        From `blocks_per_pass`; its length is a compile-time constant.
    entries : Entries
        Groups of each word, with their counts.
    word_start : int64 (n_words + 1,)
        First token of each word, if tokens are sorted by word.
    shares : float32 (cluster slots × topic slots,)
        τ_km divided by the sum of the variates of topic m.
    weights : float32 (n_words × topic slots,)
        Gamma variates of the words of each topic.
    topics_in_cluster : int32 or int64 (cluster slots × topic slots,)
        Counts are added to it.
    words_in_topic : int32 or int64 (n_words × topic slots,)
        Rows of these words are overwritten.
    """
    entry_start, group_of_entry, count_of_entry = entries
    n_cluster_slots = topics_in_cluster.size // n
    tokens_of_cell = np.zeros(n_cluster_slots, count_of_entry.dtype)
    # Padded, because the last pass may read beyond the last block.
    size = n + (1 + len(per_pass)) * N_LANES
    edges, reached = np.zeros(size, np.float32), np.zeros(size, np.float32)
    end = np.zeros(N_LANES, np.float32)
    end[N_LANES - 1] = np.inf
    by_block = np.full(2 * n + 3 * N_LANES, np.inf, np.float32)
    uniforms = np.empty(N_UNIFORMS, np.float32)
    for w in range(first_word, last_word):
        words_in_topic[w * n : (w + 1) * n] = 0
        for e in range(entry_start[w], entry_start[w + 1]):
            k = cluster_of_group[np.uint32(group_of_entry[e])]
            tokens_of_cell[np.uint32(k)] += count_of_entry[e]
        # Every word starts a new block, so that no two words share a random number.
        block = word_start[w] // BLOCK + w
        used = N_UNIFORMS
        n_left = word_start[w + 1] - word_start[w]
        for first in range(0, n_cluster_slots, N_LANES):
            occupied = nonzero_mask(tokens_of_cell, first)
            while occupied != 0:
                k = first + trailing_zeros(occupied)
                occupied &= occupied - 1
                n_tokens = np.int64(tokens_of_cell[k])
                tokens_of_cell[k] = 0
                is_searched = n > MANY_TOPICS and n_tokens >= MANY_TOKENS
                if is_searched:
                    total = block_sums(shares, k * n, weights, w * n, n, by_block)
                else:
                    total = upper_edges(shares, k * n, weights, w * n, n, end, edges)
                while n_tokens > 0:
                    if used == N_UNIFORMS:
                        n_blocks = min(N_UNIFORMS, n_left + BLOCK - 1) // BLOCK
                        fill_uniforms(uniforms, n_blocks, key, TOPICS, block)
                        block += n_blocks
                        used = 0
                    take = min(n_tokens, N_UNIFORMS - used)
                    if is_searched:
                        for i in range(used, used + take):
                            m = search_block_sums(by_block, n, uniforms[i] * total)
                            increment(words_in_topic, w * n + m)
                            increment(topics_in_cluster, k * n + m)
                    else:
                        count_edges(uniforms, used, used + take, total, n, edges, per_pass, reached)
                        for m in range(0, n, N_LANES):
                            found = subtract(load(reached, m), load(reached, m + N_LANES))
                            add_counts(words_in_topic, w * n + m, found)
                            add_counts(topics_in_cluster, k * n + m, found)
                    used += take
                    n_tokens -= take
                    n_left -= take


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
    """Draw the initial topic of every token given its word only: p(m) ∝ weights[w, m].

    Parameters
    ----------
    n : int
        Number of topics.
    word_start : int64 (n_words + 1,)
        The tokens of word w are ``token_by_word[word_start[w]:word_start[w + 1]]``.
    weights : float32 (n_words × n,)
    topic_of_token : int32 (n_tokens,)
        Output.
    """
    sums = np.zeros(n + 3 * N_LANES, np.float32)
    ones = np.ones(n, np.float32)
    for w in range(first_word, last_word):
        total = running_sums(ones, 0, weights, w * n, n, sums)
        for i in range(word_start[w], word_start[w + 1]):
            u = np.float32(uniform_of(key, step, i, 0))
            topic_of_token[token_by_word[i]] = search_running_sums(sums, n, u * total)


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
    """Draw l_ji with p(m) ∝ τ_km ψ_mw, where k = z_j, for every token of some groups.

    ``shares`` (cluster slots, topic slots) and ``variates`` (n_words, topic slots), both float32,
    are the ``shares`` and ``weights`` of `draw_cells`. ``words`` and ``topic_of_token``, integers,
    are (n_tokens,). In the corpus, ``first_token`` tokens precede them.
    """
    n_slots = shares.shape[1]
    sums = np.empty(n_slots, np.float32)
    for j in range(first_group, last_group):
        share = shares[cluster_of_group[j]]
        for i in range(group_start[j], group_start[j + 1]):
            weight, total = variates[words[i]], np.float32(0.0)
            for m in range(n_slots):
                total += share[m] * weight[m]
                sums[m] = total
            u = np.float32(uniform_of(key, step, first_token + i, 0))
            drawn = min(np.searchsorted(sums, u * total, side="right"), n_slots - 1)
            while drawn > 0 and share[drawn] == 0.0:  # a slot of weight 0, by rounding
                drawn -= 1
            topic_of_token[i] = drawn
