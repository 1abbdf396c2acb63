"""Clusters and tables of groups that vary within their cluster (λ finite): one warp per group."""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64, uint32

from mcsquared.kernels.cuda.clusters import add_context_scores, draw_cluster
from mcsquared.kernels.cuda.launch import N_WARPS, one_thread_each, one_warp_each
from mcsquared.kernels.cuda.rng import two_uniforms
from mcsquared.kernels.cuda.special import log_rising_factorial_of_large
from mcsquared.kernels.cuda.warp import (
    ballot,
    count_topics,
    ffs,
    running_sum,
    shuffle,
    syncwarp,
    thread_of_warp,
    warp_of_block,
    warp_of_grid,
)
from mcsquared.kernels.rng import BLOCK, Step

GROUP_TABLES = int(Step.GROUP_TABLES)
MIN_BASE = 1e-30  # replaces a base of 0, which has underflowed
TOPICS_PER_READ = 4  # topics whose rows are read together, to hide the latency of memory


@one_thread_each()
def tabulate_log_rising_factorials(n_cells, n_cluster_slots, n_tabulated, base, out):
    """Tabulate ln Γ(a + n) − ln Γ(a) with a = base[k, m]: out[m, n, k] for n ≤ n_tabulated."""
    cell = int64(cuda.grid(1))
    if cell >= n_cells:
        return
    m, k = cell // n_cluster_slots, cell % n_cluster_slots
    a = max(base[k * (n_cells // n_cluster_slots) + m], float32(MIN_BASE))
    value = float32(0.0)
    for n in range(n_tabulated + 1):
        out[(m * (n_tabulated + 1) + n) * n_cluster_slots + k] = value
        value += math.log(a + float32(n))


@cuda.jit(device=True)
def score_topics(n_slots, n_cluster_slots, count, factorials, scratch, topic_score):
    """Write Σ_m ln Γ(a + n_m) − ln Γ(a), a = base[k, m], for every cluster k, to ``topic_score``.

    The shared ``count``, int32 (N_WARPS, topic slots), has the n_m of the group of each warp.
    ``factorials`` are ``base``, ``out`` and ``n_tabulated`` of `tabulate_log_rising_factorials`,
    ``scratch`` three arrays of `TOPICS_PER_READ` elements, and ``topic_score`` is float32
    (per_thread,).
    """
    base, tabulated, n_tabulated = factorials
    topic, n_of_topic, value = scratch
    thread, warp, per_thread = thread_of_warp(), warp_of_block(), topic_score.size
    for q in range(per_thread):
        topic_score[q] = float32(0.0)
    for begin in range(0, n_slots, 32):
        m = begin + thread
        count_of_thread = int32(0)
        if m < n_slots:
            count_of_thread = count[warp, m]
        occupied = uint32(ballot(count_of_thread > 0))
        while occupied != 0:
            for r in range(TOPICS_PER_READ):
                # After the last topic, a row is read but not added.
                source = max(int32(ffs(occupied)), int32(0))
                topic[r] = begin + source
                n_of_topic[r] = shuffle(count_of_thread, source)
                if occupied == 0:
                    n_of_topic[r] = int32(0)
                else:
                    occupied = uint32(occupied & (occupied - uint32(1)))
            for q in range(per_thread):
                k = q * 32 + thread
                if k < n_cluster_slots:
                    for r in range(TOPICS_PER_READ):
                        n = min(n_of_topic[r], int32(n_tabulated))
                        row = int64(topic[r]) * (n_tabulated + 1) + n
                        value[r] = tabulated[row * n_cluster_slots + k]
                    for r in range(TOPICS_PER_READ):
                        topic_score[q] += value[r]  # 0 if the topic has no tokens
                        n = n_of_topic[r]
                        if n > n_tabulated:
                            a = max(float64(base[k * n_slots + topic[r]]), MIN_BASE)
                            rest = float64(n - n_tabulated)
                            topic_score[q] += float32(
                                log_rising_factorial_of_large(a + n_tabulated, rest)
                            )


@cuda.jit(device=True)
def customers_before(n_slots, count, start):
    """Write the number of customers of all topics before each one to ``start``; return the total.

    ``count`` and ``start`` are int32 (N_WARPS, topic slots), shared, and may be the same array.
    """
    thread, warp, offset = thread_of_warp(), warp_of_block(), int32(0)
    for begin in range(0, n_slots, 32):
        m = begin + thread
        count_of_thread = int32(0)
        if m < n_slots:
            count_of_thread = count[warp, m]
        total = running_sum(count_of_thread, thread)
        if m < n_slots:
            start[warp, m] = offset + total - count_of_thread
        offset += shuffle(total, 31)
    syncwarp()
    return offset


@cuda.jit(device=True)
def topic_of_customer(n_slots, start, p):
    """Return the topic of customer ``p``: the last one with start ≤ p."""
    warp, low, high = warp_of_block(), int32(0), int32(n_slots - 1)
    while low < high:
        middle = (low + high + int32(1)) // int32(2)
        if start[warp, middle] <= p:
            low = middle
        else:
            high = middle - int32(1)
    return low


@cache
def resample_groups(n_slots, per_thread):
    """Return a kernel that draws cluster and table counts of every group, given its topics.

    ``log_likelihood``, float32 (n_groups,), is that of the topics given the cluster drawn.
    """

    @one_warp_each()
    def kernel(
        n_groups,
        first_group,
        first_token,
        n_cluster_slots,
        group_start,
        topic_of_token,
        base,
        tabulated,
        n_tabulated,
        log_weights,
        statistics,
        bag_start,
        category,
        bag_count,
        natural,
        log_categories,
        initial_scores,
        row_of_group,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topics_in_cluster,
        tables_in_cluster,
        log_likelihood,
    ):
        count = cuda.shared.array((N_WARPS, n_slots), int32)
        start = cuda.shared.array((N_WARPS, n_slots), int32)
        opened = cuda.shared.array((N_WARPS, n_slots), int32)
        topic_score = cuda.local.array(per_thread, float32)
        score = cuda.local.array(per_thread, float64)
        sums = cuda.local.array(per_thread, float32)
        topic = cuda.local.array(TOPICS_PER_READ, int32)
        n_of_topic = cuda.local.array(TOPICS_PER_READ, int32)
        value = cuda.local.array(TOPICS_PER_READ, float32)
        thread, warp, j = thread_of_warp(), warp_of_block(), warp_of_grid()
        if j >= n_groups:
            return
        first, last = group_start[j], group_start[j + 1]
        count_topics(n_slots, first, last, topic_of_token, count)

        factorials, scratch = (base, tabulated, n_tabulated), (topic, n_of_topic, value)
        score_topics(n_slots, n_cluster_slots, count, factorials, scratch, topic_score)
        for q in range(per_thread):
            k = q * 32 + thread
            score[q] = (
                log_weights[k] + float64(topic_score[q]) if k < n_cluster_slots else -math.inf
            )
        bags = (bag_start, category, bag_count)
        others = (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        cluster = draw_cluster(score, sums, first_group + j, seed, chain, sweep)
        if cluster < 0:  # by rounding: the group keeps its cluster
            cluster = int32(cluster_of_group[j])
        for q in range(per_thread):
            if cluster == int32(q * 32) + thread:
                cluster_of_group[j] = cluster
                log_likelihood[j] = topic_score[q]

        for m in range(thread, n_slots, 32):
            opened[warp, m] = 0
        # Customers are numbered by topic: those of the first topic come first.
        n_tokens = customers_before(n_slots, count, start)
        block = (first_token + first) // BLOCK + first_group + j
        for begin in range(0, n_tokens, BLOCK):
            u0, u1 = two_uniforms(seed, chain, sweep, GROUP_TABLES, block, thread)
            block += 1
            for half in range(2):
                p = begin + half * 32 + thread
                if p < n_tokens:
                    m = topic_of_customer(n_slots, start, p)
                    i, a = p - start[warp, m], base[int64(cluster) * n_slots + m]
                    u = u0 if half == 0 else u1
                    if i == 0 or u * (a + float32(i)) < a:
                        cuda.atomic.add(opened, (warp, m), 1)
        syncwarp()
        for m in range(thread, n_slots, 32):
            if count[warp, m] > 0:
                cell = int64(cluster) * n_slots + m
                cuda.atomic.add(topics_in_cluster, cell, count[warp, m])
                cuda.atomic.add(tables_in_cluster, cell, opened[warp, m])

    return kernel
