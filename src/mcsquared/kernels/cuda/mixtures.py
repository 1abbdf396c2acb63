"""Clusters of groups of words when all groups of a cluster share one mixture (λ = ∞)."""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cpu.mixtures import LOG_OFFSET, TERMS_PER_PARTIAL_SUM
from mcsquared.kernels.cuda.clusters import add_context_scores, draw_cluster
from mcsquared.kernels.cuda.launch import THREADS, one_block_each, one_warp_each
from mcsquared.kernels.cuda.warp import running_sum, shuffle, thread_of_warp, warp_of_grid

WORDS_PER_BLOCK = 8  # the kernel below has a sum for each


@cuda.jit(device=True)
def write_log(total, w, n_words, k, n_cluster_slots, log_mixtures):
    """Write the logarithm of a sum, unless ``w`` is beyond the last word."""
    if w < n_words:
        log_mixtures[w * n_cluster_slots + k] = math.log(total + LOG_OFFSET)


@cache
def _tabulate(n_slots):
    """Return a kernel that writes log Σ_m weights[w, m] shares[m, k] to ``log_mixtures``."""

    @one_block_each(THREADS, WORDS_PER_BLOCK)
    def kernel(n_words, n_cluster_slots, weights, shares, log_mixtures):
        rows = cuda.shared.array((WORDS_PER_BLOCK, n_slots), float32)
        first = int64(cuda.blockIdx.x) * WORDS_PER_BLOCK
        thread = cuda.threadIdx.x
        for cell in range(thread, WORDS_PER_BLOCK * n_slots, THREADS):
            w = first + cell // n_slots
            rows[cell // n_slots, cell % n_slots] = (
                weights[w * n_slots + cell % n_slots] if w < n_words else float32(0.0)
            )
        cuda.syncthreads()
        for k in range(thread, n_cluster_slots, THREADS):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = float32(0.0)
            for m in range(n_slots):
                share = shares[int64(m) * n_cluster_slots + k]
                s0 += rows[0, m] * share
                s1 += rows[1, m] * share
                s2 += rows[2, m] * share
                s3 += rows[3, m] * share
                s4 += rows[4, m] * share
                s5 += rows[5, m] * share
                s6 += rows[6, m] * share
                s7 += rows[7, m] * share
            write_log(s0, first, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s1, first + 1, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s2, first + 2, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s3, first + 3, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s4, first + 4, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s5, first + 5, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s6, first + 6, n_words, k, n_cluster_slots, log_mixtures)
            write_log(s7, first + 7, n_words, k, n_cluster_slots, log_mixtures)

    return kernel


@one_warp_each()
def _centre(n_words, n_cluster_slots, log_mixtures):
    """Subtract the mean of each word's row, with one warp per word."""
    thread, w = thread_of_warp(), warp_of_grid()
    if w >= n_words:
        return
    total = float32(0.0)
    for k in range(thread, n_cluster_slots, 32):
        total += log_mixtures[w * n_cluster_slots + k]
    mean = shuffle(running_sum(total, thread), 31) / float32(n_cluster_slots)
    for k in range(thread, n_cluster_slots, 32):
        log_mixtures[w * n_cluster_slots + k] -= mean


def tabulate_log_mixtures(n_words, slots, weights, shares, log_mixtures):
    """Tabulate log Σ_m weights[w, m] shares[m, k], minus its mean over k.

    ``slots`` is the tuple (cluster slots, topic slots).
    """
    n_cluster_slots, n_slots = slots
    _tabulate(n_slots)(n_words, n_cluster_slots, weights, shares, log_mixtures)
    _centre(n_words, n_cluster_slots, log_mixtures)


@cuda.jit(device=True)
def add_word_scores(first, last, word_and_count, n_cluster_slots, log_mixtures, part, score):
    """Add Σ_w n_w log_mixtures[w, k] over the entries ``first:last`` of a group to ``score``.

    ``score`` is float64 (per_thread,), and ``part``, float32, is scratch of the same size.
    """
    entry_word, entry_count = word_and_count
    thread, per_thread = thread_of_warp(), score.size
    for q in range(per_thread):
        part[q] = float32(0.0)
    n_added = 0
    begin = first
    while begin < last:
        e = begin + thread
        word = int32(0)
        occurrences = float32(0.0)
        if e < last:
            word = int32(entry_word[e])
            occurrences = float32(entry_count[e])
        # The rows of four words are read together; words beyond the last occur 0 times.
        for t in range(0, min(int64(32), last - begin), 4):
            c0, c1 = shuffle(occurrences, t), shuffle(occurrences, t + 1)
            c2, c3 = shuffle(occurrences, t + 2), shuffle(occurrences, t + 3)
            row0 = int64(shuffle(word, t)) * n_cluster_slots + thread
            row1 = int64(shuffle(word, t + 1)) * n_cluster_slots + thread
            row2 = int64(shuffle(word, t + 2)) * n_cluster_slots + thread
            row3 = int64(shuffle(word, t + 3)) * n_cluster_slots + thread
            for q in range(per_thread):
                if q * 32 + thread < n_cluster_slots:
                    x0, x1 = log_mixtures[row0 + q * 32], log_mixtures[row1 + q * 32]
                    x2, x3 = log_mixtures[row2 + q * 32], log_mixtures[row3 + q * 32]
                    part[q] += c0 * x0
                    part[q] += c1 * x1
                    part[q] += c2 * x2
                    part[q] += c3 * x3
        begin += 32
        n_added += 32
        if n_added == TERMS_PER_PARTIAL_SUM or begin >= last:
            for q in range(per_thread):
                score[q] += float64(part[q])
                part[q] = float32(0.0)
            n_added = 0


@cache
def draw_clusters_of_words(per_thread):
    """Return a kernel that draws z_j for all groups and counts tokens by (word, cluster) cell.

    ``entry_start``, ``entry_word`` and ``entry_count`` are the fields of `Entries`. Tokens are
    added to ``tokens_of_cell``, int32 (n_words × cluster slots,).
    """

    @one_warp_each()
    def kernel(
        n_groups,
        first_group,
        n_cluster_slots,
        order,
        entry_start,
        entry_word,
        entry_count,
        log_mixtures,
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
        tokens_of_cell,
    ):
        part = cuda.local.array(per_thread, float32)
        score = cuda.local.array(per_thread, float64)
        sums = cuda.local.array(per_thread, float32)
        thread, warp_index = thread_of_warp(), warp_of_grid()
        if warp_index >= n_groups:
            return
        j = order[warp_index]
        first, last = entry_start[j], entry_start[j + 1]
        for q in range(per_thread):
            k = q * 32 + thread
            score[q] = log_weights[k] if k < n_cluster_slots else -math.inf
        bags, others = (bag_start, category, bag_count), (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        words = (entry_word, entry_count)
        add_word_scores(first, last, words, n_cluster_slots, log_mixtures, part, score)
        cluster = draw_cluster(score, sums, first_group + j, seed, chain, sweep)
        if cluster < 0:  # by rounding: the group keeps its cluster
            cluster = int32(cluster_of_group[j])
        if thread == 0:
            cluster_of_group[j] = cluster
        for e in range(first + thread, last, 32):
            cell = int64(entry_word[e]) * n_cluster_slots + cluster
            cuda.atomic.add(tokens_of_cell, cell, int32(entry_count[e]))

    return kernel
