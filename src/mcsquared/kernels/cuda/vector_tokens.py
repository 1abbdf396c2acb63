"""Tokens that are not words, on the GPU: topics by warps of 32 threads, in doubles as on the CPU.

    log p(group j | z_j = k)  =  Σ_i log Σ_m τ_km ψ_m(x_i)          λ = ∞, topics summed out
    p(l_ji = m | z_j = k)     ∝  τ_km ψ_m(x_i)                      λ = ∞
    p(l_ji = m | z_j = k)     ∝  (n_jm + λ τ_km) ψ_m(x_i)           λ finite, tokens in turn

Where topics are drawn, those of a thread lie side by side, so that sums run through them in their
order. A warp has a group, or 32 tokens whose group's cluster is known.
"""

import math
from functools import cache

from numba import cuda, float64, int32, int64

from mcsquared.kernels.cpu.fast_math import LOWEST
from mcsquared.kernels.cpu.vector_tokens import TINY
from mcsquared.kernels.cuda.numbers import uniform
from mcsquared.kernels.cuda.warp import (
    N_WARPS,
    THREADS,
    first_of,
    largest,
    meet,
    running_sum,
    shuffle,
    vote,
)
from mcsquared.kernels.rng import Step

__all__ = ["draw_vector_topics", "sweep_vector_groups"]

TOPICS = int(Step.TOPICS)


@cuda.jit(device=True)
def share_of(log_value, highest):
    """Return exp(log_value − highest), 0 where that is too small or not a number."""
    x = log_value - highest
    return math.exp(x) if x > LOWEST else 0.0


@cuda.jit(device=True)
def pick_topic(row, prior, log_tau, at, n_mine, log_lam, own, sums, thread, u):
    """Return a topic with chances ∝ prior exp(row), −1 where by rounding none was found.

    Parameters
    ----------
    row, prior : float64 (own,)
        Of this thread's topics, the first ``n_mine`` of them; −∞ and 0 in the others. Written over.
    log_tau : float64 (cluster slots × topic slots,)
        From ``at`` on, with ``log_lam``, it has what is left of a prior that underflowed.
    sums : float64 (own,)
        Scratch.
    """
    highest = -math.inf
    for q in range(own):
        if row[q] > highest:
            highest = row[q]
    highest = largest(highest)
    total = 0.0
    for q in range(own):
        total += prior[q] * share_of(row[q], highest)
        sums[q] = total
    upto = running_sum(total, thread)
    whole = shuffle(upto, 31)
    if not whole > TINY:
        total = sum_in_logs(row, prior, log_tau, at, n_mine, log_lam, own, sums)
        upto = running_sum(total, thread)
        whole = shuffle(upto, 31)
    threshold = u * whole
    beyond = vote(upto > threshold)
    if beyond == 0:
        return int32(-1)
    holder = int32(first_of(beyond))
    # Not below 0, lest by rounding a topic without weight is drawn.
    rest = max(threshold - (upto - total), 0.0)
    passed = int32(0)
    for q in range(own):
        if sums[q] <= rest:
            passed += int32(1)
    passed = shuffle(passed, holder)
    if passed >= own:
        return int32(-1)
    return holder * int32(own) + passed


@cuda.jit(device=True)
def sum_in_logs(row, prior, log_tau, at, n_mine, log_lam, own, sums):
    """Write running sums of chances that underflow; by the prior alone if no topic is possible."""
    possible = False
    for q in range(own):
        base = weight = -math.inf
        if q < n_mine:
            base = math.log(prior[q]) if prior[q] > TINY else log_lam + log_tau[at + q]
            weight = base + row[q]
        prior[q] = base
        row[q] = weight if weight > -math.inf else -math.inf  # not a number: impossible
        possible = possible or weight > -math.inf
    if vote(possible) == 0:
        for q in range(own):
            row[q] = prior[q]
    highest = -math.inf
    for q in range(own):
        highest = max(highest, row[q])
    highest = largest(highest)
    total = 0.0
    for q in range(own):
        total += math.exp(row[q] - highest) if row[q] > -math.inf else 0.0
        sums[q] = total
    return total


@cuda.jit(device=True)
def group_of(i, first_group, last_group, group_start):
    """Return the last group that begins at token ``i`` or before."""
    low, high = first_group, last_group - 1
    while low < high:
        middle = (low + high + 1) // 2
        if group_start[middle] <= i:
            low = middle
        else:
            high = middle - 1
    return low


@cache
def _draw_topics_of(n_topics):
    """Return the kernel for so many topic slots."""
    own = (n_topics + 31) // 32

    @cuda.jit
    def kernel(
        first_group,
        last_group,
        first_token,
        group_start,
        rows,
        tau,
        log_tau,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
        topics_in_cluster,
    ):
        row = cuda.local.array(own, float64)
        prior = cuda.local.array(own, float64)
        sums = cuda.local.array(own, float64)
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        first, last = group_start[first_group], group_start[last_group]
        begin = first + (int64(cuda.blockIdx.x) * N_WARPS + warp) * 32
        if begin >= last:
            return
        mine = thread * int32(own)
        n_mine = min(int32(own), int32(n_topics) - mine)
        i = begin + thread
        topic = cluster = int32(0)
        number = 0.5
        if i < last:
            cluster = int32(cluster_of_group[group_of(i, first_group, last_group, group_start)])
            topic = int32(topic_of_token[i])
            number = uniform(seed, chain, sweep, TOPICS, first_token + i, 0)
        for t in range(int32(min(int64(32), last - begin))):
            at = int64(shuffle(cluster, t)) * n_topics + mine
            here = (begin + t - first) * n_topics + mine
            for q in range(own):
                row[q] = -math.inf
                prior[q] = 0.0
                if q < n_mine:
                    row[q] = rows[here + q]
                    prior[q] = tau[at + q]
            u = shuffle(number, t)
            drawn = pick_topic(row, prior, log_tau, at, n_mine, 0.0, own, sums, thread, u)
            if thread == t and drawn >= 0:
                topic = drawn
        if i < last:
            topic_of_token[i] = topic
            cuda.atomic.add(topics_in_cluster, int64(cluster) * n_topics + topic, 1)

    return kernel


