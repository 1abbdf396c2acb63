"""Arrays on the GPU: made, filled, copied both ways. The rest of the package knows no other way."""

from __future__ import annotations

import numpy as np
from numba import cuda

from mcsquared.kernels.cuda.warp import SIMULATED

__all__ = ["empty", "free_bytes", "missing", "put", "take", "zero"]


def missing() -> str | None:
    """Return why no GPU can be used here; None where one can."""
    if SIMULATED or cuda.is_available():
        return None
    reason = getattr(cuda, "cuda_error", lambda: None)()
    said = " ".join(str(reason).split()) if reason else "CUDA finds none"
    return said.split(". ")[0].rstrip(".")


def free_bytes() -> int:
    """Return how much memory of the GPU is free."""
    return int(min(cuda.current_context().get_memory_info()[0], 2**62))  # a simulator has no end


def put(array, out=None):
    """Copy an array to the GPU, into ``out`` where there is one of its size."""
    array = np.ascontiguousarray(array)
    if out is None:
        return cuda.to_device(array)
    if not array.size:
        return out
    if SIMULATED:
        out.copy_to_device(array)
    else:  # as an array's own function does, without its checks, which cost most of a small copy
        assert (array.dtype, array.nbytes) == (out.dtype, out.nbytes)
        # On a stream that is named, because a copy on none waits until all kernels have ended. The
        # array may go at once: what is in ordinary memory is copied aside first.
        stream = cuda.legacy_default_stream()
        cuda.cudadrv.driver.host_to_device(out, array, array.nbytes, stream)
    return out


def take(array):
    """Copy an array from the GPU."""
    if SIMULATED or not array.size:
        return array.copy_to_host()
    here = np.empty(array.shape, array.dtype)
    cuda.cudadrv.driver.device_to_host(here, array, array.nbytes)
    return here


def empty(size, dtype):
    """Return room for so many numbers."""
    return cuda.device_array(size, dtype)


def zero(array):
    """Fill an array with zeros."""
    if not array.size:
        return
    if SIMULATED:
        array.copy_to_device(np.zeros(array.shape, array.dtype))
    else:
        cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)
