"""Cost of a sweep by the size of the data: time of each step, memory.

The time of each step is a sum of products of sizes, whose coefficients are fitted to timed sweeps.
Nothing is timed in this module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.engines import FINITE, INFINITE

# Steps of a sweep and the terms of their cost, explained in docs/scaling.md.
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
CACHE_BYTES = 6e6  # half of a table of this size is cached: the best value for the fitted data
SMALL_SHARE = 0.05  # of a sweep; smaller steps may have larger relative errors

Costs = dict[str, dict[str, float]]  # seconds by step and term


@dataclass(frozen=True)
class Sizes:
    """Sizes of a corpus and of the state.

    ``entries`` are the distinct words of each group, summed over groups; ``clusters`` and
    ``topics`` are slots, including empty ones; ``categories`` are those of all contexts.
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
        """Approximate number of (word, cluster) pairs with tokens: at most V·K and at most E."""
        pairs = self.words * self.clusters
        return self.entries * pairs / max(self.entries + pairs, 1)

    @property
    def far(self) -> float:
        """Approximate share of the rows of ψ that are not cached."""
        table = 4.0 * self.words * self.topics
        return table / (table + CACHE_BYTES)

    def product(self, term: str) -> float:
        """Return the value of a term such as ``V·K·M``."""
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


def fit_costs(engine: str, timed: Sequence[tuple[Sizes, Mapping[str, float]]]) -> Costs:
    """Fit the coefficients of every step by non-negative least squares of relative errors.

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
        table, target = table * weight[:, None], seconds * weight
        # Columns differ by orders of magnitude; the tolerance of the solver assumes unit scale.
        scale = np.maximum(np.linalg.norm(table, axis=0), 1e-300)
        found, _ = nnls(table / scale, target)
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
    """Return the terms of a step with their nanoseconds, with three digits."""
    parts = []
    for term, cost in terms.items():
        value = float(f"{1e9 * cost:.3g}")
        number = f"{value:,.0f}" if value >= 100 else f"{value:g}"
        parts.append(number if term == "1" else f"{number} {term}")
    return " + ".join(parts)


def n_chunks(sizes: Sizes) -> int:
    """Return the number of chunks of groups."""
    from mcsquared.observations.layout import n_chunks_for

    return n_chunks_for(int(sizes.groups), int(sizes.tokens))


def peak_bytes(sizes: Sizes, contexts: int) -> float:
    """Return the peak memory of a fit in addition to the libraries, as estimated by mcsquared."""
    from mcsquared.fitting.disk import BYTES_PER_CELL
    from mcsquared.observations.disk import bytes_of_groups

    group_bytes = float(bytes_of_groups(sizes.groups, sizes.tokens, contexts, width=0))
    return group_bytes + BYTES_PER_CELL * sizes.words * sizes.topics
