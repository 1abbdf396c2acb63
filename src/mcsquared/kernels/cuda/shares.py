"""Topic shares of clusters and table counts on the GPU: arrays of clusters × topics."""

import math

from numba import cuda, float32, int64

from mcsquared.kernels.cpu.gammas import MIN_SHAPE
from mcsquared.kernels.cuda.launch import one_thread_each, one_warp_each
from mcsquared.kernels.cuda.special import crt, log_gamma_draw
from mcsquared.kernels.cuda.warp import running_sum, shuffle, thread_of_warp, warp_max, warp_of_grid
from mcsquared.kernels.rng import Step

SHARES, TABLES = int(Step.TOPIC_SHARES), int(Step.TABLES)


@one_warp_each()
def draw_log_shares(n_clusters, prior, counts, seed, chain, sweep, out):
    """Draw log τ_k with τ_k ~ Dir(prior + counts_k) for all clusters.

    Parameters
    ----------
    prior : float64 (topic slots,)
    counts : int32 (cluster slots × topic slots,)
    out : float64 (cluster slots × topic slots,)
    """
    thread, k, n_topics = thread_of_warp(), warp_of_grid(), prior.size
    if k >= n_clusters:
        return
    highest = -math.inf
    for m in range(thread, n_topics, 32):
        shape = prior[m] + counts[k * n_topics + m]
        value = -math.inf
        if shape > 0.0:
            shape = max(shape, MIN_SHAPE)
            value = log_gamma_draw(shape, seed, chain, sweep, SHARES, (k << 20) + m)
        out[k * n_topics + m] = value
        highest = max(highest, value)
    highest = warp_max(highest)
    total = 0.0
    for m in range(thread, n_topics, 32):
        total += math.exp(out[k * n_topics + m] - highest)
    shift = highest + math.log(shuffle(running_sum(total, thread), 31))
    for m in range(thread, n_topics, 32):
        out[k * n_topics + m] -= shift


@one_thread_each()
def draw_table_counts(n_cells, customers, concentration, seed, chain, sweep, tables):
    """Draw q_km ~ CRT(c_km, a_m) for every cell.

    Parameters
    ----------
    customers, tables : int32 (n_restaurants × n_dishes,)
    concentration : float64 (n_dishes,)
    """
    cell = int64(cuda.grid(1))
    if cell < n_cells:
        k, m = cell // concentration.size, cell % concentration.size
        n = customers[cell]
        tables[cell] = 0
        if n > 0:
            tables[cell] = crt(n, concentration[m], seed, chain, sweep, TABLES, (k << 20) + m)


@one_thread_each()
def weigh_topics(n_cells, n_topics, log_shares, factor, smallest, sums, shares, by_topic):
    """Write factor × τ_km to ``shares``, 0 below ``smallest``, and transposed to ``by_topic``.

    Parameters
    ----------
    log_shares : float64 (cluster slots × topic slots,)
    sums : float64 (topic slots,) or (0,)
        Sums by which the shares of a topic are divided, in float32.
    shares : float32 or float64 (cluster slots × topic slots,)
    by_topic : like shares (topic slots × cluster slots,) or (0,)
    """
    cell = int64(cuda.grid(1))
    if cell < n_cells:
        k, m = cell // n_topics, cell % n_topics
        share = factor * math.exp(log_shares[cell])
        value = 0.0
        if share >= smallest:
            value = share
        if sums.size > 0:
            value = float32(value) / float32(sums[m])
        shares[cell] = value
        if by_topic.size > 0:
            by_topic[m * (n_cells // n_topics) + k] = value
