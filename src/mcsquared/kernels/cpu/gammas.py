"""Gamma variates: whole arrays of float32, or logarithms of single variates.

Shapes below 1 use the rejection method of Ahrens and Dieter (1974), others that of Marsaglia and
Tsang (2000). Nearly all cells of an array have a count of 0 and share one small shape. A first pass
proposes the most likely kind of candidate for all cells, with a fast and conservative acceptance
test. Cells that fail it are listed and given the exact test with the same random numbers. Cells
with positive counts have their own list. Rejected cells are retried until none is left.
"""

import math

import numpy as np
from numba import float32, int32

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.fast_math import cos_of_turns, exp32, log32
from mcsquared.kernels.cpu.lanes import N_LANES, nonzero_mask, trailing_zeros
from mcsquared.kernels.rng import (
    BLOCK,
    fill_uniforms,
    fill_uniforms_at,
    random_uint32s,
    uniform,
    unit_float32,
)

F = np.float32
CELLS_PER_BLOCK = BLOCK // 2  # cells whose first two random numbers are in one block
ACCEPTANCE_MARGIN = F(1e-6)  # exceeds the rounding error of the fast test
MIN_VARIATE = F(1e-20)  # smaller variates become 0: their products would be subnormal, hence slow
ROWS_PER_PASS = 8  # few enough that their scratch arrays stay in the first-level cache
NEGLIGIBLE_LOG = -60.0  # a smaller logarithm is certain to be accepted, and does not change a sum
MIN_SHAPE = 1e-290  # with smaller shapes a whole row of log-variates could be −∞
# More than 70% of the candidates are accepted, so that only shapes that are not finite reach this.
MAX_ATTEMPTS = 1000
NOT_ACCEPTED = "no candidate for a gamma variate was accepted"


@njit(cache=True, inline="always", fastmath={"contract"})
def try_small(u, accept, shape):
    """Return a candidate for Gamma(shape < 1), its log, and whether it is accepted."""
    bound = F(1.0) + shape * F(1.0 / math.e)
    p = bound * u
    log_low = log32(p) / shape
    low = exp32(log_low)
    high = max(-log32(max((bound - p) / shape, F(1e-30))), F(1e-30))
    log_high = log32(high)
    is_low = p <= F(1.0)
    limit = exp32(-low) if is_low else exp32((shape - F(1.0)) * log_high)
    value = low if is_low else high
    return (
        (value if value > MIN_VARIATE else F(0.0)),
        (log_low if is_low else log_high),
        accept <= limit,
    )


@njit(cache=True, inline="always", fastmath={"contract"})
def try_large(u, turns, accept, shape):
    """Return a candidate for Gamma(shape ≥ 1), its log, and whether it is accepted."""
    d = shape - F(1.0 / 3.0)
    normal = np.sqrt(F(-2.0) * log32(u)) * cos_of_turns(turns)
    root = F(1.0) + normal / np.sqrt(F(9.0) * d)
    cube = root * root * root
    positive = root > F(0.0)
    log_cube = log32(max(cube, F(1e-30)))
    accepted = log32(accept) < F(0.5) * normal * normal + d - d * cube + d * log_cube
    return d * cube, log32(d) + log_cube, positive & accepted


