"""Figures of ``topic-over-time``: years of topics, a cluster with its authors, ranks of authors."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from .drawing import COLOUR_OF_LAM, LABEL_OF_LAM, PALETTE, mean_and_error, rows_of

__all__ = ["draw_clusters", "draw_ranks", "draw_topics"]


def _arrays(record: Mapping[str, Any], part: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the stored arrays whose names start with ``part``, by data set and λ."""
    fits: dict[tuple[str, str], dict[str, Any]] = {}
    for key, values in record["arrays"].items():
        label, name = key.split(": ", 1)
        if name.startswith(part):
            data, lam = label.rsplit(" ", 1)
            fits.setdefault((data, lam), {})[name.removeprefix(part)] = values
    return fits


def draw_topics(record: Mapping[str, Any]) -> dict[str, Any]:
    """Plot figure 4: p(year | topic) and the years of its words."""
    figures = {}
    for (data, lam), arrays in _arrays(record, "").items():
        if "years" in arrays:
            figures[f"when-{data}-{lam}"] = _topics_of(f"{data}, {LABEL_OF_LAM[lam]}", arrays)
    return figures


def _topics_of(title: str, arrays: Mapping[str, Any]) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    curves = arrays["p(year | topic)"]
    n_lines = max(1, -(-len(curves) // 3))
    figure = Figure(figsize=(11.0, 2.7 * n_lines + 0.4), layout="constrained")
    panels = figure.subplots(n_lines, 3, sharex=True, squeeze=False).ravel()
    for panel, topic, words, names in zip(
        panels, curves, arrays["p(year | words)"], arrays["words"], strict=False
    ):
        panel.bar(
            arrays["years"], words, width=0.8, color="#CCCCCC", label="tokens of these ten words"
        )
        panel.plot(arrays["years"], arrays["p(year)"], ":", color="black", label="all tokens")
        panel.plot(
            arrays["years"], topic, "-", color=PALETTE[1], lw=2, label="p(year | topic), MC2"
        )
        panel.set_title("\n".join(textwrap.wrap(names, 52)), fontsize=8)
        panel.set_ylim(bottom=0)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
        panel.tick_params(labelsize=8)
    for panel in panels[len(curves) :]:
        panel.set_axis_off()
    panels[0].legend(fontsize=7, frameon=False)
    figure.suptitle(
        f"Topics whose years differ most from those of all tokens: {title}", fontsize=10
    )
    return figure


def draw_clusters(record: Mapping[str, Any]) -> dict[str, Any]:
    """Plot figure 3: authors, titles and topics of a cluster."""
    return {
        f"cluster-{data}-{lam}": _cluster(f"{data}, {LABEL_OF_LAM[lam]}", arrays)
        for (data, lam), arrays in _arrays(record, "cluster ").items()
    }


def _cluster(title: str, arrays: Mapping[str, Any]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 7.4), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, height_ratios=[1.5, 1.1, 1.9])
    names, shares = zip(*arrays["authors"], strict=True)
    top.bar(range(len(names)), shares, color=PALETTE[0])
    top.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=8)
    top.set_ylabel(f"p({arrays['who']} | cluster)", fontsize=8)
    top.set_title(f"A cluster of {arrays['size']} groups: {title}", fontsize=10)
    middle.set_axis_off()
    lines = [textwrap.shorten(name, 95, placeholder=" ...") for name in arrays["titles"]]
    middle.text(0.0, 1.0, "\n".join(lines), va="top", fontsize=8.5, linespacing=1.5)
    bottom.set_axis_off()
    for position, (share, words) in enumerate(zip(arrays["shares"], arrays["topics"], strict=True)):
        _write_words(bottom, position, len(arrays["topics"]), share, words)
    return figure


def _write_words(panel: Any, position: int, n_topics: int, share: float, words: list[Any]) -> None:
    """Write the words of a topic below each other, sized by probability."""
    weights = np.sqrt([weight for _, weight in words])
    sizes = 8.0 + 12.0 * weights / weights.max()
    left = position / n_topics
    panel.text(left, 1.0, f"{share:.0%} of its tokens", fontsize=8, color="grey", va="top")
    heights = np.concatenate([[0.0], np.cumsum(sizes)[:-1]]) / sizes.sum()
    for (word, _), size, height in zip(words, sizes, heights, strict=True):
        panel.text(
            left, 0.92 * (1.0 - height), word, fontsize=size, va="top", color=PALETTE[position]
        )


def draw_ranks(record: Mapping[str, Any]) -> dict[str, Any]:
    """Plot how often the author is among the first predictions."""
    from matplotlib.figure import Figure

    rows = rows_of(record, question="who")
    names = list(dict.fromkeys(row["set"] for row in rows))
    if not names:
        return {}
    figure = Figure(figsize=(4.6 * len(names), 3.4), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    measures = [name for name in rows[0] if name.startswith("top_")]
    for panel, data in zip(panels, names, strict=True):
        chosen = [row for row in rows if row["set"] == data]
        for position, row in enumerate(chosen):
            means, errors = zip(*(mean_and_error(row, name) for name in measures), strict=True)
            panel.bar(
                np.arange(len(measures)) + 0.25 * position,
                means,
                0.23,
                yerr=None if None in errors else errors,
                capsize=2,
                color=COLOUR_OF_LAM.get(row["lam"], "#999999"),
                label="by frequency"
                if row["method"] == "frequency"
                else f"MC2, {LABEL_OF_LAM[row['lam']]}",
            )
        labels = [name.replace("_", " ") for name in measures]
        panel.set_xticks(np.arange(len(measures)) + 0.25, labels)
        panel.set_title(f"{data}: {chosen[0]['contexts']}", fontsize=10)
    panels[0].set_ylabel("share of held-out groups")
    panels[0].legend(fontsize=8, frameon=False)
    return {"who": figure}
