"""Clusters and tables of groups that vary, on the GPU: a warp of 32 threads for each group."""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64, uint32, uint64

from mcsquared.kernels.cpu.special import stirling_series as cpu_stirling_series
from mcsquared.kernels.cuda.choosing import choose_cluster, score_of_contexts
from mcsquared.kernels.cuda.numbers import four_words, place_of, translated, unit
from mcsquared.kernels.cuda.warp import (
    N_WARPS,
    THREADS,
    first_of,
    meet,
    running_sum,
    shuffle,
    vote,
)
from mcsquared.kernels.rng import BLOCK, Step

__all__ = ["place_groups", "tabulate_log_rising"]

GROUP_TABLES = int(Step.GROUP_TABLES)
SMALLEST = 1e-30  # a base of 0 stands for one too small for a float

stirling_series = translated(cpu_stirling_series)


@cuda.jit(device=True)
def log_rising(a, n):
    """Return ln Γ(a+n) − ln Γ(a) for a ≥ 8 and whole n ≥ 0, without cancellation."""
    growth = (a + n - 0.5) * math.log1p(n / a) - n
    return n * math.log(a) + growth + stirling_series(a + n) - stirling_series(a)


@cuda.jit
def _tabulate(n_topics, n_clusters, n_tabulated, base, table):
    cell = int64(cuda.grid(1))
    if cell >= n_topics * n_clusters:
        return
    m, k = cell // n_clusters, cell % n_clusters
    a = max(base[k * n_topics + m], float32(SMALLEST))
    value = float32(0.0)
    for n in range(n_tabulated + 1):
        table[(m * (n_tabulated + 1) + n) * n_clusters + k] = value
        value += math.log(a + float32(n))


def tabulate_log_rising(slots, base, n_tabulated, table):
    """Tabulate ln Γ(a + n) − ln Γ(a) with a = base[k, m]: table[m, n, k] for n up to a bound."""
    n_clusters, n_topics = slots
    grid = (base.size + THREADS - 1) // THREADS
    _tabulate[grid, THREADS](n_topics, n_clusters, n_tabulated, base, table)


