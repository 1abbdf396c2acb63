"""Groups whose topic weights follow their cluster and the values of their contexts (λ finite).

The counterpart of `mcsquared.kernels.cpu.effects`. The kernels of tokens are those of groups
without effects: they read a row λ b_j per group instead of a row λ τ_k per cluster.
"""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64, uint32

from mcsquared.kernels.cpu.effects import FEW_FACTORS, MAX_FAST_LAM
from mcsquared.kernels.cuda.clusters import add_context_scores, draw_cluster
from mcsquared.kernels.cuda.launch import BLOCK_THREADS, N_WARPS, one_thread_each, one_warp_each
from mcsquared.kernels.cuda.rng import two_uniforms
from mcsquared.kernels.cuda.special import log_rising_factorial
from mcsquared.kernels.cuda.varying_groups import customers_before, topic_of_customer
from mcsquared.kernels.cuda.warp import (
    ballot,
    count_topics,
    ffs,
    shuffle,
    syncwarp,
    thread_of_warp,
    warp_of_block,
    warp_of_grid,
)
from mcsquared.kernels.rng import BLOCK, Step

GROUP_TABLES, TABLE_SOURCES = int(Step.GROUP_TABLES), int(Step.TABLE_SOURCES)
MIN_BASE = 1e-30  # replaces a base of 0, which has underflowed


@one_thread_each(BLOCK_THREADS)
def fill_bases(
    n_cells,
    n_slots,
    first,
    order,
    cluster_of_group,
    value_start,
    value_row,
    value_effect,
    value_share,
    pattern,
    base,
    rows,
    weights,
    scales,
    row_of_group,
    out,
    log_out,
):
    """Write λ b_j of the groups ``order[first:]`` to the rows of ``out``, topic by topic.

    ``n_cells`` is the number of groups times that of topic slots, the size of ``out`` and, unless
    it is empty, of ``log_out``, float64, which gets the logarithms. The fields of `EffectValues`
    and of `SourceRows` are separate, flat arguments. ``row_of_group``, int32 (n_groups,), gets the
    row of each group.
    """
    cell = int32(cuda.grid(1))
    if cell >= n_cells:
        return
    row, m = cell // int32(n_slots), cell % int32(n_slots)
    j = order[first + row]
    scale = scales[pattern[j]]
    total = weights[0] * scale * base[int64(cluster_of_group[j]) * n_slots + m]
    for e in range(value_start[j], value_start[j + 1]):
        w = weights[value_effect[e]] * scale * value_share[e]
        total += w * rows[int64(value_row[e]) * n_slots + m]
    out[cell] = total
    if log_out.size > 0:
        log_out[cell] = math.log(total) if total > 0.0 else -math.inf
    if m == 0:
        row_of_group[j] = row


@cuda.jit(device=True)
def log_rising(a, n, lam):
    """Return ln Γ(a + n) − ln Γ(a) for n ≥ 1 and a float32 ``a``, as `add_log_rising` does."""
    a = max(a, float32(MIN_BASE))
    if lam > MAX_FAST_LAM:
        return float32(log_rising_factorial(float64(a), n))
    one, two, three = float32(1.0), float32(2.0), float32(3.0)
    if n <= FEW_FACTORS:
        product = a
        if n > 1:
            product *= a + one
        if n > 2:
            product *= a + two
        if n > 3:
            product *= a + three
        return float32(math.log(product))
    n_more = float32(n - FEW_FACTORS)
    product = a * (a + one) * (a + two) * (a + three)
    x, y = a + float32(4.0), a + float32(n)
    inverse_x, inverse_y = one / x, one / y
    twelfth, term, ratio = float32(1.0 / 12), float32(1.0 / 360), n_more * inverse_x
    grown = one + ratio
    log_grown = float32(math.log(grown)) + (ratio - (grown - one)) * x * inverse_y  # log1p
    value = n_more * float32(math.log(x)) + (y - float32(0.5)) * log_grown - n_more
    value += inverse_y * (twelfth - inverse_y * inverse_y * term)
    value -= inverse_x * (twelfth - inverse_x * inverse_x * term)
    return value + float32(math.log(product))


@cuda.jit(device=True)
def part_of_value(e, m, n_slots, scale, values, sources):
    """Return what entry ``e`` of the values contributes to λ b_jm."""
    _, value_row, value_effect, value_share, _ = values
    rows, weights = sources
    w = weights[value_effect[e]] * scale * value_share[e]
    return w * rows[int64(value_row[e]) * n_slots + m]


@cuda.jit(device=True)
def score_topics_with_effects(
    j,
    n_slots,
    n_cluster_slots,
    lam,
    count,
    scale,
    base_by_topic,
    values,
    sources,
    rest,
    topic_score,
):
    """Write Σ_m ln Γ(λ b_jm + n_m) − ln Γ(λ b_jm), for every cluster, to float32 ``topic_score``.

    The shared arrays (N_WARPS, topic slots) have a row for the group of each warp: ``count``,
    int32, the n_m, and ``rest``, float32, output, the part of λ b_jm without the cluster.
    """
    value_start, _, _, _, _ = values
    _, weights = sources
    thread, warp, w = thread_of_warp(), warp_of_block(), weights[0] * scale
    first, last = value_start[j], value_start[j + 1]
    for q in range(topic_score.size):
        topic_score[q] = float32(0.0)
    for begin in range(0, n_slots, 32):
        m = begin + thread
        count_of_thread, rest_of_thread = int32(0), float32(0.0)
        if m < n_slots:
            count_of_thread = count[warp, m]
        if count_of_thread > 0:
            for e in range(first, last):
                rest_of_thread += part_of_value(e, m, n_slots, scale, values, sources)
            rest[warp, m] = rest_of_thread
        occupied = uint32(ballot(count_of_thread > 0))
        while occupied != 0:
            source = int32(ffs(occupied))
            occupied = uint32(occupied & (occupied - uint32(1)))
            n, others = shuffle(count_of_thread, source), shuffle(rest_of_thread, source)
            row = int64(begin + source) * n_cluster_slots
            for q in range(topic_score.size):
                k = q * 32 + thread
                if k < n_cluster_slots:
                    a = w * base_by_topic[row + k] + others
                    topic_score[q] += log_rising(a, n, lam)


