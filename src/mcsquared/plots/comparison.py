"""Do two models tell the same story? Their clusters against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.plots.canvas import SHARES, add_colour_bar, axes_for, label_ticks, plain
from mcsquared.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["compare"]

Integers = NDArray[np.int64]

WRITTEN_CELLS = 15  # rows and columns up to which every count is written


def compare(first: Any, second: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how the groups of one clustering fall into the clusters of another.

    Rows are the clusters of ``first``, columns those of ``second`` in the order that puts most
    groups along the diagonal. Colours are shares of the row, numbers are groups; above
    stand the variation of information (0: the same partition) and the normalised mutual
    information (1: the same).

    Parameters
    ----------
    first, second : MC2, Posterior or labels
        Labels, one per group, may be of any kind: known classes, say.
    ax : Axes, optional

    Examples
    --------
    >>> import mcsquared as mc2
    >>> ax = mc2.plots.compare(["sea", "sea", "wood", "wood"], [1, 1, 0, 2])
    >>> ax.get_title(loc="left")
    'VI 0.35, NMI 0.80'
    """
    from mcsquared.evaluation import nmi, variation_of_information

    one, one_names = _coded(_labels(first))
    other, other_names = _coded(_labels(second))
    if len(one) != len(other):
        raise InputError(f"second has {len(other)} groups, but first has {len(one)}")
    counts = np.zeros((len(one_names), len(other_names)), np.int64)
    np.add.at(counts, (one, other), 1)
    order = _aligned(counts)
    counts, other_names = counts[:, order], [other_names[column] for column in order]
    n_rows, n_columns = counts.shape
    size = (2.6 + 0.32 * min(n_columns, 30), 1.4 + 0.28 * min(n_rows, 30))
    ax = axes_for(ax, max(4.2, size[0]), max(2.6, size[1]))
    shares = counts / counts.sum(axis=1, keepdims=True)
    image = ax.imshow(
        shares, cmap=SHARES, vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest"
    )
    if max(counts.shape) <= WRITTEN_CELLS:
        _write_counts(ax, counts, shares)
    turned = max(map(len, other_names)) > 3 and n_columns > 4
    label_ticks(ax.yaxis, one_names, most=30, fontsize=8)
    label_ticks(ax.xaxis, other_names, most=30, fontsize=8, rotation=90 if turned else 0)
    ax.set_ylabel("first")
    ax.set_xlabel("second")
    distance, information = variation_of_information(one, other), nmi(one, other)
    ax.set_title(f"VI {distance:.2f}, NMI {information:.2f}", fontsize=9, loc="left")
    add_colour_bar(ax, image, "share of the row")
    return ax


def _labels(given: Any) -> NDArray[Any]:
    """Return the labels of a model, or labels themselves."""
    if isinstance(given, Posterior):
        return given.labels
    labels = np.asarray(getattr(given, "labels_", given))
    if labels.ndim != 1 or not labels.size:
        raise InputError(
            f"a {type(given).__name__} was given to compare, "
            "but a fitted model, a Posterior or one label per group is wanted"
        )
    return labels


def _coded(labels: NDArray[Any]) -> tuple[Integers, list[str]]:
    """Return labels as 0, 1, ... and their names; names that are no numbers by size."""
    values = labels if labels.dtype.kind in "iub" else labels.astype(str)
    names, code, count = np.unique(values, return_inverse=True, return_counts=True)
    code = code.reshape(-1)
    if names.dtype.kind not in "iub":
        order = np.argsort(-count, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        names, code = names[order], place[code]
    return code.astype(np.int64), [plain(name, 18) for name in names]


def _aligned(counts: Integers) -> Integers:
    """Return the order of columns with the most groups along the diagonal.

    Rows and columns are paired one to one; a column left over follows the row it shares most with.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(counts, maximize=True)
    place = counts.argmax(axis=0) + 0.5
    together = counts[rows, columns] > 0
    place[columns[together]] = rows[together]
    return np.argsort(place, kind="stable")


def _write_counts(ax: Axes, counts: Integers, shares: NDArray[np.float64]) -> None:
    for row, column in np.argwhere(counts > 0):
        colour = "white" if shares[row, column] > 0.55 else "black"
        text = str(counts[row, column])
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
