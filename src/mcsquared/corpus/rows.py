"""Which groups: indices, masks and slices checked, test sets drawn, rows in the same order."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError

__all__ = ["check_same_order", "generator", "number_of_test_groups", "row_index"]


def row_index(rows: Any, n_groups: int) -> NDArray[np.int64]:
    """Return the indices, int64, that a slice, a mask or an array of indices stands for."""
    if isinstance(rows, slice):
        try:
            index = np.arange(n_groups)[rows]
        except (TypeError, ValueError) as error:
            raise InputError(f"the slice {rows} cannot be used: {error}") from error
    else:
        index = _checked_index(rows, n_groups)
    if not len(index):
        raise InputError("the index selects zero groups, but a corpus has at least one")
    return index.astype(np.int64)


def _checked_index(rows: Any, n_groups: int) -> NDArray[Any]:
    try:
        index = np.atleast_1d(np.asarray(rows))
    except ValueError as error:
        raise InputError("the index is not a mask or an array of indices") from error
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
            f"the index is of type {index.dtype} and {index.ndim} dimension(s), "
            "but a slice, a mask or an array of whole numbers is wanted"
        )
    if index.dtype.kind == "b":
        if len(index) != n_groups:
            raise InputError(
                f"the mask has {len(index)} entries, but the corpus has {n_groups} groups"
            )
        return np.flatnonzero(index)
    outside = (index >= n_groups) | (index < -n_groups)
    if outside.any():
        raise InputError(
            f"the index holds {index[outside][0]}, but the corpus has {n_groups} groups"
        )
    return index.astype(np.int64) % n_groups


def number_of_test_groups(test_size: Any, n_groups: int) -> int:
    """Return how many groups go to the test set; train and test must both have one at least."""
    n_test = None
    if isinstance(test_size, bool | np.bool_):
        n_test = None
    elif isinstance(test_size, Integral):
        n_test = int(test_size)
    elif isinstance(test_size, Real) and 0.0 < float(test_size) < 1.0:
        # At least one group each, so that a small share of few groups still gives a test set.
        n_test = min(max(round(float(test_size) * n_groups), 1), n_groups - 1)
    if n_test is None:
        raise InputError(
            f"test_size is {test_size!r}, but a share between 0 and 1 or a number of groups is "
            "wanted"
        )
    if not 0 < n_test < n_groups:
        raise InputError(
            f"test_size is {test_size!r}, but of {n_groups} group(s) at least one must be left "
            "on either side"
        )
    return n_test


def generator(random_state: Any) -> np.random.Generator:
    """Return NumPy's generator of a seed, a generator, or the legacy RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state is {random_state!r}, but a whole number from 0 or None is wanted"
        ) from error


def check_same_order(content: Any, contexts: Any) -> None:
    """Raise `InputError` where two pandas objects have the same labels in different orders.

    Rows belong together by position, as in scikit-learn. The same labels in another order show that
    the user thought of the index.
    """
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
            "contexts has the same index as the content, but in another order; rows are matched "
            "by position, "
            "so contexts.loc[content.index] is wanted"
        )
