"""Clusters of groups that share one mixture, on the GPU: a warp of 32 threads for each group."""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cpu.mixtures import BETWEEN_SUMS, SMALLEST
from mcsquared.kernels.cuda.choosing import choose_cluster, score_of_contexts
from mcsquared.kernels.cuda.warp import N_WARPS, THREADS, running_sum, shuffle

__all__ = ["draw_clusters_of_words", "tabulate_log_mixtures"]

WORDS = 8  # whose rows a block of threads multiplies at a time


@cache
def _tabulate_of(n_topics):
    @cuda.jit
    def kernel(n_words, n_clusters, weights, shares, table):
        rows = cuda.shared.array((WORDS, n_topics), float32)
        first = int64(cuda.blockIdx.x) * WORDS
        thread = cuda.threadIdx.x
        for cell in range(thread, WORDS * n_topics, THREADS):
            w = first + cell // n_topics
            rows[cell // n_topics, cell % n_topics] = (
                weights[w * n_topics + cell % n_topics] if w < n_words else float32(0.0)
            )
        cuda.syncthreads()
        for k in range(thread, n_clusters, THREADS):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = float32(0.0)
            for m in range(n_topics):
                share = shares[int64(m) * n_clusters + k]
                s0 += rows[0, m] * share
                s1 += rows[1, m] * share
                s2 += rows[2, m] * share
                s3 += rows[3, m] * share
                s4 += rows[4, m] * share
                s5 += rows[5, m] * share
                s6 += rows[6, m] * share
                s7 += rows[7, m] * share
            for r in range(WORDS):
                if first + r < n_words:
                    total = s0
                    if r == 1:
                        total = s1
                    elif r == 2:
                        total = s2
                    elif r == 3:
                        total = s3
                    elif r == 4:
                        total = s4
                    elif r == 5:
                        total = s5
                    elif r == 6:
                        total = s6
                    elif r == 7:
                        total = s7
                    table[(first + r) * n_clusters + k] = math.log(total + SMALLEST)

    return kernel


@cuda.jit
def _centre(n_words, n_clusters, table):
    """Subtract the mean of each word's row: a warp for each word."""
    thread = cuda.threadIdx.x & 31
    w = int64(cuda.blockIdx.x) * N_WARPS + cuda.threadIdx.x // 32
    if w >= n_words:
        return
    total = float32(0.0)
    for k in range(thread, n_clusters, 32):
        total += table[w * n_clusters + k]
    mean = shuffle(running_sum(total, thread), 31) / float32(n_clusters)
    for k in range(thread, n_clusters, 32):
        table[w * n_clusters + k] -= mean


def tabulate_log_mixtures(n_words, slots, weights, shares, table):
    """Tabulate log Σ_m weights[w, m] shares[m, k], less its mean over k.

    Parameters
    ----------
    weights : float32 (n_words × topic slots,)
    shares : float32 (topic slots × cluster slots,)
    table : float32 (n_words × cluster slots,)
    """
    n_clusters, n_topics = slots
    grid = (n_words + WORDS - 1) // WORDS
    _tabulate_of(n_topics)[grid, THREADS](n_words, n_clusters, weights, shares, table)
    _centre[(n_words + N_WARPS - 1) // N_WARPS, THREADS](n_words, n_clusters, table)


def draw_clusters_of_words(
    n_groups,
    first_group,
    order,
    entry_start,
    entry_word,
    entry_count,
    table,
    log_weights,
    contexts,
    seed,
    chain,
    sweep,
    cluster_of_group,
    tokens_of_cell,
):
    """Draw z_j for all groups, and count the tokens of every (word, cluster) cell.

    Parameters
    ----------
    first_group : int
        Groups of the corpus before these: random numbers are those of the whole.
    order : int64 (n_groups,)
        Longest first.
    entry_start, entry_word, entry_count
        Rows of the (groups × words) counts.
    table : float32 (n_words × cluster slots,)
        From `tabulate_log_mixtures`.
    contexts : tuple
        See `mcsquared.kernels.cuda.choosing.score_of_contexts`.
    tokens_of_cell : int32 (n_words × cluster slots,)
        Added to.
    """
    n_clusters = log_weights.size
    kernel = _draw_clusters_of((n_clusters + 31) // 32)
    kernel[max((n_groups + N_WARPS - 1) // N_WARPS, 1), THREADS](
        n_groups,
        first_group,
        n_clusters,
        order,
        entry_start,
        entry_word,
        entry_count,
        table,
        log_weights,
        *contexts,
        seed,
        chain,
        sweep,
        cluster_of_group,
        tokens_of_cell,
    )


@cache
def _draw_clusters_of(own):
    """Return the kernel for so many clusters of a thread."""

    @cuda.jit
    def kernel(
        n_groups,
        first_group,
        n_clusters,
        order,
        entry_start,
        entry_word,
        entry_count,
        table,
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
        tokens_of_cell,
    ):
        part = cuda.local.array(own, float32)
        score = cuda.local.array(own, float64)
        sums = cuda.local.array(own, float32)
        thread = int32(cuda.threadIdx.x & 31)
        at = int64(cuda.blockIdx.x) * N_WARPS + cuda.threadIdx.x // 32
        if at >= n_groups:
            return
        j = order[at]
        first, last = entry_start[j], entry_start[j + 1]
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
            part[q] = float32(0.0)
            score[q] = -math.inf
            if k < n_clusters:
                score[q] = log_weights[k] + score_of_contexts(j, k, n_clusters, contexts)
        n_added = 0
        begin = first
        while begin < last:
            e = begin + thread
            word = int32(0)
            times = float32(0.0)
            if e < last:
                word = int32(entry_word[e])
                times = float32(entry_count[e])
            for t in range(min(int64(32), last - begin)):
                w = shuffle(word, t)
                c = shuffle(times, t)
                row = int64(w) * n_clusters + thread
                for q in range(own):
                    if q * 32 + thread < n_clusters:
                        part[q] += c * table[row + q * 32]
            begin += 32
            n_added += 32
            if n_added == BETWEEN_SUMS or begin >= last:
                for q in range(own):
                    score[q] += float64(part[q])
                    part[q] = float32(0.0)
                n_added = 0

        cluster = choose_cluster(score, sums, own, thread, first_group + j, sweep, seed, chain)
        if cluster < 0:  # by rounding: it stays where it was
            cluster = int32(cluster_of_group[j])
        if thread == 0:
            cluster_of_group[j] = cluster
        for e in range(first + thread, last, 32):
            cell = int64(entry_word[e]) * n_clusters + cluster
            cuda.atomic.add(tokens_of_cell, cell, int32(entry_count[e]))

    return kernel
