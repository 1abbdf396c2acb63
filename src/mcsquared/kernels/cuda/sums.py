"""Sums over whole tables on the GPU, the same whenever they are done.

Floats are added in an order that depends on the table's size alone. Statistics of contexts are
turned into whole numbers first: those add up to the same in any order, so threads may race.
"""

import math

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cuda.placing import log_rising
from mcsquared.kernels.cuda.warp import SIMULATED

__all__ = [
    "N_PARTS",
    "add_columns",
    "add_floats",
    "add_log_rising",
    "count_contexts",
    "normalise_log_rows",
    "scale_columns",
]

THREADS = 8 if SIMULATED else 256
N_PARTS = 2 if SIMULATED else 512  # into which a table is cut


@cuda.jit
def _add_columns(n_rows, n_columns, table, parts):
    """Sum a range of rows: threads side by side take columns side by side."""
    block = cuda.blockIdx.x
    size = (n_rows + N_PARTS - 1) // N_PARTS
    first, last = int64(block) * size, min((int64(block) + 1) * size, n_rows)
    for m in range(cuda.threadIdx.x, n_columns, THREADS):
        total = 0.0
        for row in range(first, last):
            total += float64(table[row * n_columns + m])
        parts[block * n_columns + m] = total


@cuda.jit
def _add_parts(n_columns, parts, sums):
    m = cuda.grid(1)
    if m < n_columns:
        total = 0.0
        for block in range(N_PARTS):
            total += parts[block * n_columns + m]
        sums[m] = total


def add_columns(table, n_columns, parts, sums):
    """Write the sum of each column of ``table`` (n_rows × n_columns,) to float64 ``sums``.

    ``parts`` is scratch: float64 (N_PARTS × n_columns,) or more.
    """
    n_rows = table.size // n_columns
    _add_columns[N_PARTS, THREADS](n_rows, n_columns, table, parts)
    _add_parts[(n_columns + THREADS - 1) // THREADS, THREADS](n_columns, parts, sums)


@cuda.jit
def _scale_columns(table, n_columns, sums, total):
    for i in range(cuda.grid(1), table.size, cuda.gridDim.x * THREADS):
        table[i] *= float32(total / sums[i % n_columns])


def scale_columns(table, n_columns, sums, total):
    """Divide the columns of float32 ``table`` by their ``sums``, and make them sum to ``total``."""
    grid = min((table.size + THREADS - 1) // THREADS, 8 * N_PARTS)
    _scale_columns[grid, THREADS](table, n_columns, sums, float64(total))


@cuda.jit
def _add_floats(values, parts):
    own = cuda.shared.array(THREADS, float64)
    thread = cuda.threadIdx.x
    total = 0.0
    for i in range(cuda.grid(1), values.size, N_PARTS * THREADS):
        total += float64(values[i])
    _add_up(own, thread, total, parts)


@cuda.jit
def _add_log_rising(counts, concentration, known, parts):
    own = cuda.shared.array(THREADS, float64)
    thread = cuda.threadIdx.x
    total = 0.0
    for i in range(cuda.grid(1), counts.size, N_PARTS * THREADS):
        n = counts[i]
        if n > 0:
            if n < known.size:
                total += known[n]
            else:
                last = known.size - 1
                total += known[last] + log_rising(concentration + last, float64(n - last))
    _add_up(own, thread, total, parts)


@cuda.jit(device=True)
def _add_up(own, thread, total, parts):
    """Write the sum of a block's threads to its part, halves upon halves."""
    own[thread] = total
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if thread < width:
            own[thread] += own[thread + width]
        cuda.syncthreads()
        width //= 2
    if thread == 0:
        parts[cuda.blockIdx.x] = own[0]


def add_floats(values, parts):
    """Write sums of float32 ``values`` to float64 ``parts`` (N_PARTS,), which add up to all."""
    _add_floats[N_PARTS, THREADS](values, parts)


def add_log_rising(counts, concentration, known, parts):
    """Write sums of ln Γ(c + n) − ln Γ(c) over int32 ``counts`` to ``parts``, as `add_floats`.

    ``known`` holds the terms of the first few n; ``c + len(known)`` is 8 at least.
    """
    _add_log_rising[N_PARTS, THREADS](counts, concentration, known, parts)


@cuda.jit
def _count_contexts(
    n_clusters,
    cluster_of_group,
    statistics,
    scales,
    start,
    category,
    count,
    groups,
    sums,
    categories,
    totals,
):
    j = int64(cuda.grid(1))
    if j >= cluster_of_group.size:
        return
    k = cluster_of_group[j]
    cuda.atomic.add(groups, k, int32(1))
    n_statistics = scales.size
    for s in range(n_statistics):
        value = statistics[j, s]
        if value != 0.0:
            whole = int64(math.floor(value * scales[s] + 0.5))
            cuda.atomic.add(sums, k * n_statistics + s, whole)
    for c in range(start.shape[0]):
        for e in range(start[c, j], start[c, j + 1]):
            cuda.atomic.add(categories, int64(category[e]) * n_clusters + k, count[e])
            cuda.atomic.add(totals, k * start.shape[0] + c, int64(count[e]))


def count_contexts(cluster_of_group, statistics, scales, bags, groups, sums, categories, totals):
    """Count the groups of every cluster, and sum their contexts.

    Parameters
    ----------
    statistics : float64 (n_groups, n_statistics)
    scales : float64 (n_statistics,)
        A statistic times its scale, rounded, is what is added.
    bags : (start, category, count)
    groups : int32 (cluster slots,)
        Added to, like ``sums`` int64 (cluster slots × n_statistics,), ``categories`` int32
        (categories × cluster slots,) and ``totals`` int64 (cluster slots × bags,).
    """
    n_groups = cluster_of_group.size
    _count_contexts[(n_groups + THREADS - 1) // THREADS, THREADS](
        groups.size,
        cluster_of_group,
        statistics,
        scales,
        *bags,
        groups,
        sums,
        categories,
        totals,
    )


@cuda.jit
def _normalise(first, last, n_columns, table):
    """Turn logs of variates into log-probabilities: a block for each column."""
    own = cuda.shared.array(THREADS, float64)
    thread, k = cuda.threadIdx.x, cuda.blockIdx.x
    highest = -math.inf
    for row in range(first + thread, last, THREADS):
        highest = max(highest, float64(table[row * n_columns + k]))
    own[thread] = highest
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if thread < width:
            own[thread] = max(own[thread], own[thread + width])
        cuda.syncthreads()
        width //= 2
    highest = own[0]
    cuda.syncthreads()
    total = 0.0
    for row in range(first + thread, last, THREADS):
        total += math.exp(float64(table[row * n_columns + k]) - highest)
    own[thread] = total
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if thread < width:
            own[thread] += own[thread + width]
        cuda.syncthreads()
        width //= 2
    log_total = highest + math.log(own[0])
    for row in range(first + thread, last, THREADS):
        table[row * n_columns + k] = float32(float64(table[row * n_columns + k]) - log_total)


def normalise_log_rows(first, last, n_columns, table):
    """Turn logs of variates in the rows ``first:last`` into log-probabilities, by column."""
    _normalise[n_columns, THREADS](first, last, n_columns, table)
