"""Sixteen floats at a time: a vector that stays in a register, for the loops that count most.

`Lanes` is a type of its own to the compiler, one LLVM vector; a tuple of them holds a longer row.
The functions here are what kernels may do with it. Each becomes a handful of instructions on any
processor, the widest it has.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model
from numpy.typing import NDArray

__all__ = [
    "N_LANES",
    "add",
    "add_at",
    "add_counts",
    "add_product",
    "aligned",
    "count_at_most",
    "count_reached",
    "element",
    "fill",
    "fill_rows",
    "increment",
    "lane",
    "larger",
    "load",
    "moved_up",
    "multiply",
    "nonzero",
    "place_in_lane",
    "prefix_sums",
    "rising_sums",
    "rows_of",
    "store",
    "store_rows",
    "subtract",
    "trailing_zeros",
    "weigh",
]

N_LANES = 16
CACHE_LINE = 64  # bytes: those of sixteen floats


def aligned(*shape: int) -> NDArray[np.float32]:
    """Return room for floats whose first lies at the beginning of a cache line.

    NumPy's arrays do not begin there, so that each sixteen of a table's floats lie in two lines.
    """
    size = 4 * math.prod(shape)
    room = np.empty(size + CACHE_LINE, np.uint8)
    skipped = -room.ctypes.data % CACHE_LINE
    return room[skipped : skipped + size].view(np.float32).reshape(shape)


_FLOAT, _WORD, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_LANES, _WORDS = ir.VectorType(_FLOAT, N_LANES), ir.VectorType(_WORD, N_LANES)
_NOTHING, _NO_WORDS = ir.Constant(_LANES, ir.Undefined), ir.Constant(_WORDS, ir.Undefined)
_FUSED = ("contract",)  # a product may be added in one instruction, rounded once


class LanesType(types.Type):
    """The compiler's type of sixteen floats."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


LANES = LanesType()


@register_model(LanesType)
class LanesModel(PrimitiveModel):
    """Sixteen floats are one LLVM vector."""

    def __init__(self, manager, frontend_type):
        super().__init__(manager, frontend_type, _LANES)


def _address(context, builder, array_type, array, offset):
    """Return where element ``offset`` of a flat array lies."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [offset])


def _load(builder, address, vector=_LANES):
    return builder.load(builder.bitcast(address, vector.as_pointer()), align=4)


def _store(builder, value, address, vector=_LANES):
    builder.store(value, builder.bitcast(address, vector.as_pointer()), align=4)


def _everywhere(builder, value, nothing=_NOTHING):
    """Return a vector with the same value in all lanes."""
    first = builder.insert_element(nothing, value, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(_WORDS, [0] * N_LANES))


def _numbers(block):
    """Return the positions that the lanes of a row's block stand for."""
    return ir.Constant(_WORDS, [block * N_LANES + i for i in range(N_LANES)])


@intrinsic
def load(typing_context, array, offset):
    """Return ``array[offset:offset + 16]``."""

    def generate(context, builder, signature, arguments):
        return _load(builder, _address(context, builder, signature.args[0], *arguments))

    return LANES(array, types.int64), generate


@intrinsic
def element(typing_context, array, offset):
    """Return ``array[offset]`` of a flat array; the offset is not checked, nor may it be negative.

    What an index costs that may be negative is much beside one instruction.
    """

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature.args[0], *arguments))

    return array.dtype(array, types.int64), generate


