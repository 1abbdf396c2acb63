"""Random numbers on the GPU: the CPU's functions, compiled once more."""

from types import FunctionType

from numba import cuda, uint64

from mcsquared.kernels import rng

__all__ = ["four_words", "open_unit", "place_of", "translated", "uniform", "unit"]


def translated(function, **names):
    """Return a CPU kernel's function for the GPU, with ``names`` in it meaning other functions."""
    plain = function.py_func
    own = FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    return cuda.jit(device=True)(own)


four_words = translated(rng.four_words)
place_of = translated(rng.place_of)
unit = translated(rng.unit)
open_unit = translated(rng.open_unit)


@cuda.jit(device=True)
def uniform(seed, chain, sweep, step, index, attempt):
    """Return the number in (0, 1) that the CPU's function of this name returns."""
    attempt = uint64(attempt)
    index = uint64(index) | ((attempt >> uint64(16)) << uint64(40))
    place = place_of(step, attempt & uint64(0xFFFF))
    w0, w1, _, _ = four_words(index, uint64(sweep), place, uint64(seed), uint64(chain))
    return open_unit(w0, w1)
