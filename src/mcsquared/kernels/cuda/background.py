"""Values of numeric contexts that come from a background instead of their cluster.

The counterpart of `mcsquared.kernels.cpu.contexts` for contexts with a background, whose statistics
are in arrays of their own. The first statistic of a value is 1; it is 0 if the value is missing.
"""

import math

from numba import cuda, int64

from mcsquared.kernels.cuda.launch import BLOCK_THREADS, one_thread_each
from mcsquared.kernels.cuda.rng import uniform
from mcsquared.kernels.rng import Step

OUTLIERS = int(Step.OUTLIERS)


@one_thread_each(BLOCK_THREADS)
def score_backgrounds(
    n_cells,
    n_cluster_slots,
    start,
    row,
    statistics,
    natural,
    log_probabilities,
    natural_of_background,
    initial_scores,
    row_of_group,
    out,
):
    """Write Σ log (ρ F(x_j | φ_k) + (1 − ρ) F(x_j | φ_0)), without log h, plus other scores.

    ρ is the probability that a value comes from its cluster, φ_0 the parameter of the background.

    Parameters
    ----------
    n_cells : int
        Number of groups times number of cluster slots.
    start : int32 (backgrounds + 1,)
        Columns of each context in ``statistics``, float64 (n_groups, columns).
    row : int32 (columns,)
        Row of each column in ``natural``, float64 (statistics × cluster slots,).
    log_probabilities : float64 (backgrounds, 2)
        log ρ and log (1 − ρ).
    natural_of_background : float64 (columns,)
    initial_scores, row_of_group
        See `mcsquared.kernels.cuda.clusters.add_context_scores`.
    out : float64 (n_groups, cluster slots)
    """
    cell = int64(cuda.grid(1))
    if cell >= n_cells:
        return
    j, k, value = cell // n_cluster_slots, cell % n_cluster_slots, 0.0
    if initial_scores.shape[0] > 0:
        other_row = j
        if row_of_group.size > 0:
            other_row = int64(row_of_group[j])
        value = initial_scores[other_row, k]
    for c in range(start.size - 1):
        if statistics[j, start[c]] != 0.0:
            log_cluster, log_background = log_probabilities[c, 0], log_probabilities[c, 1]
            for s in range(start[c], start[c + 1]):
                log_cluster += statistics[j, s] * natural[int64(row[s]) * n_cluster_slots + k]
                log_background += statistics[j, s] * natural_of_background[s]
            difference = abs(log_cluster - log_background)
            value += max(log_cluster, log_background) + math.log1p(math.exp(-difference))
    out[j, k] = value


@one_thread_each(BLOCK_THREADS)
def count_backgrounds(
    n_groups,
    first_group,
    n_cluster_slots,
    number,
    start,
    row,
    statistics,
    natural,
    log_probabilities,
    natural_of_background,
    scales,
    seed,
    chain,
    sweep,
    cluster_of_group,
    sums,
):
    """Draw which values come from their cluster, and sum the statistics of both kinds.

    ``number`` is int32 (backgrounds,), the number of each context among all dense ones. ``sums``,
    int64 (cluster slots × n_sums,), ends with columns for values from the background; others are
    at ``row``. Each statistic is multiplied by its element of ``scales``, float64 (n_sums,), and
    rounded before it is added. Other arguments are those of `score_backgrounds`.
    """
    j = int64(cuda.grid(1))
    if j >= n_groups:
        return
    k, n_sums = int64(cluster_of_group[j]), scales.size
    for c in range(number.size):
        if statistics[j, start[c]] != 0.0:
            log_odds = log_probabilities[c, 1] - log_probabilities[c, 0]
            for s in range(start[c], start[c + 1]):
                natural_of_cluster = natural[int64(row[s]) * n_cluster_slots + k]
                log_odds += statistics[j, s] * (natural_of_background[s] - natural_of_cluster)
            u = uniform(seed, chain, sweep, OUTLIERS, first_group + j, number[c])
            # Equivalent to u < 1 / (1 + exp(log_odds)).
            is_foreground = math.log(1.0 / u - 1.0) > log_odds
            for s in range(start[c], start[c + 1]):
                column = int64(row[s]) if is_foreground else int64(n_sums - row.size + s)
                rounded = int64(math.floor(statistics[j, s] * scales[column] + 0.5))
                cuda.atomic.add(sums, k * n_sums + column, rounded)
