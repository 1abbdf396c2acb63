"""Checks of what a user hands to a family; each failure is one sentence."""

from numbers import Real
from typing import Any

import numpy as np

from mcsquared.errors import InputError
from mcsquared.families.types import Floats

__all__ = [
    "finite_number",
    "finite_vector",
    "known",
    "one_dimensional",
    "positive_number",
    "symmetric_matrix",
    "whole_number",
]


def finite_number(argument: str, value: Any) -> float:
    """Return ``value`` as a Python float, or say that it is not a finite number."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = np.inf
        if np.isfinite(number):
            return number
    raise InputError(f"{argument} is {_shown(value)}, but it must be a finite number")


def positive_number(argument: str, value: Any) -> float:
    """Return ``value`` as a Python float, or say that it is not positive and finite."""
    number = finite_number(argument, value)
    if number <= 0.0:
        raise InputError(f"{argument} is {number!r}, but it must be greater than zero")
    return number


def whole_number(argument: str, value: Any, least: int) -> int:
    """Return ``value`` as a Python int, or say that it is not a whole number from ``least`` on."""
    number = finite_number(argument, value)
    if number != int(number) or number < least:
        raise InputError(
            f"{argument} is {_shown(value)}, but it must be a whole number, {least} or more"
        )
    return int(value)


def finite_vector(argument: str, value: Any) -> tuple[float, ...]:
    """Return ``value`` as a tuple of floats, or say that it is not a vector of finite numbers."""
    array = _finite_array(argument, value)
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"{argument} has shape {array.shape}, but it must be a vector with at least one entry"
        )
    return tuple(array.tolist())


def symmetric_matrix(argument: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Return ``value`` as a tuple of rows, or say that it is not symmetric positive definite."""
    array = _finite_array(argument, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InputError(f"{argument} has shape {array.shape}, but it must be a square matrix")
    if not np.allclose(array, array.T, rtol=1e-10, atol=0.0):
        raise InputError(f"{argument} is not symmetric, but it must be")
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        raise InputError(f"{argument} is not positive definite, but it must be") from None
    return tuple(tuple(row) for row in array.tolist())


def one_dimensional(kind: str, x: Any) -> Floats:
    """Return ``x`` as float64 (n,), or say that it has another shape."""
    array = np.asarray(x, np.float64)
    if array.ndim != 1:
        raise InputError(f"x has shape {array.shape}, but {kind} takes one number per observation")
    return array


def known(family: object, field: str) -> Any:
    """Return a field of a family, or say that it has not been filled from data yet."""
    value = getattr(family, field)
    if value is None:
        kind = type(family).__name__
        raise InputError(
            f"{field} of {kind} is not known yet: give it, or call {kind}.filled(x) with the data"
        )
    return value


def _finite_array(argument: str, value: Any) -> Floats:
    try:
        array = np.asarray(value)
        numeric = array.dtype.kind in "iuf"
        array = array.astype(np.float64) if numeric else array
    except (TypeError, ValueError, OverflowError):
        numeric = False
    if not numeric or not np.isfinite(array).all():
        raise InputError(f"{argument} is {_shown(value)}, but it must hold finite numbers only")
    return array


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
