"""Kernels for one GPU, in numba-cuda: the names, the steps and the random numbers of the CPU's.

On equal inputs both draw the same, one by one, but for the few draws where sums were rounded in
another order. Arrays are on the device, arrays in and arrays out.
"""

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks NumPy 2.5 for the name that it has dropped
    setattr(np, "row_stack", np.vstack)  # noqa: B010
