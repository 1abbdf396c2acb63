"""Statistics of topics on the GPU, added in the CPU's order: token by token within a chunk.

Tokens are sorted by topic first, stably; a thread then adds up one statistic of one topic in one
chunk. Chunks are added one after another.
"""

from functools import cache

from numba import cuda, int32, int64, uint32

from mcsquared.kernels.cuda.launch import N_WARPS, SIMULATED, one_thread_each, one_warp_each
from mcsquared.kernels.cuda.vector_likelihood import statistic
from mcsquared.kernels.cuda.warp import (
    ballot,
    count_topics,
    ffs,
    running_sum,
    shuffle,
    syncwarp,
    thread_of_warp,
    warp_of_block,
    warp_of_grid,
)

N_SEGMENTS = 2 if SIMULATED else 64  # segments of a chunk, a warp for each


@cuda.jit(device=True)
def segment_bounds(number, token_start):
    """Return the first token of a segment, and the one after its last."""
    chunk, segment = number // N_SEGMENTS, number % N_SEGMENTS
    first, last = token_start[chunk], token_start[chunk + 1]
    size = (last - first + N_SEGMENTS - 1) // N_SEGMENTS
    return min(first + segment * size, last), min(first + (segment + 1) * size, last)


@cache
def _count_topics(n_topics):
    """Return a kernel that counts the topics of each segment of a chunk."""

    @one_warp_each(N_SEGMENTS)
    def kernel(n_chunks, token_start, topic_of_token, starts):
        count = cuda.shared.array((N_WARPS, n_topics), int32)
        warp, number = warp_of_block(), warp_of_grid()
        if number >= n_chunks * N_SEGMENTS:
            return
        first, last = segment_bounds(number, token_start)
        count_topics(n_topics, first, last, topic_of_token, count)
        chunk, segment = number // N_SEGMENTS, number % N_SEGMENTS
        for m in range(thread_of_warp(), n_topics, 32):
            starts[(chunk * n_topics + m) * N_SEGMENTS + segment] = count[warp, m]

    return kernel


@one_warp_each()
def _add_counts(n_chunks, n_topics, token_start, starts):
    """Turn the counts of a chunk into the positions at which segments of topics begin."""
    thread, chunk = thread_of_warp(), warp_of_grid()
    if chunk >= n_chunks:
        return
    n_cells = n_topics * N_SEGMENTS
    offset = int32(token_start[chunk])
    for begin in range(0, n_cells, 32):
        at = chunk * n_cells + begin + thread
        count = int32(0)
        if begin + thread < n_cells:
            count = starts[at]
        running = running_sum(count, thread)
        if begin + thread < n_cells:
            starts[at] = offset + running - count
        offset += shuffle(running, 31)


@cache
def _write_sorted(n_topics):
    """Return a kernel that writes the tokens of each segment to their positions."""

    @one_warp_each(N_SEGMENTS)
    def kernel(n_chunks, token_start, topic_of_token, starts, token_in_order):
        following = cuda.shared.array((N_WARPS, n_topics), int32)
        thread, warp, number = thread_of_warp(), warp_of_block(), warp_of_grid()
        if number >= n_chunks * N_SEGMENTS:
            return
        begin, last = segment_bounds(number, token_start)
        chunk, segment = number // N_SEGMENTS, number % N_SEGMENTS
        for m in range(thread, n_topics, 32):
            following[warp, m] = starts[(chunk * n_topics + m) * N_SEGMENTS + segment]
        syncwarp()
        while begin < last:
            i = begin + thread
            topic = int32(-1)
            if i < last:
                topic = int32(topic_of_token[i])
            pending = uint32(ballot(topic >= 0))
            while pending != 0:  # one round for each topic of the 32 tokens
                m = shuffle(topic, int32(ffs(pending)))
                same = uint32(ballot(topic == m))
                pending = pending & ~same
                position = following[warp, m]
                if topic == m:
                    earlier = same & ((uint32(1) << uint32(thread)) - uint32(1))
                    token_in_order[position + int32(cuda.popc(earlier))] = i
                syncwarp()
                if thread == 0:
                    following[warp, m] = position + int32(cuda.popc(same))
                syncwarp()
            begin += 32

    return kernel


def sort_by_topic(n_topics, token_start, topic_of_token, starts, token_in_order):
    """Sort the tokens of each chunk by topic, stably.

    Parameters
    ----------
    token_start : int64 (n_chunks + 1,)
        Bounds of the chunks.
    topic_of_token : uint16 (n_tokens,)
    starts : int32 (n_chunks × topic slots × N_SEGMENTS,)
        Positions at which each topic's tokens begin, by segment of the chunk.
    token_in_order : int32 (n_tokens,)
    """
    n_chunks = token_start.size - 1
    _count_topics(n_topics)(n_chunks, token_start, topic_of_token, starts)
    _add_counts(n_chunks, n_topics, token_start, starts)
    _write_sorted(n_topics)(n_chunks, token_start, topic_of_token, starts, token_in_order)


@one_thread_each()
def add_statistics(
    n_cells, n_topics, width, token_start, values, factors, starts, token_in_order, sums
):
    """Add the statistics of all tokens to those of their topics, for each chunk separately.

    Parameters
    ----------
    values : float64 (n_tokens × width,)
    factors : int32 (2, folded statistics)
        From `mcsquared.kernels.cuda.vector_likelihood.factors_of`.
    starts, token_in_order
        From `sort_by_topic`.
    sums : float64 (n_chunks × topic slots × folded statistics,)
        Added to.
    """
    cell = int64(cuda.grid(1))
    if cell >= n_cells:
        return
    n_statistics = factors.shape[1]
    s, run = cell % n_statistics, cell // n_statistics
    begin = starts[run * N_SEGMENTS]
    end = int32(token_start[run // n_topics + 1])
    if run % n_topics < n_topics - 1:
        end = starts[(run + 1) * N_SEGMENTS]
    left, right = factors[0, s], factors[1, s]
    total = sums[cell]
    for position in range(begin, end):
        total += statistic(values, int64(token_in_order[position]) * width, left, right)
    sums[cell] = total
