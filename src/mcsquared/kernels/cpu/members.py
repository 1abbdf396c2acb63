"""Groups that vary around their cluster: each group's topics, cluster and tables, given globals.

A group's own topic weights are integrated out, so its tokens are visited in turn,

    p(l_ji = m)  ∝  (n_jm + λ τ_km) ψ_mw        n_jm without the token,

then its cluster by its topic counts, then its table counts. Groups do not touch each other. The
topic counts of a group stay in vector registers, and two groups are worked on in turn, because each
token must wait for the one before it.
"""

import numpy as np
from numba import float32, njit

from mcsquared.kernels.cpu.fast_math import log32
from mcsquared.kernels.cpu.given_contexts import add_context_scores
from mcsquared.kernels.cpu.lanes import (
    N_LANES,
    add,
    add_at,
    count_at_most,
    fill,
    lane,
    load,
    place_in_lane,
    prefix_sums,
    rows_of,
    store,
    store_rows,
    weigh,
)
from mcsquared.kernels.cpu.special import log_rising, pick
from mcsquared.kernels.rng import BLOCK, Step, fill_uniforms, uniform

__all__ = ["count_words_in_topics", "place_groups", "sweep_tokens", "tabulate_log_rising"]

F, LONG = np.float32, np.int64
ONE = F(1.0)
TOPICS, CLUSTERS, GROUP_TABLES = int(Step.TOPICS), int(Step.CLUSTERS), int(Step.GROUP_TABLES)


@njit(cache=True, inline="always")
def move_token(counts, word, topic, u, base, factors, stride, sums, blocks):
    """Draw the topic of one token; return the counts with it, and the topic."""
    counts = add_at(counts, topic, -ONE)
    by_lane = prefix_sums(weigh(counts, base, 0, factors, word * stride, sums))
    n = len(blocks) * N_LANES
    store(sums, n + N_LANES, by_lane)
    threshold = u * lane(by_lane, N_LANES - 1)
    number = min(count_at_most(by_lane, threshold), N_LANES - 1)
    # A block of zeros stands before the sums over lanes: the first lane has none before it.
    # Sums over lanes are rounded apart: at an edge the rest could be less than nothing.
    rest = max(threshold - lane(load(sums, n + N_LANES - 1 + number), 0), F(0.0))
    block = place_in_lane(sums, number, rest, blocks)
    # By rounding a threshold can lie behind the last topic: then the token stays.
    drawn = block * N_LANES + number if block < len(blocks) else topic
    return add_at(counts, drawn, ONE), drawn


@njit(cache=True, error_model="numpy")
def begin_group(j, group_start, topic_of_token, cluster_of_group, base, n, row, numbers, key):
    """Count a group's topics into ``n``, copy its cluster's row, and fill its numbers."""
    first, last = group_start[j], group_start[j + 1]
    n[:] = F(0.0)
    for i in range(first, last):
        n[topic_of_token[i]] += ONE
    k = cluster_of_group[j]
    for m in range(row.size):
        row[m] = base[k, m]
    seed, chain, sweep, first_group, first_token = key
    n_blocks = (last - first + BLOCK - 1) // BLOCK
    # Every group begins a block of its own, so that no two groups share a number.
    place = (first_token + first) // BLOCK + first_group + j
    fill_uniforms(numbers, n_blocks, seed, chain, sweep, TOPICS, place)


@njit(cache=True, error_model="numpy")
def one_group(first, last, offset, word, topic_of_token, numbers, n, row, factors, sums, blocks):
    """Visit the tokens ``first:last`` of one group."""
    counts = rows_of(n, 0, blocks)
    stride = len(blocks) * N_LANES
    for i in range(first, last):
        counts, drawn = move_token(
            counts,
            LONG(word[i]),
            LONG(topic_of_token[i]),
            numbers[offset + i - first],
            row,
            factors,
            stride,
            sums,
            blocks,
        )
        topic_of_token[i] = drawn
    store_rows(n, 0, counts)


