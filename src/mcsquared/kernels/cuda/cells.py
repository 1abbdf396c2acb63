"""Topics of tokens when all groups of a cluster share one mixture: a few warps per word.

The cells of a word are assigned to its warps in turn; the tokens of a cell are processed 32 at a
time. The topic of a random number is found as on the CPU: the order of running sums is lane by
lane, or that of the topics if there are very many topics and tokens.
"""

from functools import cache

from numba import cuda, float32, int32, int64, uint32, uint64

from mcsquared.kernels.cpu.cells import MANY_TOKENS, MANY_TOPICS
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cuda.launch import N_WARPS, one_warp_each
from mcsquared.kernels.cuda.rng import random_uint32s, unit_float32
from mcsquared.kernels.cuda.warp import (
    ballot,
    ffs,
    running_sum,
    shuffle,
    syncwarp,
    thread_of_warp,
    warp_of_block,
    warp_of_grid,
)
from mcsquared.kernels.rng import BLOCK, Step

TOPICS = int(Step.TOPICS)
WARPS_PER_WORD = 4  # so that frequent words do not dominate the running time


@cuda.jit(device=True)
def topic_at(position, by_lane, n_slots):
    """Return the topic at a position in the running sums."""
    if by_lane:
        n_blocks = int32(n_slots // N_LANES)
        return (position % n_blocks) * int32(N_LANES) + position // n_blocks
    return position


@cuda.jit(device=True)
def running_sums(w, row, by_lane, n_slots, shares, weights, sums):
    """Write running sums over the topics of a cell to ``sums``; return the last of them.

    Their order is that of the CPU kernel: by lane, or by topic.
    """
    thread, warp = thread_of_warp(), warp_of_block()
    offset = float32(0.0)
    for begin in range(0, n_slots, 32):
        position = begin + thread
        value = float32(0.0)
        if position < n_slots:
            m = topic_at(position, by_lane, n_slots)
            value = shares[row + m] * weights[w * n_slots + m]
        value = offset + running_sum(value, thread)
        if position < n_slots:
            sums[warp, position] = value
        offset = shuffle(value, 31)
    return offset


@cuda.jit(device=True)
def uniform_of_token(block, token, seed, chain, sweep):
    """Return the random number of a token of a word, given the first block of the word."""
    index = uint64(block + token // BLOCK) * uint64(16) + uint64(token & 15)
    words = random_uint32s(seed, chain, sweep, TOPICS, index, 0)
    which = (token % BLOCK) // 16
    bits = words[0]
    if which == 1:
        bits = words[1]
    elif which == 2:
        bits = words[2]
    elif which == 3:
        bits = words[3]
    return unit_float32(bits)


@cuda.jit(device=True)
def find_topic(threshold, row, by_lane, n_slots, shares, sums):
    """Return the topic at the first running sum above the threshold."""
    warp = warp_of_block()
    low, high = int32(0), int32(n_slots - 1)
    while low < high:
        middle = (low + high) // int32(2)
        if sums[warp, middle] > threshold:
            high = middle
        else:
            low = middle + int32(1)
    # By rounding, sums can decrease and a topic of weight 0 can be found: it is skipped.
    m = topic_at(low, by_lane, n_slots)
    while low > 0 and shares[row + m] == float32(0.0):
        low -= int32(1)
        m = topic_at(low, by_lane, n_slots)
    return m


@cache
def draw_cells(n_slots):
    """Return a kernel that draws the topics of all tokens of all words.

    ``tokens_of_cell`` is int32 (n_words × cluster slots,), from `draw_clusters_of_words`. Counts
    are added to ``topics_in_cluster`` and ``words_in_topic``.
    """

    @one_warp_each(WARPS_PER_WORD)
    def kernel(
        n_words,
        n_cluster_slots,
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
        sums = cuda.shared.array((N_WARPS, n_slots), float32)
        count = cuda.shared.array((N_WARPS, n_slots), int32)
        thread, warp, warp_index = thread_of_warp(), warp_of_block(), warp_of_grid()
        if warp_index >= n_words * WARPS_PER_WORD:
            return
        w, part = order[warp_index // WARPS_PER_WORD], warp_index % WARPS_PER_WORD
        block = word_start[w] // BLOCK + w
        for m in range(thread, n_slots, 32):
            count[warp, m] = 0
        syncwarp()
        n_before = int32(0)  # tokens of the word in earlier clusters
        n_cells = int32(0)
        for first in range(0, n_cluster_slots, 32):
            count_of_thread = int32(0)
            if first + thread < n_cluster_slots:
                count_of_thread = tokens_of_cell[w * n_cluster_slots + first + thread]
            running = n_before + running_sum(count_of_thread, thread)
            n_before = shuffle(running, 31)
            occupied = uint32(ballot(count_of_thread > 0))
            while occupied != 0:
                source = int32(ffs(occupied))
                occupied = occupied & (occupied - uint32(1))
                n_tokens = shuffle(count_of_thread, source)
                n_drawn = int64(shuffle(running, source) - n_tokens)
                n_cells += int32(1)
                if n_cells % WARPS_PER_WORD == part:
                    row = int64(first + source) * n_slots
                    by_lane = n_slots <= MANY_TOPICS or n_tokens < MANY_TOKENS
                    total = running_sums(w, row, by_lane, n_slots, shares, weights, sums)
                    syncwarp()
                    for i in range(thread, n_tokens, 32):
                        u = uniform_of_token(block, n_drawn + i, seed, chain, sweep)
                        m = find_topic(u * total, row, by_lane, n_slots, shares, sums)
                        cuda.atomic.add(count, (warp, m), 1)
                    syncwarp()
                    for m in range(thread, n_slots, 32):
                        n = count[warp, m]
                        if n > 0:
                            count[warp, m] = 0
                            cuda.atomic.add(topics_in_cluster, row + m, n)
                            cuda.atomic.add(words_in_topic, w * n_slots + m, n)
                    syncwarp()

    return kernel
