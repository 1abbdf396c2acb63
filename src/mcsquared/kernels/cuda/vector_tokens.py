"""Topics of tokens that are not words, on the GPU, in float64 as on the CPU.

    p(l_ji = m | z_j = k)  ∝  τ_km ψ_m(x_i)                      λ = ∞
    p(l_ji = m | z_j = k)  ∝  (n_jm + λ τ_km) ψ_m(x_i)           λ finite, one token at a time

Thread t of a warp handles ``per_thread`` topics from t × per_thread on, so that sums over threads
visit the topics in order. A warp handles one group if λ is finite, and 32 tokens otherwise.
"""

import math
from functools import cache

from numba import cuda, float64, int32, int64

from mcsquared.kernels.cpu.fast_math import MIN_EXPONENT
from mcsquared.kernels.cpu.vector_tokens import MIN_PRECISE_SUM
from mcsquared.kernels.cuda.launch import N_WARPS, one_thread_each, one_warp_each
from mcsquared.kernels.cuda.rng import uniform
from mcsquared.kernels.cuda.warp import (
    ballot,
    count_topics,
    ffs,
    running_sum,
    shuffle,
    thread_of_warp,
    warp_max,
    warp_of_block,
    warp_of_grid,
)
from mcsquared.kernels.rng import Step

TOPICS = int(Step.TOPICS)


@cuda.jit(device=True)
def exponential(log_value, highest):
    """Return exp(log_value − highest), or 0 if the difference is too small or NaN."""
    x = log_value - highest
    return math.exp(x) if x > MIN_EXPONENT else 0.0


@cuda.jit(device=True)
def pick_topic(row, prior, log_shares, share_offset, n_of_thread, log_lam, sums, u):
    """Return a topic with probability ∝ prior exp(row), or −1 if rounding leaves none.

    ``row`` and ``prior``, float64 (per_thread,), are overwritten, as is ``sums``. Beyond the
    ``n_of_thread`` topics of this thread they are −∞ and 0. From ``share_offset`` on, ``log_lam +
    log_shares`` replaces the log of a prior that has underflowed.
    """
    thread, per_thread = thread_of_warp(), sums.size
    highest = -math.inf
    for q in range(per_thread):
        if row[q] > highest:
            highest = row[q]
    highest = warp_max(highest)
    total = 0.0
    for q in range(per_thread):
        total += prior[q] * exponential(row[q], highest)
        sums[q] = total
    running = running_sum(total, thread)
    all_sum = shuffle(running, 31)
    if not all_sum > MIN_PRECISE_SUM:
        total = sum_in_logs(row, prior, log_shares, share_offset, n_of_thread, log_lam, sums)
        running = running_sum(total, thread)
        all_sum = shuffle(running, 31)
    threshold = u * all_sum
    beyond = ballot(running > threshold)
    if beyond == 0:
        return int32(-1)
    source = int32(ffs(beyond))
    # At least 0, because otherwise rounding could select a topic of weight 0.
    rest = max(threshold - (running - total), 0.0)
    passed = int32(0)
    for q in range(per_thread):
        if sums[q] <= rest:
            passed += int32(1)
    passed = shuffle(passed, source)
    if passed >= per_thread:
        return int32(-1)
    return source * int32(per_thread) + passed


@cuda.jit(device=True)
def sum_in_logs(row, prior, log_shares, share_offset, n_of_thread, log_lam, sums):
    """Write running sums of weights that underflow; of the prior if all likelihoods are 0."""
    possible = False
    for q in range(sums.size):
        log_prior = weight = -math.inf
        if q < n_of_thread:
            log_prior = log_lam + log_shares[share_offset + q]
            if prior[q] > MIN_PRECISE_SUM:
                log_prior = math.log(prior[q])
            weight = log_prior + row[q]
        prior[q] = log_prior
        row[q] = weight if weight > -math.inf else -math.inf  # NaN becomes −∞
        possible = possible or weight > -math.inf
    if ballot(possible) == 0:
        for q in range(sums.size):
            row[q] = prior[q]
    highest = -math.inf
    for q in range(sums.size):
        highest = max(highest, row[q])
    highest = warp_max(highest)
    total = 0.0
    for q in range(sums.size):
        total += math.exp(row[q] - highest) if row[q] > -math.inf else 0.0
        sums[q] = total
    return total


@cuda.jit(device=True)
def group_of(i, first_group, last_group, group_start):
    """Return the last group that begins at or before token ``i``."""
    low, high = first_group, last_group - 1
    while low < high:
        middle = (low + high + 1) // 2
        if group_start[middle] <= i:
            low = middle
        else:
            high = middle - 1
    return low


