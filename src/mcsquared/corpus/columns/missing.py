"""Lists and missing values of any library."""

from typing import Any


def as_list(values: Any) -> list[Any]:
    """Return the values of a list, an array or a series of any library as Python objects."""
    for method in ("to_pylist", "to_list", "tolist"):  # of pyarrow, pandas and polars, NumPy
        if hasattr(values, method):
            listed = getattr(values, method)()
            return listed if isinstance(listed, list) else [listed]
    return list(values)


def is_missing(value: Any) -> bool:
    """Return whether a single value is None, NaN, NaT, pandas' NA or a masked entry."""
    if value is None:
        return True
    if isinstance(value, str | bytes | list | tuple | set | frozenset | dict) or hasattr(
        value, "shape"
    ):
        # NumPy scalars have a shape as well; those, and only those, may be NaN, NaT or masked.
        return getattr(value, "shape", None) == () and _differs_from_itself(value)
    # By name, so that pandas is not imported.
    return type(value).__name__ in ("NAType", "NaTType") or _differs_from_itself(value)


def _differs_from_itself(value: Any) -> bool:
    if type(value).__name__ == "MaskedConstant":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return False
