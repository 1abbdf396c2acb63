"""Launch configuration of kernels: the first argument determines the number of blocks.

Kernels take arrays as separate arguments, because numba inspects a tuple of arrays more slowly.
"""

from functools import wraps

from numba import cuda
from numba.core import config

SIMULATED = bool(config.ENABLE_CUDASIM)
N_WARPS = 1 if SIMULATED else 4  # warps per block
THREADS = 32 * N_WARPS  # threads per block
BLOCK_THREADS = 8 if SIMULATED else 256  # threads per block of kernels that do not use warps


def one_thread_each(n_threads=THREADS, max_blocks=1 << 31):
    """Compile a kernel with one thread per item; its first argument is the number of items.

    With more items than ``max_blocks`` blocks have threads, the kernel must loop over the items.
    """
    return _launcher(n_threads, n_threads, max_blocks=max_blocks)


def one_warp_each(n_warps=1, **options):
    """Compile a kernel with ``n_warps`` warps per item; ``options`` are passed to `cuda.jit`."""
    return _launcher(THREADS, N_WARPS, n_warps, **options)


def one_block_each(n_threads, n_items=1):
    """Compile a kernel with one block per ``n_items`` items."""
    return _launcher(n_threads, n_items)


def _launcher(n_threads, per_block, per_item=1, max_blocks=1 << 31, **options):
    """Return a decorator that turns a kernel into a function that launches it.

    A block has ``n_threads`` threads, and room for ``per_block`` units (threads, warps or items),
    of which an item takes ``per_item``.
    """

    def decorate(function):
        kernel = cuda.jit(**options)(function)

        @wraps(function)
        def launch(n_items, *arguments):
            n_blocks = min(max(-(-n_items * per_item // per_block), 1), max_blocks)
            kernel[n_blocks, n_threads](n_items, *arguments)

        return launch

    return decorate
