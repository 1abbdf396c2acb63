"""Topics when all groups of a cluster share one mixture, on the GPU: a warp for each word.

A word's cells are worked on one after another, in the order of the clusters; a cell's tokens 32 at
a time. Which topic a number falls on is found as on the CPU: cells of few tokens through sums by
lane, the others through sums by block of sixteen.
"""

from functools import cache

from numba import cuda, float32, int32, int64, uint64

from mcsquared.kernels.cpu.cells import FEW
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cuda.numbers import four_words, place_of, unit
from mcsquared.kernels.cuda.warp import N_WARPS, THREADS, meet, running_sum, shuffle
from mcsquared.kernels.rng import BLOCK, Step

__all__ = ["draw_cells"]

TOPICS = int(Step.TOPICS)


def draw_cells(
    n_words,
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
    order : int64 (n_words,)
        The words, most frequent first.
    word_start : int64 (n_words + 1,)
        Tokens of the words before it.
    shares : float32 (cluster slots, topic slots)
        τ_km divided by the sum of the topic's variates.
    weights : float32 (n_words × topic slots,)
        Gamma variates of the topics' words.
    tokens_of_cell : int32 (n_words × cluster slots,)
        From `draw_clusters_of_words`; 0 afterwards.
    topics_in_cluster, words_in_topic : int32, flat
        Counts are added to them.
    """
    n_clusters, n_topics = shares.shape
    kernel = _draw_cells_of(n_topics)
    kernel[max((n_words + N_WARPS - 1) // N_WARPS, 1), THREADS](
        n_words,
        n_clusters,
        order,
        word_start,
        shares.reshape(-1),
        weights,
        tokens_of_cell,
        seed,
        chain,
        sweep,
        topics_in_cluster,
        words_in_topic,
    )


@cuda.jit(device=True)
def topic_at(place, few, n_topics):
    """Return the topic at a place of the running sums: by lane where tokens are few."""
    if few:
        n_blocks = int32(n_topics // N_LANES)
        return (place % n_blocks) * int32(N_LANES) + place // n_blocks
    return place


@cache
def _draw_cells_of(n_topics):
    """Return the kernel for so many topic slots."""
    own = (n_topics + 31) // 32

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
        if at >= n_words:
            return
        w = order[at]
        place = place_of(TOPICS, 0)
        block = word_start[w] // BLOCK + w
        drawn = int64(0)  # tokens of the word in the cells before
        for r in range(own):
            if r * 32 + thread < n_topics:
                count[warp, r * 32 + thread] = 0
        meet()
        for k in range(n_clusters):
            cell = w * n_clusters + k
            n_tokens = tokens_of_cell[cell]
            if n_tokens == 0:
                continue
            # Sums over all topics, in the order in which the CPU's run: by lane, or as they come.
            few = n_tokens < FEW
            before = float32(0.0)
            for begin in range(0, n_topics, 32):
                p = begin + thread
                m = topic_at(p, few, n_topics)
                value = float32(0.0)
                if p < n_topics:
                    value = shares[int64(k) * n_topics + m] * weights[w * n_topics + m]
                value = before + running_sum(value, thread)
                if p < n_topics:
                    sums[warp, p] = value
                before = shuffle(value, 31)
            total = before
            meet()
            for i in range(thread, n_tokens, 32):
                number = drawn + i
                words = four_words(
                    uint64(block + number // BLOCK) * uint64(16) + uint64(number & 15),
                    uint64(sweep),
                    place,
                    uint64(seed),
                    uint64(chain),
                )
                which = (number % BLOCK) // 16
                bits = words[0]
                if which == 1:
                    bits = words[1]
                elif which == 2:
                    bits = words[2]
                elif which == 3:
                    bits = words[3]
                threshold = unit(bits) * total
                low, high = int32(0), int32(n_topics - 1)
                while low < high:  # the first place whose sum is beyond the threshold
                    middle = (low + high) // int32(2)
                    if sums[warp, middle] > threshold:
                        high = middle
                    else:
                        low = middle + int32(1)
                # Sums of 32 at once may fall by rounding: a place without share is passed by.
                m = topic_at(low, few, n_topics)
                while low > 0 and shares[int64(k) * n_topics + m] == float32(0.0):
                    low -= int32(1)
                    m = topic_at(low, few, n_topics)
                cuda.atomic.add(count, (warp, m), 1)
            drawn += n_tokens
            if thread == 0:
                tokens_of_cell[cell] = 0
            meet()
            for r in range(own):
                m = r * 32 + thread
                if m < n_topics and count[warp, m] > 0:
                    n = count[warp, m]
                    count[warp, m] = 0
                    cuda.atomic.add(topics_in_cluster, int64(k) * n_topics + m, n)
                    words_in_topic[w * n_topics + m] += n
            meet()

    return kernel
