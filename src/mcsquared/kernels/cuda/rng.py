"""Random numbers on the GPU: the functions of `mcsquared.kernels.rng`, compiled for it."""

from types import FunctionType

from numba import cuda, uint64

from mcsquared.kernels import rng


def translated(function, **names):
    """Return a CPU kernel's function compiled for the GPU; ``names`` replace globals of it."""
    plain = function.py_func
    copy = FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    return cuda.jit(device=True)(copy)


four_words = translated(rng.four_words)
last_word = translated(rng.last_word)
unit = translated(rng.unit)
open_unit = translated(rng.open_unit)


@cuda.jit(device=True)
def random_words(seed, chain, sweep, step, index, attempt):
    """Return four random 32-bit words; ``attempt`` must be below 2¹⁶."""
    place = last_word(step, attempt)
    return four_words(uint64(index), uint64(sweep), place, uint64(seed), uint64(chain))


@cuda.jit(device=True)
def uniform(seed, chain, sweep, step, index, attempt):
    """Return the number in (0, 1) that the CPU's function of this name returns."""
    attempt = uint64(attempt)
    index = uint64(index) | ((attempt >> uint64(16)) << uint64(40))
    w0, w1, _, _ = random_words(seed, chain, sweep, step, index, attempt & uint64(0xFFFF))
    return open_unit(w0, w1)


@cuda.jit(device=True)
def two_uniforms(seed, chain, sweep, step, block, thread):
    """Return the numbers ``thread`` and ``32 + thread`` of a block of `fill_uniforms`."""
    index = uint64(block) * uint64(16) + uint64(thread & 15)
    w0, w1, w2, w3 = random_words(seed, chain, sweep, step, index, 0)
    if thread < 16:
        return unit(w0), unit(w2)
    return unit(w1), unit(w3)
