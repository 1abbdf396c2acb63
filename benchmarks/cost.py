"""What a sweep costs by the size of the data: time step by step, memory, bytes on the wire.

Each step of a sweep is a sum of a few products of sizes, whose coefficients are learned from timed
sweeps. Pure functions; nothing here is timed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.ours import FINITE, INFINITE

__all__ = [
    "STEPS",
    "Costs",
    "Sizes",
    "formula",
    "learn_costs",
    "n_chunks",
    "peak_bytes",
    "predict",
    "predict_steps",
    "wire_bytes",
]

# Steps of a sweep and what each grows with, see docs/scaling.md for why.
STEPS: dict[str, dict[str, tuple[str, ...]]] = {
    INFINITE: {
        "ψ": ("V·M",),
        "clusters": ("V·K·M", "V·K", "E·K", "J·K"),
        "topics": ("V·M", "E", "cells·M", "N"),
        "counts": ("J", "C·K"),
        "rest": ("1", "V·M", "K·M", "C·K"),
    },
    FINITE: {
        "ψ": ("V·M",),
        "clusters": ("J·K", "J·M", "N", "K·M"),
        "topics": ("N·M", "E·M·far", "N"),
        "counts": ("V·M", "N", "J", "C·K"),
        "rest": ("1", "V·M", "K·M", "C·K"),
    },
}
NEAR = 6e6  # bytes of a table, half of which is found in caches: best for the sets of the fit
SMALL_SHARE = 0.05  # of a sweep: a step below it need not be told as exactly as others

Costs = dict[str, dict[str, float]]  # seconds by step and term


@dataclass(frozen=True)
class Sizes:
    """What a user knows of a corpus and of the slots that the engine has for it.

    ``entries`` are the different words of every group, all groups together; ``clusters`` and
    ``topics`` are slots, the empty ones included; ``categories`` are those of all contexts.
    """

    groups: float
    tokens: float
    entries: float
    words: float
    clusters: float
    topics: float
    categories: float = 0

    @property
    def cells(self) -> float:
        """About how many pairs of a word and a cluster hold tokens: at most all, or the entries."""
        pairs = self.words * self.clusters
        return self.entries * pairs / max(self.entries + pairs, 1)

    @property
    def far(self) -> float:
        """About which share of the rows of ψ must come from beyond the caches that are near."""
        table = 4.0 * self.words * self.topics
        return table / (table + NEAR)

    def product(self, term: str) -> float:
        """Return a term, a product of letters: ``V·K·M``."""
        letters = {
            "1": 1.0,
            "J": self.groups,
            "N": self.tokens,
            "E": self.entries,
            "V": self.words,
            "K": self.clusters,
            "M": self.topics,
            "C": self.categories,
            "cells": self.cells,
            "far": self.far,
        }
        return math.prod(letters[letter] for letter in term.split("·"))


def learn_costs(engine: str, timed: Sequence[tuple[Sizes, Mapping[str, float]]]) -> Costs:
    """Return coefficients of every step, none below 0, with the least squares of relative errors.

    Parameters
    ----------
    timed : list of (Sizes, seconds by step)
    """
    costs: Costs = {}
    for step, terms in STEPS[engine].items():
        seconds = np.array([found[step] for _, found in timed])
        whole = np.array([sum(found.values()) for _, found in timed])
        weight = 1.0 / np.maximum(seconds, SMALL_SHARE * whole)
        table = np.array([[sizes.product(term) for term in terms] for sizes, _ in timed])
        table, wanted = table * weight[:, None], seconds * weight
        # Columns differ by many orders of magnitude: the solver's tolerance is for ones like 1.
        scale = np.maximum(np.linalg.norm(table, axis=0), 1e-300)
        found, _ = nnls(table / scale, wanted)
        costs[step] = {
            term: float(c) for term, c in zip(terms, found / scale, strict=True) if c > 0.0
        }
    return costs


def predict_steps(costs: Costs, sizes: Sizes) -> dict[str, float]:
    """Return the CPU-seconds of every step of a sweep on one core."""
    return {
        step: sum(cost * sizes.product(term) for term, cost in terms.items())
        for step, terms in costs.items()
    }


def predict(costs: Costs, sizes: Sizes) -> float:
    """Return the CPU-seconds of a sweep on one core."""
    return sum(predict_steps(costs, sizes).values())


def formula(terms: Mapping[str, float]) -> str:
    """Return the terms of a step with their nanoseconds, in three digits."""
    parts = []
    for term, cost in terms.items():
        value = float(f"{1e9 * cost:.3g}")
        number = f"{value:,.0f}" if value >= 100 else f"{value:g}"
        parts.append(number if term == "1" else f"{number} {term}")
    return " + ".join(parts)


def n_chunks(sizes: Sizes) -> int:
    """Return into how many indivisible parts the engine cuts the groups."""
    from mcsquared.observations.layout import n_chunks_for

    return n_chunks_for(int(sizes.groups), int(sizes.tokens))


def wire_bytes(engine: str, sizes: Sizes, workers: int, statistics: int = 0) -> float:
    """Return what a cluster sends and receives in a sweep, all workers together.

    Parameters
    ----------
    statistics : int
        Of contexts that are no categories: 3 for a number.
    """
    table, pairs = sizes.words * sizes.topics, sizes.clusters * sizes.topics
    of_contexts = 4 * sizes.categories * sizes.clusters
    out = 4 * table + 8 * pairs + of_contexts + 8 * statistics * sizes.clusters
    back = of_contexts
    by_chunk = 8.0 * statistics * sizes.clusters
    if engine == INFINITE:
        out += 4 * pairs
        back += 4 * sizes.words * sizes.clusters
    else:
        back += 4 * table + 8 * pairs
        by_chunk += 8
    return workers * (out + back) + n_chunks(sizes) * by_chunk


def peak_bytes(sizes: Sizes, contexts: int) -> float:
    """Return the memory of a fit beyond what the libraries take, by the engine's own measures."""
    from mcsquared.fitting.disk import BYTES_PER_CELL
    from mcsquared.observations.disk import BYTES_PER_CONTEXT, BYTES_PER_GROUP, BYTES_PER_TOKEN

    of_group = BYTES_PER_GROUP + BYTES_PER_CONTEXT * contexts
    return (
        BYTES_PER_TOKEN * sizes.tokens
        + of_group * sizes.groups
        + BYTES_PER_CELL * sizes.words * sizes.topics
    )
