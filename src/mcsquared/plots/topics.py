"""Figures of topics as words and images, and of contexts in topics and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mcsquared.arrays import Floats
from mcsquared.checks import check_integer
from mcsquared.errors import InputError
from mcsquared.markup import plural
from mcsquared.palette import COLOURS, GREY
from mcsquared.plots.canvas import Ids, axes_for, label_text, line_style, select, topic_labels
from mcsquared.posterior.contexts import context_display
from mcsquared.posterior.posterior import posterior_of
from mcsquared.posterior.tables import token_share_of_topic, top_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOPICS_PER_ROW = 4
IMAGES_PER_ROW = 8
OVERALL = "all groups"
MIN_INTEGER_RANGE = 6.0  # ticks are integers if the range of numbers is larger
N_SERIES = 5  # topics or clusters by default


def topic_words(
    model: Any, topics: Ids = None, n_words: int = 8, *, ax: Axes | None = None
) -> Axes:
    """Plot the most probable words of topics, one block of bars per topic.

    Bars are proportional to the words' probabilities, scaled to the largest one of the topic.

    Parameters
    ----------
    model : MC2 or Posterior
    topics : int or list of int, optional
        By default the twelve largest.
    n_words : int
        Maximum number of words per topic.

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
            "topic_images plots vectors that are images"
        )
    words = top_words(posterior, check_integer("n_words", n_words, 1))
    ids = select("topics", topics, posterior.n_topics, 12)
    n_words = words.shape[1]
    n_columns = min(TOPICS_PER_ROW, len(ids))
    n_rows = -(-len(ids) // n_columns)
    ax = axes_for(ax, 2.3 * n_columns, 0.24 * n_rows * (n_words + 2))
    weights, occurs = token_share_of_topic(posterior), posterior.words_in_topic
    for number, topic in enumerate(ids):
        row, column = divmod(number, n_columns)
        top = row * (n_words + 2)
        listed = words[topic][occurs[topic, words[topic]]]
        probability = posterior.components[topic, listed]
        y = top + 1 + np.arange(len(listed))
        length = 0.92 * probability / probability.max(initial=1e-300)
        ax.barh(y, length, 0.86, left=column, color=COLOURS[0], alpha=0.35, linewidth=0)
        heading = f"topic {topic} ({weights[topic]:.1%})"
        ax.text(column, top, heading, va="center", weight="bold", fontsize=9)
        for bar, word in zip(y.tolist(), posterior.vocabulary[listed], strict=True):
            ax.text(column + 0.02, bar, label_text(word, 24), va="center", fontsize=9)
    ax.set_xlim(-0.02, n_columns)
    ax.set_ylim(n_rows * (n_words + 2) - 1.3, -0.7)
    ax.set_axis_off()
    return ax


def topic_images(
    model: Any, shape: tuple[int, int], topics: Ids = None, *, ax: Axes | None = None
) -> Axes:
    """Plot topics whose words or dimensions are the pixels of an image.

    Each image has its own scale: the darkest pixel is the most probable word, or the dimension with
    the largest mean.

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
    header = max(gap, round(0.35 * height))
    mosaic = np.full((n_rows * (height + header), n_columns * (width + gap) - gap), np.nan)
    inches = max(1.5, 0.95 * n_columns)
    ax = axes_for(ax, inches, max(1.0, inches * mosaic.shape[0] / mosaic.shape[1]))
    from matplotlib.patches import Rectangle

    for number, topic in enumerate(ids):
        row, column = divmod(number, n_columns)
        top, left = row * (height + header) + header, column * (width + gap)
        image = _scaled(components[topic].reshape(height, width))
        mosaic[top : top + height, left : left + width] = image
        middle = left + (width - 1) / 2
        ax.text(middle, top - 0.5 - header / 2, str(topic), ha="center", va="center", fontsize=9)
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


def topic_over_context(
    model: Any, name: str, topics: Ids = None, *, n_values: int = 10, ax: Axes | None = None
) -> Axes:
    """Plot the distribution of a context over the tokens of each topic, p(context | topic).

    Numbers, dates and counts are plotted as lines, categories, bags and booleans as bars, and
    vectors as means with standard deviations.

    Parameters
    ----------
    model : MC2 or Posterior
    name : str
        The context.
    topics : int or list of int, optional
        By default the five largest.
    n_values : int
        Maximum number of categories: those most probable in one of the topics.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.topic_over_context(model, "position", topics=[0, 1])
    """
    posterior = posterior_of(model)
    ids = select("topics", topics, posterior.n_topics, N_SERIES)
    label_of_series = dict(zip(ids.tolist(), topic_labels(posterior, ids), strict=True))
    table = posterior.context_given_topic(name)
    return _draw(table, context_display(posterior, name), label_of_series, n_values, ax)


def context_of_cluster(
    model: Any, name: str, clusters: Ids = None, *, n_values: int = 10, ax: Axes | None = None
) -> Axes:
    """Plot the distribution of a context in clusters, and in all groups in grey.

    Parameters
    ----------
    model : MC2 or Posterior
    name : str
        The context.
    clusters : int or list of int, optional
        By default the five largest.
    n_values : int
        Maximum number of categories: those most probable in one of the clusters.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.context_of_cluster(model, "position", clusters=0)
    """
    posterior = posterior_of(model)
    ids = select("clusters", clusters, posterior.n_clusters, N_SERIES)
    table = posterior.context_given_cluster(name)
    display = context_display(posterior, name)
    sizes = np.bincount(posterior.labels).tolist()
    label_of_series: dict[Any, str] = {
        k: f"{k} ({plural(sizes[k], 'group')})" for k in ids.tolist()
    }
    if display != "vector":
        labels = posterior.labels[posterior.contexts[name].observed]
        observed = np.bincount(labels, minlength=posterior.n_clusters)
        overall = table.to_numpy() @ (observed / max(observed.sum(), 1))
        table = table.assign(**{OVERALL: overall})
        label_of_series |= {OVERALL: OVERALL}
    return _draw(table, display, label_of_series, n_values, ax)


def _draw(
    table: pd.DataFrame,
    display: str | None,
    label_of_series: dict[Any, str],
    n_values: int,
    ax: Axes | None,
) -> Axes:
    """Plot the columns of a table that have a label as series, with a legend."""
    ids, names = list(label_of_series), list(label_of_series.values())
    if display == "vector":
        ax = axes_for(ax, 6.4, 3.2)
        _plot_moments(table, ids, names, ax)
    elif display in ("curve", "counts"):
        ax = axes_for(ax, 6.4, 3.2)
        _plot_curves(table[ids], display, names, ax)
    else:
        rows = _most_probable(table[ids], n_values)
        height = 1.1 + len(rows) * max(0.3, 0.11 * (len(ids) + 1))
        ax = axes_for(ax, 6.4, min(height, 12.0))
        _plot_bars(rows, names, ax)
    # Outside the axes, where it hides nothing.
    title = table.columns.names[0]
    ax.legend(title=title, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _series_style(series: Any) -> dict[str, Any]:
    """Return the look of a topic or cluster by its number, or that of all groups."""
    if series == OVERALL:
        return {"color": GREY, "linestyle": (0, (1, 1)), "zorder": 1}
    return line_style(int(series))


def _plot_curves(table: pd.DataFrame, display: str, names: Sequence[str], ax: Axes) -> None:
    x = table.index.to_numpy()
    counts, dates = display == "counts", x.dtype.kind == "M"
    marker = "." if counts and len(x) <= 60 else None
    for series, values, label in zip(table.columns, table.to_numpy().T, names, strict=True):
        ax.plot(x, values, lw=1.8, marker=marker, label=label, **_series_style(series))
    ax.set_ylim(bottom=0.0)
    ax.margins(x=0.0)
    if not (counts or dates) and x[-1] - x[0] > MIN_INTEGER_RANGE:
        ax.locator_params(axis="x", integer=True)  # no fractions of years
    ax.set_xlabel(label_text(table.index.name, 60))
    ax.set_ylabel("probability" if counts else "density per day" if dates else "density")
    if dates:
        ax.tick_params(axis="x", labelrotation=30)


def _most_probable(table: pd.DataFrame, n_values: int) -> pd.DataFrame:
    """Return the rows with the largest probabilities in any column."""
    highest = table.drop(columns=OVERALL, errors="ignore").max(axis=1).to_numpy()
    order = np.argsort(-highest, kind="stable")[: max(int(n_values), 1)]
    if table.index.dtype == bool or table.index.inferred_type == "boolean":
        order = np.sort(order)
    return table.iloc[order]


def _plot_bars(table: pd.DataFrame, names: Sequence[str], ax: Axes) -> None:
    n_series = table.shape[1]
    thickness = 0.84 / n_series
    position = np.arange(len(table))
    for number, (series, label) in enumerate(zip(table.columns, names, strict=True)):
        y = position + (number - (n_series - 1) / 2) * thickness
        colour = _series_style(series)["color"]
        ax.barh(y, table[series], thickness, color=colour, label=label, linewidth=0)
    ax.set_yticks(position, [label_text(value) for value in table.index], fontsize=8)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xlabel("probability")
    ax.set_ylabel(label_text(table.index.name, 40))


def _plot_moments(table: pd.DataFrame, ids: Sequence[Any], names: Sequence[str], ax: Axes) -> None:
    """Plot the mean of each dimension with one standard deviation as an error bar."""
    dimension = np.arange(len(table))
    offset = 0.6 / max(len(ids), 1)
    for number, (series, label) in enumerate(zip(ids, names, strict=True)):
        x = dimension + (number - (len(ids) - 1) / 2) * offset
        mean, sd = table[(series, "mean")].to_numpy(), table[(series, "sd")].to_numpy()
        colour = _series_style(series)["color"]
        ax.errorbar(x, mean, yerr=sd, fmt="o", ms=4, capsize=2, color=colour, label=label)
    ax.set_xticks(dimension)
    ax.set_xlabel("dimension")
    ax.set_ylabel("mean ± standard deviation")
