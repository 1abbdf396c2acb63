"""Topics when all groups of a cluster share one mixture: drawn per (cluster, word) cell.

Tokens of the same cluster and word are exchangeable, so a cell's C_kw topics are independent draws
from p(m) ∝ τ_km ψ_mw, and no topic is stored per token. Word by word, so that the word's row of
topics stays in the nearest cache.
"""

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add_product,
    count_at_most,
    fill,
    increment,
    lane,
    load,
    multiply,
    nonzero,
    prefix_sums,
    store,
    trailing_zeros,
)
from mcsquared.kernels.rng import BLOCK, Step, fill_uniforms, uniform

__all__ = ["draw_cells", "draw_topics_by_word", "running_sums", "topic_at"]

F = np.float32
TOPICS = int(Step.TOPICS)
FEW = 8  # from so many tokens on, sums that are dearer to make and cheaper to search
NUMBERS = 32 * BLOCK


@njit(cache=True, inline="always")
def running_sums(left, left_at, right, right_at, n, sums):
    """Write the running sums of left × right over n topics, lane by lane; return their total.

    Sums of lane i are at i, i + 16, ...; a block of zeros and the sums over lanes follow them.
    """
    total = multiply(load(left, left_at), load(right, right_at))
    store(sums, 0, total)
    for m in range(N_LANES, n, N_LANES):
        total = add_product(total, load(left, left_at + m), load(right, right_at + m))
        store(sums, m, total)
    by_lane = prefix_sums(total)
    store(sums, n, fill(F(0.0)))
    store(sums, n + N_LANES, by_lane)
    return lane(by_lane, N_LANES - 1)


@njit(cache=True, inline="always")
def topic_at(sums, n, threshold):
    """Return the topic that ``threshold`` falls on: first its lane, then its block.

    It has a share if any has. Sums over lanes are rounded apart, so that a threshold at their edge
    can miss its lane, or fall on one without a share.
    """
    number = min(count_at_most(load(sums, n + N_LANES), threshold), N_LANES - 1)
    rest = max(threshold - lane(load(sums, n + N_LANES - 1 + number), 0), F(0.0))
    block = 0
    for m in range(0, n, N_LANES):
        block += np.int64(lane(load(sums, m + number), 0) <= rest)
    blocks = n // N_LANES
    if block >= blocks:  # by rounding: the last topic with a share, of this lane or one beside it
        last = n - N_LANES
        while number > 0 and sums[last + number] == F(0.0):
            number -= 1
        while number < N_LANES - 1 and sums[last + number] == F(0.0):
            number += 1
        block = blocks - 1
        while block > 0 and sums[(block - 1) * N_LANES + number] == sums[last + number]:
            block -= 1
    return block * N_LANES + number


@njit(cache=True, inline="always")
def block_sums(left, left_at, right, right_at, n, sums):
    """Write prefix sums inside each block of sixteen, then those of the blocks; return the total.

    The sums of blocks begin at n + 16, after a block of zeros.
    """
    store(sums, n, fill(F(0.0)))
    total = F(0.0)
    for m in range(0, n, N_LANES):
        inside = prefix_sums(multiply(load(left, left_at + m), load(right, right_at + m)))
        store(sums, m, inside)
        total += lane(inside, N_LANES - 1)
        sums[n + N_LANES + m // N_LANES] = total
    return total


@njit(cache=True, inline="always")
def topic_in_block(sums, n, threshold):
    """Return the topic that ``threshold`` falls on: first its block, then its place there.

    Sums inside a block are rounded apart, so that at the edge of a share a topic beside it can be
    meant, one without a share even.
    """
    blocks = n // N_LANES
    block = 0
    for b in range(0, blocks, N_LANES):
        block += count_at_most(load(sums, n + N_LANES + b), threshold)
    block = min(block, blocks - 1)
    rest = threshold - lane(load(sums, n + N_LANES - 1 + block), 0)
    number = count_at_most(load(sums, block * N_LANES), rest)
    if number >= N_LANES:  # by rounding: the last topic of the block that has a share
        number = N_LANES - 1
        at = block * N_LANES
        while number > 0 and sums[at + number - 1] == sums[at + N_LANES - 1]:
            number -= 1
    return block * N_LANES + number


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cells(
    first_word,
    last_word,
    n,
    entry_start,
    group_of_entry,
    count_of_entry,
    word_start,
    cluster_of_group,
    shares,
    weights,
    seed,
    chain,
    sweep,
    topics_in_cluster,
    words_in_topic,
):
    """Draw the topics of all tokens of the words ``first_word:last_word``.

    Parameters
    ----------
    n : int
        Topic slots.
    entry_start : int64 (n_words + 1,)
        Entries (group, count) of each word.
    word_start : int64 (n_words + 1,)
        Tokens of the words before it.
    shares : float32 (cluster slots × topic slots,)
        τ_km divided by the sum of the topic's variates.
    weights : float32 (n_words × topic slots,)
        Gamma variates of the topics' words.
    topics_in_cluster : int32 (cluster slots × topic slots,)
        Counts are added to it.
    words_in_topic : int32 (n_words × topic slots,)
        Rows of these words are overwritten.
    """
    n_clusters = topics_in_cluster.size // n
    tokens_of_cell = np.zeros(n_clusters, np.int32)
    # Single sums are read as the first of sixteen: room for those behind the last.
    by_lane = np.zeros(n + 3 * N_LANES, np.float32)
    by_block = np.full(2 * n + 3 * N_LANES, np.inf, np.float32)
    numbers = np.empty(NUMBERS, np.float32)
    for w in range(first_word, last_word):
        for m in range(w * n, (w + 1) * n):
            words_in_topic[m] = 0
        for e in range(entry_start[w], entry_start[w + 1]):
            tokens_of_cell[cluster_of_group[group_of_entry[e]]] += count_of_entry[e]
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
                few = n_tokens < FEW
                if few:
                    total = running_sums(shares, k * n, weights, w * n, n, by_lane)
                else:
                    total = block_sums(shares, k * n, weights, w * n, n, by_block)
                while n_tokens > 0:
                    if used == NUMBERS:
                        n_blocks = min(NUMBERS, left + BLOCK - 1) // BLOCK
                        fill_uniforms(numbers, n_blocks, seed, chain, sweep, TOPICS, block)
                        block += n_blocks
                        used = 0
                    take = min(n_tokens, NUMBERS - used)
                    if few:
                        for i in range(used, used + take):
                            m = topic_at(by_lane, n, numbers[i] * total)
                            increment(words_in_topic, w * n + m)
                            increment(topics_in_cluster, k * n + m)
                    else:
                        for i in range(used, used + take):
                            m = topic_in_block(by_block, n, numbers[i] * total)
                            increment(words_in_topic, w * n + m)
                            increment(topics_in_cluster, k * n + m)
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
    seed,
    chain,
    sweep,
    step,
    topic_of_token,
):
    """Draw the topic of every token by its word alone, p(m) ∝ weights[w, m]: where a chain begins.

    ``weights`` is float32 (n_words × n,), ``topic_of_token`` int32 (n_tokens,).
    """
    sums = np.zeros(n + 3 * N_LANES, np.float32)
    ones = np.ones(n, np.float32)
    for w in range(first_word, last_word):
        total = running_sums(ones, 0, weights, w * n, n, sums)
        for i in range(word_start[w], word_start[w + 1]):
            u = np.float32(uniform(seed, chain, sweep, step, i, 0))
            topic_of_token[token_by_word[i]] = topic_at(sums, n, u * total)
