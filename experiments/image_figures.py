"""Figures of ``images``: bars of agreement with known classes, and t-SNE maps of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .drawing import LABEL_OF_LAM, MEASURES, PALETTE, mean_and_error, rows_of

__all__ = ["draw_measures", "draw_planes"]


def draw_measures(record: Mapping[str, Any]) -> dict[str, Any]:
    """Plot figure 5: four panels with a bar per method; whiskers from min to max."""
    names = dict.fromkeys(row["set"] for row in record["summary"])
    return {f"measures-{name}": _measures_of(record, name) for name in names}


def _measures_of(record: Mapping[str, Any], name: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 6.8), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    bars = _bars(record, name)
    for panel, (measure, title) in zip(panels, MEASURES.items(), strict=True):
        for position, (_, rows, colour) in enumerate(bars):
            mean, error = mean_and_error(rows["mean"], measure)
            panel.bar(position, mean, color=colour)
            if "min" in rows:
                low, high = (mean_and_error(rows[end], measure)[0] for end in ("min", "max"))
                error = np.array([[mean - low], [high - mean]])
            if error is not None:
                panel.errorbar(position, mean, yerr=error, color="black", capsize=3, lw=1)
        panel.set_title(title, fontsize=10)
        panel.set_xticks(
            range(len(bars)), [label for label, _, _ in bars], rotation=35, ha="right", fontsize=8
        )
    whiskers = "whiskers: standard error over seeds, or minimum and maximum over 10 to 40 clusters"
    figure.suptitle(f"Agreement with the known classes of {name}; {whiskers}", fontsize=10)
    return figure


def _bars(record: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, Any], str]]:
    """Return the label, rows by statistic and colour of every clustering method."""
    bars: dict[str, tuple[dict[str, Any], str]] = {}
    for row in rows_of(record, set=name):
        if not isinstance(row.get("purity"), dict):
            continue
        label, colour = row["method"], "#999999"
        if row["method"] == "MC2":
            used = "no context" if row["contexts"] == "none" else row["contexts"]
            label = f"MC2, {used}, {LABEL_OF_LAM[row['lam']]}"
            colour = PALETTE[0] if row["lam"] == "inf" else PALETTE[1]
        statistic = row["clusters"].split(", ")[-1]
        rows = bars.setdefault(label, ({}, colour))[0]
        rows["mean" if statistic == "found" else statistic] = row
    return [(label, rows, colour) for label, (rows, colour) in bars.items()]


def draw_planes(record: Mapping[str, Any]) -> dict[str, Any]:
    """Plot figure 6: seven clusters of MC2 with context in two dimensions, a panel per λ."""
    from matplotlib.figure import Figure

    arrays = record["arrays"]
    labels = [key.removesuffix(": plane") for key in arrays if key.endswith(": plane")]
    figures = {}
    for name in dict.fromkeys(label.rsplit(" ", 1)[0] for label in labels):
        figure = Figure(figsize=(10.5, 5.2), layout="constrained")
        panels = figure.subplots(1, len(LABEL_OF_LAM))
        for panel, (lam, name_of_lam) in zip(panels, LABEL_OF_LAM.items(), strict=True):
            label = f"{name} {lam}"
            _plane(panel, arrays, label)
            n_clusters = arrays[f"{label}: n_clusters"]
            panel.set_title(f"{name_of_lam}: 7 of {n_clusters} clusters", fontsize=10)
        figure.suptitle(f"{name} by t-SNE of content and context", fontsize=10)
        figures[f"tsne-{name}"] = figure
    return figures


def _plane(panel: Any, arrays: Mapping[str, Any], label: str) -> None:
    points = np.array(arrays[f"{label}: plane"])
    cluster, truth = np.array(arrays[f"{label}: cluster"]), np.array(arrays[f"{label}: class"])
    for number, colour in zip(dict.fromkeys(cluster.tolist()), PALETTE, strict=False):
        inside = cluster == number
        classes, counts = np.unique(truth[inside], return_counts=True)
        share = counts.max() / inside.sum()
        panel.scatter(
            *points[inside].T,
            s=12,
            color=colour,
            label=f"{number}: {share:.0%} {classes[counts.argmax()]}",
        )
    panel.set_xticks([])
    panel.set_yticks([])
    panel.legend(fontsize=7, title="cluster: most common class", title_fontsize=7, loc="best")
