"""GPU kernels, compiled by numba-cuda, with the names and random numbers of the CPU kernels.

Given the same inputs, both produce the same draws, except for the few that depend on the rounding
of sums in a different order. Arrays are flat and in device memory. A kernel that must be compiled
for a number of slots is returned by a function of that number.

Arguments mean the same as those of the CPU kernel. ``first_group`` and ``first_token`` are the
numbers of groups and tokens of the corpus before these arrays: random numbers are those of the
whole corpus. ``block_start`` and ``block_end`` are the bounds, in these arrays, of the groups that
a kernel processes. ``order`` lists the groups or words, longest first, to balance the load of the
warps. ``statistics``, ..., ``row_of_group`` are the ``contexts`` of `add_context_scores`.
``n_slots`` is the number of topic slots.
"""

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 needs it, but NumPy 2.5 removed it
    setattr(np, "row_stack", np.vstack)  # noqa: B010
