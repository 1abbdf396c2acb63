"""What estimators ask of parameters that are whole numbers, cores or seeds."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mcsquared.errors import InputError

__all__ = ["as_seed", "check_jobs", "check_whole", "is_whole"]


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number; True and False are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def check_whole(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least ``least``, or refuse the parameter ``name``."""
    if not is_whole(value) or value < least:
        raise InputError(f"{name} is {value!r}, but a whole number of at least {least} is wanted")
    return int(value)


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of cores that means nothing; None and -1 mean something."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs is {n_jobs!r}, but a whole number other than 0 is wanted")


def as_seed(random_state: Any) -> int:
    """Return a seed of 32 bits: the same for the same ``random_state``, a number for itself."""
    from sklearn.utils import check_random_state

    if is_whole(random_state) and 0 <= random_state < 2**32:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError:
        raise InputError(
            f"random_state is {random_state!r}, but None, a RandomState or a whole number from 0 "
            "to 4294967295 is wanted"
        ) from None