@njit(cache=True, error_model="numpy")
def two_groups(
    first_a,
    first_b,
    length,
    word,
    topic_of_token,
    numbers_a,
    numbers_b,
    n_a,
    n_b,
    row_a,
    row_b,
    factors,
    sums_a,
    sums_b,
    blocks,
):
    """Visit as many tokens of one group and of another, in turn."""
    counts_a, counts_b = rows_of(n_a, 0, blocks), rows_of(n_b, 0, blocks)
    stride = len(blocks) * N_LANES
    for i in range(length):
        a, b = first_a + i, first_b + i
        counts_a, drawn_a = move_token(
            counts_a,
            LONG(word[a]),
            LONG(topic_of_token[a]),
            numbers_a[i],
            row_a,
            factors,
            stride,
            sums_a,
            blocks,
        )
        counts_b, drawn_b = move_token(
            counts_b,
            LONG(word[b]),
            LONG(topic_of_token[b]),
            numbers_b[i],
            row_b,
            factors,
            stride,
            sums_b,
            blocks,
        )
        topic_of_token[a] = drawn_a
        topic_of_token[b] = drawn_b
    store_rows(n_a, 0, counts_a)
    store_rows(n_b, 0, counts_b)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_tokens(
    first,
    last,
    order_start,
    order,
    group_start,
    word,
    base,
    factors,
    longest,
    blocks,
    seed,
    chain,
    sweep,
    first_group,
    first_token,
    cluster_of_group,
    topic_of_token,
):
    """Draw the topics of all tokens of the groups in some parts of ``order``.

    Parameters
    ----------
    order_start : int64 (n_parts + 1,)
    order : int64 (n_groups,)
        Groups, so that two neighbours are about as long and end together.
    base : float32 (cluster slots, topic slots)
        λ τ_km.
    factors : float32 (n_words × topic slots,)
        ψ_mw, a word's row after another; any common factor.
    longest : int
        Tokens of the longest group.
    blocks : tuple
        As long as there are blocks of sixteen topic slots: known when this is compiled.
    first_group, first_token : int
        Groups and tokens of the corpus before these: random numbers are those of the whole.
    topic_of_token : uint16 (n_tokens,)
    """
    n_slots = len(blocks) * N_LANES
    room = (longest + BLOCK - 1) // BLOCK * BLOCK
    numbers_a, numbers_b = np.empty(room, np.float32), np.empty(room, np.float32)
    n_a, n_b = np.empty(n_slots, np.float32), np.empty(n_slots, np.float32)
    row_a, row_b = np.empty(n_slots, np.float32), np.empty(n_slots, np.float32)
    # Single sums are read as the first of sixteen: room for those behind the last.
    sums_a = np.zeros(n_slots + 3 * N_LANES, np.float32)
    sums_b = np.zeros(n_slots + 3 * N_LANES, np.float32)
    key = (seed, chain, sweep, first_group, first_token)
    at, end = order_start[first], order_start[last]
    while at < end:
        a = order[at]
        first_a, last_a = group_start[a], group_start[a + 1]
        begin_group(
            a, group_start, topic_of_token, cluster_of_group, base, n_a, row_a, numbers_a, key
        )
        if at + 1 == end:
            one_group(
                first_a,
                last_a,
                0,
                word,
                topic_of_token,
                numbers_a,
                n_a,
                row_a,
                factors,
                sums_a,
                blocks,
            )
            return
        b = order[at + 1]
        first_b, last_b = group_start[b], group_start[b + 1]
        begin_group(
            b, group_start, topic_of_token, cluster_of_group, base, n_b, row_b, numbers_b, key
        )
        length = min(last_a - first_a, last_b - first_b)
        two_groups(
            first_a,
            first_b,
            length,
            word,
            topic_of_token,
            numbers_a,
            numbers_b,
            n_a,
            n_b,
            row_a,
            row_b,
            factors,
            sums_a,
            sums_b,
            blocks,
        )
        one_group(
            first_a + length,
            last_a,
            length,
            word,
            topic_of_token,
            numbers_a,
            n_a,
            row_a,
            factors,
            sums_a,
            blocks,
        )
        one_group(
            first_b + length,
            last_b,
            length,
            word,
            topic_of_token,
            numbers_b,
            n_b,
            row_b,
            factors,
            sums_b,
            blocks,
        )
        at += 2


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_log_rising(first_topic, last_topic, base, table):
    """Tabulate ln Γ(a + n) − ln Γ(a) with a = base[k, m]: table[m, n, k] for n up to its size.

    A base of 0 stands for one too small for a float; its logarithm is that of the smallest.
    """
    n_clusters = base.shape[0]
    a = np.empty(n_clusters, np.float32)
    for m in range(first_topic, last_topic):
        for k in range(n_clusters):
            a[k] = max(base[k, m], F(1e-30))
            table[m, 0, k] = F(0.0)
        for n in range(table.shape[1] - 1):
            for k in range(n_clusters):
                table[m, n + 1, k] = table[m, n, k] + log32(a[k] + float32(n))


