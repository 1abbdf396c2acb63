"""SIMD vectors of sixteen floats, for the innermost loops.

A vector is a numba type backed by an LLVM vector; a row is a tuple of vectors. Each function
compiles to a few of the widest SIMD instructions that the processor supports. Offsets into flat
arrays are not checked and must not be negative.
"""

import math
import mmap
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model
from numpy.typing import DTypeLike, NDArray

N_LANES = 16
CACHE_LINE = 64  # bytes, the size of sixteen floats
MIN_MAPPED_BYTES = 1 << 23  # size of an array with its own pages; new ones cost 1 ms per 6 MB
SEGMENT = 4  # blocks of sixteen that are summed one after another


def aligned(*shape: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return an array with arbitrary values that is aligned to cache lines.

    In an unaligned array, every vector of sixteen floats would span two cache lines. A large array
    has separate memory pages, which return to the system as soon as it is deleted: ``malloc`` keeps
    freed arrays of up to 32 MB, in which larger ones do not fit.
    """
    size = np.dtype(dtype).itemsize * math.prod(shape)
    if size >= MIN_MAPPED_BYTES and hasattr(mmap, "MAP_ANONYMOUS"):
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(pages, dtype).reshape(shape)
    buffer = np.empty(size + CACHE_LINE, np.uint8)
    skipped = -buffer.ctypes.data % CACHE_LINE
    return buffer[skipped : skipped + size].view(dtype).reshape(shape)


def zeros(*shape: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros, allocated like `aligned`."""
    array = aligned(*shape, dtype=dtype)
    array.fill(0)
    return array


INT32, INT64 = ir.IntType(32), ir.IntType(64)
FLOATS, INTS = ir.VectorType(ir.FloatType(), N_LANES), ir.VectorType(INT32, N_LANES)
FUSED = ("contract",)  # allows a fused multiply-add, which rounds once


class VectorType(types.Type):
    """The numba type of a vector of sixteen float32."""

    def __init__(self) -> None:
        super().__init__(name="float32x16")


@register_model(VectorType)
class VectorModel(PrimitiveModel):
    """The data model of `VectorType`: one LLVM vector."""

    def __init__(self, manager, frontend_type):
        super().__init__(manager, frontend_type, FLOATS)


VECTOR = VectorType()
ARRAY, ANY = object(), object()  # arguments of any type; arrays are passed by address


def llvm_intrinsic(result, *arguments):
    """Return a decorator that turns ``function(builder, *values)`` into a numba intrinsic.

    ``arguments`` are the types of the values. ``result`` is the type returned, or a function that
    computes it from the types of the values in a call.
    """

    def decorate(function):
        @wraps(function)
        def define(typing_context, *actual):
            returned = result if isinstance(result, types.Type) else result(*actual)
            pairs = zip(arguments, actual, strict=True)
            declared = (found if kind in (ARRAY, ANY) else kind for kind, found in pairs)
            signature = returned(*declared)

            def generate(context, builder, signature, values):
                values = [
                    context.make_array(kind)(context, builder, value).data if a is ARRAY else value
                    for a, kind, value in zip(arguments, signature.args, values, strict=True)
                ]
                value = function(builder, *values)
                return context.get_dummy_value() if value is None else value

            return signature, generate

        return intrinsic(define)

    return decorate


def _load(builder, array, offset, vector=FLOATS):
    """Return ``array[offset:offset + 16]``."""
    address = builder.gep(array, [offset])
    return builder.load(builder.bitcast(address, vector.as_pointer()), align=4)


def _store(builder, array, offset, value):
    """Write a vector to ``array[offset:offset + 16]``."""
    address = builder.gep(array, [offset])
    builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=4)


def _broadcast(builder, value):
    """Return a vector with the same value in all lanes."""
    undefined = ir.Constant(ir.VectorType(value.type, N_LANES), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(INTS, [0] * N_LANES))


def _block(k):
    """Return the offset of vector k of a row, 16 k."""
    return ir.Constant(INT64, k * N_LANES)


def _map_row(function, row, builder):
    """Return the row of ``function(k, vector)`` for each vector k of a row."""
    result = row
    for k in range(row.type.count):
        result = builder.insert_value(result, function(k, builder.extract_value(row, k)), k)
    return result


def build_prefix_sums(builder, value):
    """Build the inclusive prefix sums of the lanes of an LLVM vector."""
    zero = ir.Constant(value.type, [0.0] * N_LANES)
    for step in (1, 2, 4, 8):
        moved = [i if i < step else N_LANES + i - step for i in range(N_LANES)]
        shifted = builder.shuffle_vector(zero, value, ir.Constant(INTS, moved))
        value = builder.fadd(value, shifted)
    return value


def _lane_by_lane(operation):
    """Return an intrinsic that applies an LLVM operation to two vectors, lane by lane."""
    return llvm_intrinsic(VECTOR, VECTOR, VECTOR)(
        lambda builder, left, right: getattr(builder, operation)(left, right)
    )


