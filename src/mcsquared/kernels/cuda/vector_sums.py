"""Statistics of topics on the GPU, in the CPU's order: inside each chunk token after token.

Tokens are put in the order of their topics first, those of a topic as they come; a thread then adds
up one statistic of one topic in one chunk. Chunks are added one after another.
"""

from functools import cache

from numba import cuda, int32, int64, uint32

from mcsquared.kernels.cuda.vector_likelihood import statistic
from mcsquared.kernels.cuda.warp import (
    N_WARPS,
    SIMULATED,
    THREADS,
    first_of,
    meet,
    running_sum,
    shuffle,
    vote,
)

__all__ = ["N_PIECES", "add_chunks", "add_statistics", "sort_by_topic"]

N_PIECES = 2 if SIMULATED else 64  # into which a chunk is cut, a warp for each


@cuda.jit(device=True)
def piece_of(number, token_start):
    """Return the tokens of a piece: its first, and that after its last."""
    chunk, piece = number // N_PIECES, number % N_PIECES
    first, last = token_start[chunk], token_start[chunk + 1]
    size = (last - first + N_PIECES - 1) // N_PIECES
    return min(first + piece * size, last), min(first + (piece + 1) * size, last)


@cache
def _count_of(n_topics):
    @cuda.jit
    def kernel(token_start, topic_of_token, starts):
        count = cuda.shared.array((N_WARPS, n_topics), int32)
        thread = cuda.threadIdx.x & 31
        warp = cuda.threadIdx.x // 32
        number = int64(cuda.blockIdx.x) * N_WARPS + warp
        if number >= (token_start.size - 1) * N_PIECES:
            return
        first, last = piece_of(number, token_start)
        for m in range(thread, n_topics, 32):
            count[warp, m] = 0
        meet()
        for i in range(first + thread, last, 32):
            cuda.atomic.add(count, (warp, int32(topic_of_token[i])), 1)
        meet()
        chunk, piece = number // N_PIECES, number % N_PIECES
        for m in range(thread, n_topics, 32):
            starts[(chunk * n_topics + m) * N_PIECES + piece] = count[warp, m]

    return kernel


@cuda.jit
def _begin(n_topics, token_start, starts):
    """Turn counts into places where pieces of topics begin: a warp for each chunk."""
    thread = cuda.threadIdx.x & 31
    chunk = int64(cuda.blockIdx.x) * N_WARPS + cuda.threadIdx.x // 32
    if chunk >= token_start.size - 1:
        return
    n_cells = n_topics * N_PIECES
    before = int32(token_start[chunk])
    for begin in range(0, n_cells, 32):
        at = chunk * n_cells + begin + thread
        mine = int32(0)
        if begin + thread < n_cells:
            mine = starts[at]
        upto = running_sum(mine, thread)
        if begin + thread < n_cells:
            starts[at] = before + upto - mine
        before += shuffle(upto, 31)


@cache
def _place_of(n_topics):
    @cuda.jit
    def kernel(token_start, topic_of_token, starts, token_in_order):
        following = cuda.shared.array((N_WARPS, n_topics), int32)
        thread = int32(cuda.threadIdx.x & 31)
        warp = cuda.threadIdx.x // 32
        number = int64(cuda.blockIdx.x) * N_WARPS + warp
        if number >= (token_start.size - 1) * N_PIECES:
            return
        first, last = piece_of(number, token_start)
        chunk, piece = number // N_PIECES, number % N_PIECES
        for m in range(thread, n_topics, 32):
            following[warp, m] = starts[(chunk * n_topics + m) * N_PIECES + piece]
        meet()
        begin = first
        while begin < last:
            i = begin + thread
            topic = int32(-1)
            if i < last:
                topic = int32(topic_of_token[i])
            left = uint32(vote(topic >= 0))
            while left != 0:  # a topic after another, those that the 32 tokens have
                m = shuffle(topic, int32(first_of(left)))
                alike = uint32(vote(topic == m))
                left = left & ~alike
                place = following[warp, m]
                if topic == m:
                    before = alike & ((uint32(1) << uint32(thread)) - uint32(1))
                    token_in_order[place + int32(cuda.popc(before))] = i
                meet()
                if thread == 0:
                    following[warp, m] = place + int32(cuda.popc(alike))
                meet()
            begin += 32

    return kernel


def sort_by_topic(n_topics, token_start, topic_of_token, starts, token_in_order):
    """Put the tokens of each chunk in the order of their topics, those of a topic as they come.

    Parameters
    ----------
    token_start : int64 (n_chunks + 1,)
        Bounds of the chunks.
    topic_of_token : uint16 (n_tokens,)
    starts : int32 (n_chunks × topic slots × N_PIECES,)
        Where each topic's tokens begin, piece after piece of the chunk.
    token_in_order : int32 (n_tokens,)
    """
    n_chunks = token_start.size - 1
    grid = max(-(-n_chunks * N_PIECES // N_WARPS), 1)
    _count_of(n_topics)[grid, THREADS](token_start, topic_of_token, starts)
    _begin[max(-(-n_chunks // N_WARPS), 1), THREADS](n_topics, token_start, starts)
    _place_of(n_topics)[grid, THREADS](token_start, topic_of_token, starts, token_in_order)


@cuda.jit
def _add_statistics(n_topics, width, token_start, values, factors, starts, token_in_order, sums):
    cell = int64(cuda.grid(1))
    if cell >= sums.size:
        return
    n_statistics = factors.shape[1]
    s, run = cell % n_statistics, cell // n_statistics
    begin = starts[run * N_PIECES]
    end = int32(token_start[run // n_topics + 1])
    if run % n_topics < n_topics - 1:
        end = starts[(run + 1) * N_PIECES]
    left, right = factors[0, s], factors[1, s]
    total = sums[cell]
    for place in range(begin, end):
        total += statistic(values, int64(token_in_order[place]) * width, left, right)
    sums[cell] = total


def add_statistics(n_topics, width, token_start, values, factors, starts, token_in_order, sums):
    """Add the statistics of all tokens to those of their topics, each chunk apart.

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
    grid = -(-sums.size // THREADS)
    _add_statistics[grid, THREADS](
        n_topics, width, token_start, values, factors, starts, token_in_order, sums
    )


@cuda.jit
def _add_chunks(sums, out):
    cell = int64(cuda.grid(1))
    if cell < out.size:
        total = 0.0
        for at in range(cell, sums.size, out.size):
            total += sums[at]
        out[cell] = total


def add_chunks(sums, out):
    """Add the sums of chunks in their order: float64 (topic slots × folded statistics,)."""
    _add_chunks[-(-out.size // THREADS), THREADS](sums, out)
