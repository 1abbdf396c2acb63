"""What all figures share: axes, colours, readable labels, and the posterior they show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COLOURS",
    "GREY",
    "SHARES",
    "add_colour_bar",
    "axes_for",
    "chosen",
    "label_ticks",
    "line_style",
    "plain",
    "posterior_of",
    "topic_names",
]

# Okabe and Ito's colours without yellow and black, which vanish on white and on dark paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#8C8C8C"
SHARES = "Blues"  # one hue from light to dark, for all shares and probabilities
LINE_STYLES = ("-", "--", "-.", ":")
MOST_LABELS = 40


def posterior_of(model: Any) -> Posterior:
    """Return the posterior of a fitted model, or what is one already."""
    if isinstance(model, Posterior):
        return model
    posterior = getattr(model, "posterior_", None)
    if isinstance(posterior, Posterior):
        return posterior
    raise InputError(
        f"model is a {type(model).__name__} without a posterior, "
        "but a fitted MC2 or a Posterior is wanted"
    )


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw on: those given, or new ones of a size in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            'matplotlib is not installed; pip install "mcsquared[plot]" brings it'
        ) from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def chosen(argument: str, value: Any, n: int, default: int) -> NDArray[np.int64]:
    """Return the ids that a user asked for, one or several; by default the first ones."""
    if value is None:
        return np.arange(min(n, default))
    ids = np.atleast_1d(np.asarray(value))
    if ids.ndim != 1 or not ids.size or ids.dtype.kind not in "iu":
        raise InputError(f"{argument} is {value!r:.60}, but a whole number or a list is wanted")
    if ids.min() < 0 or ids.max() >= n:
        wrong = ids[(ids < 0) | (ids >= n)][0]
        raise InputError(
            f"{argument} holds {wrong}, but whole numbers from 0 to {n - 1} are wanted"
        )
    return ids.astype(np.int64)


def plain(text: Any, longest: int = 28) -> str:
    """Return text from data as matplotlib shows it letter by letter, cut if it is long.

    >>> plain("a  name that does not end", 12)
    'a name that…'
    """
    line = " ".join(str(text).split())
    line = line if len(line) <= longest else line[: longest - 1] + "…"
    # Between two dollar signs matplotlib reads mathematics.
    return line.replace("$", r"\$")


def topic_names(posterior: Posterior, topics: Iterable[int], n_words: int = 3) -> list[str]:
    """Return a name for each topic: its number, and its first words where it has any."""
    if posterior.vocabulary is None:
        return [f"topic {topic}" for topic in topics]
    from mcsquared.posterior.tables import top_words

    words = top_words(posterior, n_words)
    return [
        f"{topic}: " + ", ".join(plain(word, 16) for word in posterior.vocabulary[words[topic]])
        for topic in topics
    ]


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of the series with this number, different for 24 of them."""
    dashes = LINE_STYLES[number // len(COLOURS) % len(LINE_STYLES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes}


def label_ticks(axis: Any, labels: Iterable[Any], most: int = MOST_LABELS, **options: Any) -> None:
    """Label 0, 1, ... of an axis; of many, evenly spaced ones."""
    names = [str(label) for label in labels]
    step = max(1, -(-len(names) // most))
    axis.set_ticks(range(0, len(names), step), names[::step], **options)


def add_colour_bar(ax: Axes, image: Any, label: str) -> None:
    """Put the scale of an image's colours beside it."""
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.05, pad=0.02)
