"""Clusters of groups of words when all groups of a cluster share one mixture (λ = ∞).

Topics are summed out. With P = τψ, log p(z_j = k) = log π_k + contexts + Σ_w n_jw log P_kw, the
product of a sparse row and a dense matrix. The mean of log P over the clusters is subtracted: only
differences between clusters matter, and smaller numbers have smaller rounding errors.
"""

import numpy as np
from numba import float32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import add_context_scores
from mcsquared.kernels.cpu.fast_math import log32
from mcsquared.kernels.cpu.lanes import N_LANES, add_product, element, fill, load, store
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.rng import Step, uniform_of

F = np.float32
CLUSTERS = int(Step.CLUSTERS)
LOG_OFFSET = F(1e-37)  # added to every sum, so that its logarithm is finite
TERMS_PER_PARTIAL_SUM = 128  # added in float32 before their sum is added in float64


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_log_mixtures(first_word, last_word, weights, shares, log_mixtures, means):
    """Tabulate log Σ_m weights[w, m] shares[m, k], minus its mean over k.

    Parameters
    ----------
    weights : float32 (n_words × topic slots,)
        Gamma variates of the words of each topic, not yet divided by their sums.
    shares : float32 (topic slots × cluster slots,)
        τ_km divided by the sum of the variates of topic m.
    log_mixtures : float32 (n_words, cluster slots)
        Output.
    means : float32 (n_words,)
        Output: the means that were subtracted.
    """
    n_slots, n_cluster_slots = weights.size // means.size, log_mixtures.shape[1]
    sums = np.empty(4 * n_cluster_slots, np.float32)
    for w in range(first_word, last_word, 4):
        n = min(4, last_word - w)
        multiply_four(w, n, weights, shares, n_slots, n_cluster_slots, sums)
        for r in range(n):
            logs, row = sums[r * n_cluster_slots : (r + 1) * n_cluster_slots], log_mixtures[w + r]
            for k in range(n_cluster_slots):
                logs[k] = log32(logs[k] + LOG_OFFSET)
            total = F(0.0)
            # A separate loop, because a sum in order is not vectorised.
            for k in range(n_cluster_slots):
                total += logs[k]
            mean = total / float32(n_cluster_slots)
            means[w + r] = mean
            for k in range(n_cluster_slots):
                row[k] = logs[k] - mean


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_mixtures(first_word, last_word, weights, shares, mixtures):
    """Write Σ_m weights[w, m] shares[m, k] to float32 ``mixtures`` (n_words, cluster slots).

    ``weights`` and ``shares`` are flat, as in `tabulate_log_mixtures`.
    """
    n_words, n_cluster_slots = mixtures.shape
    sums = np.empty(4 * n_cluster_slots, np.float32)
    for w in range(first_word, last_word, 4):
        n = min(4, last_word - w)
        multiply_four(w, n, weights, shares, weights.size // n_words, n_cluster_slots, sums)
        for r in range(n):
            for k in range(n_cluster_slots):
                mixtures[w + r, k] = sums[r * n_cluster_slots + k]


@njit(cache=True, error_model="numpy")
def multiply_four(w, n, weights, shares, n_slots, n_cluster_slots, sums):
    """Write the rows of n words times ``shares`` to ``sums`` (4 × cluster slots,).

    If n < 4, the last row is repeated.
    """
    row0, row1 = w * n_slots, (w + min(1, n - 1)) * n_slots
    row2, row3 = (w + min(2, n - 1)) * n_slots, (w + min(3, n - 1)) * n_slots
    for k in range(0, n_cluster_slots, N_LANES):
        sum0, sum1, sum2, sum3 = fill(F(0.0)), fill(F(0.0)), fill(F(0.0)), fill(F(0.0))
        for m in range(n_slots):
            share = load(shares, m * n_cluster_slots + k)
            sum0 = add_product(sum0, fill(element(weights, row0 + m)), share)
            sum1 = add_product(sum1, fill(element(weights, row1 + m)), share)
            sum2 = add_product(sum2, fill(element(weights, row2 + m)), share)
            sum3 = add_product(sum3, fill(element(weights, row3 + m)), share)
        store(sums, k, sum0)
        store(sums, n_cluster_slots + k, sum1)
        store(sums, 2 * n_cluster_slots + k, sum2)
        store(sums, 3 * n_cluster_slots + k, sum3)


@njit(cache=True, error_model="numpy")
def add_word_scores(first, last, word, count, log_mixtures, part, scores):
    """Add Σ count · log_mixtures[word] over the entries ``first:last`` to float64 ``scores``.

    ``part`` is float32 scratch of the same size.
    """
    n_cluster_slots = scores.size
    for begin in range(first, last, TERMS_PER_PARTIAL_SUM):
        end = min(last, begin + TERMS_PER_PARTIAL_SUM)
        k = 0
        while k + 2 * N_LANES <= n_cluster_slots:
            sum0, sum1 = fill(F(0.0)), fill(F(0.0))
            for e in range(begin, end):
                offset = np.int64(element(word, e)) * n_cluster_slots + k
                occurrences = fill(float32(element(count, e)))
                sum0 = add_product(sum0, occurrences, load(log_mixtures, offset))
                sum1 = add_product(sum1, occurrences, load(log_mixtures, offset + N_LANES))
            store(part, k, sum0)
            store(part, k + N_LANES, sum1)
            k += 2 * N_LANES
        if k < n_cluster_slots:
            total = fill(F(0.0))
            for e in range(begin, end):
                offset = np.int64(element(word, e)) * n_cluster_slots + k
                occurrences = fill(float32(element(count, e)))
                total = add_product(total, occurrences, load(log_mixtures, offset))
            store(part, k, total)
        for k in range(n_cluster_slots):
            scores[k] += part[k]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_clusters_of_words(
    first_chunk,
    last_chunk,
    groups,
    entries,
    log_mixtures,
    log_weights,
    contexts,
    key,
    cluster_of_group,
):
    """Draw z_j for the groups of some chunks, with topics summed out.

    Parameters
    ----------
    entries : Entries
        Words of each group, with their counts.
    log_mixtures : float32 (n_words × cluster slots,)
        From `tabulate_log_mixtures`.
    log_weights : float64 (cluster slots,)
        log π_k; −∞ in slots that must not be drawn.
    """
    n_cluster_slots = log_weights.size
    start, word, count = entries
    scores, part = np.empty(n_cluster_slots), np.empty(n_cluster_slots, np.float32)
    statistics = np.empty(contexts.dense.stat_start[-1])
    for j in range(groups.chunk_start[first_chunk], groups.chunk_start[last_chunk]):
        for k in range(n_cluster_slots):
            scores[k] = log_weights[k]
        add_context_scores(j, contexts, statistics, scores)
        add_word_scores(start[j], start[j + 1], word, count, log_mixtures, part, scores)
        u = uniform_of(key, CLUSTERS, groups.first_group + j, 0)
        cluster_of_group[j] = pick(scores, n_cluster_slots, u)