def place_groups(
    n_groups,
    first_group,
    first_token,
    slots,
    group_start,
    topic_of_token,
    base,
    rising,
    n_tabulated,
    log_weights,
    contexts,
    seed,
    chain,
    sweep,
    cluster_of_group,
    topics_in_cluster,
    tables_in_cluster,
    log_likelihood,
):
    """Draw cluster and table counts of every group, given its tokens' topics.

    Parameters
    ----------
    first_group, first_token : int
        Groups and tokens of the corpus before these: random numbers are those of the whole.
    slots : (int, int)
        Of clusters and topics.
    rising : float32 (topic slots × (n + 1) × cluster slots,)
        From `tabulate_log_rising`.
    contexts : tuple
        See `mcsquared.kernels.cuda.choosing.score_of_contexts`.
    topics_in_cluster, tables_in_cluster : int32 (cluster slots × topic slots,)
        Tokens c_km and tables O_km are added to them.
    log_likelihood : float32 (n_groups,)
        Σ_m ln Γ(λτ + n_jm) − ln Γ(λτ) in the cluster drawn.
    """
    n_clusters, n_topics = slots
    kernel = _place_groups_of(n_topics, (n_clusters + 31) // 32)
    grid = max((n_groups + N_WARPS - 1) // N_WARPS, 1)
    kernel[grid, THREADS](
        n_groups,
        first_group,
        first_token,
        n_clusters,
        group_start,
        topic_of_token,
        base,
        rising,
        n_tabulated,
        log_weights,
        *contexts,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topics_in_cluster,
        tables_in_cluster,
        log_likelihood,
    )


@cache
def _place_groups_of(n_topics, own):
    """Return the kernel for so many topic slots and so many clusters of a thread."""

    @cuda.jit
    def kernel(
        n_groups,
        first_group,
        first_token,
        n_clusters,
        group_start,
        topic_of_token,
        base,
        rising,
        n_tabulated,
        log_weights,
        statistics,
        bag_start,
        bag_category,
        bag_count,
        naturals,
        log_categories,
        extra,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topics_in_cluster,
        tables_in_cluster,
        log_likelihood,
    ):
        count = cuda.shared.array((N_WARPS, n_topics), int32)
        start = cuda.shared.array((N_WARPS, n_topics), int32)
        opened = cuda.shared.array((N_WARPS, n_topics), int32)
        part = cuda.local.array(own, float32)
        score = cuda.local.array(own, float64)
        sums = cuda.local.array(own, float32)
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        j = int64(cuda.blockIdx.x) * N_WARPS + warp
        if j >= n_groups:
            return
        first, last = group_start[j], group_start[j + 1]
        for m in range(thread, n_topics, 32):
            count[warp, m] = 0
            opened[warp, m] = 0
        meet()
        for i in range(first + thread, last, 32):
            cuda.atomic.add(count, (warp, int32(topic_of_token[i])), 1)
        meet()

        for q in range(own):
            part[q] = float32(0.0)
        for begin in range(0, n_topics, 32):
            m = begin + thread
            mine = int32(0)
            if m < n_topics:
                mine = count[warp, m]
            held = uint32(vote(mine > 0))
            while held != 0:
                source = int32(first_of(held))
                held = held & (held - uint32(1))
                n = shuffle(mine, source)
                topic = begin + source
                at = (int64(topic) * (n_tabulated + 1) + min(n, int32(n_tabulated))) * n_clusters
                for q in range(own):
                    k = q * 32 + thread
                    if k < n_clusters:
                        part[q] += rising[at + k]
                        if n > n_tabulated:
                            a = max(float64(base[k * n_topics + topic]), SMALLEST) + n_tabulated
                            part[q] += float32(log_rising(a, float64(n - n_tabulated)))

        # One by one: numba looks longer at a tuple of arrays than at its parts.
        contexts = (
            statistics,
            bag_start,
            bag_category,
            bag_count,
            naturals,
            log_categories,
            extra,
        )
        for q in range(own):
            k = q * 32 + thread
            score[q] = -math.inf
            if k < n_clusters:
                content = log_weights[k] + float64(part[q])
                score[q] = content + score_of_contexts(j, k, n_clusters, contexts)
        cluster = choose_cluster(score, sums, own, thread, first_group + j, sweep, seed, chain)
        if cluster < 0:  # by rounding: it stays where it was
            cluster = int32(cluster_of_group[j])
        for q in range(own):
            if cluster == int32(q * 32) + thread:
                cluster_of_group[j] = cluster
                log_likelihood[j] = part[q]

        # Customers of all topics in one row, those of the first topic first.
        before = int32(0)
        for begin in range(0, n_topics, 32):
            m = begin + thread
            mine = int32(0)
            if m < n_topics:
                mine = count[warp, m]
            total = running_sum(mine, thread)
            if m < n_topics:
                start[warp, m] = before + total - mine
            before += shuffle(total, 31)
        meet()
        n_tokens = int32(last - first)
        block = uint64((first_token + first) // BLOCK + first_group + j) * uint64(16)
        place = place_of(GROUP_TABLES, 0)
        for begin in range(0, n_tokens, BLOCK):
            w0, w1, w2, w3 = four_words(
                block + uint64(thread & int32(15)),
                uint64(sweep),
                place,
                uint64(seed),
                uint64(chain),
            )
            block += uint64(16)
            for half in range(2):
                p = begin + half * 32 + thread
                if p < n_tokens:
                    if half == 0:
                        u = unit(w0) if thread < 16 else unit(w1)
                    else:
                        u = unit(w2) if thread < 16 else unit(w3)
                    low, high = int32(0), int32(n_topics - 1)
                    while low < high:  # the last topic whose customers begin at p or before
                        middle = (low + high + int32(1)) // int32(2)
                        if start[warp, middle] <= p:
                            low = middle
                        else:
                            high = middle - int32(1)
                    i = p - start[warp, low]
                    a = base[int64(cluster) * n_topics + low]
                    if i == 0 or u * (a + float32(i)) < a:
                        cuda.atomic.add(opened, (warp, low), 1)
        meet()
        for m in range(thread, n_topics, 32):
            if count[warp, m] > 0:
                at = int64(cluster) * n_topics + m
                cuda.atomic.add(topics_in_cluster, at, count[warp, m])
                cuda.atomic.add(tables_in_cluster, at, opened[warp, m])

    return kernel
