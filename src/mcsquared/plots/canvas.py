"""Helpers shared by all figures: axes, colours, tick labels, selection of topics and clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int64s
from mcsquared.errors import InputError, import_optional
from mcsquared.markup import shorten
from mcsquared.palette import COLOURS
from mcsquared.posterior import Posterior
from mcsquared.posterior.tables import top_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ids = int | Sequence[int] | None  # topics or clusters; None: the largest ones
LINE_STYLES = ("-", "--", "-.", ":")
SERIES_PER_STYLE = 6  # then the dashes or marker change, because many colours are similar
MAX_TICKS = 40


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return ``ax``, or new axes of this size in inches."""
    if ax is not None:
        return ax
    pyplot = import_optional("matplotlib.pyplot", "mcsquared[plot]", "a plot")
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def heat_map(
    ax: Axes, values: NDArray[Any], label: str, vmax: float | None = None, **options: Any
) -> None:
    """Plot a matrix of shares or probabilities with a colour bar."""
    image = ax.imshow(values, cmap="Blues", vmin=0.0, vmax=vmax, interpolation="nearest", **options)
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.05, pad=0.02)


def select(argument: str, value: Any, n: int, default: int) -> Int64s:
    """Return the indices given by ``value``: an integer, a list or a mask.

    None stands for the first ``default`` indices.
    """
    if value is None:
        return np.arange(min(n, default))
    ids = np.atleast_1d(np.asarray(value))
    if ids.dtype == bool and ids.shape == (n,):
        ids = np.flatnonzero(ids)
    if ids.ndim != 1 or not ids.size or ids.dtype.kind not in "iu":
        raise InputError(f"{argument} must be an integer or a list of integers, got {value!r:.60}")
    if ids.min() < 0 or ids.max() >= n:
        invalid = ids[(ids < 0) | (ids >= n)][0]
        raise InputError(f"{argument} must be in 0..{n - 1}, got {invalid}")
    return ids.astype(np.int64)


def label_text(text: Any, limit: int = 28) -> str:
    """Return text on one line, truncated, with dollar signs escaped for matplotlib.

    >>> label_text("a  name that does not end", 12)
    'a name that…'
    """
    return shorten(" ".join(str(text).split()), limit).replace("$", r"\$")


def topic_labels(posterior: Posterior, topics: Iterable[int]) -> list[str]:
    """Return a name for each topic: its number, and its first three words if there are words."""
    if posterior.vocabulary is None:
        return [f"topic {topic}" for topic in topics]
    top, occurs = top_words(posterior, 3), posterior.words_in_topic
    listed = {m: posterior.vocabulary[top[m][occurs[m, top[m]]]] for m in topics}
    return [f"{m}: {', '.join(label_text(w, 16) for w in words)}" for m, words in listed.items()]


def line_style(number: int) -> dict[str, Any]:
    """Return the colour and line style of a series; the colours of the first 48 differ."""
    dashes = LINE_STYLES[number // SERIES_PER_STYLE % len(LINE_STYLES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes}


def label_ticks(axis: Any, labels: Iterable[Any], limit: int = MAX_TICKS, **options: Any) -> None:
    """Label the positions 0, 1, ... of an axis, at most ``limit`` of them, evenly spaced."""
    names = [str(label) for label in labels]
    step = max(1, -(-len(names) // limit))
    axis.set_ticks(range(0, len(names), step), names[::step], **options)
