"""Tokens that are not words, on the GPU: log-likelihoods, and statistics of topics.

    log ψ_m(x)  =  T(x) · natural_m

A statistic is the product of at most two coordinates of a token, given by `factors_of`. No BLAS
library is used, because sums must follow the order of the CPU: over the statistics of a token, and
token by token within a chunk. For the latter, tokens are sorted by topic with a stable sort. A
thread then sums one statistic of one topic in one chunk. Chunks are added in order.
"""

from functools import cache

import numpy as np
from numba import cuda, float64, int32, int64, uint32

from mcsquared.kernels.cpu.predictive import GAUSSIAN, MULTIVARIATE_GAUSSIAN
from mcsquared.kernels.cuda.launch import N_WARPS, SIMULATED, one_thread_each, one_warp_each
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

SIDE = 2 if SIMULATED else 16  # a block has SIDE × SIDE threads
PER_THREAD = 4  # a thread has PER_THREAD tokens × PER_THREAD topics
TILE, N_CELLS = SIDE * PER_THREAD, PER_THREAD * PER_THREAD
DEPTH = 4 if SIMULATED else 16  # statistics per pass
N_SEGMENTS = 2 if SIMULATED else 64  # segments per chunk, one warp each


def factors_of(kind: int, width: int) -> np.ndarray:
    """Return the two coordinates whose product is each statistic; −1 stands for a factor of 1.

    Statistics have the order of `mcsquared.kernels.cpu.vector_tokens.fold_statistics`.

    Returns
    -------
    int32 (2, folded statistics)
    """
    coordinates = np.arange(width)
    left, right = [-1, *coordinates], [-1] * (1 + width)
    if kind in (GAUSSIAN, MULTIVARIATE_GAUSSIAN):
        below = np.tril_indices(width)
        left, right = [*left, *below[0]], [*right, *below[1]]
    return np.array([left, right], np.int32)


def unfold_statistics(kind: int, width: int, folded: np.ndarray) -> np.ndarray:
    """Return statistics (n, n_stats) with both x_a x_b and x_b x_a, from folded statistics."""
    if kind != MULTIVARIATE_GAUSSIAN:
        return folded
    position = np.zeros((width, width), np.int64)
    below = np.tril_indices(width)
    position[below] = position.T[below] = 1 + width + np.arange(len(below[0]))
    return np.hstack([folded[:, : 1 + width], folded[:, position.reshape(-1)]])


@cuda.jit(device=True)
def statistic(values, offset, left, right):
    """Return a statistic of the token whose coordinates begin at ``values[offset]``."""
    value = 1.0
    if left >= 0:
        value = values[offset + left]
    if right >= 0:
        value *= values[offset + right]
    return value


@cuda.jit
def _log_likelihood_rows(first, last, n_slots, width, values, factors, natural, out):
    """Multiply statistics and natural parameters in tiles of shared memory."""
    token_tile = cuda.shared.array((DEPTH, TILE), float64)
    topic_tile = cuda.shared.array((DEPTH, TILE), float64)
    sums = cuda.local.array(N_CELLS, float64)
    thread = cuda.threadIdx.x
    row, column = thread // SIDE, thread % SIDE
    token, topic = first + int64(cuda.blockIdx.x) * TILE, int64(cuda.blockIdx.y) * TILE
    n_statistics = factors.shape[1]
    for cell in range(N_CELLS):
        sums[cell] = 0.0
    for begin in range(0, n_statistics, DEPTH):
        for cell in range(thread, DEPTH * TILE, SIDE * SIDE):
            depth, position = cell // TILE, cell % TILE
            s = begin + depth
            value = parameter = 0.0
            if s < n_statistics and token + position < last:
                value = statistic(values, (token + position) * width, factors[0, s], factors[1, s])
            if s < n_statistics and topic + position < n_slots:
                parameter = natural[s * n_slots + topic + position]
            token_tile[depth, position] = value
            topic_tile[depth, position] = parameter
        cuda.syncthreads()
        for depth in range(DEPTH):
            for a in range(PER_THREAD):
                for b in range(PER_THREAD):
                    sums[a * PER_THREAD + b] += (
                        token_tile[depth, row + a * SIDE] * topic_tile[depth, column + b * SIDE]
                    )
        cuda.syncthreads()
    for a in range(PER_THREAD):
        i = token + row + a * SIDE
        for b in range(PER_THREAD):
            m = topic + column + b * SIDE
            if i < last and m < n_slots:
                out[(i - first) * n_slots + m] = sums[a * PER_THREAD + b]


