"""Random numbers as a function of (seed, chain, sweep, step, index, attempt): Philox4x32-10.

There is no generator state. A draw depends on these numbers only, so the same seed gives the same
draws on any number of threads, and in a resumed run. Counter-based generators are due to
Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from enum import IntEnum

import numpy as np
from numba import float32, int32, uint32, uint64
from numpy.random.bit_generator import ISeedSequence

from mcsquared.kernels.caching import njit

BLOCK = 64  # random numbers per block of `fill_uniforms`


class Step(IntEnum):
    """Steps of a sweep that draw random numbers; values are unique, so no two share a counter."""

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
    CONTENT_NONZERO = 12
    CONTEXTS = 13
    CATEGORIES = 14
    CATEGORIES_NONZERO = 15
    GROUP_TABLES = 16
    LAM = 17
    TOPIC_TAIL = 18
    CLUSTER_TAIL = 19
    FIRST_TOPICS = 20
    CLUSTER_PAIRS = 21
    CLUSTER_SIDES = 22
    SET_TABLES = 23
    CLUSTER_MOVES = 24
    CATEGORY_TABLES = 25
    CATEGORY_SHAPES = 26
    LEARNED_CATEGORIES = 27
    TABLE_SOURCES = 29
    TOPIC_MOVES = 30
    SPLIT_TOKENS = 31
    SPLIT_TABLES = 32
    EFFECTS = 33
    SET_SOURCES = 34
    TYPES = 40
    TYPE_GLOBALS = 41
    TYPE_TAILS = 42
    TYPE_TABLES = 43
    TYPE_MOVES = 44
    TYPE_SCANS = 45
    EFFECT_SHARES = 46
    EFFECT_SHARES_NONZERO = 47
    UNIQUE_PROPOSALS = 48
    UNIQUE_MOVES = 49
    BACKGROUND = 50
    OUTLIERS = 51
    TOPIC_SEEDS = 52


@njit(cache=True, inline="always")
def philox(c0, c1, c2, c3, k0, k1):
    """Return the four 32-bit words of Philox4x32-10 for a counter and a key.

    The arithmetic is in uint64, so that the compiler can vectorise a loop of calls.
    """
    low = uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = uint64(c0), uint64(c1), uint64(c2), uint64(c3)
    k0, k1 = uint64(k0), uint64(k1)
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


@njit(cache=True)
def unit_float64(a, b):
    """Return a float64 in (0, 1) from two 32-bit words.

    The endpoints are excluded: log 0 is infinite, and 1 would select no interval of a cumulative
    sum. With 53 bits instead of 52, adding one half would round the largest number to 1.
    """
    bits = (uint64(a) << uint64(20)) ^ (uint64(b) >> uint64(12))
    return (float(bits) + 0.5) * (1.0 / 4503599627370496.0)


@njit(cache=True)
def uniform(seed, chain, sweep, step, index, attempt):
    """Return the uniform variate in (0, 1) for a seed, chain, sweep, step, index and attempt.

    Counters are distinct for ``index`` and ``attempt`` below 2⁴⁰: the low 16 bits of the attempt
    are stored next to the step, the others above bits 32 to 39 of the index.
    """
    index, attempt = uint64(index), uint64(attempt)
    low = uint32(index)
    high = uint32((index >> uint64(32)) | ((attempt >> uint64(16)) << uint64(8)))
    last = uint32((uint64(step) << uint64(16)) | (attempt & uint64(0xFFFF)))
    a, b, _, _ = philox(low, high, uint32(sweep), last, uint32(seed), uint32(chain))
    return unit_float64(a, b)


@njit(cache=True)
def uniform_of(key, step, index, attempt):
    """Return `uniform` for a key, the tuple (seed, chain, sweep)."""
    return uniform(key[0], key[1], key[2], step, index, attempt)


@njit(cache=True, inline="always")
def unit_float32(word):
    """Return a float32 in (0, 1) from a 32-bit word.

    31 bits keep small numbers precise. The minimum prevents rounding up to 1.
    """
    number = (float32(int32(word >> uint64(1))) + float32(0.5)) * float32(2.0**-31)
    return min(number, float32(1.0 - 2.0**-24))


@njit(cache=True, inline="always")
def counter_word(step, attempt):
    """Return the last word of the counter, which combines step and attempt."""
    return (uint64(step) << uint64(16)) | uint64(attempt)


@njit(cache=True, inline="always")
def random_uint32s(key, step, index, attempt):
    """Return four random 32-bit words; ``attempt`` must be below 2¹⁶."""
    low, high = uint64(index) & uint64(0xFFFFFFFF), uint64(index) >> uint64(32)
    return philox(low, high, key[2], counter_word(step, attempt), key[0], key[1])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_uniforms(out, n_blocks, key, step, block):
    """Fill float32 ``out`` with the uniforms of ``n_blocks`` blocks, starting with ``block``.

    A block has 64 numbers: the first words of sixteen counters, then their second words, and so
    on. The indices of the counters begin at 16 × block; their attempt is 0.
    """
    for b in range(n_blocks):
        first = uint64(block + b) * uint64(16)
        for i in range(16):
            words = random_uint32s(key, step, first + uint64(i), 0)
            offset = b * BLOCK + i
            out[offset] = unit_float32(words[0])
            out[offset + 16] = unit_float32(words[1])
            out[offset + 32] = unit_float32(words[2])
            out[offset + 48] = unit_float32(words[3])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_uniforms_at(indices, n, first, key, step, attempt, out):
    """Fill float32 ``out`` (3, n or more) with three uniforms for each of ``first + indices[:n]``.

    ``indices`` is int64, and ``attempt`` must be below 2¹⁶.
    """
    for i in range(n):
        words = random_uint32s(key, step, first + indices[i], attempt)
        out[0, i] = unit_float32(words[0])
        out[1, i] = unit_float32(words[1])
        out[2, i] = unit_float32(words[2])


def generator(seed: int, chain: int, sweep: int, step: int) -> np.random.Generator:
    """Return a NumPy generator for a step that draws few numbers.

    It depends on the arguments only, so its state need not be stored in a checkpoint.
    """
    counter = np.array([0, 0, sweep, step], np.uint64)
    bits = np.random.Philox(_PhiloxKey(seed, chain), counter=counter)  # type: ignore[arg-type]
    return np.random.Generator(bits)


class _PhiloxKey(ISeedSequence):
    """The key of a Philox generator, passed as a seed sequence.

    ``Philox(key=...)`` first gathers entropy for a seed, which is slower than all draws of a step.
    """

    def __init__(self, *words):
        self.words = words

    def generate_state(self, n_words, dtype=np.uint32):
        return np.array(self.words, dtype)
