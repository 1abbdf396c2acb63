"""Tables of gamma variates on the GPU: one thread per cell."""

import math

from numba import cuda, float32, int64

from mcsquared.kernels.cpu.gammas import CELLS_PER_BLOCK, MAX_ATTEMPTS, MIN_VARIATE
from mcsquared.kernels.cuda.launch import BLOCK_THREADS, one_thread_each
from mcsquared.kernels.cuda.rng import random_uint32s, unit_float32

MIN_GAMMA = 1e-30  # so that logarithms are finite


@cuda.jit(device=True)
def try_small(u, accept, shape):
    """Return a candidate for Gamma(shape < 1), its log, and whether it is accepted."""
    bound = float32(1.0) + shape * float32(1.0 / math.e)
    p = bound * u
    if p <= float32(1.0):
        log_value = math.log(p) / shape
        value = math.exp(log_value)
        limit = math.exp(-value)
    else:
        value = max(-math.log(max((bound - p) / shape, float32(MIN_GAMMA))), float32(MIN_GAMMA))
        log_value = math.log(value)
        limit = math.exp((shape - float32(1.0)) * log_value)
    return (value if value > MIN_VARIATE else float32(0.0)), log_value, accept <= limit


@cuda.jit(device=True)
def try_large(u, turns, accept, shape):
    """Return a candidate for Gamma(shape ≥ 1), its log, and whether it is accepted."""
    d = shape - float32(1.0 / 3.0)
    normal = math.sqrt(float32(-2.0) * math.log(u)) * math.cos(float32(2.0 * math.pi) * turns)
    root = float32(1.0) + normal / math.sqrt(float32(9.0) * d)
    cube = root * root * root
    log_cube = math.log(max(cube, float32(MIN_GAMMA)))
    limit = float32(0.5) * normal * normal + d - d * cube + d * log_cube
    return d * cube, math.log(d) + log_cube, root > float32(0.0) and math.log(accept) < limit


@cuda.jit(device=True)
def draw_gamma(cell, count, prior_shape, step, seed, chain, sweep):
    """Return a variate of Gamma(prior_shape + count), and its logarithm; NaN if none is accepted.

    ``cell`` is the index of its random numbers, ``prior_shape`` a float32. As on the CPU, the
    random numbers are those of ``step + 1`` if the count is positive or the prior shape at least 1.
    """
    accepted = False
    value = log_value = float32(0.0)
    attempt = 0
    if count > 0 or prior_shape >= float32(1.0):
        shape = float32(prior_shape + count)
        while not accepted and attempt < MAX_ATTEMPTS:
            w0, w1, w2, _ = random_uint32s(seed, chain, sweep, step + 1, cell, attempt)
            value, log_value, accepted = try_large(
                unit_float32(w0), unit_float32(w1), unit_float32(w2), shape
            )
            attempt += 1
    else:
        # The first attempts of 32 cells share the four words of sixteen counters.
        cell_in_block = cell % CELLS_PER_BLOCK
        index = cell // CELLS_PER_BLOCK * 16 + (cell_in_block & 15)
        w0, w1, w2, w3 = random_uint32s(seed, chain, sweep, step, index, 0)
        if cell_in_block < 16:
            value, log_value, accepted = try_small(unit_float32(w0), unit_float32(w2), prior_shape)
        else:
            value, log_value, accepted = try_small(unit_float32(w1), unit_float32(w3), prior_shape)
        attempt = 1
        while not accepted and attempt < MAX_ATTEMPTS:
            w0, w1, _, _ = random_uint32s(seed, chain, sweep, step, cell, attempt)
            value, log_value, accepted = try_small(unit_float32(w0), unit_float32(w1), prior_shape)
            attempt += 1
    if not accepted:
        value = log_value = float32(math.nan)
    return value, log_value


@one_thread_each(BLOCK_THREADS)
def draw_gamma_rows(n_cells, first, counts, shape, step, seed, chain, sweep, in_logs, out):
    """Draw out[c] ~ Gamma(shape + counts[c]), or the logarithm of it, for some cells.

    ``first``, a multiple of 32, is the first of these cells. ``counts`` are int32, ``out`` float32.
    """
    i = int64(cuda.grid(1))
    if i >= n_cells:
        return
    cell = first + i
    count, prior_shape = counts[cell], float32(shape)
    value, log_value = draw_gamma(cell, count, prior_shape, step, seed, chain, sweep)
    out[cell] = log_value if in_logs else value
