"""Select groups: by index, mask or slice, or at random for a test set."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Bools, Int64s
from mcsquared.checks import is_integer
from mcsquared.errors import InputError, input_errors


def row_index(rows: Any, n_groups: int) -> Int64s:
    """Convert a slice, a mask or an array of indices to indices >= 0, int64."""
    if isinstance(rows, tuple) and rows[1:] == (Ellipsis,):
        rows = rows[0]  # scikit-learn selects rows of objects with a shape by X[rows, ...]
    if isinstance(rows, slice):
        with input_errors(f"the slice {rows} is not valid", TypeError, ValueError):
            index = np.arange(n_groups)[rows]
    else:
        index = _checked_index(rows, n_groups)
    if not len(index):
        raise InputError("the index must select at least one group, got none")
    return index.astype(np.int64)


def _checked_index(rows: Any, n_groups: int) -> NDArray[Any]:
    with input_errors("the index must be a mask or an array of indices", ValueError):
        index = np.atleast_1d(np.asarray(rows))
    if index.ndim == 1 and index.size and index.dtype == object:
        kinds = {type(entry) for entry in index}
        if kinds <= {bool, np.bool_}:
            index = index.astype(bool)
        elif all(isinstance(entry, Integral) for entry in index) and bool not in kinds:
            index = np.array([min(max(int(entry), -(2**62)), 2**62) for entry in index])
    if index.size == 0:
        return np.empty(0, np.int64)
    if index.ndim != 1 or index.dtype.kind not in "biu":
        raise InputError(
            "the index must be a slice, a mask or a 1-D array of integers, got type "
            f"{index.dtype} and {index.ndim} dimension(s)"
        )
    if index.dtype.kind == "b":
        if len(index) != n_groups:
            raise InputError(f"a mask must have one entry per group ({n_groups}), got {len(index)}")
        return np.flatnonzero(index)
    outside = index[(index >= n_groups) | (index < -n_groups)]
    if len(outside):
        raise InputError(f"the index must be from {-n_groups} to {n_groups - 1}, got {outside[0]}")
    return index.astype(np.int64) % n_groups


def random_test_mask(test_size: Any, random_state: Any, n_groups: int) -> Bools:
    """Draw a test set; return the mask of its groups, bool (n_groups,)."""
    n_test = _n_test_groups(test_size, n_groups)
    mask = np.zeros(n_groups, dtype=bool)
    mask[generator_from(random_state).permutation(n_groups)[:n_test]] = True
    return mask


def _n_test_groups(test_size: Any, n_groups: int) -> int:
    if is_integer(test_size):
        n_test = int(test_size)
    elif isinstance(test_size, Real) and 0.0 < float(test_size) < 1.0:
        # At least one group in each part: a small share of few groups may round to zero.
        n_test = min(max(round(float(test_size) * n_groups), 1), n_groups - 1)
    else:
        raise InputError(f"test_size must be an integer or between 0 and 1, got {test_size!r}")
    if not 0 < n_test < n_groups:
        raise InputError(
            f"test_size must leave at least one of {n_groups} group(s) in each part, got "
            f"{test_size!r}"
        )
    return n_test


def generator_from(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator; raise `InputError` if ``random_state`` is not a seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    message = f"random_state must be an integer >= 0 or None, got {random_state!r}"
    with input_errors(message, TypeError, ValueError):
        generator = np.random.default_rng(random_state)
    return generator


def check_same_order(content: Any, contexts: Any) -> None:
    """Raise `InputError` if two pandas objects have different indices.

    Rows are matched by position, as in scikit-learn. Other labels, or the same ones in another
    order, suggest that a match by index was intended. The default index, 0, 1, ..., matches any.
    """
    if isinstance(contexts, Mapping):
        for column in contexts.values():
            check_same_order(content, column)
        return
    left: Any = getattr(content, "index", None)
    right: Any = getattr(contexts, "index", None)
    if not (hasattr(left, "nlevels") and hasattr(right, "nlevels")) or len(left) != len(right):
        return
    if (
        not left.equals(right)
        and left.is_unique
        and right.is_unique
        and bool(left.isin(right).all())
    ):
        raise InputError(
            "contexts must be in the order of the content (rows are matched by position), got the "
            "same index in another order: pass contexts.loc[content.index]"
        )
    if not (left.equals(right) or _is_default(left) or _is_default(right)):
        raise InputError(
            "contexts must have the index of the content, got another one: pass "
            "contexts.reset_index(drop=True) to match rows by position"
        )


def _is_default(index: Any) -> bool:
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
