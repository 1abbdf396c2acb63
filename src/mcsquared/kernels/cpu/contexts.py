"""Contexts of groups seen by a kernel: any number of them, of any family, any of them missing.

Contexts with few statistics (`Dense`) lie side by side in one array; contexts that count categories
(`Bags`) lie one after the other in one list of (category, count) entries.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.predictive import add_observation, log_predictive, prepare
from mcsquared.kernels.cpu.special import add_log, log_rising

__all__ = ["Bags", "ContextCounts", "Dense"]


# Typed: a literal would have every function that takes it compiled once more.
JOIN, LEAVE = np.int64(1), np.int64(-1)


class Dense(NamedTuple):
    """Contexts with few statistics. ``*_start`` bound each context's columns in the flat arrays."""

    kind: np.ndarray  # int64 (n,)
    parameters: np.ndarray  # float64, flat
    parameter_start: np.ndarray  # int64 (n + 1,)
    values: np.ndarray  # float64 (n_groups, columns)
    value_start: np.ndarray  # int64 (n + 1,)
    observed: np.ndarray  # bool (n_groups, n)
    stat_start: np.ndarray  # int64 (n + 1,)
    prepared_start: np.ndarray  # int64 (n + 1,)


class Bags(NamedTuple):
    """Contexts that count categories; categories of all contexts are numbered in one row."""

    start: np.ndarray  # int64 (n, n_groups + 1): entries of a context's group
    category: np.ndarray  # int32 (entries,)
    count: np.ndarray  # type: ignore[assignment]  # int32 (entries,)
    concentration: np.ndarray  # float64 (n,)
    smoothing: np.ndarray  # float64 (n,): concentration × number of categories


class ContextCounts(NamedTuple):
    """What each cluster slot holds of the contexts, and the rows prepared from it."""

    statistics: np.ndarray  # float64 (cluster slots, dense statistics)
    prepared: np.ndarray  # float64 (cluster slots, prepared numbers)
    categories: np.ndarray  # int32 (cluster slots, categories of all bags)
    totals: np.ndarray  # int64 (cluster slots, bags)


@njit(cache=True, error_model="numpy")
def prepare_cluster(k, dense, counts):
    """Prepare the dense contexts of cluster ``k`` after its statistics changed."""
    for c in range(dense.kind.size):
        prepare(
            dense.kind[c],
            dense.parameters[dense.parameter_start[c] : dense.parameter_start[c + 1]],
            counts.statistics[k, dense.stat_start[c] : dense.stat_start[c + 1]],
            counts.prepared[k, dense.prepared_start[c] : dense.prepared_start[c + 1]],
        )


@njit(cache=True, error_model="numpy")
def move_contexts(j, k, sign, dense, bags, counts):
    """Add group ``j``'s contexts to cluster ``k`` (sign 1) or take them out (sign -1)."""
    for c in range(dense.kind.size):
        if dense.observed[j, c]:
            add_observation(
                dense.kind[c],
                counts.statistics[k, dense.stat_start[c] : dense.stat_start[c + 1]],
                dense.values[j, dense.value_start[c] : dense.value_start[c + 1]],
                sign,
            )
    for c in range(bags.concentration.size):
        for e in range(bags.start[c, j], bags.start[c, j + 1]):
            counts.categories[k, bags.category[e]] += sign * bags.count[e]
            counts.totals[k, c] += sign * bags.count[e]


@njit(cache=True, error_model="numpy")
def log_contexts(j, k, dense, bags, counts):
    """Return Σ log p(x_j | contexts of cluster k) over the contexts that group ``j`` has."""
    value = 0.0
    for c in range(dense.kind.size):
        if dense.observed[j, c]:
            value += log_predictive(
                dense.kind[c],
                counts.prepared[k, dense.prepared_start[c] : dense.prepared_start[c + 1]],
                dense.values[j, dense.value_start[c] : dense.value_start[c + 1]],
            )
    for c in range(bags.concentration.size):
        total = 0
        product = 1.0
        for e in range(bags.start[c, j], bags.start[c, j + 1]):
            weight = bags.concentration[c] + counts.categories[k, bags.category[e]]
            if bags.count[e] == 1:
                value, product = add_log(value, product, weight)
            else:
                value += log_rising(weight, bags.count[e])
            total += bags.count[e]
        if total > 0:
            value += math.log(product)
            value -= log_rising(bags.smoothing[c] + counts.totals[k, c], total)
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def rebuild_contexts(cluster_of_group, occupied, dense, bags, counts):
    """Sum the contexts of every cluster anew, group by group, and prepare every slot.

    Float statistics lose digits when observations come and go; the order here is fixed, so a chain
    that begins its sweeps with it has the same statistics whatever happened before.
    """
    counts.statistics[:] = 0.0
    counts.categories[:] = 0
    counts.totals[:] = 0
    for j in range(cluster_of_group.size):
        move_contexts(j, np.int64(cluster_of_group[j]), JOIN, dense, bags, counts)
    for k in range(occupied.size):
        prepare_cluster(k, dense, counts)
