"""Topics of tokens in groups that vary, when there are many topics: a group has few of them.

    p(l_ji = m)  ∝  n_jm ψ_mw  +  λ τ_km ψ_mw

The first part is a sum over the group's own topics. The mass of the second, over all topics, is
tabulated for the sweep; only a token that falls on it looks at all of them.
"""

import numpy as np
from numba import float32, njit

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.mixtures import multiply_four
from mcsquared.kernels.cpu.thresholds import running_sums, topic_at
from mcsquared.kernels.rng import BLOCK, Step, fill_uniforms

__all__ = ["sweep_tokens_by_own_topics", "tabulate_mixtures"]

TOPICS = int(Step.TOPICS)


@njit(cache=True, nogil=True, error_model="numpy")
def tabulate_mixtures(first_word, last_word, weights, shares, table):
    """Tabulate Σ_m weights[w, m] shares[m, k]: float32 (n_words, cluster slots).

    ``weights`` and ``shares`` are flat, as in `mcsquared.kernels.cpu.mixtures`.
    """
    n_words, n_clusters = table.shape
    sums = np.empty(4 * n_clusters, np.float32)
    for w in range(first_word, last_word, 4):
        n = min(4, last_word - w)
        multiply_four(w, n, weights, shares, weights.size // n_words, n_clusters, sums)
        for r in range(n):
            for k in range(n_clusters):
                table[w + r, k] = sums[r * n_clusters + k]


@njit(cache=True, error_model="numpy")
def visit_group(first, last, k, word, base, factors, table, numbers, own, topic_of_token):
    """Draw the topics of one group's tokens.

    ``own`` is the group's topics: counts by topic, the topics that have any, where each stands in
    that list, and scratch for sums.
    """
    count, topics, place, sums, dense_sums = own
    n_slots = count.size
    n_own = 0
    for i in range(first, last):
        m = topic_of_token[i]
        if count[m] == 0:
            topics[n_own] = m
            place[m] = n_own
            n_own += 1
        count[m] += 1
    for i in range(first, last):
        old = np.int64(topic_of_token[i])
        count[old] -= 1
        if count[old] == 0:
            n_own -= 1
            moved = topics[n_own]
            topics[place[old]] = moved
            place[moved] = place[old]
        w = np.int64(word[i])
        total = float32(0.0)
        for t in range(n_own):
            m = topics[t]
            total += float32(count[m]) * factors[w * n_slots + m]
            sums[t] = total
        mass = table[w, k]
        # All topics come first: floats are finest near 0, where the rarest of them lie.
        threshold = numbers[i - first] * (total + mass)
        drawn = old
        if threshold >= mass and total > float32(0.0):
            t = 0
            while t < n_own - 1 and sums[t] <= threshold - mass:
                t += 1
            drawn = topics[t]
        elif mass > float32(0.0):
            # The same mass, summed in another order: the place in it is what counts.
            share = threshold / mass
            in_all = running_sums(base, k * n_slots, factors, w * n_slots, n_slots, dense_sums)
            drawn = topic_at(dense_sums, n_slots, min(share, float32(1.0)) * in_all)
        if count[drawn] == 0:
            topics[n_own] = drawn
            place[drawn] = n_own
            n_own += 1
        count[drawn] += 1
        topic_of_token[i] = drawn
    for t in range(n_own):
        count[topics[t]] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_tokens_by_own_topics(
    first_chunk,
    last_chunk,
    chunk_start,
    group_start,
    word,
    n_slots,
    base,
    factors,
    table,
    longest,
    seed,
    chain,
    sweep,
    first_group,
    first_token,
    cluster_of_group,
    topic_of_token,
):
    """Draw the topics of all tokens of the groups in some chunks.

    Parameters
    ----------
    n_slots : int
        Topic slots.
    base : float32 (cluster slots × topic slots,)
        λ τ_km.
    factors : float32 (n_words × topic slots,)
        ψ_mw; any common factor.
    table : float32 (n_words, cluster slots)
        Σ_m λ τ_km ψ_mw, with the same factor.
    first_group, first_token : int
        Groups and tokens of the corpus before these: random numbers are those of the whole.
    """
    own = (
        np.zeros(n_slots, np.int64),
        np.empty(n_slots + 1, np.int64),
        np.empty(n_slots, np.int64),
        np.empty(n_slots + 1, np.float32),
        np.zeros(n_slots + 3 * N_LANES, np.float32),
    )
    numbers = np.empty((longest + BLOCK - 1) // BLOCK * BLOCK, np.float32)
    for j in range(chunk_start[first_chunk], chunk_start[last_chunk]):
        first, last = group_start[j], group_start[j + 1]
        n_blocks = (last - first + BLOCK - 1) // BLOCK
        # Every group begins a block of its own, so that no two groups share a number.
        place = (first_token + first) // BLOCK + first_group + j
        fill_uniforms(numbers, n_blocks, seed, chain, sweep, TOPICS, place)
        k = np.int64(cluster_of_group[j])
        visit_group(first, last, k, word, base, factors, table, numbers, own, topic_of_token)
