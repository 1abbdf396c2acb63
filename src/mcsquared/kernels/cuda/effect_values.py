"""Topic weights of the values of effects, their tables, and the density of both.

    τ_s ~ Dir(v_c ε + O_s),        tables of ε:  CRT(O_sm, v_c ε_m)

Arrays have a row per value of any effect; v_c ε, ``shapes``, has a row per effect.
"""

import math

from numba import cuda, float32, float64, int64

from mcsquared.kernels.cuda.arrays import normalise_log_row, reduce_block
from mcsquared.kernels.cuda.gammas import draw_gamma
from mcsquared.kernels.cuda.launch import (
    BLOCK_THREADS,
    one_block_each,
    one_thread_each,
    one_warp_each,
)
from mcsquared.kernels.cuda.special import crt, log_rising_factorial
from mcsquared.kernels.cuda.warp import thread_of_warp, warp_max, warp_of_grid
from mcsquared.kernels.rng import Step

EFFECT_SHARES, TABLES = int(Step.EFFECT_SHARES), int(Step.TABLES)
SMALLEST_FLOAT = 2.3e-308  # replaces a shape of 0, which has underflowed


@one_warp_each()
def draw_log_shares_of_values(
    n_values, n_slots, width, position, effect, shapes, minimum, tables, seed, chain, sweep, out
):
    """Draw log τ_s of every value.

    Parameters
    ----------
    width : int
        Number of random numbers per topic; those of value s are at ``position[s]``.
    position, effect : int32 (n_values,)
        ``effect`` is the number of the value's effect.
    shapes : float64 (n_effects × topic slots,)
        v_c ε_m; 0 in slots that a bound excludes, others are raised to ``minimum``.
    tables : int32 (n_values × topic slots,)
    out : float64 (n_values × topic slots,)
    """
    thread, s = thread_of_warp(), warp_of_grid()
    if s >= n_values:
        return
    highest = -math.inf
    for m in range(thread, n_slots, 32):
        shape, value = shapes[int64(effect[s]) * n_slots + m], -math.inf
        if shape > 0.0:
            prior_shape, count = float32(max(shape, minimum)), tables[s * n_slots + m]
            cell = int64(m) * width + position[s]
            _, log_value = draw_gamma(cell, count, prior_shape, EFFECT_SHARES, seed, chain, sweep)
            value = float64(log_value)
        out[s * n_slots + m] = value
        highest = max(highest, value)
    normalise_log_row(s, n_slots, warp_max(highest), out)


@one_thread_each()
def draw_tables_of_values(
    n_cells, n_slots, first_row, effect, shapes, tables, seed, chain, sweep, out
):
    """Draw CRT(O_sm, v_c ε_m) for every cell, from the random numbers of ``first_row`` on."""
    cell = int64(cuda.grid(1))
    if cell < n_cells:
        s, m = cell // n_slots, cell % n_slots
        n = tables[cell]
        out[cell] = 0
        if n > 0:
            shape, index = shapes[int64(effect[s]) * n_slots + m], ((first_row + s) << 20) + m
            out[cell] = crt(n, shape, seed, chain, sweep, TABLES, index)


@one_block_each(BLOCK_THREADS)
def add_log_ratios(n_parts, n_slots, effect, shapes, tables, log_shares, parts):
    """Write partial sums of ln Γ(v_c ε_m + O_sm) − ln Γ(v_c ε_m) − O_sm log τ_sm to ``parts``."""
    shared = cuda.shared.array(BLOCK_THREADS, float64)
    total = 0.0
    for cell in range(cuda.grid(1), tables.size, n_parts * BLOCK_THREADS):
        n = tables[cell]
        if n > 0:
            shape = shapes[int64(effect[cell // n_slots]) * n_slots + cell % n_slots]
            total += log_rising_factorial(max(shape, SMALLEST_FLOAT), n)
            total -= n * log_shares[cell]
    total = reduce_block(shared, total, False)
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = total
