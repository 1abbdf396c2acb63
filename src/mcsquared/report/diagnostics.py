"""Diagnostics section of the report: traces, R-hat, effective sample sizes, truncation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.model.parameters import DECLARED
from mcsquared.posterior.diagnostics import SCALARS

if TYPE_CHECKING:
    from mcsquared.posterior import Posterior

LABELS = {
    "n_clusters": "occupied clusters",
    "n_topics": "occupied topics",
    "log_joint": "log joint density",
    **{name: declared.label for name, declared in DECLARED.items()},
}
_MAX_POINTS = 800  # points of a trace per chain
# Truncation note of a fit; its wording differs between versions.
_TRUNCATION = re.compile(
    r"chain (\d+) \D*truncation \D*(\d+) clusters and (\d+) topics\D+(\d+) and (\d+)\D*"
)


def diagnostic_data(posterior: Posterior, bounds: dict[str, int | None]) -> dict[str, Any]:
    """Return the data of the diagnostics section.

    Parameters
    ----------
    posterior : Posterior
    bounds : dict
        ``max_clusters`` and ``max_topics`` of the estimator, None if unbounded.
    """
    rows = posterior.diagnostics().to_dict("records")
    return {
        "scalars": [{**row, "label": LABELS[str(row["scalar"])]} for row in rows],
        "traces": _traces(posterior),
        "kept": _kept_counts(posterior),
        "truncation": _truncation(posterior.notes),
        "bounds": bounds,
        "n_chains": len(np.unique(posterior.chain_of_draw)),
        "n_draws": posterior.n_draws,
    }


def _traces(posterior: Posterior) -> list[dict[str, Any]]:
    """Return one thinned series per scalar and chain, with the sweep of the first kept draw."""
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
            step = -(-len(part) // _MAX_POINTS)
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
    """Return the histograms of the numbers of clusters and topics in the kept draws."""
    clusters = [len(np.unique(draw)) for draw in posterior.cluster_of_group]
    topics = [draw.n_topics for draw in posterior.parameters]
    return {
        name: [part.tolist() for part in np.unique(np.array(n, np.int64), return_counts=True)]
        for name, n in (("clusters", clusters), ("topics", topics))
    }


def _truncation(notes: list[str]) -> list[dict[str, int]]:
    """Return each chain's truncation and its largest numbers of clusters and topics."""
    names = ("chain", "cluster_slots", "topic_slots", "clusters", "topics")
    found = (_TRUNCATION.fullmatch(note) for note in notes)
    return [dict(zip(names, map(int, match.groups()), strict=True)) for match in found if match]
