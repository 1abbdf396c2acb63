"""Operations on whole arrays on the GPU: topic shares, table counts and reproducible sums.

Floats are added in an order that depends on the size of the array only. Statistics of contexts are
first converted to integers, whose sum does not depend on the order of atomic additions.
"""

import math

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cpu.gammas import MIN_SHAPE
from mcsquared.kernels.cuda.launch import (
    BLOCK_THREADS,
    SIMULATED,
    one_block_each,
    one_thread_each,
    one_warp_each,
)
from mcsquared.kernels.cuda.special import crt, log_gamma_draw, log_rising_factorial_of_large
from mcsquared.kernels.cuda.warp import running_sum, shuffle, thread_of_warp, warp_max, warp_of_grid
from mcsquared.kernels.rng import Step

SHARES, TABLES = int(Step.TOPIC_SHARES), int(Step.TABLES)
N_PARTIAL_SUMS = 2 if SIMULATED else 512  # partial sums of an array, one block each


@cuda.jit(device=True)
def reduce_block(shared, value, take_max):
    """Return the pairwise sum over the threads of a block, or the maximum."""
    thread = cuda.threadIdx.x
    shared[thread] = value
    cuda.syncthreads()
    width = BLOCK_THREADS // 2
    while width > 0:
        if thread < width:
            other = shared[thread + width]
            shared[thread] = max(shared[thread], other) if take_max else shared[thread] + other
        cuda.syncthreads()
        width //= 2
    return shared[0]


@one_block_each(BLOCK_THREADS)
def _add_rows(n_parts, n_columns, values, parts):
    """Sum a range of rows per block; neighbouring threads read neighbouring columns."""
    block, n_rows = int64(cuda.blockIdx.x), values.size // n_columns
    size = (n_rows + n_parts - 1) // n_parts
    first, last = block * size, min((block + 1) * size, n_rows)
    for m in range(cuda.threadIdx.x, n_columns, BLOCK_THREADS):
        total = 0.0
        for row in range(first, last):
            total += float64(values[row * n_columns + m])
        parts[block * n_columns + m] = total


@one_thread_each(BLOCK_THREADS)
def add_chunks(n_cells, chunks, out):
    """Sum chunks of ``n_cells`` float64 each into ``out``, in order."""
    cell = int64(cuda.grid(1))
    if cell < n_cells:
        total = 0.0
        for position in range(cell, chunks.size, n_cells):
            total += chunks[position]
        out[cell] = total


def add_columns(n_columns, values, parts, sums):
    """Write the sum of each column of ``values`` (n_rows × n_columns,) to float64 ``sums``.

    ``parts`` is scratch: float64 (N_PARTIAL_SUMS × n_columns,).
    """
    _add_rows(N_PARTIAL_SUMS, n_columns, values, parts)
    add_chunks(n_columns, parts, sums)


@one_thread_each(BLOCK_THREADS, max_blocks=8 * N_PARTIAL_SUMS)
def scale_columns(n_cells, n_columns, values, sums, total):
    """Scale each column of float32 ``values`` from its sum in ``sums`` to the sum ``total``."""
    for i in range(cuda.grid(1), n_cells, cuda.gridDim.x * BLOCK_THREADS):
        values[i] *= float32(float64(total) / sums[i % n_columns])


@one_block_each(BLOCK_THREADS)
def add_floats(n_parts, values, parts):
    """Write partial sums of float32 ``values`` to float64 ``parts`` (n_parts,)."""
    shared = cuda.shared.array(BLOCK_THREADS, float64)
    total = 0.0
    for i in range(cuda.grid(1), values.size, n_parts * BLOCK_THREADS):
        total += float64(values[i])
    total = reduce_block(shared, total, False)
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = total


@one_block_each(BLOCK_THREADS)
def add_log_rising_factorials(n_parts, counts, concentration, tabulated, parts):
    """Write partial sums of ln Γ(c + n) − ln Γ(c) over int32 ``counts`` n to float64 ``parts``.

    ``tabulated`` contains the terms of small n, at least the first nine.
    """
    shared = cuda.shared.array(BLOCK_THREADS, float64)
    total = 0.0
    for i in range(cuda.grid(1), counts.size, n_parts * BLOCK_THREADS):
        n = counts[i]
        if n > 0:
            if n < tabulated.size:
                total += tabulated[n]
            else:
                last = tabulated.size - 1
                more = log_rising_factorial_of_large(concentration + last, float64(n - last))
                total += tabulated[last] + more
    total = reduce_block(shared, total, False)
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = total


