"""Gamma variates: whole tables as float32, or single variates in logs.

Shapes below 1 use the rejection method of Ahrens and Dieter (1974), others that of Marsaglia and
Tsang (2000). Nearly all cells of a table have a count of 0 and share one small shape. A first pass
proposes the most likely kind of candidate for all cells, with a fast test that never accepts
wrongly. Cells that fail it are listed and tested in full with the same numbers, as are cells with
positive counts. Rejected cells are tried again, sixteen at a time, until none is left.
"""

import math

import numpy as np
from numba import float32, int32, njit

from mcsquared.kernels.cpu.fast_math import cos_of_turns, exp32, log32
from mcsquared.kernels.cpu.lanes import N_LANES, nonzero, trailing_zeros
from mcsquared.kernels.rng import (
    BLOCK,
    fill_uniforms,
    fill_uniforms_at,
    random_words,
    uniform,
    unit_float32,
)

F = np.float32
CELLS = BLOCK // 2  # cells that take their first two numbers from one block
ACCEPTANCE_MARGIN = F(1e-6)  # above the rounding error of a test in floats
NOTHING = F(1e-20)  # smaller variates become 0: their products would be denormal, and slow
ROWS = 8  # rows of the table at a time: their scratch arrays stay in the first-level cache
MIN_SHAPE = 1e-290  # a smaller one could draw −∞ for a whole row of shares


@njit(cache=True, inline="always", fastmath={"contract"})
def try_small(u, accept, shape):
    """Return a candidate for Gamma(shape < 1) and its log, and whether it is accepted."""
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
        (value if value > NOTHING else F(0.0)),
        (log_low if is_low else log_high),
        accept <= limit,
    )


