"""Random numbers as a function of (seed, chain, sweep, step, index, attempt): Philox4x32-10.

A chain has no generator state. Its draws depend only on its position, so the same seed gives the
same draws on any number of threads, in one run or resumed. Counter-based generators are due to
Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from enum import IntEnum

import numpy as np
from numba import float32, int32, njit, uint32, uint64
from numpy.random.bit_generator import ISeedSequence

BLOCK = 64  # numbers that `fill_uniforms` writes at a time


class Step(IntEnum):
    """The steps of a sweep that draw: each has its own number, so that no two share a counter."""

    START = 0
    CLUSTERS = 1
    TOPICS = 2
    BIRTHS = 3
    TABLES = 4
    V = 5
    ETA = 6
    ALPHA = 7
    TOPIC_WEIGHTS = 8
    CLUSTER_WEIGHTS = 9
    TOPIC_SHARES = 10
    CONTENT = 11
    CONTENT_HELD = 12
    CONTEXTS = 13
    CATEGORIES = 14
    CATEGORIES_HELD = 15
    GROUP_TABLES = 16
    LAM = 17
    TOPIC_TAIL = 18
    CLUSTER_TAIL = 19
    FIRST_TOPICS = 20


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
    """Return the number in (0, 1) of this position of a chain.

    ``index`` below 2⁴⁰ and ``attempt`` below 2⁴⁰ never share a counter: the low 16 bits of the
    attempt are next to the step, the others above the 8 high bits of the index.
    """
    index, attempt = uint64(index), uint64(attempt)
    low = uint32(index)
    high = uint32((index >> uint64(32)) | ((attempt >> uint64(16)) << uint64(8)))
    last = uint32((uint64(step) << uint64(16)) | (attempt & uint64(0xFFFF)))
    a, b, _, _ = philox(low, high, sweep, last, seed, chain)
    return open_unit(a, b)


@njit(cache=True)
def uniform_of(key, step, index, attempt):
    """Return `uniform` of a key, a tuple (seed, chain, sweep)."""
    return uniform(key[0], key[1], key[2], step, index, attempt)


@njit(cache=True, inline="always")
def unit(word):
    """Return a float in (0, 1) from a 32-bit word: 31 bits, so that small floats are precise.

    The largest words would be rounded to 1, which overruns a cumulative sum.
    """
    number = (float32(int32(word >> uint64(1))) + float32(0.5)) * float32(2.0**-31)
    return min(number, float32(1.0 - 2.0**-24))


@njit(cache=True, inline="always")
def four_words(index, sweep, last, seed, chain):
    """Return what `philox` does, in arithmetic that compilers turn into vectors.

    ``last`` is a `last_word`; all arguments are uint64.
    """
    low = uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = index & low, index >> uint64(32), sweep, last
    k0, k1 = seed, chain
    for _ in range(10):
        product0 = uint64(0xD2511F53) * c0
        product1 = uint64(0xCD9E8D57) * c2
        c0 = (product1 >> uint64(32)) ^ c1 ^ k0
        c1 = product1 & low
        c2 = (product0 >> uint64(32)) ^ c3 ^ k1
        c3 = product0 & low
        k0 = (k0 + uint64(0x9E3779B9)) & low
        k1 = (k1 + uint64(0xBB67AE85)) & low
    return c0, c1, c2, c3


@njit(cache=True, inline="always")
def last_word(step, attempt):
    """Return the last word of the counter."""
    return (uint64(step) << uint64(16)) | uint64(attempt)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_uniforms(out, n_blocks, key, step, block):
    """Fill float32 ``out`` with the numbers of ``n_blocks`` blocks from ``block`` on.

    A block is 64 numbers: the four words of sixteen counters, first the first words, then the
    second ones, and so on. Its counters have the indices 16 × block and up, attempt 0.
    """
    seed, chain, sweep = uint64(key[0]), uint64(key[1]), uint64(key[2])
    last = last_word(step, 0)
    for b in range(n_blocks):
        first = uint64(block + b) * uint64(16)
        for i in range(16):
            words = four_words(first + uint64(i), sweep, last, seed, chain)
            at = b * BLOCK + i
            out[at] = unit(words[0])
            out[at + 16] = unit(words[1])
            out[at + 32] = unit(words[2])
            out[at + 48] = unit(words[3])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_uniforms_at(indices, n, first, key, step, attempt, out):
    """Fill the rows of float32 ``out`` with three numbers for each index ``first + indices``."""
    seed, chain, sweep = uint64(key[0]), uint64(key[1]), uint64(key[2])
    last = last_word(step, attempt)
    for i in range(n):
        words = four_words(uint64(first + indices[i]), sweep, last, seed, chain)
        out[0, i] = unit(words[0])
        out[1, i] = unit(words[1])
        out[2, i] = unit(words[2])


def generator(seed: int, chain: int, sweep: int, step: int) -> np.random.Generator:
    """Return a NumPy generator for a step that draws a handful of numbers.

    The same (seed, chain, sweep, step) always gives the same generator, so its state is not stored.
    """
    counter = np.array([0, 0, sweep, step], np.uint64)
    bits = np.random.Philox(_Key(seed, chain), counter=counter)  # type: ignore[arg-type]
    return np.random.Generator(bits)


class _Key(ISeedSequence):
    """The key of a Philox generator, passed as a seed.

    ``Philox(key=...)`` gathers entropy for a seed first, which takes longer than all draws of a
    step.
    """

    def __init__(self, *words):
        self.words = words

    def generate_state(self, n_words, dtype=np.uint32):
        return np.array(self.words, dtype)
