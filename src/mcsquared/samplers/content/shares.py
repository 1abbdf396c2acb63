"""Topic shares as the kernels read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.samplers.types import Weights

SMALLEST_SHARE = 1e-20  # smaller ones count as 0: products would underflow or be slow


def as_floats(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return float32 values, 0 below `SMALLEST_SHARE`."""
    return np.where(values < SMALLEST_SHARE, 0.0, values).astype(np.float32)


def divided_shares(weights: Weights, sums: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return τ_km divided by the sum of the topic's variates."""
    shares = as_floats(np.exp(weights.log_shares))
    shares /= sums.astype(np.float32)
    return shares
