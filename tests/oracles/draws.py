"""Draws of the plain blocked sampler from its numbers: gamma variates, table counts, choices.

`Numbers` is the one door through which random numbers come, so that what a sweep takes can be
listed. Nothing here is fast; the compiled sampler draws the same from the same counters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step, generator, philox, unit_float64

__all__ = [
    "BLOCK",
    "Numbers",
    "break_stick",
    "choose",
    "draw_log_gamma",
    "draw_log_gamma_table",
    "draw_table_count",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_LANES = 16  # the compiled sampler adds up its topics in so many interleaved sums
BLOCK = 64  # numbers of a block: the first words of sixteen counters, then the second ones, ...


class Numbers:
    """The random numbers of one sweep of a chain, by step, index and attempt."""

    def __init__(self, seed: int, chain: int, sweep: int) -> None:
        self.seed, self.chain, self.sweep = seed, chain, sweep

    def uniform(self, step: Step, index: int, attempt: int = 0) -> float:
        """Return a number in (0, 1) made of the first two words of a counter."""
        return float(unit_float64(*self.words(step, index, attempt, (0, 1))))

    def short(self, step: Step, index: int, attempt: int, which: int) -> float:
        """Return a number in (0, 1) made of one word of a counter, rounded to a float32."""
        (word,) = self.words(step, index, attempt, (which,))
        number = (np.float32(word >> 1) + np.float32(0.5)) * np.float32(2.0**-31)
        return min(float(number), 1.0 - 2.0**-24)

    def in_block(self, step: Step, block: int, position: int) -> float:
        """Return number ``position`` counted from the start of a block of 64 numbers."""
        block, position = block + position // BLOCK, position % BLOCK
        return self.short(step, block * (BLOCK // 4) + position % 16, 0, position // 16)

    def words(self, step: Step, index: int, attempt: int, which: Sequence[int]) -> list[int]:
        """Return some of the four 32-bit words of a counter."""
        high = (index >> 32) | (attempt >> 16 << 8)
        counter = (index & 0xFFFFFFFF, high, self.sweep, int(step) << 16 | attempt & 0xFFFF)
        return self.take(counter, which)

    def take(self, counter: tuple[int, int, int, int], which: Sequence[int]) -> list[int]:
        """Return some of the four words of a counter."""
        found = philox(*counter, self.seed, self.chain)
        return [int(found[i]) for i in which]

    def generator(self, step: Step) -> np.random.Generator:
        """Return a stream for a step that draws a handful: it may be asked for once."""
        return generator(self.seed, self.chain, self.sweep, int(step))


def break_stick(n: int, concentration: float, rng: np.random.Generator) -> Floats:
    """Break a stick of length 1 into n weights: Beta(1, c) of the rest each, then the rest."""
    weights, rest = [], 1.0
    for u in rng.random(max(n - 1, 0)):
        left = (1.0 - u) ** (1.0 / concentration)
        weights.append(rest * (1.0 - left))
        rest *= left
    return np.array([*weights, rest][:n])


def draw_log_gamma_table(
    counts: Ints, shape: float, first: int, steps: tuple[Step, Step], numbers: Numbers
) -> Floats:
    """Draw logs of Gamma(shape + counts) for a table that begins at row ``first`` of a larger one.

    Cells that hold nothing draw by the first step if their shape is below 1, and their first try by
    blocks: 32 cells to each, whose second half are the numbers that decide.
    """
    logs = np.empty(counts.shape)
    for row, column in np.ndindex(*counts.shape):
        cell = (first + row) * counts.shape[1] + column
        total = shape + float(counts[row, column])
        attempt, stands = 0, False
        while not stands:
            if counts[row, column] > 0 or shape >= 1.0:
                u, v, w = (numbers.short(steps[1], cell, attempt, i) for i in range(3))
                logs[row, column], stands = try_large(u, v, w, total)
            elif attempt == 0:
                block, position = divmod(cell, BLOCK // 2)
                u = numbers.in_block(steps[0], block, position)
                v = numbers.in_block(steps[0], block, position + BLOCK // 2)
                logs[row, column], stands = try_small(u, v, total)
            else:
                u, v = (numbers.short(steps[0], cell, attempt, i) for i in range(2))
                logs[row, column], stands = try_small(u, v, total)
            attempt += 1
    return logs


def draw_log_gamma(shape: float, numbers: Numbers, step: Step, index: int) -> float:
    """Draw the log of a Gamma(shape) variate: three numbers to a try, two where it is below 1."""
    attempt, stands = 0, False
    while not stands:
        u, v = (numbers.uniform(step, index, 3 * attempt + i) for i in range(2))
        if shape < 1.0:
            value, stands = try_small(u, v, shape)
        else:
            w = numbers.uniform(step, index, 3 * attempt + 2)
            value, stands = try_large(u, v, w, shape)
        attempt += 1
    return value


def try_small(u: float, accept: float, shape: float) -> tuple[float, bool]:
    """Return the log of a candidate for Gamma(shape < 1), and whether it stands.

    Ahrens and Dieter (1974): x^(a − 1) below 1 and e^−x above it lie over the density.
    """
    bound = 1.0 + shape / math.e
    if bound * u <= 1.0:
        log_low = math.log(bound * u) / shape
        return log_low, accept <= math.exp(-math.exp(log_low))
    high = -math.log(bound * (1.0 - u) / shape)
    return math.log(high), accept <= high ** (shape - 1.0)


def try_large(u: float, turns: float, accept: float, shape: float) -> tuple[float, bool]:
    """Return the log of a candidate for Gamma(shape ≥ 1), and whether it stands.

    Marsaglia and Tsang (2000), with a normal of Box and Muller (1958).
    """
    d = shape - 1.0 / 3.0
    normal = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * turns)
    cube = (1.0 + normal / math.sqrt(9.0 * d)) ** 3
    if cube <= 0.0:
        return 0.0, False
    stands = math.log(accept) < 0.5 * normal**2 + d - d * cube + d * math.log(cube)
    return math.log(d * cube), stands


def draw_table_count(n: int, prior: float, numbers: Numbers, index: int) -> int:
    """Draw CRT(n, a): how many tables n customers open, each the next with chance a / (a + i).

    Among customers first to 2·first candidates come at geometric gaps, and are thinned.
    """
    tables, attempt, first = 1, 0, 1
    while first < n:
        last, chance = min(n, 2 * first), prior / (prior + first)
        log_miss = -math.log1p(prior / first)
        if log_miss == 0.0:  # so small that not one of these customers opens a table
            return tables
        i = first
        while i < last:
            gap = math.log(numbers.uniform(Step.TABLES, index, attempt)) / log_miss
            attempt += 1
            i += int(min(gap, n))
            if i < last:
                keep = numbers.uniform(Step.TABLES, index, attempt)
                attempt += 1
                tables += keep * chance < prior / (prior + i)
                i += 1
        first = last
    return tables


def choose(weights: Floats, u: float, by_lanes: bool = False) -> int:
    """Return the index that ``u`` in (0, 1) selects in the normalised cumulative weights.

    Weights are summed in order, or those of lane 0 first, then those of lane 1, and so on. The
    order changes the topic that a number selects, but not the probabilities.
    """
    order = np.arange(len(weights))
    if by_lanes:
        order = order.reshape(-1, N_LANES).T.reshape(-1)
    cumulative = np.cumsum(weights[order])
    return int(order[np.searchsorted(cumulative, u * cumulative[-1], side="right")])