@intrinsic
def store(typing_context, array, offset, lanes):
    """Write ``lanes`` to ``array[offset:offset + 16]``."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments[:2])
        _store(builder, arguments[2], address)
        return context.get_dummy_value()

    return types.void(array, types.int64, LANES), generate


@intrinsic
def fill(typing_context, value):
    """Return ``value`` in all lanes."""

    def generate(context, builder, signature, arguments):
        return _everywhere(builder, arguments[0])

    return LANES(types.float32), generate


@intrinsic
def add(typing_context, left, right):
    """Return left + right."""

    def generate(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return LANES(LANES, LANES), generate


@intrinsic
def subtract(typing_context, left, right):
    """Return left − right."""

    def generate(context, builder, signature, arguments):
        return builder.fsub(*arguments)

    return LANES(LANES, LANES), generate


@intrinsic
def larger(typing_context, left, right):
    """Return the larger of both, lane by lane."""

    def generate(context, builder, signature, arguments):
        left, right = arguments
        return builder.select(builder.fcmp_ordered(">", left, right), left, right)

    return LANES(LANES, LANES), generate


@intrinsic
def multiply(typing_context, left, right):
    """Return left × right."""

    def generate(context, builder, signature, arguments):
        return builder.fmul(*arguments)

    return LANES(LANES, LANES), generate


@intrinsic
def add_product(typing_context, total, left, right):
    """Return total + left × right."""

    def generate(context, builder, signature, arguments):
        total, left, right = arguments
        return builder.fadd(total, builder.fmul(left, right, flags=_FUSED), flags=_FUSED)

    return LANES(LANES, LANES, LANES), generate


@intrinsic
def lane(typing_context, lanes, number):
    """Return one lane."""

    def generate(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], builder.trunc(arguments[1], _WORD))

    return types.float32(LANES, types.int64), generate


def _prefix_sums(builder, value):
    zero = ir.Constant(_LANES, [0.0] * N_LANES)
    for step in (1, 2, 4, 8):
        moved = [i if i < step else N_LANES + i - step for i in range(N_LANES)]
        shifted = builder.shuffle_vector(zero, value, ir.Constant(_WORDS, moved))
        value = builder.fadd(value, shifted)
    return value


@intrinsic
def prefix_sums(typing_context, lanes):
    """Return the sums of the lanes up to and including each."""

    def generate(context, builder, signature, arguments):
        return _prefix_sums(builder, arguments[0])

    return LANES(LANES), generate


@intrinsic
def rising_sums(typing_context, lanes):
    """Return prefix sums of lanes ≥ 0 that never fall from one lane to the next by rounding.

    Where `prefix_sums` adds in each step what is 1, 2, 4, 8 lanes below, this adds the last sum of
    the 1, 2, 4, 8 lanes below to all sums above (Sklansky, 1960): adding one number to several
    keeps their order. A lane of 0 has the sum of the one below.
    """

    def generate(context, builder, signature, arguments):
        value = arguments[0]
        zero = ir.Constant(_LANES, [0.0] * N_LANES)
        for step in (1, 2, 4, 8):
            last_below = [i // step * step - 1 for i in range(N_LANES)]
            taken = [N_LANES + last_below[i] if i & step else 0 for i in range(N_LANES)]
            below = builder.shuffle_vector(zero, value, ir.Constant(_WORDS, taken))
            value = builder.fadd(value, below)
        return value

    return LANES(LANES), generate


@intrinsic
def moved_up(typing_context, lanes, first):
    """Return every lane in the place of the next one, and ``first`` in the first."""

    def generate(context, builder, signature, arguments):
        lanes, first = arguments
        places = ir.Constant(_WORDS, [0, *range(N_LANES - 1)])
        moved = builder.shuffle_vector(lanes, lanes, places)
        return builder.insert_element(moved, first, ir.Constant(_WORD, 0))

    return LANES(LANES, types.float32), generate


@intrinsic
def count_at_most(typing_context, lanes, value):
    """Return how many lanes are at most ``value``."""

    def generate(context, builder, signature, arguments):
        small = builder.fcmp_ordered("<=", arguments[0], _everywhere(builder, arguments[1]))
        bits = builder.bitcast(small, ir.IntType(N_LANES))
        return builder.zext(builder.ctpop(bits), _LONG)

    return types.int64(LANES, types.float32), generate


@intrinsic
def increment(typing_context, array, offset):
    """Add 1 to a whole number of a flat array; the offset is not checked."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments)
        builder.store(builder.add(builder.load(address), ir.Constant(_WORD, 1)), address)
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def add_counts(typing_context, array, offset, lanes):
    """Add lanes, whole numbers all, to the int32 ``array[offset:offset + 16]``."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments[:2])
        counts = builder.fptosi(arguments[2], _WORDS)
        _store(builder, builder.add(_load(builder, address, _WORDS), counts), address, _WORDS)
        return context.get_dummy_value()

    return types.void(array, types.int64, LANES), generate


@intrinsic
def nonzero(typing_context, array, offset):
    """Return a bit for each of ``array[offset:offset + 16]``, 1 where the whole number is not 0."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments)
        words = _load(builder, address, _WORDS)
        differs = builder.icmp_signed("!=", words, ir.Constant(_WORDS, [0] * N_LANES))
        return builder.zext(builder.bitcast(differs, ir.IntType(N_LANES)), _LONG)

    return types.int64(array, types.int64), generate


