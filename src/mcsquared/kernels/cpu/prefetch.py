"""Ask for memory before it is needed: one instruction that changes no result."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["prefetch"]

WRITE, KEEP, DATA = 1, 3, 1  # the arguments of LLVM's prefetch: for writing, in every cache, data


@intrinsic
def prefetch(typing_context, array, row, column):
    """Bring the cache line that holds ``array[row, column]`` nearer to the processor."""
    signature = types.void(array, row, column)

    def generate(context, builder, signature, arguments):
        array_type, *index_types = signature.args
        view = context.make_array(array_type)(context, builder, arguments[0])
        index = [
            context.cast(builder, value, index_type, types.intp)
            for value, index_type in zip(arguments[1:], index_types, strict=True)
        ]
        address = cgutils.get_item_pointer(context, builder, array_type, view, index)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
            "llvm.prefetch.p0",
        )
        options = [ir.Constant(word, value) for value in (WRITE, KEEP, DATA)]
        builder.call(function, [builder.bitcast(address, byte), *options])
        return context.get_dummy_value()

    return signature, generate