def log_likelihood_rows(first, last, n_slots, width, values, factors, natural, out):
    """Write T(x_i) · natural_m for the tokens ``first:last`` to ``out``, token by token.

    All arrays are float64: ``values`` (n_tokens × width,), relative to the family's origin,
    ``natural`` (folded statistics × topic slots,) and ``out``. ``factors`` are from `factors_of`.
    """
    grid = (-(-(last - first) // TILE), -(-n_slots // TILE))
    if grid[0] > 0:
        arguments = (first, last, n_slots, width, values, factors, natural, out)
        _log_likelihood_rows[grid, SIDE * SIDE](*arguments)


@cuda.jit(device=True)
def segment_bounds(warp_index, token_start):
    """Return the first token of a segment and the token after its last."""
    chunk, segment = warp_index // N_SEGMENTS, warp_index % N_SEGMENTS
    first, last = token_start[chunk], token_start[chunk + 1]
    size = (last - first + N_SEGMENTS - 1) // N_SEGMENTS
    return min(first + segment * size, last), min(first + (segment + 1) * size, last)


@cache
def _count_topics(n_slots):
    """Return a kernel that counts the topics of each segment of a chunk."""

    @one_warp_each(N_SEGMENTS)
    def kernel(n_chunks, token_start, topic_of_token, starts):
        count = cuda.shared.array((N_WARPS, n_slots), int32)
        warp, warp_index = warp_of_block(), warp_of_grid()
        if warp_index >= n_chunks * N_SEGMENTS:
            return
        first, last = segment_bounds(warp_index, token_start)
        count_topics(n_slots, first, last, topic_of_token, count)
        chunk, segment = warp_index // N_SEGMENTS, warp_index % N_SEGMENTS
        for m in range(thread_of_warp(), n_slots, 32):
            starts[(chunk * n_slots + m) * N_SEGMENTS + segment] = count[warp, m]

    return kernel


@one_warp_each()
def _counts_to_positions(n_chunks, n_slots, token_start, starts):
    """Replace the counts of each chunk by the positions at which segments of topics begin.

    ``starts`` is that of `sort_by_topic`.
    """
    thread, chunk = thread_of_warp(), warp_of_grid()
    if chunk >= n_chunks:
        return
    n_cells = n_slots * N_SEGMENTS
    offset = int32(token_start[chunk])
    for begin in range(0, n_cells, 32):
        cell = chunk * n_cells + begin + thread
        count = int32(0)
        if begin + thread < n_cells:
            count = starts[cell]
        running = running_sum(count, thread)
        if begin + thread < n_cells:
            starts[cell] = offset + running - count
        offset += shuffle(running, 31)


@cache
def _write_sorted(n_slots):
    """Return a kernel that writes the tokens of each segment to their sorted positions."""

    @one_warp_each(N_SEGMENTS)
    def kernel(n_chunks, token_start, topic_of_token, starts, token_in_order):
        next_position = cuda.shared.array((N_WARPS, n_slots), int32)
        thread, warp, warp_index = thread_of_warp(), warp_of_block(), warp_of_grid()
        if warp_index >= n_chunks * N_SEGMENTS:
            return
        begin, last = segment_bounds(warp_index, token_start)
        chunk, segment = warp_index // N_SEGMENTS, warp_index % N_SEGMENTS
        for m in range(thread, n_slots, 32):
            next_position[warp, m] = starts[(chunk * n_slots + m) * N_SEGMENTS + segment]
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
                position = next_position[warp, m]
                if topic == m:
                    earlier = same & ((uint32(1) << uint32(thread)) - uint32(1))
                    token_in_order[position + int32(cuda.popc(earlier))] = i
                syncwarp()
                if thread == 0:
                    next_position[warp, m] = position + int32(cuda.popc(same))
                syncwarp()
            begin += 32

    return kernel


def sort_by_topic(n_slots, token_start, topic_of_token, starts, token_in_order):
    """Sort the tokens of each chunk by topic, with a stable sort.

    ``token_start``, int64 (n_chunks + 1,), are the bounds of the chunks. The sorted tokens are
    written to ``token_in_order``, int32 (n_tokens,), and the positions at which those of each topic
    begin, by segment of the chunk, to ``starts``, int32 (n_chunks × topic slots × N_SEGMENTS,).
    """
    n_chunks = token_start.size - 1
    _count_topics(n_slots)(n_chunks, token_start, topic_of_token, starts)
    _counts_to_positions(n_chunks, n_slots, token_start, starts)
    _write_sorted(n_slots)(n_chunks, token_start, topic_of_token, starts, token_in_order)


@one_thread_each()
def add_statistics(
    n_cells, n_slots, width, token_start, values, factors, starts, token_in_order, sums
):
    """Sum the statistics of the tokens of each topic, for each chunk separately.

    They are added to ``sums``, float64 (n_chunks × topic slots × folded statistics,). ``starts``
    and ``token_in_order`` are from `sort_by_topic`, ``factors`` from `factors_of`.
    """
    cell = int64(cuda.grid(1))
    if cell >= n_cells:
        return
    n_statistics = factors.shape[1]
    # A run contains the sorted tokens of one topic in one chunk.
    s, run = cell % n_statistics, cell // n_statistics
    begin = starts[run * N_SEGMENTS]
    end = int32(token_start[run // n_slots + 1])
    if run % n_slots < n_slots - 1:
        end = starts[(run + 1) * N_SEGMENTS]
    left, right = factors[0, s], factors[1, s]
    total = sums[cell]
    for position in range(begin, end):
        total += statistic(values, int64(token_in_order[position]) * width, left, right)
    sums[cell] = total
