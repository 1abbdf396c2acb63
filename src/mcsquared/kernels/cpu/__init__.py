"""Kernels for the processor, in numba. Each names the equation it implements."""
