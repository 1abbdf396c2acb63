"""Validation of numbers, choices, numbers of cores and seeds.

This module does not import NumPy, so that ``mc2 --help`` stays fast.
"""

import math
import numbers
from collections.abc import Sequence
from typing import Any

from mcsquared.errors import InputError

# Range of concentrations and of other prior weights, in units of observations. Sums of a hundred
# million of them, and their inverses, are normal float32 numbers, as kernels require.
MAX_CONCENTRATION = 1e30
MIN_CONCENTRATION = 1e-30
MAX_MAGNITUDE = 1e150  # of values; their squares, and the sums of these, are finite in float64
MIN_SCALE, MAX_SCALE = 1e-300, 1e300  # of variances and other squares of values
MAX_INTEGER = 2**31 - 1  # of numbers of sweeps, groups, words and so on


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer; booleans are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def as_float(value: object) -> float:
    """Return a number as a float; NaN for anything else, and for integers too large for a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_positive(name: str, value: object) -> float:
    """Return a finite number > 0 as a float; otherwise raise `InputError` for ``name``."""
    number = as_float(value)
    if not 0.0 < number < math.inf:
        raise InputError(f"{name} must be a positive number, got {value!r:.60}")
    return number


def check_concentration(name: str, value: object) -> float:
    """Return a concentration or another prior weight as a float; otherwise raise `InputError`."""
    return _check_between(name, check_positive(name, value), MIN_CONCENTRATION, MAX_CONCENTRATION)


def check_scale(name: str, value: object) -> float:
    """Return a positive number in squared units of the data; otherwise raise `InputError`."""
    return _check_between(name, check_positive(name, value), MIN_SCALE, MAX_SCALE)


def _check_between(name: str, number: float, low: float, high: float) -> float:
    if not low <= number <= high:
        raise InputError(f"{name} must be between {low:g} and {high:g}, got {number:g}")
    return number


def check_boolean(name: str, value: object) -> bool:
    """Return a boolean; raise `InputError` for anything else."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be True or False, got {value!r:.60}")
    return value


def check_integer(name: str, value: Any, minimum: int) -> int:
    """Return an integer >= ``minimum``; otherwise raise `InputError` for the parameter ``name``."""
    if not is_integer(value) or value < minimum:
        raise InputError(f"{name} must be an integer >= {minimum}, got {value!r:.60}")
    if value > MAX_INTEGER:
        raise InputError(f"{name} must be an integer <= {MAX_INTEGER}, got {str(value)[:60]}")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise `InputError` for the parameter ``name`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        quoted = list(map(repr, choices))
        required = " or ".join(quoted) if len(quoted) == 2 else f"one of {', '.join(quoted)}"
        raise InputError(f"{name} must be {required}, got {value!r}")


def check_jobs(n_jobs: Any) -> None:
    """Raise `InputError` unless ``n_jobs`` is None or an integer other than 0; -1: all cores."""
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")


def as_seed(random_state: Any) -> int:
    """Return a 32-bit seed: ``random_state`` if it is an integer, otherwise a draw from it."""
    from sklearn.utils import check_random_state

    if is_integer(random_state) and 0 <= random_state < 2**32:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError:
        raise InputError(
            "random_state must be None, a RandomState or an integer between 0 and 4294967295, "
            f"got {random_state!r}"
        ) from None
