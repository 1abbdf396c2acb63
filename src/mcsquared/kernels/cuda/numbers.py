"""Random numbers on the GPU: those of `mcsquared.kernels.rng`, bit by bit."""

from numba import cuda

from mcsquared.kernels import rng

__all__ = ["four_words", "open_unit", "place_of", "unit"]

four_words = cuda.jit(device=True)(rng.four_words.py_func)
place_of = cuda.jit(device=True)(rng.place_of.py_func)
unit = cuda.jit(device=True)(rng.unit.py_func)
open_unit = cuda.jit(device=True)(rng.open_unit.py_func)
