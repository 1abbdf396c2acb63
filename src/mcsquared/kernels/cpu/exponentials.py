"""Exponentials of a row of doubles, in a form that compilers turn into vectors.

The C library's function is called one number at a time, and would be most of the cost of a token.
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["LOWEST", "exponentials"]

# What is this far below the largest of a row counts as 0: e^−700 is near the smallest double.
LOWEST = -700.0

_LOG2_E = 1.4426950408889634
# Log 2 in two parts, the first of which multiplies whole numbers without rounding.
_LOG_2, _LOG_2_REST = 0.693145751953125, 1.4286068203094173e-06
# 1.5 × 2⁵²: added to a small number, it rounds it and leaves the whole number in the lowest bits.
_ROUNDING = 6755399441055744.0


@intrinsic
def bits_of_double(typing_context, x):
    """Return a float64's bits as an int64."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def double_of_bits(typing_context, bits):
    """Return the float64 that an int64's bits spell."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@njit(inline="always", fastmath={"contract"}, cache=True)
def exp64(x):
    """Return exp x for x from −708 to 0, right to about 2 units in the last place.

    With x = n log 2 + r, n whole and r small: the series of exp r, to degree 13, times 2ⁿ.
    """
    rounded = x * _LOG2_E + _ROUNDING
    n = rounded - _ROUNDING
    r = (x - n * _LOG_2) - n * _LOG_2_REST
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    return p * double_of_bits((bits_of_double(rounded) + 1023) << 52)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def exponentials(row, largest, out):
    """Write exp(row − largest), for a row that is at most ``largest``.

    0 where that is below `LOWEST`; what is not a number counts as −∞.
    """
    for m in range(row.size):
        x = row[m] - largest
        inside = x > LOWEST
        value = exp64(x if inside else LOWEST)
        out[m] = value if inside else 0.0
