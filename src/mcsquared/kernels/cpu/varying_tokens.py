"""Topics of tokens in groups that vary within their cluster (λ finite), given the globals.

A group's topic weights are integrated out, so its tokens are resampled one after another:

    p(l_ji = m)  ∝  (n_jm + λ τ_km) ψ_mw        n_jm excludes token i

Groups are independent of each other.
"""

from typing import NamedTuple

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.groups import empty_uniforms, fill_group_uniforms
from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    SEGMENT,
    block_in_lane,
    count_at_most,
    element,
    lane,
    prefetch,
    prefix_sums,
    store,
    sum_segments,
)
from mcsquared.kernels.cpu.thresholds import running_sums, search_running_sums
from mcsquared.kernels.rng import Step

F, LONG = np.float32, np.int64
TOPICS = int(Step.TOPICS)
N_IN_TURN = 4  # groups processed in turn
MAX_NEAR_FLOATS = 1 << 18  # 1 MB: a larger table is not all in the second-level cache
TOKENS_AHEAD = 64  # tokens between the prefetch of a topic and its use in a count
TOKEN, END, ROW, BASE, UNIFORM = range(5)  # next token, last token + 1, offsets of a group in turn


class GroupsInTurn(NamedTuple):
    """Groups whose tokens are drawn in turn, one token of each at a time.

    Row g of ``numbers`` contains the offsets of group g in the other arrays: after a group has
    replaced a finished one, its rows there are not row g.
    """

    numbers: np.ndarray  # int64 (N_IN_TURN, 5): TOKEN, END, ROW, BASE, UNIFORM
    weights: np.ndarray  # float32 (N_IN_TURN × topic slots,): n_jm + λ τ_km
    counts: np.ndarray  # int32 (N_IN_TURN × topic slots,): n_jm without the next token
    uniforms: np.ndarray  # float32 (N_IN_TURN, longest group)
    drawn: np.ndarray  # int64 (N_IN_TURN,): topics drawn in the current round
    sums: np.ndarray  # float32, from `empty_sums`


