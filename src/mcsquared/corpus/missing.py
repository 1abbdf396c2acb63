"""What counts as missing, whichever library wrote it."""

from typing import Any

__all__ = ["is_missing"]


def is_missing(value: Any) -> bool:
    """Say whether a single value is None, NaN, NaT, pandas' NA or a masked entry."""
    if value is None:
        return True
    if isinstance(value, str | bytes | list | tuple | set | frozenset | dict) or hasattr(
        value, "shape"
    ):
        # NumPy scalars have a shape as well; those, and only those, may be NaN, NaT or masked.
        return getattr(value, "shape", None) == () and _differs_from_itself(value)
    # By name, because pandas need not be loaded for one to be met.
    return type(value).__name__ in ("NAType", "NaTType") or _differs_from_itself(value)


def _differs_from_itself(value: Any) -> bool:
    if type(value).__name__ == "MaskedConstant":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return False