@njit(cache=True, inline="always", fastmath={"contract"})
def try_low(u, accept, shape):
    """Try a candidate as `try_small` does, but accept it only if that is certain.

    A fraction e / (e + shape) of the candidates is at most 1. Such an x is accepted if ``accept``
    ≤ exp(−x), for which the first terms of the series are a lower bound.
    """
    p = (F(1.0) + shape * F(1.0 / math.e)) * u
    log_x = log32(p) / shape
    x = exp32(log_x)
    bound = F(1.0) - x * (F(1.0) - x * (F(0.5) - x * F(1.0 / 6.0)))
    accepted = (p <= F(1.0)) & (accept <= bound - ACCEPTANCE_MARGIN)
    return (x if x > MIN_VARIATE else F(0.0)), log_x, accepted


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def try_all_low(out, first, n, shape, uniforms, in_logs, pending):
    """Apply `try_low` to n cells from ``first`` on; mark those not accepted in ``pending``."""
    for block in range((n + CELLS_PER_BLOCK - 1) // CELLS_PER_BLOCK):
        begin, offset = block * CELLS_PER_BLOCK, block * BLOCK
        # Slices, because an index that could be negative prevents vectorisation.
        u = uniforms[offset : offset + CELLS_PER_BLOCK]
        accept = uniforms[offset + CELLS_PER_BLOCK : offset + BLOCK]
        drawn, is_pending = out[first + begin : first + n], pending[begin:]
        for i in range(min(CELLS_PER_BLOCK, n - begin)):
            value, log_value, accepted = try_low(u[i], accept[i], shape)
            drawn[i] = log_value if in_logs else value
            is_pending[i] = int32(0) if accepted else int32(1)


@njit(cache=True, error_model="numpy")
def gather_uniforms(cells, n, uniforms, taken):
    """Copy the first two random numbers of some cells from the output of `fill_uniforms`."""
    for i in range(n):
        offset = cells[i] // CELLS_PER_BLOCK * BLOCK + cells[i] % CELLS_PER_BLOCK
        taken[0, i] = uniforms[offset]
        taken[1, i] = uniforms[offset + CELLS_PER_BLOCK]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def try_list_small(uniforms, n, shape, in_logs, values, accepted):
    """Apply `try_small` to each column of float32 ``uniforms`` (3, n), without the third row."""
    for i in range(n):
        value, log_value, ok = try_small(uniforms[0, i], uniforms[1, i], shape)
        values[i] = log_value if in_logs else value
        accepted[i] = int32(1) if ok else int32(0)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def try_list_large(uniforms, n, shapes, in_logs, values, accepted):
    """Apply `try_large` to each column of float32 ``uniforms`` (3, n)."""
    for i in range(n):
        value, log_value, ok = try_large(uniforms[0, i], uniforms[1, i], uniforms[2, i], shapes[i])
        values[i] = log_value if in_logs else value
        accepted[i] = int32(1) if ok else int32(0)


@njit(cache=True, error_model="numpy")
def retry(out, first, first_index, cells, shapes, n, is_small, step, key, in_logs, scratch):
    """Try the first n of ``cells``, each with its own shape, until all are accepted.

    ``first_index + cell`` is the index of the random numbers of ``out[first + cell]``. If
    ``is_small``, all shapes are equal and below 1, and ``scratch`` has the numbers of attempt 0.
    """
    uniforms, values, accepted = scratch
    for attempt in range(MAX_ATTEMPTS):
        if n == 0:
            return
        if attempt > 0 or not is_small:
            fill_uniforms_at(cells, n, first_index, key, step, attempt, uniforms)
        if is_small:
            try_list_small(uniforms, n, shapes[0], in_logs, values, accepted)
        else:
            try_list_large(uniforms, n, shapes, in_logs, values, accepted)
        left = 0
        for i in range(n):
            cell, shape = cells[i], shapes[i]
            out[first + cell] = values[i]
            cells[left] = cell
            shapes[left] = shape
            left += 1 - accepted[i]
        n = left
    raise FloatingPointError(NOT_ACCEPTED)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_gamma_rows(
    first_row, last_row, n_columns, counts, shape, step, key, in_logs, out, rows_before=0
):
    """Draw out[r, c] ~ Gamma(shape + counts[r, c]), or the logarithm of it, for some rows.

    The random numbers of cells with positive counts, or of all cells if the shape is at least 1,
    are those of ``step + 1``, the others those of ``step``. Variates below `MIN_VARIATE` become 0
    unless ``in_logs``.

    Parameters
    ----------
    first_row : int
        A multiple of `ROWS_PER_PASS`.
    n_columns : int
        A multiple of 16.
    counts : int32 or int64 (n_rows × n_columns,)
        In C order, like ``out``.
    shape : float
        Above 0.
    out : float32 (n_rows × n_columns,)
    rows_before : int
        Number of rows whose random numbers precede those of row 0, a multiple of `ROWS_PER_PASS`:
        arrays drawn in the same step must not share random numbers.
    """
    capacity = ROWS_PER_PASS * n_columns + N_LANES
    large_cells, small_cells = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    shapes, equal_shapes = np.ones(capacity, np.float32), np.full(capacity, shape, np.float32)
    pending = np.ones(capacity, np.int32)
    uniforms = np.empty(2 * capacity + BLOCK, np.float32)
    scratch = (
        np.empty((3, capacity), np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.int32),
    )
    is_small = shape < 1.0
    for row in range(first_row, last_row, ROWS_PER_PASS):
        first, first_index = row * n_columns, (rows_before + row) * n_columns
        n = (min(last_row, row + ROWS_PER_PASS) - row) * n_columns
        if is_small:
            n_blocks = (n + CELLS_PER_BLOCK - 1) // CELLS_PER_BLOCK
            fill_uniforms(uniforms, n_blocks, key, step, first_index // CELLS_PER_BLOCK)
            try_all_low(out, first, n, float32(shape), uniforms, in_logs, pending)
        n_large = n_small = 0
        for block in range(0, n, N_LANES):
            positive = nonzero_mask(counts, first + block)
            retried = nonzero_mask(pending, block) & ~positive
            while retried != 0:
                cell = block + trailing_zeros(retried)
                retried &= retried - 1
                if is_small:
                    small_cells[n_small] = cell
                    n_small += 1
                else:
                    large_cells[n_large] = cell
                    shapes[n_large] = float32(shape)
                    n_large += 1
            while positive != 0:
                cell = block + trailing_zeros(positive)
                positive &= positive - 1
                large_cells[n_large] = cell
                shapes[n_large] = float32(shape + counts[first + cell])
                n_large += 1
        rows = (first, first_index)
        gather_uniforms(small_cells, n_small, uniforms, scratch[0])
        retry(out, *rows, small_cells, equal_shapes, n_small, True, step, key, in_logs, scratch)
        retry(out, *rows, large_cells, shapes, n_large, False, step + 1, key, in_logs, scratch)


@njit(cache=True, nogil=True, error_model="numpy")
def add_columns(first_chunk, last_chunk, chunk_start, values, sums):
    """Sum each chunk of rows of float32 ``values`` into float64 ``sums`` (n_chunks, n_columns)."""
    for chunk in range(first_chunk, last_chunk):
        for c in range(values.shape[1]):
            sums[chunk, c] = 0.0
        for r in range(chunk_start[chunk], chunk_start[chunk + 1]):
            for c in range(values.shape[1]):
                sums[chunk, c] += values[r, c]


@njit(cache=True, error_model="numpy")
def log_gamma_draw(shape, seed, chain, sweep, step, index):
    """Return the log of a Gamma(shape) variate; it does not underflow if the shape is small.

    NaN if no candidate is accepted; a GPU cannot raise errors.
    """
    for attempt in range(MAX_ATTEMPTS):
        u = uniform(seed, chain, sweep, step, index, 3 * attempt)
        if shape < 1.0:
            value = math.log((1.0 + shape / math.e) * u) / shape
            if value < NEGLIGIBLE_LOG:
                return value
        v = uniform(seed, chain, sweep, step, index, 3 * attempt + 1)
        if shape < 1.0:
            value, accepted = log_try_small(u, v, shape)
        else:
            w = uniform(seed, chain, sweep, step, index, 3 * attempt + 2)
            value, accepted = log_try_large(u, v, w, shape)
        if accepted:
            return value
    return math.nan


@njit(cache=True, error_model="numpy")
def log_try_small(u, accept, shape):
    """Return the log of a candidate of `try_small`, in doubles, and whether it is accepted."""
    bound = 1.0 + shape / math.e
    p = bound * u
    if p <= 1.0:
        value = math.log(p) / shape
        return value, math.log(accept) <= -math.exp(value)
    high = -math.log((bound - p) / shape)
    return math.log(high), math.log(accept) <= (shape - 1.0) * math.log(high)


@njit(cache=True, error_model="numpy")
def log_try_large(u, turns, accept, shape):
    """Return the log of a candidate of `try_large`, in doubles, and whether it is accepted."""
    d = shape - 1.0 / 3.0
    normal = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * turns)
    root = 1.0 + normal / math.sqrt(9.0 * d)
    if root <= 0.0:
        return 0.0, False
    log_cube = 3.0 * math.log(root)
    accepted = math.log(accept) < 0.5 * normal * normal + d - d * math.exp(log_cube) + d * log_cube
    return math.log(d) + log_cube, accepted


@njit(cache=True, error_model="numpy")
def log_gamma_of_cell(cell, count, shape, step, key):
    """Return the log of the variate of `draw_gamma_rows` for a cell, from the same random numbers.

    Used for columns in which all variates underflow, so that their proportions are lost.
    """
    if count > 0 or shape >= 1.0:
        for attempt in range(MAX_ATTEMPTS):
            words = random_uint32s(key, step + 1, cell, attempt)
            value, accepted = log_try_large(
                float(unit_float32(words[0])),
                float(unit_float32(words[1])),
                float(unit_float32(words[2])),
                shape + count,
            )
            if accepted:
                return value
        raise FloatingPointError(NOT_ACCEPTED)
    uniforms = np.empty(BLOCK, np.float32)
    fill_uniforms(uniforms, 1, key, step, cell // CELLS_PER_BLOCK)
    i = cell % CELLS_PER_BLOCK
    value, accepted = log_try_small(float(uniforms[i]), float(uniforms[i + CELLS_PER_BLOCK]), shape)
    for attempt in range(1, MAX_ATTEMPTS):
        if accepted:
            return value
        words = random_uint32s(key, step, cell, attempt)
        value, accepted = log_try_small(
            float(unit_float32(words[0])), float(unit_float32(words[1])), shape
        )
    raise FloatingPointError(NOT_ACCEPTED)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_log_shares(first, last, prior, counts, key, step, out):
    """Draw log τ_k with τ_k ~ Dir(prior + counts_k) for the rows ``first:last``.

    Parameters
    ----------
    prior : float64 (topic slots,)
        Where both it and the count are 0, the result is −∞.
    counts : int32 or int64 (cluster slots, topic slots)
    out : float64 (cluster slots, topic slots)
    """
    n_slots = prior.size
    for k in range(first, last):
        largest = -math.inf
        for m in range(n_slots):
            shape = prior[m] + counts[k, m]
            value = -math.inf
            if shape > 0.0:
                # At most 2²⁰ topics: the index of a cell must not depend on the number of slots.
                index = (np.int64(k) << 20) + m
                shape = max(shape, MIN_SHAPE)
                value = log_gamma_draw(shape, key[0], key[1], key[2], step, index)
                if math.isnan(value):
                    raise FloatingPointError(NOT_ACCEPTED)
            out[k, m] = value
            largest = max(largest, value)
        total = 0.0
        for m in range(n_slots):
            if out[k, m] - largest > NEGLIGIBLE_LOG:
                total += math.exp(out[k, m] - largest)
        shift = largest + math.log(total)
        for m in range(n_slots):
            out[k, m] -= shift
