"""Whether the run can be trusted: traces, R-hat, sample sizes, room for clusters and topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.model.parameters import DECLARED
from mcsquared.posterior.diagnostics import SCALARS

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

__all__ = ["LABELS", "diagnostic_data"]

LABELS = {
    "n_clusters": "clusters in use",
    "n_topics": "topics in use",
    "log_joint": "log joint density",
    **{name: declared.label for name, declared in DECLARED.items()},
}
_MOST_POINTS = 800  # of a trace, per chain
_TRUNCATION = re.compile(
    r"chain (\d+) has grown its truncation to (\d+) clusters and (\d+) topics; "
    r"in use were (\d+) and (\d+) at most"
)


def diagnostic_data(posterior: Posterior, bounds: dict[str, int | None]) -> dict[str, Any]:
    """Return the diagnostics' part of the page.

    Parameters
    ----------
    bounds : dict
        The user's ``max_clusters`` and ``max_topics``, None where there is none.
    """
    table = posterior.diagnostics()
    rows = []
    for row in table.to_dict("records"):
        scalar = str(row["scalar"])
        rows.append({**row, "scalar": scalar, "label": LABELS.get(scalar, scalar)})
    return {
        "scalars": rows,
        "traces": _traces(posterior),
        "kept": _kept_counts(posterior),
        "truncation": _truncation(posterior.notes),
        "bounds": bounds,
        "n_chains": len(np.unique(posterior.chain_of_draw)),
        "n_draws": posterior.n_draws,
    }


def _traces(posterior: Posterior) -> list[dict[str, Any]]:
    """Return a series per scalar and chain, thinned evenly, with the sweep of the first draw."""
    trace = posterior.trace
    if not len(trace):
        return []
    chains = [(int(number), part) for number, part in trace.groupby("chain", sort=True)]
    series = []
    for name in SCALARS:
        if name not in trace or not np.isfinite(trace[name].to_numpy(np.float64)).any():
            continue
        lines = []
        for number, part in chains:
            step = -(-len(part) // _MOST_POINTS)
            kept = part["kept"].to_numpy(bool)
            sweep = part["sweep"].to_numpy()
            values = part[name].to_numpy(np.float64)
            lines.append(
                {
                    "chain": number,
                    "sweeps": sweep[::step].tolist(),
                    "values": [float(f"{x:.6g}") for x in values[::step]],
                    "first_kept": int(sweep[np.argmax(kept)]) if kept.any() else None,
                }
            )
        series.append({"name": name, "label": LABELS[name], "chains": lines})
    return series


def _kept_counts(posterior: Posterior) -> dict[str, list[list[int]]]:
    """Return how many of the kept draws have how many clusters, and topics."""
    clusters = [len(np.unique(draw)) for draw in posterior.cluster_of_group]
    counts = {"clusters": clusters, "topics": [draw.n_topics for draw in posterior.parameters]}
    histograms = {}
    for name, found in counts.items():
        values, times = np.unique(np.array(found, np.int64), return_counts=True)
        histograms[name] = [values.tolist(), times.tolist()]
    return histograms


def _truncation(notes: list[str]) -> list[dict[str, int]]:
    """Return, of each chain that says so, its slots for clusters and topics and those in use."""
    names = ("chain", "cluster_slots", "topic_slots", "clusters", "topics")
    found = (_TRUNCATION.fullmatch(note) for note in notes)
    return [dict(zip(names, map(int, match.groups()), strict=True)) for match in found if match]
