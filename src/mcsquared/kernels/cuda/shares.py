"""Tables as small as clusters × topics on the GPU: the clusters' weights of topics, and tables.

A warp for each cluster, and the functions of the CPU's kernels, from the same numbers.
"""

import math

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cpu import gammas, special
from mcsquared.kernels.cpu.shares import SMALLEST_SHAPE
from mcsquared.kernels.cuda.numbers import translated, uniform
from mcsquared.kernels.cuda.warp import N_WARPS, THREADS, largest, running_sum, shuffle
from mcsquared.kernels.rng import Step

__all__ = ["draw_log_shares", "draw_table_counts", "weigh_topics"]

SHARES, TABLES = int(Step.TOPIC_SHARES), int(Step.TABLES)

crt = translated(special.crt, uniform=uniform)
log_gamma_draw = translated(
    gammas.log_gamma_draw,
    uniform=uniform,
    log_try_small=translated(gammas.log_try_small),
    log_try_large=translated(gammas.log_try_large),
)


@cuda.jit
def _draw_log_shares(n_clusters, n_topics, prior, held, seed, chain, sweep, out):
    thread = int32(cuda.threadIdx.x & 31)
    k = int64(cuda.blockIdx.x) * N_WARPS + cuda.threadIdx.x // 32
    if k >= n_clusters:
        return
    highest = -math.inf
    for m in range(thread, n_topics, 32):
        shape = prior[m] + held[k * n_topics + m]
        value = -math.inf
        if shape > 0.0:
            shape = max(shape, SMALLEST_SHAPE)
            value = log_gamma_draw(shape, seed, chain, sweep, SHARES, (k << 20) + m)
        out[k * n_topics + m] = value
        highest = max(highest, value)
    highest = largest(highest)
    total = 0.0
    for m in range(thread, n_topics, 32):
        total += math.exp(out[k * n_topics + m] - highest)
    shift = highest + math.log(shuffle(running_sum(total, thread), 31))
    for m in range(thread, n_topics, 32):
        out[k * n_topics + m] -= shift


def draw_log_shares(prior, held, seed, chain, sweep, out):
    """Draw log τ_k with τ_k ~ Dir(prior + held_k) for all clusters.

    Parameters
    ----------
    prior : float64 (topic slots,)
    held : int32 (cluster slots × topic slots,)
    out : float64 (cluster slots × topic slots,)
    """
    n_clusters = held.size // prior.size
    grid = (n_clusters + N_WARPS - 1) // N_WARPS
    _draw_log_shares[grid, THREADS](n_clusters, prior.size, prior, held, seed, chain, sweep, out)


@cuda.jit
def _draw_table_counts(n_topics, customers, concentration, seed, chain, sweep, tables):
    cell = int64(cuda.grid(1))
    if cell < customers.size:
        k, m = cell // n_topics, cell % n_topics
        n = customers[cell]
        tables[cell] = 0
        if n > 0:
            tables[cell] = crt(n, concentration[m], seed, chain, sweep, TABLES, (k << 20) + m)


def draw_table_counts(customers, concentration, seed, chain, sweep, tables):
    """Draw q_km ~ CRT(c_km, a_m) for every cell.

    Parameters
    ----------
    customers, tables : int32 (n_restaurants × n_dishes,)
    concentration : float64 (n_dishes,)
    """
    grid = (customers.size + THREADS - 1) // THREADS
    _draw_table_counts[grid, THREADS](
        concentration.size, customers, concentration, seed, chain, sweep, tables
    )


@cuda.jit
def _weigh_topics(n_topics, log_shares, factor, smallest, sums, shares, by_topic):
    cell = int64(cuda.grid(1))
    if cell < log_shares.size:
        k, m = cell // n_topics, cell % n_topics
        share = factor * math.exp(log_shares[cell])
        value = float32(0.0)
        if share >= smallest:
            value = float32(share)
        if sums.size > 0:
            value /= float32(sums[m])
        shares[cell] = value
        if by_topic.size > 0:
            by_topic[m * (log_shares.size // n_topics) + k] = value


def weigh_topics(n_topics, log_shares, factor, smallest, sums, shares, by_topic):
    """Write factor × τ_km to ``shares``, 0 where it is too small, and once more by topic.

    Parameters
    ----------
    log_shares : float64 (cluster slots × topic slots,)
    sums : float64 (topic slots,) or (0,)
        By which a topic's shares are divided.
    shares : float32 (cluster slots × topic slots,)
    by_topic : float32 (topic slots × cluster slots,) or (0,)
    """
    grid = (log_shares.size + THREADS - 1) // THREADS
    _weigh_topics[grid, THREADS](
        n_topics,
        log_shares,
        float64(factor),
        smallest,
        sums,
        shares,
        by_topic,
    )
