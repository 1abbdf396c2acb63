"""Tables of gamma variates on the GPU, a thread for each cell."""

import math

from numba import cuda, float32, int64, uint64

from mcsquared.kernels.cpu.gammas import CELLS, NOTHING
from mcsquared.kernels.cuda.numbers import four_words, place_of, unit
from mcsquared.kernels.cuda.warp import SIMULATED

__all__ = ["draw_gamma_rows"]

THREADS = 8 if SIMULATED else 256
SMALLEST = 1e-30


@cuda.jit(device=True)
def try_small(u, accept, shape):
    """Return a candidate for Gamma(shape < 1) and its log, and whether it stands."""
    bound = float32(1.0) + shape * float32(1.0 / math.e)
    p = bound * u
    if p <= float32(1.0):
        log_value = math.log(p) / shape
        value = math.exp(log_value)
        limit = math.exp(-value)
    else:
        value = max(-math.log(max((bound - p) / shape, float32(SMALLEST))), float32(SMALLEST))
        log_value = math.log(value)
        limit = math.exp((shape - float32(1.0)) * log_value)
    return (value if value > NOTHING else float32(0.0)), log_value, accept <= limit


@cuda.jit(device=True)
def try_large(u, turns, accept, shape):
    """Return a candidate for Gamma(shape ≥ 1) and its log, and whether it stands."""
    d = shape - float32(1.0 / 3.0)
    normal = math.sqrt(float32(-2.0) * math.log(u)) * math.cos(float32(2.0 * math.pi) * turns)
    root = float32(1.0) + normal / math.sqrt(float32(9.0) * d)
    cube = root * root * root
    log_cube = math.log(max(cube, float32(SMALLEST)))
    limit = float32(0.5) * normal * normal + d - d * cube + d * log_cube
    return d * cube, math.log(d) + log_cube, root > float32(0.0) and math.log(accept) < limit


@cuda.jit
def _draw_cells(first, last, counts, shape, step, seed, chain, sweep, in_logs, out):
    cell = first + int64(cuda.grid(1))
    if cell >= last:
        return
    seed, chain, sweep = uint64(seed), uint64(chain), uint64(sweep)
    held = counts[cell]
    stands = False
    value = log_value = float32(0.0)
    attempt = 0
    if held > 0 or shape >= float32(1.0):
        own = float32(shape + held)
        while not stands:
            place = place_of(step + 1, attempt)
            w0, w1, w2, _ = four_words(uint64(cell), sweep, place, seed, chain)
            value, log_value, stands = try_large(unit(w0), unit(w1), unit(w2), own)
            attempt += 1
    else:
        # The first try of 32 cells takes the four words of sixteen counters.
        i = cell % CELLS
        index = uint64(cell // CELLS) * uint64(16) + uint64(i & 15)
        w0, w1, w2, w3 = four_words(index, sweep, place_of(step, 0), seed, chain)
        if i < 16:
            value, log_value, stands = try_small(unit(w0), unit(w2), shape)
        else:
            value, log_value, stands = try_small(unit(w1), unit(w3), shape)
        attempt = 1
        while not stands:
            place = place_of(step, attempt)
            w0, w1, _, _ = four_words(uint64(cell), sweep, place, seed, chain)
            value, log_value, stands = try_small(unit(w0), unit(w1), shape)
            attempt += 1
    out[cell] = log_value if in_logs else value


def draw_gamma_rows(first, last, counts, shape, step, seed, chain, sweep, in_logs, out):
    """Draw out[c] ~ Gamma(shape + counts[c]) for a range of cells, or the logarithms of such.

    Parameters
    ----------
    first, last : int
        Cells; the first one is a multiple of 32.
    counts : int32 (n_cells,)
    out : float32 (n_cells,)
    """
    grid = max((last - first + THREADS - 1) // THREADS, 1)
    _draw_cells[grid, THREADS](
        first, last, counts, float32(shape), step, seed, chain, sweep, in_logs, out
    )
