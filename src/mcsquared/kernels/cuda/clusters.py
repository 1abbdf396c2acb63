"""Clusters of groups: one warp per group.

Thread t of a warp handles the ``per_thread`` clusters t, 32 + t, 64 + t, ..., in local arrays.
"""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cuda.launch import one_warp_each
from mcsquared.kernels.cuda.rng import uniform
from mcsquared.kernels.cuda.warp import (
    ballot,
    ffs,
    running_sum,
    shuffle,
    thread_of_warp,
    warp_max,
    warp_of_grid,
)
from mcsquared.kernels.rng import Step

CLUSTERS = int(Step.CLUSTERS)


@cuda.jit(device=True)
def add_context_scores(j, n_cluster_slots, contexts, scores):
    """Add Σ log F(x_j | φ_k) over the observed contexts of group ``j``, without log h.

    Parameters
    ----------
    contexts : (statistics, bags, natural, log_categories, others)
        Statistics of dense contexts, float64 (n_groups, n_statistics), 0 if missing; fields of
        `BagContexts`; fields of `ContextParameters`, flat. ``others`` are scores to add, float64
        (rows, cluster slots) or (0, 0), and the row of every group in them, int32 (n_groups,) or,
        if every group has its own, (0,).
    scores : float64 (per_thread,)
    """
    statistics, bags, natural, log_categories, others = contexts
    bag_start, category, bag_count = bags
    initial_scores, row_of_group = others
    thread, row = thread_of_warp(), int64(j)
    if row_of_group.size > 0:
        row = int64(row_of_group[j])
    for q in range(scores.size):
        k = q * 32 + thread
        if k < n_cluster_slots:
            value = 0.0
            for s in range(statistics.shape[1]):
                value += statistics[j, s] * natural[s * n_cluster_slots + k]
            for c in range(bag_start.shape[0]):
                for e in range(bag_start[c, j], bag_start[c, j + 1]):
                    cell = int64(category[e]) * n_cluster_slots + k
                    value += float64(bag_count[e]) * float64(log_categories[cell])
            if initial_scores.shape[0] > 0:
                value += initial_scores[row, k]
            scores[q] += value


@cuda.jit(device=True)
def draw_cluster(scores, sums, index, seed, chain, sweep):
    """Return a cluster with probability ∝ exp(score), or −1 if rounding leaves none.

    ``scores``, float64 (per_thread,), are those of this thread's clusters, −∞ beyond the last one;
    ``sums``, float32, is scratch. ``index`` is that of the group in the whole corpus.
    """
    thread = thread_of_warp()
    highest = -math.inf
    for q in range(scores.size):
        highest = max(highest, scores[q])
    highest = warp_max(highest)
    # Running sums in the order of the clusters, 32 at a time.
    total = float32(0.0)
    for q in range(scores.size):
        sums[q] = total + running_sum(math.exp(float32(scores[q] - highest)), thread)
        total = shuffle(sums[q], 31)
    threshold = float32(uniform(seed, chain, sweep, CLUSTERS, index, 0)) * total
    cluster = int32(-1)
    for q in range(scores.size):
        beyond = ballot(sums[q] > threshold)
        if beyond != 0 and cluster < 0:
            cluster = int32(q * 32) + int32(ffs(beyond))
    return cluster


@cache
def draw_clusters_by_scores(per_thread):
    """Return a kernel that draws z_j of a block of groups, given the scores of their content."""

    @one_warp_each()
    def kernel(
        n_groups,
        block_start,
        n_cluster_slots,
        content_scores,
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
        first_group,
        cluster_of_group,
    ):
        score = cuda.local.array(per_thread, float64)
        sums = cuda.local.array(per_thread, float32)
        thread, row = thread_of_warp(), warp_of_grid()
        if row >= n_groups:
            return
        j = block_start + row
        for q in range(per_thread):
            k = q * 32 + thread
            score[q] = -math.inf
            if k < n_cluster_slots:
                score[q] = log_weights[k] + content_scores[row * n_cluster_slots + k]
        bags, others = (bag_start, category, bag_count), (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        cluster = draw_cluster(score, sums, first_group + j, seed, chain, sweep)
        if thread == 0 and cluster >= 0:  # otherwise the group keeps its cluster
            cluster_of_group[j] = cluster

    return kernel
