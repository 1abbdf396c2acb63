"""Arrays on the GPU: allocation, and copies to and from the device."""

import numpy as np
from numba import cuda

from mcsquared.kernels.cuda.launch import SIMULATED

empty = cuda.device_array


def unavailable_reason() -> str | None:
    """Return why no GPU is available, or None if one is."""
    if SIMULATED or cuda.is_available():
        return None
    error = getattr(cuda, "cuda_error", lambda: None)()
    text = " ".join(str(error).split()) if error else "no CUDA device was found"
    return text.split(". ")[0].rstrip(".")


def free_bytes() -> int:
    """Return the free memory of the GPU in bytes."""
    return int(min(cuda.current_context().get_memory_info()[0], 2**62))  # infinite in the simulator


def copy_to_device(array, out=None):
    """Copy an array to the device, into ``out`` if given."""
    array = np.ascontiguousarray(array)
    if out is None:
        return cuda.to_device(array)
    if not array.size:
        return out
    if SIMULATED:
        out.copy_to_device(array)
    else:  # `out.copy_to_device` without its checks, which dominate the time of a small copy
        assert (array.dtype, array.nbytes) == (out.dtype, out.nbytes)
        # With an explicit stream, because other copies wait for all kernels. The driver stages
        # pageable memory before it returns, so the array may be freed at once.
        stream = cuda.legacy_default_stream()
        cuda.cudadrv.driver.host_to_device(out, array, array.nbytes, stream)
    return out


def copy_to_host(array):
    """Return a copy of a device array in host memory."""
    if SIMULATED or not array.size:
        return array.copy_to_host()
    host = np.empty(array.shape, array.dtype)
    cuda.current_context()  # the first use of the GPU in a thread makes its context current
    cuda.cudadrv.driver.device_to_host(host, array, array.nbytes)
    return host


def fill_zeros(array):
    """Fill a device array with zeros."""
    if not array.size:
        return
    if SIMULATED:
        array.copy_to_device(np.zeros(array.shape, array.dtype))
    else:
        cuda.current_context()
        cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)
