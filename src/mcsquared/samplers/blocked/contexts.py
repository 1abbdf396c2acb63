"""Contexts in the blocked sampler: parameters drawn for every cluster, and sums counted anew."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.gammas import ROWS, draw_gamma_rows_at
from mcsquared.kernels.cpu.given_contexts import (
    ContextParameters,
    sum_contexts,
    sum_exponentials,
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

ROWS_OF_CHUNK = 8 * ROWS  # of categories: sums are by chunk, whoever draws it
FEW_CELLS, FEW_GROUPS = 20_000, 20_000
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

    The bags share one step: the numbers of each begin behind those of the one before, at a row
    where the kernel can begin.
    """
    counts = np.ascontiguousarray(state.counts.category_counts.T)
    logs = np.empty(counts.shape, np.float32)
    sizes = [family.n_stats for family in observations.bag_families]
    first_row = _before(sizes)
    chunks = [-(-size // ROWS_OF_CHUNK) for size in sizes]
    first_chunk, first_number = _before(chunks), _before([-(-size // ROWS) for size in sizes])
    shapes = np.maximum(observations.bags.concentration, SMALLEST_SHAPE)
    largest, total = np.empty((2, first_chunk[-1], counts.shape[1]))

    def draw(first: int, last: int) -> None:
        for bag, part in _parts(first_chunk, first, last):
            rows = slice(first_row[bag], first_row[bag + 1])
            of_bag = slice(first_chunk[bag], first_chunk[bag + 1])
            draw_gamma_rows_at(
                first_number[bag] * ROWS,
                part.start * ROWS_OF_CHUNK,
                min(part.stop * ROWS_OF_CHUNK, sizes[bag]),
                counts.shape[1],
                counts[rows].reshape(-1),
                float(shapes[bag]),
                int(Step.CATEGORIES),
                *key,
                True,
                logs[rows].reshape(-1),
            )
            sums = (largest[of_bag], total[of_bag])
            sum_exponentials(part.start, part.stop, ROWS_OF_CHUNK, logs[rows], *sums)

    workers.map(first_chunk[-1], draw, is_small=counts.size < FEW_CELLS)
    for bag in range(len(sizes)):
        of_bag = slice(first_chunk[bag], first_chunk[bag + 1])
        highest = largest[of_bag].max(axis=0)
        sums = (total[of_bag] * np.exp(largest[of_bag] - highest)).sum(axis=0)
        log_sum = highest + np.log(sums)
        rows = logs[first_row[bag] : first_row[bag + 1]]
        # In doubles: logs may be large, and what is left of them small.
        np.subtract(rows, log_sum, out=rows, casting="same_kind")
    return logs


def _before(sizes: list[int]) -> list[int]:
    """Return how many come before each, and before the end."""
    return [0, *np.cumsum(sizes, dtype=np.int64).tolist()]


def _parts(start: list[int], first: int, last: int) -> Iterator[tuple[int, range]]:
    """Yield the bags that ``first:last`` of a row of them touches, and which part of each."""
    for bag, (begin, end) in enumerate(pairwise(start)):
        if max(first, begin) < min(last, end):
            yield bag, range(max(first, begin) - begin, min(last, end) - begin)


def _extra(
    state: State, observations: Observations, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return log F(x_j | φ_k) of families without a kernel: (n_groups, cluster slots) or (0, 0)."""
    if not observations.python_contexts:
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

    small = observations.n_groups < FEW_GROUPS
    found, *others = workers.map(n_chunks, run, n_parts=1, is_small=small)
    for other in others:
        for total, part in zip(found, other, strict=True):
            total += part
    groups, categories, totals = found
    return GroupCounts(groups, categories, totals, statistics)


def take_groups(state: State, found: GroupCounts) -> None:
    """Take over new counts of groups and contexts."""
    counts = state.counts
    counts.groups_in_cluster = found.groups
    counts.category_counts = found.categories.T
    counts.category_totals = found.totals
    counts.context_statistics = add_in_order(found.statistics)
