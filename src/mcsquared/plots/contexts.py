"""Distributions of contexts in topics and in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.plots.canvas import (
    COLOURS,
    GREY,
    Ids,
    axes_for,
    label_text,
    line_style,
    select,
    topic_names,
)
from mcsquared.posterior.contexts import context_display
from mcsquared.posterior.exports import plural
from mcsquared.posterior.posterior import posterior_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALL_GROUPS = "all groups"
MIN_INTEGER_RANGE = 6.0  # ticks are integers if the range of numbers is larger
N_SERIES = 5  # topics or clusters by default


def topic_over_context(
    model: Any, name: str, topics: Ids = None, *, n_values: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw the distribution of a context over the tokens of each topic, p(context | topic).

    Lines for numbers, dates and counts; bars for categories, bags and booleans; means with
    standard deviations for vectors.

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
    series = dict(zip(ids.tolist(), topic_names(posterior, ids), strict=True))
    table = posterior.context_given_topic(name)
    return _draw(table, context_display(posterior, name), series, n_values, ax)


def context_of_cluster(
    model: Any, name: str, clusters: Ids = None, *, n_values: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw the distribution of a context in clusters, and in all groups in grey.

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
    series: dict[Any, str] = {k: f"{k} ({plural(sizes[k], 'group')})" for k in ids.tolist()}
    if display != "vector":
        labels = posterior.labels[posterior.contexts[name].observed]
        observed = np.bincount(labels, minlength=posterior.n_clusters)
        overall = table.to_numpy() @ (observed / max(observed.sum(), 1))
        table, series = table.assign(**{ALL_GROUPS: overall}), series | {ALL_GROUPS: ALL_GROUPS}
    return _draw(table, display, series, n_values, ax)


def _draw(
    table: pd.DataFrame, display: str | None, series: dict[Any, str], n_values: int, ax: Axes | None
) -> Axes:
    """Draw columns of a table, given with their labels, and a legend."""
    ids, names = list(series), list(series.values())
    of = table.columns.names[0]
    if display == "vector":
        ax = axes_for(ax, 6.4, 3.2)
        _draw_moments(table, ids, names, ax)
    elif display in ("curve", "counts"):
        ax = axes_for(ax, 6.4, 3.2)
        _draw_curves(table[ids], display, names, ax)
    else:
        rows = _most_probable(table[ids], n_values)
        height = 1.1 + len(rows) * max(0.3, 0.11 * (len(ids) + 1))
        ax = axes_for(ax, 6.4, min(height, 12.0))
        _draw_bars(rows, names, ax)
    # Outside the axes, where it hides nothing.
    ax.legend(title=of, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _series_style(name: str, number: int) -> dict[str, Any]:
    if name == ALL_GROUPS:
        return {"color": GREY, "linestyle": (0, (1, 1)), "zorder": 1}
    return line_style(number)


def _draw_curves(table: pd.DataFrame, display: str, names: Sequence[str], ax: Axes) -> None:
    x = table.index.to_numpy()
    counts, dates = display == "counts", x.dtype.kind == "M"
    marker = "." if counts and len(x) <= 60 else None
    for number, (values, label) in enumerate(zip(table.to_numpy().T, names, strict=True)):
        ax.plot(x, values, lw=1.8, marker=marker, label=label, **_series_style(label, number))
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
    highest = table.drop(columns=ALL_GROUPS, errors="ignore").max(axis=1).to_numpy()
    order = np.argsort(-highest, kind="stable")[: max(int(n_values), 1)]
    if table.index.dtype == bool or table.index.inferred_type == "boolean":
        order = np.sort(order)
    return table.iloc[order]


def _draw_bars(table: pd.DataFrame, names: Sequence[str], ax: Axes) -> None:
    n_series = table.shape[1]
    thickness = 0.84 / n_series
    position = np.arange(len(table))
    for number, (values, label) in enumerate(zip(table.to_numpy().T, names, strict=True)):
        y = position + (number - (n_series - 1) / 2) * thickness
        hatch = None if number < len(COLOURS) else "//"
        colour = _series_style(label, number)["color"]
        ax.barh(y, values, thickness, color=colour, hatch=hatch, label=label, linewidth=0)
    ax.set_yticks(position, [label_text(value) for value in table.index], fontsize=8)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xlabel("probability")
    ax.set_ylabel(label_text(table.index.name, 40))


def _draw_moments(table: pd.DataFrame, ids: Sequence[Any], names: Sequence[str], ax: Axes) -> None:
    """Draw the mean of each dimension with one standard deviation as error bar."""
    dimension = np.arange(len(table))
    offset = 0.6 / max(len(ids), 1)
    for number, (one, label) in enumerate(zip(ids, names, strict=True)):
        x = dimension + (number - (len(ids) - 1) / 2) * offset
        mean, sd = table[(one, "mean")].to_numpy(), table[(one, "sd")].to_numpy()
        colour = COLOURS[number % len(COLOURS)]
        ax.errorbar(x, mean, yerr=sd, fmt="o", ms=4, capsize=2, color=colour, label=label)
    ax.set_xticks(dimension)
    ax.set_xlabel("dimension")
    ax.set_ylabel("mean ± standard deviation")