@njit(cache=True, inline="always", fastmath={"contract"})
def try_large(u, turns, accept, shape):
    """Return a candidate for Gamma(shape ≥ 1) and its log, and whether it is accepted."""
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
    """Fast variant of `try_small`; return False where acceptance is not certain.

    Low candidates, a share 1 − shape / (e + shape), are accepted if ``accept`` is at most exp(−x),
    for which the first terms of the series are a lower bound.
    """
    p = (F(1.0) + shape * F(1.0 / math.e)) * u
    log_x = log32(p) / shape
    x = exp32(log_x)
    bound = F(1.0) - x * (F(1.0) - x * (F(0.5) - x * F(1.0 / 6.0)))
    accepted = (p <= F(1.0)) & (accept <= bound - ACCEPTANCE_MARGIN)
    return (x if x > NOTHING else F(0.0)), log_x, accepted


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def try_all_low(out, first, n, shape, numbers, in_logs, unsure):
    """Propose a candidate for n cells from ``first``; ``unsure`` marks those not yet accepted."""
    for block in range((n + CELLS - 1) // CELLS):
        begin, at = block * CELLS, block * BLOCK
        # Slices, because an index that may be negative prevents vectorisation.
        u, accept = numbers[at : at + CELLS], numbers[at + CELLS : at + BLOCK]
        drawn, doubt = out[first + begin : first + n], unsure[begin:]
        for i in range(min(CELLS, n - begin)):
            value, log_value, accepted = try_low(u[i], accept[i], shape)
            drawn[i] = log_value if in_logs else value
            doubt[i] = int32(0) if accepted else int32(1)


@njit(cache=True, error_model="numpy")
def take_numbers(cells, n, numbers, taken):
    """Copy the first two numbers of the listed cells from the output of `fill_uniforms`."""
    for i in range(n):
        at = cells[i] // CELLS * BLOCK + cells[i] % CELLS
        taken[0, i] = numbers[at]
        taken[1, i] = numbers[at + CELLS]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def try_list_small(numbers, n, shape, in_logs, values, accepted):
    """Try Gamma(shape < 1) with each column of numbers."""
    for i in range(n):
        value, log_value, ok = try_small(numbers[0, i], numbers[1, i], shape)
        values[i] = log_value if in_logs else value
        accepted[i] = int32(1) if ok else int32(0)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def try_list_large(numbers, n, shapes, in_logs, values, accepted):
    """Try Gamma(shape ≥ 1) with each column of numbers."""
    for i in range(n):
        value, log_value, ok = try_large(numbers[0, i], numbers[1, i], numbers[2, i], shapes[i])
        values[i] = log_value if in_logs else value
        accepted[i] = int32(1) if ok else int32(0)


@njit(cache=True, error_model="numpy")
def finish(out, first, number, cells, shapes, n, small, step, key, in_logs, scratch):
    """Try the listed cells, each with its own shape, until all are accepted.

    A cell is at ``out[first + cell]`` and has the random numbers of ``number + cell``. If ``small``
    is true, all shapes are equal and below 1, and ``scratch`` has the numbers of attempt 0.
    """
    numbers, values, accepted = scratch
    attempt = 0
    while n > 0:
        if attempt > 0 or not small:
            fill_uniforms_at(cells, n, number, key, step, attempt, numbers)
        if small:
            try_list_small(numbers, n, shapes[0], in_logs, values, accepted)
        else:
            try_list_large(numbers, n, shapes, in_logs, values, accepted)
        left = 0
        for i in range(n):
            cell, shape = cells[i], shapes[i]
            out[first + cell] = values[i]
            cells[left] = cell
            shapes[left] = shape
            left += 1 - accepted[i]
        n = left
        attempt += 1


@njit(cache=True, nogil=True, error_model="numpy")
def draw_gamma_rows(
    first_row, last_row, n_columns, counts, shape, step, key, in_logs, out, first_number=0
):
    """Draw out[r, c] ~ Gamma(shape + counts[r, c]) for the rows, or their logarithms.

    Cells with positive counts draw with ``step + 1``, the others with ``step``.
    Variates below 1e-20 are 0 unless ``in_logs``.

    Parameters
    ----------
    first_row : int
        A multiple of `ROWS`.
    n_columns : int
        A multiple of 16.
    counts : int32 (n_rows × n_columns,)
        Row after row, like ``out``.
    shape : float
        Above 0.
    out : float32 (n_rows × n_columns,)
    first_number : int
        Rows whose random numbers precede those of row 0, a multiple of `ROWS`: tables drawn by the
        same step share no numbers.
    """
    n_most = ROWS * n_columns + N_LANES
    filled, listed = np.zeros(n_most, np.int64), np.zeros(n_most, np.int64)
    shapes, same = np.ones(n_most, np.float32), np.full(n_most, shape, np.float32)
    unsure = np.ones(n_most, np.int32)
    numbers = np.empty(2 * n_most + BLOCK, np.float32)
    scratch = (
        np.empty((3, n_most), np.float32),
        np.empty(n_most, np.float32),
        np.empty(n_most, np.int32),
    )
    small = shape < 1.0
    for row in range(first_row, last_row, ROWS):
        first, number = row * n_columns, (first_number + row) * n_columns
        n = (min(last_row, row + ROWS) - row) * n_columns
        if small:
            n_blocks = (n + CELLS - 1) // CELLS
            fill_uniforms(numbers, n_blocks, key, step, number // CELLS)
            try_all_low(out, first, n, float32(shape), numbers, in_logs, unsure)
        n_filled = n_listed = 0
        for block in range(0, n, N_LANES):
            full = nonzero(counts, first + block)
            again = nonzero(unsure, block) & ~full
            while again != 0:
                cell = block + trailing_zeros(again)
                again &= again - 1
                if small:
                    listed[n_listed] = cell
                    n_listed += 1
                else:
                    filled[n_filled] = cell
                    shapes[n_filled] = float32(shape)
                    n_filled += 1
            while full != 0:
                cell = block + trailing_zeros(full)
                full &= full - 1
                filled[n_filled] = cell
                shapes[n_filled] = float32(shape + counts[first + cell])
                n_filled += 1
        at = (first, number)
        take_numbers(listed, n_listed, numbers, scratch[0])
        finish(out, *at, listed, same, n_listed, True, step, key, in_logs, scratch)
        finish(out, *at, filled, shapes, n_filled, False, step + 1, key, in_logs, scratch)


@njit(cache=True, nogil=True, error_model="numpy")
def add_columns(first_chunk, last_chunk, chunk_start, table, sums):
    """Write the sums of each chunk's rows of a float32 table: float64 (n_chunks, n_columns)."""
    for chunk in range(first_chunk, last_chunk):
        for c in range(table.shape[1]):
            sums[chunk, c] = 0.0
        for r in range(chunk_start[chunk], chunk_start[chunk + 1]):
            for c in range(table.shape[1]):
                sums[chunk, c] += table[r, c]


@njit(cache=True, error_model="numpy")
def log_gamma_draw(shape, seed, chain, sweep, step, index):
    """Return the log of a Gamma(shape) variate, which does not underflow for small shapes."""
    attempt = 0
    while True:
        u = uniform(seed, chain, sweep, step, index, 3 * attempt)
        v = uniform(seed, chain, sweep, step, index, 3 * attempt + 1)
        if shape < 1.0:
            value, accepted = log_try_small(u, v, shape)
        else:
            w = uniform(seed, chain, sweep, step, index, 3 * attempt + 2)
            value, accepted = log_try_large(u, v, w, shape)
        if accepted:
            return value
        attempt += 1


@njit(cache=True, error_model="numpy")
def log_try_small(u, accept, shape):
    """Do what `try_small` does, in logs and doubles."""
    bound = 1.0 + shape / math.e
    p = bound * u
    if p <= 1.0:
        value = math.log(p) / shape
        return value, math.log(accept) <= -math.exp(value)
    high = -math.log((bound - p) / shape)
    return math.log(high), math.log(accept) <= (shape - 1.0) * math.log(high)


@njit(cache=True, error_model="numpy")
def log_try_large(u, turns, accept, shape):
    """Do what `try_large` does, in logs and doubles."""
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
    """Return the log of what `draw_gamma_rows` draws for a cell, from the same numbers.

    For columns whose variates are all so small that floats do not hold their proportions.
    """
    if count > 0 or shape >= 1.0:
        attempt = 0
        while True:
            words = random_words(key, step + 1, cell, attempt)
            value, accepted = log_try_large(
                float(unit_float32(words[0])),
                float(unit_float32(words[1])),
                float(unit_float32(words[2])),
                shape + count,
            )
            if accepted:
                return value
            attempt += 1
    numbers = np.empty(BLOCK, np.float32)
    fill_uniforms(numbers, 1, key, step, cell // CELLS)
    i = cell % CELLS
    value, accepted = log_try_small(float(numbers[i]), float(numbers[i + CELLS]), shape)
    attempt = 1
    while not accepted:
        words = random_words(key, step, cell, attempt)
        value, accepted = log_try_small(
            float(unit_float32(words[0])), float(unit_float32(words[1])), shape
        )
        attempt += 1
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def draw_log_shares(first, last, prior, counts, key, step, out):
    """Draw log τ_k with τ_k ~ Dir(prior + counts_k) for the rows ``first:last``.

    Parameters
    ----------
    prior : float64 (topic slots,)
        A slot without weight and without counts has no share: −∞.
    counts : int32 (cluster slots, topic slots)
    out : float64 (cluster slots, topic slots)
    """
    n_slots = prior.size
    for k in range(first, last):
        largest = -math.inf
        for m in range(n_slots):
            shape = prior[m] + counts[k, m]
            value = -math.inf
            if shape > 0.0:
                # 2²⁰ topics at most: the index of a cell must not change when slots are added
                index = (np.int64(k) << 20) + m
                shape = max(shape, MIN_SHAPE)
                value = log_gamma_draw(shape, key[0], key[1], key[2], step, index)
            out[k, m] = value
            largest = max(largest, value)
        total = 0.0
        for m in range(n_slots):
            total += math.exp(out[k, m] - largest)
        shift = largest + math.log(total)
        for m in range(n_slots):
            out[k, m] -= shift
