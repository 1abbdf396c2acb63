"""Arrays on the GPU: allocation, and copies to and from the device."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
from numba import cuda

from mcsquared.kernels.cuda.launch import SIMULATED

empty = cuda.device_array
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
BYTES_PER_COPY = 1 << 24


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


def wait_for_kernels():
    """Wait until all kernels launched by this process have ended."""
    if not SIMULATED:
        cuda.legacy_default_stream().synchronize()


class Copier:
    """Copies to and from the device beside kernels, by one thread at a time.

    Kernels and all other copies use the legacy default stream. Streams of numba wait for it; the
    one of a copier does not. The driver copies only page-locked memory beside kernels, so arrays
    pass through two small page-locked buffers: one is filled while the other is copied.
    """

    def __init__(self):
        self._device = cuda.current_context().device.id if not SIMULATED else 0
        if not SIMULATED:
            stream = cuda.cudadrv.driver.driver.cuStreamCreate(NON_BLOCKING)
            self._stream = cuda.external_stream(int(stream))
            self._buffers = [cuda.pinned_array(BYTES_PER_COPY, np.uint8) for _ in range(2)]

    def thread(self):
        """Return an executor with one thread, which uses the GPU of this copier."""
        return ThreadPoolExecutor(1, initializer=cuda.select_device, initargs=(self._device,))

    def to_device(self, source, target):
        """Copy an array of bytes to a device array of bytes; `finish` waits for the last copy."""
        if SIMULATED:
            target.copy_to_device(source)
            return
        for first in range(0, len(source), BYTES_PER_COPY):
            piece = source[first : first + BYTES_PER_COPY]
            self._buffers.reverse()
            buffer = self._buffers[0][: len(piece)]
            buffer[:] = piece
            self._stream.synchronize()  # the other buffer has been copied
            part = target[first : first + len(piece)]
            cuda.cudadrv.driver.host_to_device(part, buffer, len(piece), self._stream)

    def finish(self):
        """Wait until all copies have ended."""
        if not SIMULATED:
            self._stream.synchronize()

    def to_host(self, array):
        """Return a copy of a one-dimensional device array in host memory."""
        if SIMULATED or not array.size:
            return array.copy_to_host()
        host, source = np.empty(array.shape, array.dtype), array.view(np.uint8)
        target = host.view(np.uint8)
        for first in range(0, len(target), BYTES_PER_COPY):
            piece = target[first : first + BYTES_PER_COPY]
            buffer = self._buffers[0][: len(piece)]
            part = source[first : first + len(piece)]
            cuda.cudadrv.driver.device_to_host(buffer, part, len(piece), self._stream)
            self._stream.synchronize()
            piece[:] = buffer
        return host


class DeviceArrays:
    """Memory on the device for named arrays, which later arrays of the same names overwrite."""

    def __init__(self):
        self._memory = {}

    def filled(self, arrays, copier):
        """Return copies of named arrays on the device, as attributes; earlier ones are lost."""
        found = {}
        for name, array in arrays.items():
            if not array.size:
                found[name] = copy_to_device(array)
                continue
            if name not in self._memory or self._memory[name].size < array.nbytes:
                self._memory[name] = empty(array.nbytes, np.uint8)
            memory = self._memory[name][: array.nbytes]
            copier.to_device(np.ascontiguousarray(array).reshape(-1).view(np.uint8), memory)
            found[name] = memory.view(array.dtype).reshape(array.shape)
        copier.finish()
        return SimpleNamespace(**found)
