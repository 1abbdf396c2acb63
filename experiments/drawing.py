"""Colours, labels and access to records, shared by the figures of several experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "COLOUR_OF_LAM",
    "LABEL_OF_LAM",
    "MEASURES",
    "PALETTE",
    "mean_and_error",
    "paper_value",
    "rows_of",
]

# The colour-blind safe palette of Okabe and Ito.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
COLOUR_OF_LAM = {"inf": PALETTE[0], "learnt": PALETTE[1]}
LABEL_OF_LAM = {"inf": "λ = ∞", "learnt": "λ learned"}
MEASURES = {"purity": "purity", "nmi": "NMI", "rand_index": "Rand index", "f_score": "F-score"}


def mean_and_error(row: Mapping[str, Any], measure: str) -> tuple[float | None, float | None]:
    """Return the mean and standard error of a measure in a row of a summary; None if missing."""
    found = row.get(measure)
    if not isinstance(found, dict):
        return None, None
    return found["mean"], found["standard_error"]


def paper_value(record: Mapping[str, Any], row: Mapping[str, Any], measure: str) -> float | None:
    """Return the paper's number for a row, or None."""
    for known in record["paper"]["rows"]:
        named = [key for key in record["keys"] if key in known]
        if all(known[key] == row.get(key) for key in named) and measure in known:
            return float(known[measure])
    return None


def rows_of(record: Mapping[str, Any], **keys: Any) -> list[dict[str, Any]]:
    """Return the rows of a summary with these keys."""
    return [
        row
        for row in record["summary"]
        if all(row.get(name) == value for name, value in keys.items())
    ]
