"""Kernels for one GPU, in numba-cuda: the names, the steps and the random numbers of the CPU's.

On equal inputs both draw the same, one by one, but for the few draws where sums were rounded in
another order. Arrays are on the device, arrays in and arrays out.
"""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks NumPy 2.5 for the name that it has dropped
    setattr(np, "row_stack", np.vstack)  # noqa: B010

__all__ = ["load"]

MODULES = (
    "cells",
    "gammas",
    "members",
    "memory",
    "mixtures",
    "placing",
    "shares",
    "sums",
    "vector_groups",
    "vector_likelihood",
    "vector_sums",
    "vector_tokens",
)


def load() -> Any:
    """Return the modules of kernels, by their names."""
    return SimpleNamespace(**{name: import_module(f"{__name__}.{name}") for name in MODULES})