@intrinsic
def trailing_zeros(typing_context, bits):
    """Return the position of the lowest bit that is set."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def fill_rows(typing_context, value, blocks):
    """Return a tuple of as many `Lanes` as ``blocks`` is long, ``value`` everywhere."""
    result = types.UniTuple(LANES, blocks.count)

    def generate(context, builder, signature, arguments):
        row = [_everywhere(builder, arguments[0])] * blocks.count
        return cgutils.pack_array(builder, row, _LANES)

    return result(types.float32, blocks), generate


@intrinsic
def rows_of(typing_context, array, offset, blocks):
    """Return a tuple of as many `Lanes` as ``blocks`` is long, from ``array[offset:]`` on."""
    result = types.UniTuple(LANES, blocks.count)

    def generate(context, builder, signature, arguments):
        start = _address(context, builder, signature.args[0], *arguments[:2])
        values = [
            _load(builder, builder.gep(start, [ir.Constant(_LONG, k * N_LANES)]))
            for k in range(blocks.count)
        ]
        return cgutils.pack_array(builder, values, _LANES)

    return result(array, types.int64, blocks), generate


@intrinsic
def store_rows(typing_context, array, offset, row):
    """Write a tuple of `Lanes` to ``array`` from ``offset`` on."""

    def generate(context, builder, signature, arguments):
        start = _address(context, builder, signature.args[0], *arguments[:2])
        for k in range(row.count):
            place = builder.gep(start, [ir.Constant(_LONG, k * N_LANES)])
            _store(builder, builder.extract_value(arguments[2], k), place)
        return context.get_dummy_value()

    return types.void(array, types.int64, row), generate


@intrinsic
def add_at(typing_context, row, position, amount):
    """Return a tuple of `Lanes` with ``amount`` added to the element at ``position``."""

    def generate(context, builder, signature, arguments):
        where = _everywhere(builder, builder.trunc(arguments[1], _WORD), _NO_WORDS)
        change = _everywhere(builder, arguments[2])
        result = arguments[0]
        for k in range(row.count):
            value = builder.extract_value(arguments[0], k)
            here = builder.icmp_signed("==", _numbers(k), where)
            changed = builder.select(here, builder.fadd(value, change), value)
            result = builder.insert_value(result, changed, k)
        return result

    return row(row, types.int64, types.float32), generate


@intrinsic
def weigh(typing_context, row, base, base_offset, factor, factor_offset, sums):
    """Write running sums of (row + base) × factor, lane by lane, and return the last of them.

    ``row`` is a tuple of `Lanes`; ``base`` and ``factor`` are read, and ``sums`` is written, one
    block of sixteen after another.
    """

    def generate(context, builder, signature, arguments):
        row_value, base_array, base_offset, factor_array, factor_offset, sums_array = arguments
        types_of = signature.args
        base_at = _address(context, builder, types_of[1], base_array, base_offset)
        factor_at = _address(context, builder, types_of[3], factor_array, factor_offset)
        sums_at = _address(context, builder, types_of[5], sums_array, ir.Constant(_LONG, 0))
        total = None
        for k in range(row.count):
            step = [ir.Constant(_LONG, k * N_LANES)]
            held = builder.extract_value(row_value, k)
            weight = builder.fadd(held, _load(builder, builder.gep(base_at, step)))
            share = builder.fmul(weight, _load(builder, builder.gep(factor_at, step)), flags=_FUSED)
            total = share if total is None else builder.fadd(total, share, flags=_FUSED)
            _store(builder, total, builder.gep(sums_at, step))
        return total

    return LANES(row, base, types.int64, factor, types.int64, sums), generate


@intrinsic
def place_in_lane(typing_context, sums, number, value, blocks):
    """Return in how many blocks of ``sums`` the lane ``number`` is at most ``value``."""

    def generate(context, builder, signature, arguments):
        start = _address(context, builder, signature.args[0], arguments[0], arguments[1])
        place = ir.Constant(_LONG, 0)
        for k in range(blocks.count):
            held = builder.load(builder.gep(start, [ir.Constant(_LONG, k * N_LANES)]))
            passed = builder.fcmp_ordered("<=", held, arguments[2])
            place = builder.add(place, builder.zext(passed, _LONG))
        return place

    return types.int64(sums, types.int64, types.float32, blocks), generate


@intrinsic
def count_reached(typing_context, counts, edges, value):
    """Return a tuple of `Lanes`, ``counts``, with 1 added where ``edges`` are at most ``value``."""

    def generate(context, builder, signature, arguments):
        result, edges_row, value = arguments
        everywhere, one = _everywhere(builder, value), ir.Constant(_LANES, [1.0] * N_LANES)
        for k in range(counts.count):
            held = builder.extract_value(result, k)
            edge = builder.extract_value(edges_row, k)
            passed = builder.fcmp_ordered("<=", edge, everywhere)
            changed = builder.select(passed, builder.fadd(held, one), held)
            result = builder.insert_value(result, changed, k)
        return result

    return counts(counts, edges, types.float32), generate