load = llvm_intrinsic(VECTOR, ARRAY, types.int64)(
    lambda builder, array, offset: _load(builder, array, offset)
)
store = llvm_intrinsic(types.void, ARRAY, types.int64, VECTOR)(_store)
fill = llvm_intrinsic(VECTOR, types.float32)(_broadcast)
prefix_sums = llvm_intrinsic(VECTOR, VECTOR)(build_prefix_sums)
add, subtract, multiply, divide = map(_lane_by_lane, ("fadd", "fsub", "fmul", "fdiv"))
lane_numbers = llvm_intrinsic(VECTOR)(lambda builder: ir.Constant(FLOATS, list(range(N_LANES))))


@llvm_intrinsic(lambda array, offset: array.dtype, ARRAY, types.int64)
def element(builder, array, offset):
    """Return ``array[offset]`` without the test for a negative offset, as costly as the load."""
    return builder.load(builder.gep(array, [offset]))


@llvm_intrinsic(types.void, ARRAY, types.int64)
def increment(builder, array, offset):
    """Add 1 to the integer ``array[offset]``."""
    address = builder.gep(array, [offset])
    one = ir.Constant(array.type.pointee, 1)
    builder.store(builder.add(builder.load(address), one), address)


@llvm_intrinsic(types.void, ARRAY, types.int64, VECTOR)
def add_counts(builder, array, offset, vector):
    """Add the lanes, which are integers, to the integers ``array[offset:offset + 16]``."""
    integers = ir.VectorType(array.type.pointee, N_LANES)
    counts = builder.fptosi(vector, integers)
    _store(builder, array, offset, builder.add(_load(builder, array, offset, integers), counts))


@llvm_intrinsic(types.int64, ARRAY, types.int64)
def nonzero_mask(builder, array, offset):
    """Return a bit mask of the nonzero elements of the integers ``array[offset:offset + 16]``."""
    integers = ir.VectorType(array.type.pointee, N_LANES)
    zero = ir.Constant(integers, [0] * N_LANES)
    differs = builder.icmp_signed("!=", _load(builder, array, offset, integers), zero)
    return builder.zext(builder.bitcast(differs, ir.IntType(N_LANES)), INT64)


@llvm_intrinsic(types.int64, VECTOR, VECTOR)
def less_mask(builder, left, right):
    """Return a bit mask of the lanes in which ``left`` is smaller than ``right``."""
    is_less = builder.fcmp_ordered("<", left, right)
    return builder.zext(builder.bitcast(is_less, ir.IntType(N_LANES)), INT64)


@llvm_intrinsic(types.int64, types.int64)
def count_bits(builder, bits):
    """Return the number of bits that are set."""
    return builder.ctpop(bits)


@llvm_intrinsic(types.int64, types.int64)
def trailing_zeros(builder, bits):
    """Return the position of the lowest bit that is set."""
    return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))


@llvm_intrinsic(VECTOR, VECTOR, VECTOR)
def maximum(builder, left, right):
    """Return the maximum of two vectors, lane by lane."""
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


@llvm_intrinsic(VECTOR, VECTOR, VECTOR, VECTOR)
def add_product(builder, total, left, right):
    """Return total + left × right, lane by lane."""
    return builder.fadd(total, builder.fmul(left, right, flags=FUSED), flags=FUSED)


@llvm_intrinsic(types.float32, VECTOR, types.int64)
def lane(builder, vector, index):
    """Return lane ``index`` of a vector."""
    return builder.extract_element(vector, builder.trunc(index, INT32))


