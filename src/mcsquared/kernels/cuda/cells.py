"""Topics when all groups of a cluster share one mixture, on the GPU: a few warps for each word.

A word's cells are dealt out to them in the order of the clusters; a cell's tokens are worked on 32
at a time. Which topic a number falls on is found as on the CPU, where shares lie lane after lane,
or in the order of the topics if these are very many and so are the tokens.
"""

from functools import cache

from numba import cuda, float32, int32, int64, uint32, uint64

from mcsquared.kernels.cpu.cells import FEW, MANY_TOPICS
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cuda.numbers import four_words, place_of, unit
from mcsquared.kernels.cuda.warp import (
    N_WARPS,
    THREADS,
    first_of,
    meet,
    running_sum,
    shuffle,
    vote,
)
from mcsquared.kernels.rng import BLOCK, Step

__all__ = ["draw_cells"]

TOPICS = int(Step.TOPICS)
SHARERS = 4  # warps that share a word, lest all wait for the most frequent one


def draw_cells(
    n_words,
    slots,
    order,
    word_start,
    shares,
    weights,
    tokens_of_cell,
    seed,
    chain,
    sweep,
    topics_in_cluster,
    words_in_topic,
):
    """Draw the topics of all tokens of all words.

    Parameters
    ----------
    slots : (int, int)
        Of clusters and topics.
    order : int64 (n_words,)
        The words, most frequent first.
    word_start : int64 (n_words + 1,)
        Tokens of the words before it.
    shares : float32 (cluster slots × topic slots,)
        τ_km divided by the sum of the topic's variates.
    weights : float32 (n_words × topic slots,)
        Gamma variates of the topics' words.
    tokens_of_cell : int32 (n_words × cluster slots,)
        From `draw_clusters_of_words`.
    topics_in_cluster, words_in_topic : int32, flat
        Counts are added to them.
    """
    n_clusters, n_topics = slots
    kernel = _draw_cells_of(n_topics)
    kernel[max((n_words * SHARERS + N_WARPS - 1) // N_WARPS, 1), THREADS](
        n_words,
        n_clusters,
        order,
        word_start,
        shares,
        weights,
        tokens_of_cell,
        seed,
        chain,
        sweep,
        topics_in_cluster,
        words_in_topic,
    )


@cuda.jit(device=True)
def topic_at(place, by_lane, n_topics):
    """Return the topic at a place of the running sums."""
    if by_lane:
        n_blocks = int32(n_topics // N_LANES)
        return (place % n_blocks) * int32(N_LANES) + place // n_blocks
    return place


@cuda.jit(device=True)
def add_up(w, row, by_lane, n_topics, shares, weights, sums, warp, thread):
    """Write running sums over all topics of a cell to ``sums``; return the last of them.

    In the order in which the CPU's run: by lane, or as topics come.
    """
    before = float32(0.0)
    for begin in range(0, n_topics, 32):
        place = begin + thread
        value = float32(0.0)
        if place < n_topics:
            m = topic_at(place, by_lane, n_topics)
            value = shares[row + m] * weights[w * n_topics + m]
        value = before + running_sum(value, thread)
        if place < n_topics:
            sums[warp, place] = value
        before = shuffle(value, 31)
    return before


@cuda.jit(device=True)
def number_of(block, token, place, seed, chain, sweep):
    """Return the random number of one of a word's tokens."""
    index = uint64(block + token // BLOCK) * uint64(16) + uint64(token & 15)
    words = four_words(index, uint64(sweep), place, uint64(seed), uint64(chain))
    which = (token % BLOCK) // 16
    bits = words[0]
    if which == 1:
        bits = words[1]
    elif which == 2:
        bits = words[2]
    elif which == 3:
        bits = words[3]
    return unit(bits)


@cuda.jit(device=True)
def find(threshold, row, by_lane, n_topics, shares, sums, warp):
    """Return the topic at the first place whose sum is beyond the threshold."""
    low, high = int32(0), int32(n_topics - 1)
    while low < high:
        middle = (low + high) // int32(2)
        if sums[warp, middle] > threshold:
            high = middle
        else:
            low = middle + int32(1)
    # Sums of 32 at once may fall by rounding: a place without share is passed by.
    m = topic_at(low, by_lane, n_topics)
    while low > 0 and shares[row + m] == float32(0.0):
        low -= int32(1)
        m = topic_at(low, by_lane, n_topics)
    return m


@cache
def _draw_cells_of(n_topics):
    """Return the kernel for so many topic slots."""

    @cuda.jit
    def kernel(
        n_words,
        n_clusters,
        order,
        word_start,
        shares,
        weights,
        tokens_of_cell,
        seed,
        chain,
        sweep,
        topics_in_cluster,
        words_in_topic,
    ):
        sums = cuda.shared.array((N_WARPS, n_topics), float32)
        count = cuda.shared.array((N_WARPS, n_topics), int32)
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        at = int64(cuda.blockIdx.x) * N_WARPS + warp
        if at >= n_words * SHARERS:
            return
        w, part = order[at // SHARERS], at % SHARERS
        place = place_of(TOPICS, 0)
        block = word_start[w] // BLOCK + w
        for m in range(thread, n_topics, 32):
            count[warp, m] = 0
        meet()
        so_far = int32(0)  # tokens of the word in the clusters before
        n_cells = int32(0)
        for first in range(0, n_clusters, 32):
            mine = int32(0)
            if first + thread < n_clusters:
                mine = tokens_of_cell[w * n_clusters + first + thread]
            upto = so_far + running_sum(mine, thread)
            so_far = shuffle(upto, 31)
            held = uint32(vote(mine > 0))
            while held != 0:
                source = int32(first_of(held))
                held = held & (held - uint32(1))
                n_tokens = shuffle(mine, source)
                drawn = int64(shuffle(upto, source) - n_tokens)
                n_cells += int32(1)
                if n_cells % SHARERS == part:
                    k = first + source
                    row = int64(k) * n_topics
                    by_lane = n_topics <= MANY_TOPICS or n_tokens < FEW
                    total = add_up(w, row, by_lane, n_topics, shares, weights, sums, warp, thread)
                    meet()
                    for i in range(thread, n_tokens, 32):
                        u = number_of(block, drawn + i, place, seed, chain, sweep)
                        m = find(u * total, row, by_lane, n_topics, shares, sums, warp)
                        cuda.atomic.add(count, (warp, m), 1)
                    meet()
                    for m in range(thread, n_topics, 32):
                        n = count[warp, m]
                        if n > 0:
                            count[warp, m] = 0
                            cuda.atomic.add(topics_in_cluster, row + m, n)
                            cuda.atomic.add(words_in_topic, w * n_topics + m, n)
                    meet()

    return kernel
