"""Logarithm, exponential and cosine of floats, in a form that compilers turn into vectors.

Polynomials on a reduced range, right to about 2 units in the last place of a float32; arguments
are normal floats. The C library's functions are called one number at a time instead.
"""

import numpy as np
from llvmlite import ir
from numba import float32, int32, njit, types
from numba.extending import intrinsic

__all__ = ["cos_of_turns", "exp32", "log32"]

F = np.float32


@intrinsic
def bits_of(typing_context, x):
    """Return a float32's bits as an int32."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def float_of(typing_context, bits):
    """Return the float32 that an int32's bits spell."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@njit(inline="always", fastmath={"contract"}, cache=True)
def log32(x):
    """Return log x of a normal float x > 0: x = m 2^e, m in [√½, √2), then log(1 + (m − 1))."""
    half_root = int32(0x3F3504F3)  # √½
    shifted = int32(bits_of(float32(x)) - half_root)
    exponent = float32(int32(shifted >> int32(23)))
    f = float_of(int32((shifted & int32(0x007FFFFF)) + half_root)) - F(1.0)
    square = f * f
    p = F(7.0376836e-2)
    p = p * f + F(-1.1514610e-1)
    p = p * f + F(1.1676998e-1)
    p = p * f + F(-1.2420141e-1)
    p = p * f + F(1.4249323e-1)
    p = p * f + F(-1.6668058e-1)
    p = p * f + F(2.0000714e-1)
    p = p * f + F(-2.4999994e-1)
    p = p * f + F(3.3333331e-1)
    # log 2 in two parts, the first of which multiplies without rounding.
    tail = f * square * p + exponent * F(-2.12194440e-4) - F(0.5) * square
    return f + tail + exponent * F(0.693359375)


@njit(inline="always", fastmath={"contract"}, cache=True)
def exp32(x):
    """Return exp x, at most 1.6e38; below −87 it stays at the smallest normal float."""
    x = max(min(x, F(88.0)), F(-87.0))
    whole = int32(int32(x * F(1.44269504) + F(256.5)) - int32(256))  # rounded, by truncation
    n = float32(whole)
    r = x - n * F(0.693359375) + n * F(2.12194440e-4)
    p = F(1.9875691e-4)
    p = p * r + F(1.3981999e-3)
    p = p * r + F(8.3334519e-3)
    p = p * r + F(4.1665796e-2)
    p = p * r + F(1.6666665e-1)
    p = p * r + F(5.0000001e-1)
    return (p * r * r + r + F(1.0)) * float_of(int32((whole + int32(127)) << int32(23)))


@njit(inline="always", fastmath={"contract"}, cache=True)
def cos_of_turns(turns):
    """Return cos(2π turns) to 2e-7 for turns in (0, 1), from the sine of the nearest quarter."""
    x = (F(0.25) - abs(turns - F(0.5))) * F(6.2831853)
    square = x * x
    p = F(-2.3889859e-08)
    p = p * square + F(2.7525562e-06)
    p = p * square + F(-1.9840874e-4)
    p = p * square + F(8.3333310e-3)
    p = p * square + F(-1.6666667e-1)
    return -(x + x * square * p)