def draw_vector_topics(
    first_group,
    last_group,
    n_tokens,
    first_token,
    slots,
    group_start,
    rows,
    tau,
    log_tau,
    seed,
    chain,
    sweep,
    cluster_of_group,
    topic_of_token,
    topics_in_cluster,
):
    """Draw the topic of every token of some groups given the groups' clusters (λ = ∞).

    Parameters
    ----------
    n_tokens : int
        Of these groups.
    first_token : int
        Tokens of the corpus before those of these arrays: random numbers are those of the whole.
    slots : (int, int)
        Of clusters and topics.
    rows : float64 (tokens of these groups × topic slots,)
        From `mcsquared.kernels.cuda.vector_likelihood.log_likelihood_rows`.
    tau, log_tau : float64 (cluster slots × topic slots,)
    topic_of_token : uint16 (n_tokens,)
    topics_in_cluster : int32 (cluster slots × topic slots,)
        Counts are added to it.
    """
    grid = max(-(-n_tokens // (32 * N_WARPS)), 1)
    _draw_topics_of(slots[1])[grid, THREADS](
        first_group,
        last_group,
        first_token,
        group_start,
        rows,
        tau,
        log_tau,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
        topics_in_cluster,
    )


@cache
def _sweep_groups_of(n_topics):
    """Return the kernel for so many topic slots."""
    own = (n_topics + 31) // 32

    @cuda.jit
    def kernel(
        first_group,
        last_group,
        first_token,
        order,
        group_start,
        rows,
        tau,
        log_tau,
        lam,
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
    ):
        count = cuda.shared.array((N_WARPS, n_topics), int32)
        held = cuda.local.array(own, int32)
        row = cuda.local.array(own, float64)
        prior = cuda.local.array(own, float64)
        sums = cuda.local.array(own, float64)
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        number_of_warp = first_group + int64(cuda.blockIdx.x) * N_WARPS + warp
        if number_of_warp >= last_group:
            return
        j = order[number_of_warp]
        first, last = group_start[j], group_start[j + 1]
        mine = thread * int32(own)
        n_mine = min(int32(own), int32(n_topics) - mine)
        at = int64(cluster_of_group[j]) * n_topics + mine
        log_lam = math.log(lam)
        # Counted where all threads can reach, then each takes its own topics' counts.
        for m in range(thread, n_topics, 32):
            count[warp, m] = 0
        meet()
        for i in range(first + thread, last, 32):
            cuda.atomic.add(count, (warp, int32(topic_of_token[i])), 1)
        meet()
        for q in range(own):
            held[q] = count[warp, mine + q] if q < n_mine else int32(0)
        begin = first
        while begin < last:
            i = begin + thread
            topic = int32(0)
            number = 0.5
            if i < last:
                topic = int32(topic_of_token[i])
                number = uniform(seed, chain, sweep, TOPICS, first_token + i, 0)
            for t in range(int32(min(int64(32), last - begin))):
                old = shuffle(topic, t)
                here = (begin + t - group_start[first_group]) * n_topics + mine
                for q in range(own):
                    if mine + q == old:
                        held[q] -= int32(1)
                    row[q] = -math.inf
                    prior[q] = 0.0
                    if q < n_mine:
                        row[q] = rows[here + q]
                        prior[q] = held[q] + lam * tau[at + q]
                u = shuffle(number, t)
                drawn = pick_topic(row, prior, log_tau, at, n_mine, log_lam, own, sums, thread, u)
                if drawn < 0:  # by rounding: the token stays
                    drawn = old
                for q in range(own):
                    if mine + q == drawn:
                        held[q] += int32(1)
                if thread == t:
                    topic = drawn
            if i < last:
                topic_of_token[i] = topic
            begin += 32

    return kernel


def sweep_vector_groups(
    first_group,
    last_group,
    first_token,
    slots,
    order,
    group_start,
    rows,
    tau,
    log_tau,
    lam,
    seed,
    chain,
    sweep,
    cluster_of_group,
    topic_of_token,
):
    """Draw the topic of every token given the other tokens of its group (λ finite).

    Arguments are those of `draw_vector_topics`; ``order`` int64 (n_groups,) has the groups from
    ``first_group`` to ``last_group`` at just these places, longest first, and ``topic_of_token``
    topics to begin with.
    """
    grid = max(-(-(last_group - first_group) // N_WARPS), 1)
    _sweep_groups_of(slots[1])[grid, THREADS](
        first_group,
        last_group,
        first_token,
        order,
        group_start,
        rows,
        tau,
        log_tau,
        float(lam),
        seed,
        chain,
        sweep,
        cluster_of_group,
        topic_of_token,
    )
