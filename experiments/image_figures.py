"""The figures of images: bars of agreement with known classes, and clusters on a plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .drawing import MEASURES, PALETTE, line_of, rows_of

__all__ = ["draw_measures", "draw_planes"]

NAME_OF_LAM = {"inf": "λ = ∞", "learnt": "λ learnt"}


def draw_measures(record: Mapping[str, Any]) -> dict[str, Any]:
    """Draw figure 5: four panels, a bar per method; whiskers from min to max over numbers."""
    names = dict.fromkeys(row["set"] for row in record["summary"])
    return {f"measures-{name}": _measures_of(record, name) for name in names}


def _measures_of(record: Mapping[str, Any], name: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 6.8), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    bars = _bars(record, name)
    for panel, (measure, title) in zip(panels, MEASURES.items(), strict=True):
        for place, (_, rows, colour) in enumerate(bars):
            mean, error = line_of(rows["mean"], measure)
            panel.bar(place, mean, color=colour)
            if "min" in rows:
                reach = [line_of(rows[end], measure)[0] for end in ("min", "max")]
                error = np.array([[mean - reach[0]], [reach[1] - mean]])
            if error is not None:
                panel.errorbar(place, mean, yerr=error, color="black", capsize=3, lw=1)
        panel.set_title(title, fontsize=10)
        panel.set_xticks(
            range(len(bars)), [label for label, _, _ in bars], rotation=35, ha="right", fontsize=8
        )
    whiskers = "whiskers: standard error over seeds, or the least and largest of 10 to 40 clusters"
    figure.suptitle(f"Agreement with the known classes of {name}; {whiskers}", fontsize=10)
    return figure


def _bars(record: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, Any], str]]:
    """Return label, rows by statistic and colour of every method that finds clusters."""
    bars: dict[str, tuple[dict[str, Any], str]] = {}
    for row in rows_of(record, set=name):
        if not isinstance(row.get("purity"), dict):
            continue
        label, colour = row["method"], "#999999"
        if row["method"] == "MC2":
            used = "no context" if row["contexts"] == "none" else row["contexts"]
            label = f"MC2, {used}, {NAME_OF_LAM[row['lam']]}"
            colour = PALETTE[0] if row["lam"] == "inf" else PALETTE[1]
        statistic = row["clusters"].split(", ")[-1]
        rows = bars.setdefault(label, ({}, colour))[0]
        rows["mean" if statistic == "found" else statistic] = row
    return [(label, rows, colour) for label, (rows, colour) in bars.items()]


def draw_planes(record: Mapping[str, Any]) -> dict[str, Any]:
    """Draw figure 6: seven clusters of MC2 with context on a plane, a panel per λ."""
    from matplotlib.figure import Figure

    kept = record["arrays"]
    labels = [key.removesuffix(": plane") for key in kept if key.endswith(": plane")]
    drawn = {}
    for name in dict.fromkeys(label.rsplit(" ", 1)[0] for label in labels):
        figure = Figure(figsize=(10.5, 5.2), layout="constrained")
        panels = figure.subplots(1, len(NAME_OF_LAM))
        for panel, (lam, shown) in zip(panels, NAME_OF_LAM.items(), strict=True):
            label = f"{name} {lam}"
            _plane(panel, kept, label)
            panel.set_title(f"{shown}: 7 of {kept[f'{label}: n_clusters']} clusters", fontsize=10)
        figure.suptitle(f"{name} by t-SNE of content and context", fontsize=10)
        drawn[f"tsne-{name}"] = figure
    return drawn


def _plane(panel: Any, kept: Mapping[str, Any], label: str) -> None:
    places = np.array(kept[f"{label}: plane"])
    cluster, truth = np.array(kept[f"{label}: cluster"]), np.array(kept[f"{label}: class"])
    for number, colour in zip(dict.fromkeys(cluster.tolist()), PALETTE, strict=False):
        inside = cluster == number
        classes, counts = np.unique(truth[inside], return_counts=True)
        share = counts.max() / inside.sum()
        panel.scatter(
            *places[inside].T,
            s=12,
            color=colour,
            label=f"{number}: {share:.0%} {classes[counts.argmax()]}",
        )
    panel.set_xticks([])
    panel.set_yticks([])
    panel.legend(fontsize=7, title="cluster: commonest class", title_fontsize=7, loc="best")
