"""Contexts in the blocked sampler: parameters drawn for every cluster, and sums counted anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.gammas import ROWS, draw_gamma_rows
from mcsquared.kernels.cpu.given_contexts import (
    ContextParameters,
    normalise_log_rows,
    sum_contexts,
)
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.blocked.own import log_likelihood_of_groups
from mcsquared.samplers.blocked.weights import Key
from mcsquared.samplers.workers import Workers, add_in_order
from mcsquared.state import State

__all__ = [
    "SMALLEST_SHAPE",
    "GroupCounts",
    "count_groups",
    "draw_contexts",
    "draw_few",
    "take_groups",
]

SMALLEST_SHAPE = 1e-30  # the logarithms of a smaller one's variates are beyond the largest float


def draw_contexts(
    state: State, observations: Observations, key: Key, workers: Workers
) -> ContextParameters:
    """Draw φ_k of every context and cluster slot from its posterior; empty ones from the prior."""
    naturals, extra = draw_few(state, observations, key)
    return ContextParameters(
        naturals=naturals,
        log_categories=_log_categories(state, observations, key, workers),
        extra=extra,
    )


def draw_few(
    state: State, observations: Observations, key: Key
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw φ_k of the contexts that are no bags: ``naturals`` and ``extra`` of the parameters."""
    rng = key.generator(Step.CONTEXTS)
    statistics, start = state.counts.context_statistics, observations.dense.stat_start
    naturals = np.zeros((int(start[-1]), len(statistics)))
    for c, family in enumerate(observations.dense_families):
        columns = slice(start[c], start[c + 1])
        parameters = family.sample_parameters(statistics[:, columns], rng)
        naturals[columns] = family.natural_parameters(parameters).T
    return naturals, _extra(state, observations, rng)


def _log_categories(
    state: State, observations: Observations, key: Key, workers: Workers
) -> NDArray[np.float32]:
    """Draw the log-probabilities of the categories of all bags: (categories, cluster slots).

    The bags lie in one table, so that no two cells share a number, and each begins at a row where
    the kernel can begin.
    """
    sizes = [family.n_stats for family in observations.bag_families]
    start = np.cumsum([0, *(-(-size // ROWS) * ROWS for size in sizes)])
    bags = [range(first, first + size) for first, size in zip(start.tolist(), sizes, strict=False)]
    row_of_category = np.concatenate([np.zeros(0, np.int64), *bags])
    n_slots = len(state.counts.category_counts)
    counts = np.zeros((start[-1], n_slots), np.int32)
    counts[row_of_category] = state.counts.category_counts.T
    logs = np.empty(counts.shape, np.float32)
    for rows, concentration in zip(bags, observations.bags.concentration, strict=True):
        _draw_bag(rows, max(float(concentration), SMALLEST_SHAPE), counts, logs, key, workers)
    return logs[row_of_category]


def _draw_bag(
    rows: range,
    concentration: float,
    counts: NDArray[np.int32],
    logs: NDArray[np.float32],
    key: Key,
    workers: Workers,
) -> None:
    """Draw the log-probabilities of one bag's categories into its rows."""
    n_slots = counts.shape[1]

    def draw(first: int, last: int) -> None:
        draw_gamma_rows(
            rows.start + first * ROWS,
            min(rows.start + last * ROWS, rows.stop),
            n_slots,
            counts.reshape(-1),
            concentration,
            int(Step.CATEGORIES),
            *key,
            True,
            logs.reshape(-1),
        )

    def normalise(first: int, last: int) -> None:
        normalise_log_rows(rows.start, rows.stop, first, last, logs)

    workers.map(-(-len(rows) // ROWS), draw)
    # Few parts: columns side by side share the lines of memory that are read.
    workers.map(n_slots, normalise, n_parts=1)


def _extra(
    state: State, observations: Observations, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return log F(x_j | φ_k) of families without a kernel: (n_groups, cluster slots) or (0, 0)."""
    if not observations.generic_contexts:
        return np.zeros((0, 0))
    return log_likelihood_of_groups(state, observations, rng)


class GroupCounts(NamedTuple):
    """Groups of every cluster slot, and the sums of their contexts."""

    groups: NDArray[np.int32]  # (cluster slots,)
    categories: NDArray[np.int32]  # (categories of all bags, cluster slots)
    totals: NDArray[np.int64]  # (cluster slots, bags)
    statistics: NDArray[np.float64]  # (n_chunks, cluster slots, statistics of dense contexts)


def count_groups(state: State, observations: Observations, workers: Workers) -> GroupCounts:
    """Count the groups of every cluster and sum their contexts, after the groups have moved."""
    layout = observations.layout
    n_slots, n_chunks = len(state.counts.groups_in_cluster), len(layout.chunk_start) - 1
    n_statistics = int(observations.dense.stat_start[-1])
    statistics = np.zeros((n_chunks, n_slots, n_statistics))

    def run(first: int, last: int) -> tuple[NDArray, NDArray, NDArray]:
        groups = np.zeros(n_slots, np.int32)
        categories = np.zeros((observations.n_categories, n_slots), np.int32)
        totals = np.zeros((n_slots, len(observations.bag_families)), np.int64)
        sum_contexts(
            first,
            last,
            layout.chunk_start,
            state.cluster_of_group,
            observations.dense,
            observations.bags,
            groups,
            statistics,
            categories,
            totals,
        )
        return groups, categories, totals

    parts = workers.map(n_chunks, run, n_parts=1)
    groups, categories, totals = (sum(part) for part in zip(*parts, strict=True))
    return GroupCounts(groups, categories, totals, statistics)


def take_groups(state: State, found: GroupCounts) -> None:
    """Take over new counts of groups and contexts."""
    counts = state.counts
    counts.groups_in_cluster = found.groups
    counts.category_counts = found.categories.T
    counts.category_totals = found.totals
    counts.context_statistics = add_in_order(found.statistics)