@njit(cache=True, error_model="numpy")
def aligned_zeros(n):
    """Return a float32 array of n zeros that begins with a cache line."""
    zeros = np.zeros(n + N_LANES, np.float32)
    return zeros[-(zeros.ctypes.data // 4) % N_LANES :]


@njit(cache=True, error_model="numpy")
def empty_sums(n_blocks):
    """Return an array for the sums of `sum_segments`, then zeros and prefix sums of lanes."""
    n_segments = (n_blocks + SEGMENT - 1) // SEGMENT
    sums = aligned_zeros((n_segments * SEGMENT + n_segments + 3) * N_LANES)
    sums[n_blocks * N_LANES : n_segments * SEGMENT * N_LANES] = np.inf
    return sums


@njit(cache=True, error_model="numpy")
def groups_in_turn(groups, n_blocks):
    """Return arrays for `N_IN_TURN` groups."""
    n_slots = n_blocks * N_LANES
    return GroupsInTurn(
        np.zeros((N_IN_TURN, 5), np.int64),
        aligned_zeros(N_IN_TURN * n_slots),
        np.zeros(N_IN_TURN * n_slots, np.int32),
        np.zeros((N_IN_TURN, empty_uniforms(groups).size), np.float32),
        np.zeros(N_IN_TURN, np.int64),
        empty_sums(n_blocks),
    )


@njit(cache=True, error_model="numpy")
def begin_group(g, j, groups, key, base, cluster_of_group, topic_of_token, in_turn):
    """Make group ``j`` the group ``g`` of those in turn; its first token is not counted."""
    numbers, weights, counts, uniforms, _, _ = in_turn
    n_slots, first, end = base.shape[1], groups.start[j], groups.start[j + 1]
    row, cluster = g * n_slots, cluster_of_group[j]
    fill_group_uniforms(j, groups, key, TOPICS, uniforms[g])
    numbers[g, TOKEN], numbers[g, END], numbers[g, ROW] = first, end, row
    numbers[g, BASE], numbers[g, UNIFORM] = cluster * n_slots, g * uniforms.shape[1] - first
    counts[row : row + n_slots] = 0
    for i in range(first, end):
        counts[row + topic_of_token[i]] += 1
    if first < end:
        counts[row + topic_of_token[first]] -= 1
    for m in range(n_slots):
        weights[row + m] = float32(counts[row + m]) + base[cluster, m]


@njit(cache=True, inline="always")
def draw_topic(u, topic, weights, row, factors, factor_row, sums, blocks):
    """Return a topic drawn in proportion to weights × factors; ``topic`` is the current one."""
    by_lane = prefix_sums(sum_segments(weights, row, factors, factor_row, sums, blocks))
    last = sums.size // N_LANES * N_LANES - N_LANES
    store(sums, last, by_lane)
    threshold = u * lane(by_lane, N_LANES - 1)
    chosen = min(count_at_most(by_lane, threshold), N_LANES - 1)
    # The block before the prefix sums of lanes is 0, for the first lane. Prefix sums are rounded
    # differently, so the difference could be negative.
    rest = max(threshold - element(sums, last - 1 + chosen), F(0.0))
    block = block_in_lane(sums, chosen, rest, blocks)
    # If rounding moves the threshold beyond the last topic, the topic does not change.
    return block * N_LANES + chosen if block < len(blocks) else topic


@njit(cache=True, inline="always")
def change_count(m, change, row, base_row, counts, weights, base):
    """Add ``change`` to the count of topic ``m`` and recompute its weight.

    Adding to the weight itself would lose a small base.
    """
    count = element(counts, row + m) + change
    counts[row + m] = count
    weights[row + m] = float32(count) + element(base, base_row + m)


@njit(cache=True, error_model="numpy")
def draw_in_turn(n_rounds, n_groups, word, base, factors, blocks, in_turn, topic_of_token):
    """Draw the topics of the next ``n_rounds`` tokens of the first ``n_groups`` groups in turn.

    Counts change after all topics of a round are drawn. A change at an address that becomes known
    late would delay all sums that follow it in the program, also those of other groups.
    """
    numbers, weights, counts, uniforms, drawn, sums = in_turn
    n_slots, uniforms = len(blocks) * N_LANES, uniforms.reshape(-1)
    is_far = factors.size > MAX_NEAR_FLOATS
    for _ in range(n_rounds):
        for g in range(n_groups):
            i, row = numbers[g, TOKEN], numbers[g, ROW]
            u, m = element(uniforms, numbers[g, UNIFORM] + i), LONG(element(topic_of_token, i))
            factor_row = LONG(element(word, i)) * n_slots
            drawn[g] = draw_topic(u, m, weights, row, factors, factor_row, sums, blocks)
        for g in range(n_groups):
            i, row, base_row = numbers[g, TOKEN], numbers[g, ROW], numbers[g, BASE]
            topic_of_token[i] = drawn[g]
            change_count(drawn[g], 1, row, base_row, counts, weights, base)
            i += 1
            numbers[g, TOKEN] = i
            if i < numbers[g, END]:
                m = LONG(element(topic_of_token, i))
                change_count(m, -1, row, base_row, counts, weights, base)
                after = LONG(element(word, min(i + 1, numbers[g, END] - 1))) * n_slots
                if is_far:
                    for k in range(0, n_slots, N_LANES):
                        prefetch(factors, after + k)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_tokens(
    first,
    last,
    order_start,
    order,
    groups,
    word,
    base,
    factors,
    blocks,
    key,
    cluster_of_group,
    topic_of_token,
):
    """Draw the topics of all tokens of the groups in parts ``first:last`` of ``order``.

    A few groups are processed in turn, one token of each at a time: a token depends on the one
    before it, so a single group would leave the processor waiting.

    Parameters
    ----------
    order_start : int64 (n_parts + 1,)
        Bounds of the parts of ``order``.
    order : int64 (n_groups,)
        Groups in the order in which they are started.
    word : int32 (n_tokens,)
    base : float32 (cluster slots, topic slots)
        λ τ_km.
    factors : float32 (n_words × topic slots,)
        ψ_mw up to a common factor, in C order.
    blocks : tuple
        Its length is the number of blocks of sixteen topic slots, a compile-time constant.
    cluster_of_group : int32 (n_groups,)
    topic_of_token : uint16 (n_tokens,)
    """
    in_turn, base_of_row = groups_in_turn(groups, len(blocks)), base.reshape(-1)
    numbers = in_turn.numbers
    position, end, n_groups = order_start[first], order_start[last], 0
    while True:
        g = 0
        while g <= n_groups and g < N_IN_TURN:
            if g < n_groups and numbers[g, TOKEN] < numbers[g, END]:
                g += 1
            elif position < end:
                j = order[position]
                begin_group(g, j, groups, key, base, cluster_of_group, topic_of_token, in_turn)
                n_groups, position = max(n_groups, g + 1), position + 1
            elif g < n_groups:  # the last group takes the place of a finished one
                n_groups -= 1
                numbers[g] = numbers[n_groups]
            else:
                break
        if n_groups == 0:
            return
        n_rounds = (numbers[:n_groups, END] - numbers[:n_groups, TOKEN]).min()
        tokens = (word, base_of_row, factors, blocks)
        draw_in_turn(n_rounds, n_groups, *tokens, in_turn, topic_of_token)


@njit(cache=True, error_model="numpy")
def sweep_group_topics(first, last, k, word, base, factors, mixtures, scratch, topic_of_token):
    """Draw the topics of tokens ``first:last``, those of one group in cluster ``k``.

    Arguments are those of `sweep_tokens_by_group_topics`. Of the ``scratch``, ``topics`` lists the
    topics that have tokens, and ``position`` is the index of each in that list.
    """
    count, topics, position, uniforms, sums, all_sums = scratch
    n_slots = count.size
    n_topics = 0
    for i in range(first, last):
        m = topic_of_token[i]
        if count[m] == 0:
            topics[n_topics] = m
            position[m] = n_topics
            n_topics += 1
        count[m] += 1
    for i in range(first, last):
        old = np.int64(topic_of_token[i])
        count[old] -= 1
        if count[old] == 0:
            n_topics -= 1
            moved = topics[n_topics]
            topics[position[old]] = moved
            position[moved] = position[old]
        w = np.int64(word[i])
        total = float32(0.0)
        for t in range(n_topics):
            m = topics[t]
            total += float32(count[m]) * factors[w * n_slots + m]
            sums[t] = total
        base_total = mixtures[w, k]
        # The part over all topics comes first, because floats are most precise near 0.
        threshold = uniforms[i - first] * (total + base_total)
        drawn = old
        if threshold >= base_total and total > float32(0.0):
            t = 0
            while t < n_topics - 1 and sums[t] <= threshold - base_total:
                t += 1
            drawn = topics[t]
        elif base_total > float32(0.0):
            # The sum is recomputed in another order, so the threshold is rescaled.
            share = threshold / base_total
            all_total = running_sums(base, k * n_slots, factors, w * n_slots, n_slots, all_sums)
            drawn = search_running_sums(all_sums, n_slots, min(share, float32(1.0)) * all_total)
        if count[drawn] == 0:
            topics[n_topics] = drawn
            position[drawn] = n_topics
            n_topics += 1
        count[drawn] += 1
        topic_of_token[i] = drawn
    for t in range(n_topics):
        count[topics[t]] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_tokens_by_group_topics(
    first_chunk,
    last_chunk,
    groups,
    word,
    n_slots,
    base,
    factors,
    mixtures,
    key,
    cluster_of_group,
    topic_of_token,
):
    """Draw the topics of all tokens of some chunks; faster than `sweep_tokens` for many topics.

        p(l_ji = m)  ∝  n_jm ψ_mw  +  λ τ_km ψ_mw

    The first term is summed over the few topics of the group. The sum of the second over all topics
    is tabulated once per sweep; single terms are computed only for tokens drawn from it.

    Parameters
    ----------
    n_slots : int
        Number of topic slots.
    base : float32 (cluster slots × topic slots,)
        λ τ_km.
    factors : float32 (n_words × topic slots,)
        ψ_mw up to a common factor.
    mixtures : float32 (n_words, cluster slots)
        Σ_m λ τ_km ψ_mw, with the same factor.
    others
        As in `sweep_tokens`.
    """
    scratch = (
        np.zeros(n_slots, np.int64),
        np.empty(n_slots + 1, np.int64),
        np.empty(n_slots, np.int64),
        empty_uniforms(groups),
        np.empty(n_slots + 1, np.float32),
        np.zeros(n_slots + 3 * N_LANES, np.float32),
    )
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        first, last, k = groups.start[j], groups.start[j + 1], np.int64(cluster_of_group[j])
        fill_group_uniforms(j, groups, key, TOPICS, scratch[3])
        sweep_group_topics(first, last, k, word, base, factors, mixtures, scratch, topic_of_token)


@njit(cache=True, nogil=True, error_model="numpy")
def count_words_in_topics(
    first_word, last_word, word_start, token_by_word, topic_of_token, words_in_topic
):
    """Count the topics of each word's tokens in its row of ``words_in_topic``.

    ``words_in_topic`` is an integer array (n_words, topic slots). The tokens of word w are
    ``token_by_word[word_start[w]:word_start[w + 1]]``. Their topics are far from each other in
    memory, so each is loaded some tokens ahead.
    """
    last = word_start[last_word] - 1
    for w in range(first_word, last_word):
        row = words_in_topic[w]
        row[:] = 0
        for i in range(word_start[w], word_start[w + 1]):
            prefetch(topic_of_token, LONG(element(token_by_word, min(i + TOKENS_AHEAD, last))))
            row[topic_of_token[np.uint64(token_by_word[i])]] += 1
