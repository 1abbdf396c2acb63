"""Mean and variance of data, computed so that large values with a small spread keep theirs."""

import numpy as np

from mcsquared.errors import InputError
from mcsquared.families.types import Floats

__all__ = ["center_and_variance"]


def center_and_variance(kind: str, x: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance over the first axis, or say why there are none.

    Both are zero without data. Equal values give exactly their value and a variance of zero, and
    so does a spread whose square no float can hold.

    Parameters
    ----------
    kind : str
        The family that asks, for the message.
    x : float64 (n, ...)

    Returns
    -------
    center, variance : float64 (...)
    """
    if len(x) == 0:
        return np.zeros(x.shape[1:]), np.zeros(x.shape[1:])
    if not np.isfinite(x).all():
        raise InputError(f"x holds missing or infinite values, but {kind} needs finite numbers")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        low = x.min(axis=0)
        center = low + np.mean(x - low, axis=0)
        variance = np.mean((x - center) ** 2, axis=0)
    if not (np.isfinite(center).all() and np.isfinite(variance).all()):
        raise InputError(
            f"x runs from {x.min():g} to {x.max():g}, too far apart for {kind} to square"
        )
    return center, np.where(variance < np.finfo(np.float64).tiny, 0.0, variance)
