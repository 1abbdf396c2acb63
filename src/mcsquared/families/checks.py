"""Validation of the fields and observations of a family."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcsquared.arrays import Floats
from mcsquared.checks import MAX_MAGNITUDE, MAX_SCALE, as_float, check_concentration
from mcsquared.errors import InputError
from mcsquared.gamma import Gamma

LEARNED = "learned"  # a base measure and a concentration that are resampled


def finite_number(argument: str, value: Any) -> float:
    """Return ``value`` as a finite Python float; otherwise raise `InputError`."""
    number = as_float(value)
    if not np.isfinite(number):
        raise InputError(f"{argument} must be a finite number, got {value!r:.60}")
    _check_size(argument, np.array([number]), MAX_MAGNITUDE)
    return number


def positive_integer(argument: str, value: Any) -> int:
    """Return ``value`` as a positive Python int; otherwise raise `InputError`."""
    number = finite_number(argument, value)
    if number != int(number) or number < 1:
        raise InputError(f"{argument} must be an integer >= 1, got {value!r:.60}")
    return int(value)


def concentration_of_categories(argument: str, value: Any) -> float | str | Gamma:
    """Return a positive float, "learned" or a `Gamma`; otherwise raise `InputError`.

    A mapping, as in files, becomes a `Gamma`.
    """
    if isinstance(value, Gamma) or (isinstance(value, str) and value == LEARNED):
        return value
    if isinstance(value, Mapping) and value.keys() == {"shape", "rate"}:
        return Gamma(**value)
    if np.isnan(as_float(value)):
        raise InputError(
            f"{argument} must be a positive number, {LEARNED!r} or a Gamma, got {value!r:.60}"
        )
    return check_concentration(argument, value)


def finite_vector(argument: str, value: Any) -> tuple[float, ...]:
    """Return ``value`` as a non-empty tuple of finite floats; otherwise raise `InputError`."""
    array = _finite_array(argument, value)
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"{argument} must be a vector with at least one entry, got shape {array.shape}"
        )
    _check_size(argument, array, MAX_MAGNITUDE)
    return tuple(array.tolist())


def symmetric_matrix(argument: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Return a symmetric positive definite matrix as a tuple of rows, or raise `InputError`."""
    array = _finite_array(argument, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InputError(f"{argument} must be a square matrix, got shape {array.shape}")
    if not np.allclose(array, array.T, rtol=1e-10, atol=0.0):
        raise InputError(f"{argument} must be symmetric")
    _check_size(argument, array, MAX_SCALE)
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        raise InputError(f"{argument} must be positive definite") from None
    return tuple(tuple(row) for row in array.tolist())


def filled_field(family: object, field: str) -> Any:
    """Return a field of a family; raise `InputError` if it has not been filled yet."""
    value = getattr(family, field)
    if value is None:
        kind = type(family).__name__
        raise InputError(
            f"{field} of {kind} must be set, got None: pass it, or call {kind}.filled(x)"
        )
    return value


def _check_size(argument: str, array: Floats, limit: float) -> None:
    if (largest := np.abs(array).max()) > limit:
        raise InputError(f"{argument} must be <= {limit:g} in magnitude, got {largest:g}")


def _finite_array(argument: str, value: Any) -> Floats:
    try:
        array = np.asarray(value)
        numeric = array.dtype.kind in "iuf"
        array = array.astype(np.float64) if numeric else array
    except (TypeError, ValueError, OverflowError):
        numeric = False
    if not numeric or not np.isfinite(array).all():
        raise InputError(f"{argument} must contain finite numbers only, got {value!r:.60}")
    return array