@cuda.jit(device=True)
def value_of_table(j, m, n_slots, u, cluster, scale, values, sources):
    """Return the value that a table of topic ``m`` comes from, or −1 for the cluster.

    ``cluster`` is the cluster's part of λ b_jm, ``u`` a random number.
    """
    value_start, value_row, _, _, _ = values
    first, last = value_start[j], value_start[j + 1]
    total = cluster
    for e in range(first, last):
        total += part_of_value(e, m, n_slots, scale, values, sources)
    target, sum_so_far, chosen = u * total, cluster, int32(-1)
    if target >= sum_so_far:
        for e in range(first, last):
            part = part_of_value(e, m, n_slots, scale, values, sources)
            if part > float32(0.0):
                chosen = int32(value_row[e])  # the last one stays if rounding passes all
                sum_so_far += part
                if target < sum_so_far:
                    break
    return chosen


@cache
def resample_groups_with_effects(n_slots, per_thread):
    """Return a kernel that draws cluster and table counts of every group, given its topics.

    The arguments are those of `mcsquared.kernels.cpu.effects.resample_groups_with_effects`, flat.
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
        value_start,
        value_row,
        value_effect,
        value_share,
        pattern,
        lam,
        base_by_topic,
        rows,
        weights,
        scales,
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
        tables_of_values,
        tables_by_pattern,
        log_likelihood,
    ):
        # Tokens of each topic; later, customers and then tables of the topics before it.
        count = cuda.shared.array((N_WARPS, n_slots), int32)
        opened = cuda.shared.array((N_WARPS, n_slots), int32)
        base = cuda.shared.array((N_WARPS, n_slots), float32)  # λ b_j, at first without the cluster
        topic_score = cuda.local.array(per_thread, float32)
        score = cuda.local.array(per_thread, float64)
        sums = cuda.local.array(per_thread, float32)
        thread, warp, j = thread_of_warp(), warp_of_block(), warp_of_grid()
        if j >= n_groups:
            return
        first, last = group_start[j], group_start[j + 1]
        values = (value_start, value_row, value_effect, value_share, pattern)
        sources, scale = (rows, weights), scales[pattern[j]]
        count_topics(n_slots, first, last, topic_of_token, count)

        inputs = (count, scale, base_by_topic, values, sources, base)
        score_topics_with_effects(j, n_slots, n_cluster_slots, lam, *inputs, topic_score)
        for q in range(per_thread):
            k = q * 32 + thread
            score[q] = (
                log_weights[k] + float64(topic_score[q]) if k < n_cluster_slots else -math.inf
            )
        bags, others = (bag_start, category, bag_count), (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        cluster = draw_cluster(score, sums, first_group + j, seed, chain, sweep)
        if cluster < 0:  # by rounding: the group keeps its cluster
            cluster = int32(cluster_of_group[j])
        for q in range(per_thread):
            if cluster == int32(q * 32) + thread:
                cluster_of_group[j] = cluster
                log_likelihood[j] = topic_score[q]

        w = weights[0] * scale
        for m in range(thread, n_slots, 32):
            opened[warp, m] = 0
            if count[warp, m] > 0:
                base[warp, m] += w * base_by_topic[int64(m) * n_cluster_slots + cluster]
                cuda.atomic.add(topics_in_cluster, int64(cluster) * n_slots + m, count[warp, m])
        syncwarp()
        # Customers are numbered by topic: those of the first topic come first.
        n_tokens = customers_before(n_slots, count, count)
        first_block = (first_token + first) // BLOCK + first_group + j
        block = first_block
        for begin in range(0, n_tokens, BLOCK):
            u0, u1 = two_uniforms(seed, chain, sweep, GROUP_TABLES, block, thread)
            block += 1
            for half in range(2):
                p = begin + half * 32 + thread
                if p < n_tokens:
                    m = topic_of_customer(n_slots, count, p)
                    i, a = p - count[warp, m], base[warp, m]
                    u = u0 if half == 0 else u1
                    if i == 0 or u * (a + float32(i)) < a:
                        cuda.atomic.add(opened, (warp, m), 1)
        syncwarp()
        # Tables are numbered in the same way, and each comes from one source.
        n_tables = customers_before(n_slots, opened, count)
        block = first_block
        for begin in range(0, n_tables, BLOCK):
            u0, u1 = two_uniforms(seed, chain, sweep, TABLE_SOURCES, block, thread)
            block += 1
            for half in range(2):
                p = begin + half * 32 + thread
                if p < n_tables:
                    m = topic_of_customer(n_slots, count, p)
                    from_cluster = w * base_by_topic[int64(m) * n_cluster_slots + cluster]
                    u = u0 if half == 0 else u1
                    arguments = (from_cluster, scale, values, sources)
                    value = value_of_table(j, m, n_slots, u, *arguments)
                    if value < 0:
                        cuda.atomic.add(tables_in_cluster, int64(cluster) * n_slots + m, 1)
                    else:
                        cuda.atomic.add(tables_of_values, int64(value) * n_slots + m, 1)
        if thread == 0:
            cuda.atomic.add(tables_by_pattern, pattern[j], int64(n_tables))

    return kernel
