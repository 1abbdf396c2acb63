"""Running sums of the products of two rows of doubles, in sixteen lanes side by side.

A sum in order makes every addition wait for the one before it; the lanes do not wait for each
other. Their order is fixed, so that the same rows always have the same sums.
"""

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["LANES", "pick_product", "sum_products"]

LANES = 16

_DOUBLE, _WORD, _LONG = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_VECTOR, _WORDS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_WORD, LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)
_FUSED = ("contract",)  # a product may be added in one instruction, rounded once


def _place(builder, data, offset):
    """Return where sixteen doubles from ``offset`` on lie, as one vector."""
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


def _prefix_sums(builder, value):
    for step in (1, 2, 4, 8):
        moved = [i if i < step else LANES + i - step for i in range(LANES)]
        shifted = builder.shuffle_vector(_ZEROS, value, ir.Constant(_WORDS, moved))
        value = builder.fadd(value, shifted)
    return value


@intrinsic
def sum_products(typing_context, left, right, sums):
    """Return Σ left[m] right[m], and write what `pick_product` reads to ``sums``.

    All are contiguous float64. The rows have a whole number of sixteens; ``sums`` has sixteen more:
    the running sum of each lane over m = lane, lane + 16, ..., and then the sums of the lanes up
    to each.
    """

    def generate(context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        first, second, out = (array.data for array in arrays)
        total = cgutils.alloca_once_value(builder, _ZEROS)
        zero, size, step = ir.Constant(_LONG, 0), arrays[1].nitems, ir.Constant(_LONG, LANES)
        with cgutils.for_range_slice(builder, zero, size, step) as (offset, _):
            one, other = (
                builder.load(_place(builder, data, offset), align=8) for data in (first, second)
            )
            product = builder.fmul(one, other, flags=_FUSED)
            running = builder.fadd(builder.load(total), product, flags=_FUSED)
            builder.store(running, total)
            builder.store(running, _place(builder, out, offset), align=8)
        lanes = _prefix_sums(builder, builder.load(total))
        builder.store(lanes, _place(builder, out, size), align=8)
        return builder.extract_element(lanes, ir.Constant(_WORD, LANES - 1))

    return types.float64(left, right, sums), generate


@njit(cache=True, error_model="numpy")
def pick_product(sums, threshold):
    """Return the place in the rows of `sum_products` where the sum passes the threshold.

    Lane comes after lane, each from its first place to its last. −1 where rounding leads beyond.
    """
    n = sums.size - LANES
    lane = 0
    for i in range(LANES - 1):
        lane += sums[n + i] <= threshold
    if lane > 0:
        threshold -= sums[n + lane - 1]
    block = 0
    for i in range(n // LANES):
        block += sums[i * LANES + lane] <= threshold
    return block * LANES + lane if block < n // LANES else -1
