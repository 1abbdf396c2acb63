"""Kernels for one GPU, in numba-cuda: the names, the steps and the random numbers of the CPU's.

On equal inputs both draw the same, one by one, but for the few draws where sums were rounded in
another order. Arrays are on the device and flat; a kernel that is compiled for a number of slots is
returned by a function of that number.

Arguments have the meaning of the CPU kernel's arguments of the same name. ``first_group`` and
``first_token`` count the groups and tokens of the corpus before these arrays: random numbers are
those of the whole corpus. ``order`` lists the groups or words, longest first, so that the last
warps to finish are short. ``statistics``, ..., ``extra`` are the arguments of `add_context_scores`.
"""

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 needs a name that NumPy 2.5 has dropped
    setattr(np, "row_stack", np.vstack)  # noqa: B010