@cache
def draw_vector_topics(n_slots):
    """Return a kernel that draws the topics of all tokens of some groups, given clusters (λ = ∞).

    ``n_tokens`` is the number of tokens of the groups ``block_start:block_end`` in the arrays, and
    ``rows`` is float64 (n_tokens × topic slots,), from `log_likelihood_rows`. Counts are added to
    ``topics_in_cluster``.
    """
    per_thread = (n_slots + 31) // 32

    @one_thread_each()
    def kernel(
        n_tokens,
        block_start,
        block_end,
        first_token,
        group_start,
        rows,
        shares,
        log_shares,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
        topics_in_cluster,
    ):
        row = cuda.local.array(per_thread, float64)
        prior = cuda.local.array(per_thread, float64)
        sums = cuda.local.array(per_thread, float64)
        thread = thread_of_warp()
        first, last = group_start[block_start], group_start[block_end]
        begin = first + warp_of_grid() * 32
        if begin >= last:
            return
        first_topic = thread * int32(per_thread)
        n_of_thread = min(int32(per_thread), int32(n_slots) - first_topic)
        i = begin + thread
        topic = cluster = int32(0)
        u_of_thread = 0.5
        if i < last:
            cluster = int32(cluster_of_group[group_of(i, block_start, block_end, group_start)])
            topic = int32(topic_of_token[i])
            u_of_thread = uniform(seed, chain, sweep, TOPICS, first_token + i, 0)
        for t in range(int32(min(int64(32), last - begin))):
            share_offset = int64(shuffle(cluster, t)) * n_slots + first_topic
            row_offset = (begin + t - first) * n_slots + first_topic
            for q in range(per_thread):
                row[q] = -math.inf
                prior[q] = 0.0
                if q < n_of_thread:
                    row[q] = rows[row_offset + q]
                    prior[q] = shares[share_offset + q]
            u = shuffle(u_of_thread, t)
            drawn = pick_topic(row, prior, log_shares, share_offset, n_of_thread, 0.0, sums, u)
            if thread == t and drawn >= 0:
                topic = drawn
        if i < last:
            topic_of_token[i] = topic
            cuda.atomic.add(topics_in_cluster, int64(cluster) * n_slots + topic, 1)

    return kernel


@cache
def sweep_vector_groups(n_slots):
    """Return a kernel that draws each token's topic given the others of its group (λ finite).

    The arguments are those of `draw_vector_topics`.
    """
    per_thread = (n_slots + 31) // 32

    @one_warp_each()
    def kernel(
        n_groups,
        block_start,
        first_token,
        order,
        group_start,
        rows,
        shares,
        log_shares,
        lam,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
    ):
        count = cuda.shared.array((N_WARPS, n_slots), int32)
        others = cuda.local.array(per_thread, int32)
        row = cuda.local.array(per_thread, float64)
        prior = cuda.local.array(per_thread, float64)
        sums = cuda.local.array(per_thread, float64)
        thread, warp, warp_index = thread_of_warp(), warp_of_block(), warp_of_grid()
        if warp_index >= n_groups:
            return
        j = order[block_start + warp_index]
        begin, last = group_start[j], group_start[j + 1]
        first_topic = thread * int32(per_thread)
        n_of_thread = min(int32(per_thread), int32(n_slots) - first_topic)
        share_offset = int64(cluster_of_group[j]) * n_slots + first_topic
        log_lam = math.log(lam)
        # Topics are counted in shared memory; then each thread copies the counts of its topics.
        count_topics(n_slots, begin, last, topic_of_token, count)
        for q in range(per_thread):
            others[q] = count[warp, first_topic + q] if q < n_of_thread else int32(0)
        while begin < last:
            i = begin + thread
            topic = int32(0)
            u_of_thread = 0.5
            if i < last:
                topic = int32(topic_of_token[i])
                u_of_thread = uniform(seed, chain, sweep, TOPICS, first_token + i, 0)
            for t in range(int32(min(int64(32), last - begin))):
                old = shuffle(topic, t)
                row_offset = (begin + t - group_start[block_start]) * n_slots + first_topic
                for q in range(per_thread):
                    if first_topic + q == old:
                        others[q] -= int32(1)
                    row[q] = -math.inf
                    prior[q] = 0.0
                    if q < n_of_thread:
                        row[q] = rows[row_offset + q]
                        prior[q] = others[q] + lam * shares[share_offset + q]
                u = shuffle(u_of_thread, t)
                drawn = pick_topic(
                    row, prior, log_shares, share_offset, n_of_thread, log_lam, sums, u
                )
                if drawn < 0:  # by rounding: the token keeps its topic
                    drawn = old
                for q in range(per_thread):
                    if first_topic + q == drawn:
                        others[q] += int32(1)
                if thread == t:
                    topic = drawn
            if i < last:
                topic_of_token[i] = topic
            begin += 32

    return kernel