@llvm_intrinsic(VECTOR, VECTOR)
def monotone_prefix_sums(builder, vector):
    """Return prefix sums of lanes ≥ 0 that do not decrease by rounding.

    In each step, the last sum of a half-block of 1, 2, 4, 8 lanes is added to all sums of the next
    half-block (Sklansky, 1960). Adding one number to several preserves their order. A lane of 0 has
    the same sum as the lane before it.
    """
    zero = ir.Constant(FLOATS, [0.0] * N_LANES)
    for step in (1, 2, 4, 8):
        last_below = [i // step * step - 1 for i in range(N_LANES)]
        taken = [N_LANES + last_below[i] if i & step else 0 for i in range(N_LANES)]
        below = builder.shuffle_vector(zero, vector, ir.Constant(INTS, taken))
        vector = builder.fadd(vector, below)
    return vector


@llvm_intrinsic(VECTOR, VECTOR, types.float32)
def shift_up(builder, vector, first):
    """Return a vector with each lane moved to the next position and ``first`` in lane 0."""
    positions = ir.Constant(INTS, [0, *range(N_LANES - 1)])
    moved = builder.shuffle_vector(vector, vector, positions)
    return builder.insert_element(moved, first, ir.Constant(INT32, 0))


@llvm_intrinsic(types.int64, VECTOR, types.float32)
def count_at_most(builder, vector, value):
    """Return the number of lanes that are at most ``value``."""
    small = builder.fcmp_ordered("<=", vector, _broadcast(builder, value))
    return builder.zext(builder.ctpop(builder.bitcast(small, ir.IntType(N_LANES))), INT64)


@llvm_intrinsic(lambda value, blocks: types.UniTuple(VECTOR, blocks.count), types.float32, ANY)
def fill_row(builder, value, blocks):
    """Return a row of ``len(blocks)`` vectors, filled with ``value``."""
    row = [_broadcast(builder, value)] * blocks.type.count
    return cgutils.pack_array(builder, row, FLOATS)


@llvm_intrinsic(
    lambda array, offset, blocks: types.UniTuple(VECTOR, blocks.count), ARRAY, types.int64, ANY
)
def load_row(builder, array, offset, blocks):
    """Return a row of ``len(blocks)`` vectors, read from ``array[offset:]``."""
    start = builder.gep(array, [offset])
    row = [_load(builder, start, _block(k)) for k in range(blocks.type.count)]
    return cgutils.pack_array(builder, row, FLOATS)


@llvm_intrinsic(types.void, ARRAY, types.int64, ANY)
def store_row(builder, array, offset, row):
    """Write a row to ``array[offset:]``."""
    start = builder.gep(array, [offset])
    for k in range(row.type.count):
        _store(builder, start, _block(k), builder.extract_value(row, k))


@llvm_intrinsic(lambda counts, edges, value: counts, ANY, ANY, types.float32)
def count_reached(builder, counts, edges, value):
    """Return the row ``counts`` with 1 added where ``edges``, another row, is at most ``value``."""
    values, one = _broadcast(builder, value), ir.Constant(FLOATS, [1.0] * N_LANES)

    def count_in(k, vector):
        reached = builder.fcmp_ordered("<=", builder.extract_value(edges, k), values)
        return builder.select(reached, builder.fadd(vector, one), vector)

    return _map_row(count_in, counts, builder)


@llvm_intrinsic(VECTOR, ARRAY, types.int64, ARRAY, types.int64, ARRAY, ANY)
def sum_segments(builder, weight, weight_offset, factor, factor_offset, sums, blocks):
    """Write sums of weight × factor, lane by lane, for `block_in_lane`; return the last of them.

    Both rows, of ``len(blocks)`` blocks, are read from their offsets on. A segment is four blocks:
    long sums depend on few earlier ones. ``sums`` starts with the running sums of each segment,
    with infinity in place of the blocks that the last segment lacks, followed by a block of zeros
    and the running sums over segments. Infinities and zeros are not written: see `empty_sums`.
    """
    weight, factor = builder.gep(weight, [weight_offset]), builder.gep(factor, [factor_offset])
    n_blocks, total = blocks.type.count, None
    n_segments = -(-n_blocks // SEGMENT)
    for segment in range(n_segments):
        part = None
        for k in range(segment * SEGMENT, min((segment + 1) * SEGMENT, n_blocks)):
            left, right = _load(builder, weight, _block(k)), _load(builder, factor, _block(k))
            share = builder.fmul(left, right, flags=FUSED)
            part = share if part is None else builder.fadd(part, share, flags=FUSED)
            _store(builder, sums, _block(k), part)
        total = part if total is None else builder.fadd(total, part)
        _store(builder, sums, _block(n_segments * SEGMENT + 1 + segment), total)
    return total


@llvm_intrinsic(types.int64, ARRAY, types.int64, types.float32, ANY)
def block_in_lane(builder, sums, index, value, blocks):
    """Return the first block whose running sum of lane ``index`` exceeds ``value``.

    The sums are those of `sum_segments`. If rounding hides the block, the result is one that does
    not exceed the value, or ``len(blocks)``.
    """
    start, position = builder.gep(sums, [index]), ir.Constant(INT64, 0)
    n_segments = -(-blocks.type.count // SEGMENT)

    def add_passed(position, offset, value):
        passed = builder.fcmp_ordered("<=", builder.load(builder.gep(start, [offset])), value)
        return builder.add(position, builder.zext(passed, INT64))

    for segment in range(n_segments - 1):
        offset = _block(n_segments * SEGMENT + 1 + segment)
        position = add_passed(position, offset, value)
    offset = builder.mul(position, _block(1))
    before = builder.load(builder.gep(start, [builder.add(offset, _block(n_segments * SEGMENT))]))
    rest, position = builder.fsub(value, before), builder.mul(position, ir.Constant(INT64, SEGMENT))
    first = builder.mul(position, _block(1))
    for k in range(SEGMENT):
        position = add_passed(position, builder.add(first, _block(k)), rest)
    return position


def _prefetch(for_writing: int):
    """Return an intrinsic that loads the cache line of ``array[offset]`` ahead of its use."""

    @llvm_intrinsic(types.void, ARRAY, types.int64)
    def prefetch(builder, array, offset):
        pointer = ir.IntType(8).as_pointer()
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32]),
            "llvm.prefetch.p0",
        )
        # Prefetch data (not instructions) into all levels of cache.
        options = [ir.Constant(INT32, option) for option in (for_writing, 3, 1)]
        builder.call(function, [builder.bitcast(builder.gep(array, [offset]), pointer), *options])

    return prefetch


prefetch, prefetch_to_write = _prefetch(0), _prefetch(1)
