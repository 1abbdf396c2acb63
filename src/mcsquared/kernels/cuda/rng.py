"""Random numbers on the GPU: the functions of `mcsquared.kernels.rng`, compiled for the GPU."""

from types import FunctionType

from numba import cuda, uint64

from mcsquared.kernels import rng


def compile_for_gpu(function, **names):
    """Compile a function of the CPU kernels for the GPU; ``names`` replace its globals."""
    source = function.py_func
    copy = FunctionType(source.__code__, {**source.__globals__, **names}, source.__name__)
    return cuda.jit(device=True)(copy)


philox = compile_for_gpu(rng.philox)
counter_word = compile_for_gpu(rng.counter_word)
unit_float32 = compile_for_gpu(rng.unit_float32)
unit_float64 = compile_for_gpu(rng.unit_float64)


@cuda.jit(device=True)
def random_uint32s(seed, chain, sweep, step, index, attempt):
    """Return four random 32-bit words; ``attempt`` must be below 2¹⁶."""
    low, high = uint64(index) & uint64(0xFFFFFFFF), uint64(index) >> uint64(32)
    return philox(low, high, sweep, counter_word(step, attempt), seed, chain)


@cuda.jit(device=True)
def uniform(seed, chain, sweep, step, index, attempt):
    """Return the same number in (0, 1) as `mcsquared.kernels.rng.uniform`."""
    attempt = uint64(attempt)
    index = uint64(index) | ((attempt >> uint64(16)) << uint64(40))
    w0, w1, _, _ = random_uint32s(seed, chain, sweep, step, index, attempt & uint64(0xFFFF))
    return unit_float64(w0, w1)


@cuda.jit(device=True)
def two_uniforms(seed, chain, sweep, step, block, thread):
    """Return the random numbers ``thread`` and ``32 + thread`` of a block of `fill_uniforms`."""
    index = uint64(block) * uint64(16) + uint64(thread & 15)
    w0, w1, w2, w3 = random_uint32s(seed, chain, sweep, step, index, 0)
    if thread < 16:
        return unit_float32(w0), unit_float32(w2)
    return unit_float32(w1), unit_float32(w3)