@one_thread_each(BLOCK_THREADS)
def count_contexts(
    n_groups,
    cluster_of_group,
    statistics,
    scales,
    bag_start,
    category,
    count,
    groups_in_cluster,
    sums,
    categories,
    totals,
):
    """Count the groups of every cluster and sum their contexts.

    Each of the ``statistics``, float64 (n_groups, n_statistics), is multiplied by its scale and
    rounded. The sums are added to ``groups_in_cluster``, int32 (cluster slots,), ``sums``, int64
    (cluster slots × n_sums,), ``categories``, int32 (categories × cluster slots,), and
    ``totals``, int64 (cluster slots × bags,). The last ``sums`` are for `count_backgrounds`.
    """
    j = int64(cuda.grid(1))
    if j >= n_groups:
        return
    k, n_slots = cluster_of_group[j], groups_in_cluster.size
    n_sums, n_bags = scales.size, bag_start.shape[0]
    cuda.atomic.add(groups_in_cluster, k, int32(1))
    for s in range(statistics.shape[1]):
        value = statistics[j, s]
        if value != 0.0:
            rounded = int64(math.floor(value * scales[s] + 0.5))
            cuda.atomic.add(sums, k * n_sums + s, rounded)
    for c in range(n_bags):
        for e in range(bag_start[c, j], bag_start[c, j + 1]):
            cuda.atomic.add(categories, int64(category[e]) * n_slots + k, count[e])
            cuda.atomic.add(totals, k * n_bags + c, int64(count[e]))


@one_block_each(BLOCK_THREADS)
def normalise_log_columns(n_columns, first, last, values):
    """Normalise the logs of variates in rows ``first:last`` of each column to log-probabilities."""
    shared = cuda.shared.array(BLOCK_THREADS, float64)
    thread, k = cuda.threadIdx.x, cuda.blockIdx.x
    highest = -math.inf
    for row in range(first + thread, last, BLOCK_THREADS):
        highest = max(highest, float64(values[row * n_columns + k]))
    highest = reduce_block(shared, highest, True)
    cuda.syncthreads()
    total = 0.0
    for row in range(first + thread, last, BLOCK_THREADS):
        total += math.exp(float64(values[row * n_columns + k]) - highest)
    log_total = highest + math.log(reduce_block(shared, total, False))
    for row in range(first + thread, last, BLOCK_THREADS):
        values[row * n_columns + k] = float32(float64(values[row * n_columns + k]) - log_total)


@cuda.jit(device=True)
def normalise_log_row(k, n_slots, highest, out):
    """Normalise row ``k`` of ``out``, whose maximum is ``highest``, to logs of shares."""
    thread, total = thread_of_warp(), 0.0
    for m in range(thread, n_slots, 32):
        total += math.exp(out[k * n_slots + m] - highest)
    shift = highest + math.log(shuffle(running_sum(total, thread), 31))
    for m in range(thread, n_slots, 32):
        out[k * n_slots + m] -= shift


@one_warp_each()
def draw_log_shares(n_cluster_slots, prior, counts, seed, chain, sweep, out):
    """Draw log τ_k with τ_k ~ Dir(prior + counts_k) for all clusters.

    ``prior`` is float64 (topic slots,); ``counts``, integers, and ``out``, float64, are (cluster
    slots × topic slots,).
    """
    thread, k, n_slots = thread_of_warp(), warp_of_grid(), prior.size
    if k >= n_cluster_slots:
        return
    highest = -math.inf
    for m in range(thread, n_slots, 32):
        shape = prior[m] + counts[k * n_slots + m]
        value = -math.inf
        if shape > 0.0:
            shape = max(shape, MIN_SHAPE)
            value = log_gamma_draw(shape, seed, chain, sweep, SHARES, (k << 20) + m)
        out[k * n_slots + m] = value
        highest = max(highest, value)
    normalise_log_row(k, n_slots, warp_max(highest), out)


@one_thread_each()
def draw_table_counts(n_cells, customers, concentration, seed, chain, sweep, tables):
    """Draw numbers of tables, o_km ~ CRT(c_km, a_m), for every cell.

    ``customers`` and ``tables``, integers, are (cluster slots × topic slots,): c and o.
    ``concentration``, float64, is (topic slots,): a.
    """
    cell = int64(cuda.grid(1))
    if cell < n_cells:
        k, m = cell // concentration.size, cell % concentration.size
        n = customers[cell]
        tables[cell] = 0
        if n > 0:
            tables[cell] = crt(n, concentration[m], seed, chain, sweep, TABLES, (k << 20) + m)


@one_thread_each()
def weigh_topics(n_cells, n_slots, log_shares, factor, minimum, sums, shares, by_topic):
    """Write factor × τ_km (0 below ``minimum``) to ``shares``, and transposed to ``by_topic``.

    ``log_shares``, float64, and ``shares``, float32 or float64, are (cluster slots × topic slots,).
    The values of topic m are divided by ``sums[m]``, in float32, unless ``sums`` is empty, and
    ``by_topic`` may be empty as well.
    """
    cell = int64(cuda.grid(1))
    if cell < n_cells:
        k, m = cell // n_slots, cell % n_slots
        share = factor * math.exp(log_shares[cell])
        value = 0.0
        if share >= minimum:
            value = share
        if sums.size > 0:
            value = float32(value) / float32(sums[m])
        shares[cell] = value
        if by_topic.size > 0:
            by_topic[m * (n_cells // n_slots) + k] = value
