"""Clusters of groups chosen by a warp: what contexts say of each, and the draw itself."""

import math

from numba import cuda, float32, float64, int32, int64, uint64

from mcsquared.kernels.cuda.numbers import four_words, open_unit, place_of
from mcsquared.kernels.cuda.warp import first_of, largest, running_sum, shuffle, vote
from mcsquared.kernels.rng import Step

__all__ = ["choose_cluster", "score_of_contexts"]

CLUSTERS = int(Step.CLUSTERS)


@cuda.jit(device=True)
def score_of_contexts(j, k, n_clusters, contexts):
    """Return Σ log F(x_j | φ_k) over the contexts that group ``j`` has, less their base measures.

    Parameters
    ----------
    contexts : (statistics, start, category, count, naturals, log_categories, extra)
        float64 (n_groups, statistics of dense contexts), 0 where a context is missing; bags as
        int64 (bags, n_groups + 1), int32 and int32 (n_entries,); and what
        `mcsquared.kernels.cpu.given_contexts.ContextParameters` holds, the first two flat.
    """
    statistics, start, category, count, naturals, log_categories, extra = contexts
    value = 0.0
    for s in range(statistics.shape[1]):
        value += statistics[j, s] * naturals[s * n_clusters + k]
    for c in range(start.shape[0]):
        for e in range(start[c, j], start[c, j + 1]):
            cell = int64(category[e]) * n_clusters + k
            value += float64(count[e]) * float64(log_categories[cell])
    if extra.shape[0] > 0:
        value += extra[j, k]
    return value


@cuda.jit(device=True)
def choose_cluster(scores, sums, own, thread, number, sweep, seed, chain):
    """Return a cluster with chances ∝ exp(score), or −1 where by rounding none was found.

    Parameters
    ----------
    scores : float64 (own,)
        Of the clusters ``q × 32 + thread``, −∞ where there is none.
    sums : float32 (own,)
        Scratch.
    number : int
        Of the group, in the whole corpus.
    """
    highest = -math.inf
    for q in range(own):
        highest = max(highest, scores[q])
    highest = largest(highest)
    # Running sums in the order of the clusters: of 32 at a time, one upon the other.
    upto = float32(0.0)
    for q in range(own):
        sums[q] = upto + running_sum(math.exp(float32(scores[q] - highest)), thread)
        upto = shuffle(sums[q], 31)
    w0, w1, _, _ = four_words(
        uint64(number), uint64(sweep), place_of(CLUSTERS, 0), uint64(seed), uint64(chain)
    )
    threshold = float32(open_unit(w0, w1)) * upto
    cluster = int32(-1)
    for q in range(own):
        beyond = vote(sums[q] > threshold)
        if beyond != 0 and cluster < 0:
            cluster = int32(q * 32) + int32(first_of(beyond))
    return cluster
