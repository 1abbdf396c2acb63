"""Scores of groups of vectors in every cluster (λ = ∞): one warp per group."""

import math
from functools import cache

from numba import cuda, float64, int32, int64

from mcsquared.kernels.cpu.vector_tokens import MIN_PRECISE_SUM
from mcsquared.kernels.cuda.launch import N_WARPS, SIMULATED, one_warp_each
from mcsquared.kernels.cuda.special import add_log
from mcsquared.kernels.cuda.vector_tokens import exponential
from mcsquared.kernels.cuda.warp import (
    syncwarp,
    thread_of_warp,
    warp_max,
    warp_of_block,
    warp_of_grid,
)

TOKENS_PER_PASS = 4  # tokens for which τ_km is read once
TOPICS_PER_PASS = 8 if SIMULATED else 128


@cuda.jit(device=True)
def log_mixture(n_slots, log_shares, share_offset, rows, start):
    """Return log Σ_m exp(log_shares[share_offset + m] + rows[start + m]), −∞ if all terms are 0."""
    highest = -math.inf
    for m in range(n_slots):
        value = log_shares[share_offset + m] + rows[start + m]
        if value > highest:
            highest = value
    if highest == -math.inf:
        return highest
    total = 0.0
    for m in range(n_slots):
        value = log_shares[share_offset + m] + rows[start + m]
        if value > -math.inf:
            total += math.exp(value - highest)
    return highest + math.log(total)


@cuda.jit(device=True)
def max_log_likelihood(n_slots, rows, start):
    """Return the maximum log-likelihood of a token over all topics."""
    highest = -math.inf
    for m in range(thread_of_warp(), n_slots, 32):
        if rows[start + m] > highest:
            highest = rows[start + m]
    return warp_max(highest)


@cache
def score_vector_groups(n_slots, per_thread):
    """Return a kernel that writes Σ_i log Σ_m τ_km ψ_m(x_i) of groups in every cluster slot.

    Tokens of likelihood 0 in every topic are ignored. ``order`` lists the groups of each block.
    ``rows``, from `log_likelihood_rows`, is float64 (tokens of the block × topic slots,), and
    ``scores``, output, float64 (groups of the block × cluster slots,).
    """
    n_sums = per_thread * TOKENS_PER_PASS

    @one_warp_each()
    def kernel(
        n_groups,
        block_start,
        n_cluster_slots,
        order,
        group_start,
        rows,
        log_shares,
        shares_by_topic,
        scores,
    ):
        likelihood = cuda.shared.array((N_WARPS, TOKENS_PER_PASS, TOPICS_PER_PASS), float64)
        log_scale = cuda.local.array(TOKENS_PER_PASS, float64)
        sums = cuda.local.array(n_sums, float64)
        score = cuda.local.array(per_thread, float64)
        product = cuda.local.array(per_thread, float64)
        thread, warp, warp_index = thread_of_warp(), warp_of_block(), warp_of_grid()
        if warp_index >= n_groups:
            return
        j = order[block_start + warp_index]
        begin, last = group_start[j], group_start[j + 1]
        for q in range(per_thread):
            score[q] = 0.0
            product[q] = 1.0
        total_scale = 0.0  # common to all clusters
        while begin < last:
            start = (begin - group_start[block_start]) * n_slots
            n_tokens = int32(min(int64(TOKENS_PER_PASS), last - begin))
            for t in range(TOKENS_PER_PASS):
                log_scale[t] = -math.inf
                if t < n_tokens:
                    log_scale[t] = max_log_likelihood(n_slots, rows, start + t * n_slots)
            for cell in range(n_sums):
                sums[cell] = 0.0
            for topic in range(0, n_slots, TOPICS_PER_PASS):
                width = min(TOPICS_PER_PASS, n_slots - topic)
                for t in range(TOKENS_PER_PASS):
                    for m in range(thread, width, 32):
                        value = 0.0
                        if log_scale[t] > -math.inf:
                            value = exponential(rows[start + t * n_slots + topic + m], log_scale[t])
                        likelihood[warp, t, m] = value
                syncwarp()
                for q in range(per_thread):
                    k = q * 32 + thread
                    if k < n_cluster_slots:
                        s0 = s1 = s2 = s3 = 0.0
                        for m in range(width):
                            share = shares_by_topic[int64(topic + m) * n_cluster_slots + k]
                            s0 += likelihood[warp, 0, m] * share
                            s1 += likelihood[warp, 1, m] * share
                            s2 += likelihood[warp, 2, m] * share
                            s3 += likelihood[warp, 3, m] * share
                        sums[q * TOKENS_PER_PASS] += s0
                        sums[q * TOKENS_PER_PASS + 1] += s1
                        sums[q * TOKENS_PER_PASS + 2] += s2
                        sums[q * TOKENS_PER_PASS + 3] += s3
                syncwarp()
            for q in range(per_thread):
                k = q * 32 + thread
                for t in range(TOKENS_PER_PASS):
                    if k < n_cluster_slots and log_scale[t] > -math.inf:
                        factor = sums[q * TOKENS_PER_PASS + t]
                        if factor > MIN_PRECISE_SUM:
                            score[q], product[q] = add_log(score[q], product[q], factor)
                        elif score[q] > -math.inf:
                            offset, token = int64(k) * n_slots, start + t * n_slots
                            value = log_mixture(n_slots, log_shares, offset, rows, token)
                            score[q] += value - log_scale[t]
            for t in range(TOKENS_PER_PASS):
                if log_scale[t] > -math.inf:
                    total_scale += log_scale[t]
            begin += TOKENS_PER_PASS
        for q in range(per_thread):
            k = q * 32 + thread
            if k < n_cluster_slots:
                value = score[q] + total_scale + math.log(product[q])
                scores[(j - block_start) * n_cluster_slots + k] = value

    return kernel
