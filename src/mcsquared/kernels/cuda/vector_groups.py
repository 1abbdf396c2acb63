"""Clusters of groups whose tokens are not words, on the GPU: λ = ∞, a warp for each group."""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cpu import special
from mcsquared.kernels.cpu.vector_tokens import TINY
from mcsquared.kernels.cuda.choosing import choose_cluster, score_of_contexts
from mcsquared.kernels.cuda.numbers import translated
from mcsquared.kernels.cuda.vector_tokens import share_of
from mcsquared.kernels.cuda.warp import N_WARPS, SIMULATED, THREADS, largest, meet

__all__ = ["draw_clusters_by_scores", "score_vector_groups", "tabulate_shares"]

TOGETHER = 4  # tokens for which a share τ_km is read once
TOPICS_AT_A_TIME = 8 if SIMULATED else 128

add_log = translated(special.add_log)


@cuda.jit
def _tabulate_shares(n_topics, log_tau, tau, tau_by_topic):
    cell = int64(cuda.grid(1))
    if cell < log_tau.size:
        share = math.exp(log_tau[cell])
        tau[cell] = share
        if tau_by_topic.size > 0:
            n_clusters = log_tau.size // n_topics
            tau_by_topic[(cell % n_topics) * n_clusters + cell // n_topics] = share


def tabulate_shares(n_topics, log_tau, tau, tau_by_topic):
    """Write τ_km by cluster and, where there is room, by topic: float64, flat."""
    grid = -(-log_tau.size // THREADS)
    _tabulate_shares[grid, THREADS](n_topics, log_tau, tau, tau_by_topic)


@cuda.jit(device=True)
def log_sum(n_topics, log_tau, at, rows, here):
    """Return log Σ_m exp(log_tau[at + m] + rows[here + m]), −∞ where no term is above 0."""
    highest = -math.inf
    for m in range(n_topics):
        value = log_tau[at + m] + rows[here + m]
        if value > highest:
            highest = value
    if highest == -math.inf:
        return highest
    total = 0.0
    for m in range(n_topics):
        value = log_tau[at + m] + rows[here + m]
        if value > -math.inf:
            total += math.exp(value - highest)
    return highest + math.log(total)


@cuda.jit(device=True)
def height_of(n_topics, rows, here, thread):
    """Return the largest log-likelihood of a token."""
    highest = -math.inf
    for m in range(thread, n_topics, 32):
        if rows[here + m] > highest:
            highest = rows[here + m]
    return largest(highest)


@cache
def _score_groups_of(n_topics, own):
    """Return the kernel for so many topic slots and so many clusters of a thread."""
    n_sums = own * TOGETHER

    @cuda.jit
    def kernel(
        first_group,
        last_group,
        n_clusters,
        order,
        group_start,
        rows,
        log_tau,
        tau_by_topic,
        scores,
    ):
        shares = cuda.shared.array((N_WARPS, TOGETHER, TOPICS_AT_A_TIME), float64)
        height = cuda.local.array(TOGETHER, float64)
        sums = cuda.local.array(n_sums, float64)
        score = cuda.local.array(own, float64)
        product = cuda.local.array(own, float64)
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        number_of_warp = first_group + int64(cuda.blockIdx.x) * N_WARPS + warp
        if number_of_warp >= last_group:
            return
        j = order[number_of_warp]
        first, last = group_start[j], group_start[j + 1]
        for q in range(own):
            score[q] = 0.0
            product[q] = 1.0
        total_height = 0.0  # the same for every cluster
        begin = first
        while begin < last:
            here = (begin - group_start[first_group]) * n_topics
            n_tokens = int32(min(int64(TOGETHER), last - begin))
            for t in range(TOGETHER):
                height[t] = -math.inf
                if t < n_tokens:
                    height[t] = height_of(n_topics, rows, here + t * n_topics, thread)
            for cell in range(n_sums):
                sums[cell] = 0.0
            for topic in range(0, n_topics, TOPICS_AT_A_TIME):
                n_here = min(TOPICS_AT_A_TIME, n_topics - topic)
                for t in range(TOGETHER):
                    for m in range(thread, n_here, 32):
                        value = 0.0
                        if height[t] > -math.inf:
                            value = share_of(rows[here + t * n_topics + topic + m], height[t])
                        shares[warp, t, m] = value
                meet()
                for q in range(own):
                    k = q * 32 + thread
                    if k < n_clusters:
                        s0 = s1 = s2 = s3 = 0.0
                        for m in range(n_here):
                            tau = tau_by_topic[int64(topic + m) * n_clusters + k]
                            s0 += shares[warp, 0, m] * tau
                            s1 += shares[warp, 1, m] * tau
                            s2 += shares[warp, 2, m] * tau
                            s3 += shares[warp, 3, m] * tau
                        sums[q * TOGETHER] += s0
                        sums[q * TOGETHER + 1] += s1
                        sums[q * TOGETHER + 2] += s2
                        sums[q * TOGETHER + 3] += s3
                meet()
            for q in range(own):
                k = q * 32 + thread
                for t in range(TOGETHER):
                    # A token that no topic can have made says nothing about the cluster.
                    if k < n_clusters and height[t] > -math.inf:
                        factor = sums[q * TOGETHER + t]
                        if factor > TINY:
                            score[q], product[q] = add_log(score[q], product[q], factor)
                        elif score[q] > -math.inf:
                            at = int64(k) * n_topics
                            value = log_sum(n_topics, log_tau, at, rows, here + t * n_topics)
                            score[q] += value - height[t]
            for t in range(TOGETHER):
                if height[t] > -math.inf:
                    total_height += height[t]
            begin += TOGETHER
        for q in range(own):
            k = q * 32 + thread
            if k < n_clusters:
                value = score[q] + total_height + math.log(product[q])
                scores[(j - first_group) * n_clusters + k] = value

    return kernel


def score_vector_groups(
    first_group,
    last_group,
    slots,
    order,
    group_start,
    rows,
    log_tau,
    tau_by_topic,
    scores,
):
    """Write Σ_i log Σ_m τ_km ψ_m(x_i) of some groups in every cluster slot (λ = ∞).

    A token that no topic can have made adds nothing: it says nothing about the cluster.

    Parameters
    ----------
    slots : (int, int)
        Of clusters and topics.
    order : int64 (n_groups,)
        The groups from ``first_group`` to ``last_group`` at just these places, longest first.
    rows : float64 (tokens of these groups × topic slots,)
        From `mcsquared.kernels.cuda.vector_likelihood.log_likelihood_rows`.
    log_tau : float64 (cluster slots × topic slots,)
    tau_by_topic : float64 (topic slots × cluster slots,)
    scores : float64 (groups × cluster slots,) or more
    """
    n_clusters, n_topics = slots
    grid = max(-(-(last_group - first_group) // N_WARPS), 1)
    _score_groups_of(n_topics, (n_clusters + 31) // 32)[grid, THREADS](
        first_group,
        last_group,
        n_clusters,
        order,
        group_start,
        rows,
        log_tau,
        tau_by_topic,
        scores,
    )


@cache
def _draw_clusters_of(own):
    """Return the kernel for so many clusters of a thread."""

    @cuda.jit
    def kernel(
        first_group,
        last_group,
        n_clusters,
        content_scores,
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
        number_of_first,
        cluster_of_group,
    ):
        score = cuda.local.array(own, float64)
        sums = cuda.local.array(own, float32)
        thread = int32(cuda.threadIdx.x & 31)
        j = first_group + int64(cuda.blockIdx.x) * N_WARPS + cuda.threadIdx.x // 32
        if j >= last_group:
            return
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
                content = log_weights[k] + content_scores[(j - first_group) * n_clusters + k]
                score[q] = content + score_of_contexts(j, k, n_clusters, contexts)
        number = number_of_first + j
        cluster = choose_cluster(score, sums, own, thread, number, sweep, seed, chain)
        if thread == 0 and cluster >= 0:  # by rounding: it stays where it was
            cluster_of_group[j] = cluster

    return kernel


def draw_clusters_by_scores(
    first_group,
    last_group,
    content_scores,
    log_weights,
    contexts,
    seed,
    chain,
    sweep,
    number_of_first,
    cluster_of_group,
):
    """Draw z_j of groups whose content has been scored: float64 (groups × cluster slots,).

    ``number_of_first`` groups of the corpus come before the first of these arrays: random numbers
    are those of the whole. For ``contexts`` see `score_of_contexts`.
    """
    n_clusters = log_weights.size
    grid = max(-(-(last_group - first_group) // N_WARPS), 1)
    _draw_clusters_of((n_clusters + 31) // 32)[grid, THREADS](
        first_group,
        last_group,
        n_clusters,
        content_scores,
        log_weights,
        *contexts,
        seed,
        chain,
        sweep,
        number_of_first,
        cluster_of_group,
    )