@njit(cache=True, error_model="numpy")
def score_topics(topics, held, n_topics, base, rising, most, part):
    """Write Σ_m ln Γ(λτ_km + n_jm) − ln Γ(λτ_km) over a group's topics to ``part`` (clusters,)."""
    n_clusters = part.size
    for k in range(0, n_clusters, N_LANES):
        total = fill(F(0.0))
        for t in range(n_topics):
            n = min(held[t], most)
            total = add(total, load(rising, (topics[t] * (most + 1) + n) * n_clusters + k))
        store(part, k, total)
    for t in range(n_topics):
        if held[t] > most:
            m, more = topics[t], held[t] - most
            for k in range(n_clusters):
                a = max(float(base[k, m]), 1e-30)
                part[k] += float32(log_rising(a + most, more))


@njit(cache=True, error_model="numpy")
def add_tables(topics, held, n_topics, base, numbers, tables):
    """Add o_m ~ CRT(n_m, base_m) to ``tables`` (topics,): a number for each later customer."""
    at = 0
    for t in range(n_topics):
        m = topics[t]
        a = base[m]
        own = numbers[at : at + held[t]]
        opened = 1
        for i in range(1, own.size):
            opened += 1 if own[i] * (a + float32(i)) < a else 0
        tables[m] += opened
        at += held[t]


@njit(cache=True, nogil=True, error_model="numpy")
def place_groups(
    first_chunk,
    last_chunk,
    chunk_start,
    group_start,
    topic_of_token,
    base,
    rising,
    longest,
    log_weights,
    dense,
    bags,
    contexts,
    seed,
    chain,
    sweep,
    first_group,
    first_token,
    cluster_of_group,
    topics_in_cluster,
    tables_in_cluster,
    log_likelihood,
):
    """Draw cluster and table counts of every group in some chunks, given its tokens' topics.

    Parameters
    ----------
    rising : float32 (topic slots × (n + 1) × cluster slots,)
        From `tabulate_log_rising`.
    first_group, first_token : int
        Groups and tokens of the corpus before these: random numbers are those of the whole.
    topics_in_cluster, tables_in_cluster : int32 (cluster slots, topic slots)
        Tokens c_km and tables O_km are added to them.
    log_likelihood : float64 (n_chunks,)
        Σ over the chunk's groups of Σ_m ln Γ(λτ + n_jm) − ln Γ(λτ), in the clusters drawn.
    """
    n_clusters, n_slots = base.shape
    scores, part = np.empty(n_clusters), np.empty(n_clusters, np.float32)
    statistics = np.empty(dense.stat_start[-1])
    count = np.zeros(n_slots, np.int64)
    topics, held = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    numbers = np.empty((longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)
    most = rising.size // base.size - 1
    for chunk in range(first_chunk, last_chunk):
        total = 0.0
        for j in range(chunk_start[chunk], chunk_start[chunk + 1]):
            first, last = group_start[j], group_start[j + 1]
            for i in range(first, last):
                count[topic_of_token[i]] += 1
            n_topics = 0
            for m in range(n_slots):
                if count[m] > 0:
                    topics[n_topics] = m
                    held[n_topics] = count[m]
                    count[m] = 0
                    n_topics += 1
            score_topics(topics, held, n_topics, base, rising, most, part)
            for k in range(n_clusters):
                scores[k] = log_weights[k] + part[k]
            add_context_scores(j, dense, bags, contexts, statistics, scores)
            u = uniform(seed, chain, sweep, CLUSTERS, first_group + j, 0)
            z = pick(scores, n_clusters, u)
            cluster_of_group[j] = z
            total += part[z]
            n_blocks = (last - first + BLOCK - 1) // BLOCK
            place = (first_token + first) // BLOCK + first_group + j
            fill_uniforms(numbers, n_blocks, seed, chain, sweep, GROUP_TABLES, place)
            add_tables(topics, held, n_topics, base[z], numbers, tables_in_cluster[z])
            for t in range(n_topics):
                topics_in_cluster[z, topics[t]] += held[t]
        log_likelihood[chunk] = total


@njit(cache=True, nogil=True, error_model="numpy")
def count_words_in_topics(
    first_word, last_word, word_start, token_by_word, topic_of_token, words_in_topic
):
    """Count the topics of each word's tokens; its row of ``words_in_topic`` is overwritten.

    ``token_by_word`` lists the tokens of each word, from ``word_start`` on.
    """
    for w in range(first_word, last_word):
        row = words_in_topic[w]
        row[:] = 0
        for i in range(word_start[w], word_start[w + 1]):
            row[topic_of_token[np.uint64(token_by_word[i])]] += 1
