"""Random numbers as a function of (seed, chain, sweep, step, index, attempt): Philox4x32-10.

A chain keeps no generator state. What it draws depends only on where it stands, so the same seed
gives the same draws on any number of threads, in one go or resumed. Counter-based generators are
due to Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from enum import IntEnum

import numpy as np
from numba import njit, uint32, uint64

__all__ = ["Step", "generator", "philox", "uniform"]


class Step(IntEnum):
    """The steps of a sweep that draw. Each has its own number, so no two share a counter."""

    START = 0
    CLUSTERS = 1
    TOPICS = 2
    BIRTHS = 3
    TABLES = 4
    V = 5
    ETA = 6
    ALPHA = 7
    TOPIC_WEIGHTS = 8


@njit(cache=True, inline="always")
def _round(c0, c1, c2, c3, k0, k1):
    product0 = uint64(0xD2511F53) * uint64(c0)
    product1 = uint64(0xCD9E8D57) * uint64(c2)
    return (
        uint32(uint32(product1 >> uint64(32)) ^ c1 ^ k0),
        uint32(product1),
        uint32(uint32(product0 >> uint64(32)) ^ c3 ^ k1),
        uint32(product0),
    )


@njit(cache=True)
def philox(c0, c1, c2, c3, k0, k1):
    """Return the four 32-bit words of Philox4x32-10 for a counter and a key."""
    c0, c1, c2, c3 = uint32(c0), uint32(c1), uint32(c2), uint32(c3)
    k0, k1 = uint32(k0), uint32(k1)
    for _ in range(10):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0 = uint32(k0 + uint32(0x9E3779B9))
        k1 = uint32(k1 + uint32(0xBB67AE85))
    return c0, c1, c2, c3


@njit(cache=True)
def open_unit(a, b):
    """Return a number in (0, 1) from two 32-bit words.

    Half a step away from both ends: 0 would break logarithms, 1 would overrun a cumulative sum.
    52 bits, because 53 bits and a half are rounded, the largest of them to 1.
    """
    bits = (uint64(a) << uint64(20)) ^ (uint64(b) >> uint64(12))
    return (float(bits) + 0.5) * (1.0 / 4503599627370496.0)


@njit(cache=True)
def uniform(seed, chain, sweep, step, index, attempt):
    """Return the number in (0, 1) that belongs to this place of a chain.

    ``index`` below 2⁴⁰ and ``attempt`` below 2⁴⁰ never share a counter: the low 16 bits of the
    attempt stand beside the step, the others above the 8 high bits of the index.
    """
    index, attempt = uint64(index), uint64(attempt)
    low = uint32(index)
    high = uint32((index >> uint64(32)) | ((attempt >> uint64(16)) << uint64(8)))
    place = uint32((uint64(step) << uint64(16)) | (attempt & uint64(0xFFFF)))
    a, b, _, _ = philox(low, high, sweep, place, seed, chain)
    return open_unit(a, b)


def generator(seed: int, chain: int, sweep: int, step: int) -> np.random.Generator:
    """Return a NumPy generator for a step that draws a handful of numbers.

    The same (seed, chain, sweep, step) always gives the same generator, so nothing of it is stored.
    """
    counter = np.array([0, 0, sweep, step], np.uint64)
    key = np.array([seed, chain], np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=key))
