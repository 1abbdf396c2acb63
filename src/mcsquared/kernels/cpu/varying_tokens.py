"""Topics of tokens in groups that vary within their cluster (λ finite), given the globals.

A group's topic weights are integrated out, so its tokens are resampled one after another:

    p(l_ji = m)  ∝  (n_jm + λ τ_km) ψ_mw        n_jm excludes token i

Groups are independent of each other.
"""

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.groups import empty_uniforms, fill_group_uniforms
from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add_at,
    block_in_lane,
    count_at_most,
    lane,
    load,
    load_row,
    prefix_sums,
    store,
    store_row,
    weighted_sums,
)
from mcsquared.kernels.cpu.thresholds import running_sums, search_running_sums
from mcsquared.kernels.rng import Step

F, LONG = np.float32, np.int64
ONE = F(1.0)
TOPICS = int(Step.TOPICS)


@njit(cache=True, inline="always")
def draw_token(counts, word, topic, u, base, factors, stride, sums, blocks):
    """Draw the topic of one token; return the updated counts and the topic."""
    counts = add_at(counts, topic, -ONE)
    by_lane = prefix_sums(weighted_sums(counts, base, 0, factors, word * stride, sums))
    n = len(blocks) * N_LANES
    store(sums, n + N_LANES, by_lane)
    threshold = u * lane(by_lane, N_LANES - 1)
    chosen = min(count_at_most(by_lane, threshold), N_LANES - 1)
    # The block before the prefix sums of lanes is 0, for the first lane. Prefix sums are rounded
    # differently, so the difference could be negative.
    rest = max(threshold - lane(load(sums, n + N_LANES - 1 + chosen), 0), F(0.0))
    block = block_in_lane(sums, chosen, rest, blocks)
    # If rounding moves the threshold beyond the last topic, the topic does not change.
    drawn = block * N_LANES + chosen if block < len(blocks) else topic
    return add_at(counts, drawn, ONE), drawn


@njit(cache=True, error_model="numpy")
def begin_group(j, groups, key, base, cluster_of_group, topic_of_token, scratch):
    """Fill ``scratch`` with the topic counts, cluster weights and random numbers of group ``j``."""
    counts, row, uniforms, _ = scratch
    counts[:] = F(0.0)
    for i in range(groups.start[j], groups.start[j + 1]):
        counts[topic_of_token[i]] += ONE
    k = cluster_of_group[j]
    for m in range(row.size):
        row[m] = base[k, m]
    fill_group_uniforms(j, groups, key, TOPICS, uniforms)


@njit(cache=True, error_model="numpy")
def sweep_group(first, last, offset, word, topic_of_token, factors, blocks, scratch):
    """Draw the topics of tokens ``first:last``; ``offset`` tokens of their group precede them."""
    n, row, uniforms, sums = scratch
    counts = load_row(n, 0, blocks)
    stride = len(blocks) * N_LANES
    for i in range(first, last):
        w, m, u = LONG(word[i]), LONG(topic_of_token[i]), uniforms[offset + i - first]
        counts, drawn = draw_token(counts, w, m, u, row, factors, stride, sums, blocks)
        topic_of_token[i] = drawn
    store_row(n, 0, counts)


@njit(cache=True, error_model="numpy")
def sweep_two_groups(
    first_a, first_b, length, word, topic_of_token, factors, blocks, scratch_a, scratch_b
):
    """Draw the topics of ``length`` tokens in each of two groups, alternately."""
    n_a, row_a, uniforms_a, sums_a = scratch_a
    n_b, row_b, uniforms_b, sums_b = scratch_b
    counts_a, counts_b = load_row(n_a, 0, blocks), load_row(n_b, 0, blocks)
    stride = len(blocks) * N_LANES
    for i in range(length):
        a, b = first_a + i, first_b + i
        w, m, u = LONG(word[a]), LONG(topic_of_token[a]), uniforms_a[i]
        counts_a, drawn_a = draw_token(counts_a, w, m, u, row_a, factors, stride, sums_a, blocks)
        w, m, u = LONG(word[b]), LONG(topic_of_token[b]), uniforms_b[i]
        counts_b, drawn_b = draw_token(counts_b, w, m, u, row_b, factors, stride, sums_b, blocks)
        topic_of_token[a] = drawn_a
        topic_of_token[b] = drawn_b
    store_row(n_a, 0, counts_a)
    store_row(n_b, 0, counts_b)


@njit(cache=True, error_model="numpy")
def make_scratch(groups, n_slots):
    """Return arrays for the topic counts, topic weights, random numbers and sums of one group."""
    # The sums are padded: a single sum is read as the first of a vector of sixteen.
    return (
        np.empty(n_slots, np.float32),
        np.empty(n_slots, np.float32),
        empty_uniforms(groups),
        np.zeros(n_slots + 3 * N_LANES, np.float32),
    )


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

    The topic counts of a group stay in vector registers. Two groups are processed alternately: each
    token depends on the one before it, so a single group would leave the processor waiting.

    Parameters
    ----------
    order_start : int64 (n_parts + 1,)
    order : int64 (n_groups,)
        Groups, sorted such that neighbours have similar lengths.
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
    n_slots = len(blocks) * N_LANES
    scratch_a, scratch_b = make_scratch(groups, n_slots), make_scratch(groups, n_slots)
    position, end = order_start[first], order_start[last]
    while position < end:
        a = order[position]
        first_a, last_a = groups.start[a], groups.start[a + 1]
        begin_group(a, groups, key, base, cluster_of_group, topic_of_token, scratch_a)
        length = 0
        if position + 1 < end:
            b = order[position + 1]
            first_b, last_b = groups.start[b], groups.start[b + 1]
            begin_group(b, groups, key, base, cluster_of_group, topic_of_token, scratch_b)
            length = min(last_a - first_a, last_b - first_b)
            tokens = (word, topic_of_token, factors, blocks)
            sweep_two_groups(first_a, first_b, length, *tokens, scratch_a, scratch_b)
            sweep_group(first_b + length, last_b, length, *tokens, scratch_b)
        sweep_group(
            first_a + length, last_a, length, word, topic_of_token, factors, blocks, scratch_a
        )
        position += 2


@njit(cache=True, error_model="numpy")
def sweep_group_topics(first, last, k, word, base, factors, mixtures, scratch, topic_of_token):
    """Draw the topics of tokens ``first:last``, those of one group.

    ``topics`` lists the topics that have tokens; ``position`` is the index of each in that list.
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

    The tokens of word w are ``token_by_word[word_start[w]:word_start[w + 1]]``.
    """
    for w in range(first_word, last_word):
        row = words_in_topic[w]
        row[:] = 0
        for i in range(word_start[w], word_start[w + 1]):
            row[topic_of_token[np.uint64(token_by_word[i])]] += 1
