"""Logarithms, exponentials and cosines in a form that the compiler can vectorise.

They are polynomials on a reduced range, accurate to about 2 units in the last place. Scalar calls
to the C library would dominate the cost per token.
"""

import numpy as np
from llvmlite import ir
from numba import float32, int32, types

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import FUSED, INTS, N_LANES, VECTOR, llvm_intrinsic

F = np.float32
HALF_ROOT, MANTISSA = 0x3F3504F3, 0x007FFFFF  # bits of √½; mask
# Coefficients of p, the highest power first: log(1 + f) = f − f² / 2 + f³ p(f), 1 + f in [√½, √2).
LOG32_SERIES = (
    *(7.0376836e-2, -1.1514610e-1, 1.1676998e-1, -1.2420141e-1, 1.4249323e-1),
    *(-1.6668058e-1, 2.0000714e-1, -2.4999994e-1, 3.3333331e-1),
)
LOG32_2, LOG32_2_REST = 0.693359375, -2.12194440e-4  # log 2 in two parts
MIN_EXPONENT = -700.0  # exp(x) is replaced by 0 below this x
LOG2_E = 1.4426950408889634
# Log 2 in two parts; the product of the first with a small integer is exact.
LOG_2, LOG_2_REST = 0.693145751953125, 1.4286068203094173e-06
# 1.5 × 2⁵²: adding it to a small number rounds that to an integer, stored in the lowest bits.
ROUND_TO_INTEGER = 6755399441055744.0


def _bitcast(argument, result, llvm_type):
    """Return an intrinsic that reinterprets the bits of a number."""
    return llvm_intrinsic(result, argument)(
        lambda builder, value: builder.bitcast(value, llvm_type)
    )


bits_of = _bitcast(types.float32, types.int32, ir.IntType(32))
float_of = _bitcast(types.int32, types.float32, ir.FloatType())
bits_of_double = _bitcast(types.float64, types.int64, ir.IntType(64))
double_of = _bitcast(types.int64, types.float64, ir.DoubleType())


@njit(inline="always", fastmath={"contract"}, cache=True)
def log32(x):
    """Return log x of a normal float x > 0: x = m 2^e, m in [√½, √2), then log(1 + (m − 1))."""
    shifted = int32(bits_of(float32(x)) - int32(HALF_ROOT))
    exponent = float32(int32(shifted >> int32(23)))
    f = float_of(int32((shifted & int32(MANTISSA)) + int32(HALF_ROOT))) - F(1.0)
    square = f * f
    p = F(LOG32_SERIES[0])
    p = p * f + F(LOG32_SERIES[1])
    p = p * f + F(LOG32_SERIES[2])
    p = p * f + F(LOG32_SERIES[3])
    p = p * f + F(LOG32_SERIES[4])
    p = p * f + F(LOG32_SERIES[5])
    p = p * f + F(LOG32_SERIES[6])
    p = p * f + F(LOG32_SERIES[7])
    p = p * f + F(LOG32_SERIES[8])
    tail = f * square * p + exponent * F(LOG32_2_REST) - F(0.5) * square
    return f + tail + exponent * F(LOG32_2)


@llvm_intrinsic(VECTOR, VECTOR)
def log_lanes(builder, x):
    """Return `log32` of every lane."""

    def integers(value):
        return ir.Constant(INTS, [value] * N_LANES)

    def floats(value):
        return ir.Constant(x.type, [value] * N_LANES)

    def fused(total, left, right):
        return builder.fadd(builder.fmul(left, right, flags=FUSED), total, flags=FUSED)

    shifted = builder.sub(builder.bitcast(x, INTS), integers(HALF_ROOT))
    exponent = builder.sitofp(builder.ashr(shifted, integers(23)), x.type)
    mantissa = builder.add(builder.and_(shifted, integers(MANTISSA)), integers(HALF_ROOT))
    f = builder.fsub(builder.bitcast(mantissa, x.type), floats(1.0))
    square, p = builder.fmul(f, f), floats(LOG32_SERIES[0])
    for coefficient in LOG32_SERIES[1:]:
        p = fused(floats(coefficient), p, f)
    tail = fused(builder.fmul(floats(-0.5), square), exponent, floats(LOG32_2_REST))
    tail = fused(tail, builder.fmul(f, square), p)
    return fused(builder.fadd(f, tail), exponent, floats(LOG32_2))


@njit(inline="always", fastmath={"contract"}, cache=True)
def exp32(x):
    """Return exp x; x is clipped to [−87, 88], so that the result is a normal float."""
    x = max(min(x, F(88.0)), F(-87.0))
    whole = int32(int32(x * F(1.44269504) + F(256.5)) - int32(256))  # rounds by truncation
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
    """Return cos(2π turns) to 2e-7 for turns in (0, 1), by the sine of an angle within ±π/2."""
    x = (F(0.25) - abs(turns - F(0.5))) * F(6.2831853)
    square = x * x
    p = F(-2.3889859e-08)
    p = p * square + F(2.7525562e-06)
    p = p * square + F(-1.9840874e-4)
    p = p * square + F(8.3333310e-3)
    p = p * square + F(-1.6666667e-1)
    return -(x + x * square * p)


@njit(inline="always", fastmath={"contract"}, cache=True)
def exp64(x):
    """Return exp x for x from −708 to 0.

    With x = n log 2 + r, where n is an integer: 2ⁿ times the series of exp r to degree 13.
    """
    rounded = x * LOG2_E + ROUND_TO_INTEGER
    n = rounded - ROUND_TO_INTEGER
    r = (x - n * LOG_2) - n * LOG_2_REST
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
    return p * double_of((bits_of_double(rounded) + 1023) << 52)


@njit(inline="always", fastmath={"contract"}, cache=True)
def log64(x):
    """Return log x of a normal double x > 0.

    With x = m 2^e, m in [√½, √2): the series of 2 atanh s, s = (m − 1) / (m + 1), where s² < 0.03.
    """
    half_root, bias = 0x3FE6A09E667F3BCD, 1023  # √½
    shifted = bits_of_double(x) - half_root + (bias << 52)
    f = double_of((shifted & 0x000FFFFFFFFFFFFF) + half_root) - 1.0
    # A small integer in the lowest bits: not every processor converts vectors of integers.
    whole = bits_of_double(ROUND_TO_INTEGER) + ((shifted >> 52) & 0x7FF)
    exponent = double_of(whole) - (ROUND_TO_INTEGER + bias)
    s = f / (2.0 + f)
    square = s * s
    p = 2.0 / 19
    p = p * square + 2.0 / 17
    p = p * square + 2.0 / 15
    p = p * square + 2.0 / 13
    p = p * square + 2.0 / 11
    p = p * square + 2.0 / 9
    p = p * square + 2.0 / 7
    p = p * square + 2.0 / 5
    p = p * square + 2.0 / 3
    # 2s = f − s f, so that the largest term is exact.
    return exponent * LOG_2 + (f - s * (f - square * p) + exponent * LOG_2_REST)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def exponentials(row, largest, out):
    """Write exp(row − largest) to ``out``; no element of the float64 ``row`` exceeds ``largest``.

    The result is 0 where the difference is NaN or at most `MIN_EXPONENT`.
    """
    for m in range(row.size):
        x = row[m] - largest
        is_inside = x > MIN_EXPONENT
        value = exp64(x if is_inside else MIN_EXPONENT)
        out[m] = value if is_inside else 0.0
