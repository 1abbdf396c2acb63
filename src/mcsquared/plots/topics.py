"""Topics as their most probable words, or as images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.arrays import Floats
from mcsquared.checks import check_integer
from mcsquared.errors import InputError
from mcsquared.plots.canvas import COLOURS, Ids, axes_for, label_text, select
from mcsquared.posterior.posterior import posterior_of
from mcsquared.posterior.tables import top_words, topic_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TOPICS_PER_ROW = 4
IMAGES_PER_ROW = 8


def topic_words(
    model: Any, topics: Ids = None, n_words: int = 8, *, ax: Axes | None = None
) -> Axes:
    """Draw the most probable words of topics, one block of bars per topic.

    Bars are proportional to the words' probabilities, scaled to the largest one of the topic.

    Parameters
    ----------
    model : MC2 or Posterior
    topics : int or list of int, optional
        By default the twelve largest.

    Examples
    --------
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee", "bee"], ["car", "van"]] * 5)
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.topic_words(model, n_words=2)
    """
    posterior = posterior_of(model)
    if posterior.vocabulary is None:
        raise InputError(
            "topic_words requires words, but the content of this model is vectors; "
            "topic_images draws vectors that are images"
        )
    words = top_words(posterior, check_integer("n_words", n_words, 1))
    ids = select("topics", topics, posterior.n_topics, 12)
    n_words = words.shape[1]
    n_columns = min(TOPICS_PER_ROW, len(ids))
    n_rows = -(-len(ids) // n_columns)
    ax = axes_for(ax, 2.3 * n_columns, 0.24 * n_rows * (n_words + 2))
    weights = topic_weights(posterior)
    for number, topic in enumerate(ids):
        row, column = divmod(number, n_columns)
        top = row * (n_words + 2)
        probability = posterior.components[topic, words[topic]]
        y = top + 1 + np.arange(n_words)
        length = 0.92 * probability / max(probability.max(), 1e-300)
        ax.barh(y, length, 0.86, left=column, color=COLOURS[0], alpha=0.35, linewidth=0)
        heading = f"topic {topic} ({weights[topic]:.1%})"
        ax.text(column, top, heading, va="center", weight="bold", fontsize=9)
        for bar, word in zip(y.tolist(), posterior.vocabulary[words[topic]], strict=True):
            ax.text(column + 0.02, bar, label_text(word, 24), va="center", fontsize=9)
    ax.set_xlim(-0.02, n_columns)
    ax.set_ylim(n_rows * (n_words + 2) - 1.3, -0.7)
    ax.set_axis_off()
    return ax


def topic_images(
    model: Any, shape: tuple[int, int], topics: Ids = None, *, ax: Axes | None = None
) -> Axes:
    """Draw topics whose words or dimensions are the pixels of an image.

    Each image has its own scale: the darkest pixel is the most probable word.

    Parameters
    ----------
    model : MC2 or Posterior
    shape : (int, int)
        Height and width; pixels are in row-major order.
    topics : int or list of int, optional
        By default the 32 largest.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.topic_images(model, shape=(7, 5))
    """
    posterior = posterior_of(model)
    components = posterior.components
    height, width = _checked_shape(shape, components.shape[1])
    ids = select("topics", topics, posterior.n_topics, 32)
    n_columns = min(IMAGES_PER_ROW, len(ids))
    n_rows = -(-len(ids) // n_columns)
    gap = max(1, round(0.2 * min(height, width)))
    head = max(gap, round(0.35 * height))
    mosaic = np.full((n_rows * (height + head), n_columns * (width + gap) - gap), np.nan)
    inches = max(1.5, 0.95 * n_columns)
    ax = axes_for(ax, inches, max(1.0, inches * mosaic.shape[0] / mosaic.shape[1]))
    from matplotlib.patches import Rectangle

    for number, topic in enumerate(ids):
        row, column = divmod(number, n_columns)
        top, left = row * (height + head) + head, column * (width + gap)
        image = _scaled(components[topic].reshape(height, width))
        mosaic[top : top + height, left : left + width] = image
        middle = left + (width - 1) / 2
        ax.text(middle, top - 0.5 - head / 2, str(topic), ha="center", va="center", fontsize=9)
        corner = (left - 0.5, top - 0.5)
        ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor="#B0B0B0", lw=0.6))
    ax.imshow(mosaic, cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.set_axis_off()
    return ax


def _checked_shape(shape: Any, n_pixels: int) -> tuple[int, int]:
    sides = np.asarray(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.min() < 1:
        raise InputError(f"shape must be the height and width of an image, got {shape!r}")
    height, width = int(sides[0]), int(sides[1])
    if height * width != n_pixels:
        raise InputError(f"shape must have {n_pixels} pixels, got {(height, width)}")
    return height, width


def _scaled(image: Floats) -> Floats:
    """Scale an image to [0, 1]; 0 stays 0 if no value is negative."""
    low = min(float(image.min()), 0.0)
    spread = float(image.max()) - low
    return (image - low) / spread if spread > 0 else np.zeros_like(image)
