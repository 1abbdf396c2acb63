"""Prevalence of topics by the value of a context, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from mcsquared.arrays import Floats, Int64s
from mcsquared.errors import InputError
from mcsquared.posterior.contexts import context_of
from mcsquared.posterior.effects import BLOCK_SIZE, summarise
from mcsquared.posterior.names import topic_names
from mcsquared.posterior.tables import align_topics

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

_N_REPLICATES = 40  # of the groups of each draw, in the Bayesian bootstrap
_MAX_INTEGER_BINS, _N_BINS = 60, 16  # of integers; of other numbers
_INTERVAL = (0.025, 0.975)


class _ValueGroups(NamedTuple):
    """Values of a context, and the groups that have them."""

    values: list[Any]
    groups: sparse.csr_matrix  # 1 for each group with the value, (n_values, n_groups)

    def take(self, rows: ArrayLike) -> _ValueGroups:
        """Return some of the values."""
        rows = np.asarray(rows)
        return _ValueGroups([self.values[i] for i in rows], self.groups[rows])


class Prevalence(NamedTuple):
    """Topic shares by value of a context with 95% intervals, each (n_values, n_topics)."""

    values: list[Any]
    n_groups: Int64s  # (n_values,)
    share: Floats
    low: Floats
    high: Floats


def prevalence_of(posterior: Posterior, name: str, n_values: int | None = None) -> Prevalence:
    """Return the shares of the topics shown in tables, by the ``n_values`` most frequent values."""
    by_value = _groups_by_value(posterior, name)
    n_groups = np.asarray(by_value.groups.sum(axis=1)).ravel().astype(np.int64)
    if n_values is not None:
        rows = np.argsort(-n_groups, kind="stable")[:n_values]
        by_value = by_value.take(rows)
        n_groups = n_groups[rows]
    n_topics = posterior.n_listed_topics
    result = np.zeros((3, len(n_groups), n_topics))
    n_samples = _N_REPLICATES * len(posterior.parameters)
    block = max(BLOCK_SIZE // max(n_samples * n_topics, 1), 1)
    for first in range(0, len(n_groups), block):
        rows = np.arange(first, min(first + block, len(n_groups)))
        result[:, rows] = summarise(_samples(posterior, by_value.take(rows)), _INTERVAL)
    return Prevalence(by_value.values, n_groups, *result)


def prevalence_table(posterior: Posterior, name: str) -> pd.DataFrame:
    """Return one row per value and topic; see `Posterior.prevalence`."""
    prevalence = prevalence_of(posterior, name)
    n_values, n_topics = prevalence.share.shape
    names = topic_names(posterior)[:n_topics]
    return pd.DataFrame(
        {
            "value": pd.Series(prevalence.values).repeat(n_topics).to_numpy(),
            "n_groups": np.repeat(prevalence.n_groups, n_topics),
            "topic": np.tile(np.arange(n_topics), n_values),
            "name": names * n_values,
            "share": prevalence.share.ravel(),
            "low": prevalence.low.ravel(),
            "high": prevalence.high.ravel(),
        }
    )


def difference_table(posterior: Posterior, name: str, first: Any, second: Any) -> pd.DataFrame:
    """Return one row per topic; see `Posterior.prevalence_difference`."""
    by_value = _groups_by_value(posterior, name)
    rows = _position(by_value, "first", first), _position(by_value, "second", second)
    samples = _samples(posterior, by_value.take(rows))
    difference, low, high = summarise(samples[:, :1] - samples[:, 1:], _INTERVAL)[:, 0]
    n_topics = posterior.n_listed_topics
    return pd.DataFrame(
        {
            "topic": np.arange(n_topics),
            "name": topic_names(posterior)[:n_topics],
            "difference": difference,
            "low": low,
            "high": high,
        }
    )


def _position(by_value: _ValueGroups, argument: str, value: Any) -> int:
    """Return the row of a value; for a number or a date, the row of the closest bin."""
    if value in by_value.values:
        return by_value.values.index(value)
    try:
        distance = [abs(value - other) for other in by_value.values]
    except TypeError:
        listed = ", ".join(map(repr, by_value.values[:5]))
        raise InputError(
            f"{argument} must be a value of the context ({listed}, ...), got {value!r}"
        ) from None
    return int(np.argmin(distance))


def _samples(posterior: Posterior, by_value: _ValueGroups) -> Floats:
    """Return samples of the topic shares of each value: (n_samples, n_values, n_topics).

    In each draw with parameters, a group has the topic shares of its cluster. Groups are weighted
    at random (Bayesian bootstrap), so the samples vary with the groups observed as well; the
    weights are the same in every call. Topics without a counterpart in a draw are NaN.
    """
    rng = np.random.default_rng(posterior.seed)
    n_topics = posterior.n_listed_topics
    samples, n_draws = [], len(posterior.parameters)
    draws = (posterior.parameter_weights, posterior.parameters, posterior.counterparts)
    for draw_weight, draw, topic in zip(*draws, strict=True):
        drawn = draw.topic_given_cluster()
        n_clusters = len(drawn)
        shares = align_topics(drawn, topic, n_topics, fill=np.nan)
        cluster = posterior.cluster_of_group[draw.index]
        for _ in range(round(_N_REPLICATES * draw_weight) if n_draws > 1 else _N_REPLICATES):
            group_weights = rng.standard_exponential(posterior.n_groups)
            weight_in_cluster = sparse.csr_matrix(
                (group_weights, (np.arange(len(cluster)), cluster)), (len(cluster), n_clusters)
            )
            by_cluster = (by_value.groups @ weight_in_cluster).toarray()
            totals = np.maximum(by_cluster.sum(axis=1, keepdims=True), 1e-300)
            samples.append((by_cluster / totals) @ shares)
    return np.array(samples)


def _groups_by_value(posterior: Posterior, name: str) -> _ValueGroups:
    """Return the values of a category or a bag, or bins of numbers or dates."""
    column, _ = context_of(posterior, name)
    if column.kind == "bag":
        groups = sparse.csr_matrix(column.values.T, dtype=np.float64)
        groups.data[:] = 1.0
        return _ValueGroups(np.asarray(column.categories).tolist(), groups)
    if column.kind == "vector":
        raise InputError(f"name must not be a context of vectors, got {name!r}")
    rows = np.flatnonzero(column.observed)
    if column.kind in ("category", "boolean"):
        values = [False, True]
        if column.categories is not None:
            values = np.asarray(column.categories).tolist()
        codes = np.asarray(column.values)[rows].astype(np.int64)
    else:
        numbers = np.asarray(column.values, np.float64)[rows]
        codes = bin_of_values(numbers)
        # The mean of each bin, in the column's units.
        values = list(column.display(np.bincount(codes, weights=numbers) / np.bincount(codes)))
    ones = np.ones(len(rows))
    shape = (len(values), posterior.n_groups)
    return _ValueGroups(values, sparse.csr_matrix((ones, (codes, rows)), shape))


def bin_of_values(values: Floats) -> Int64s:
    """Return the bin of each number, int64 (n,); no bin is empty."""
    if not len(values):
        return np.zeros(0, np.int64)
    low, high = values.min(), values.max()
    if (values == np.round(values)).all() and high - low < _MAX_INTEGER_BINS:
        edges = np.arange(low - 0.5, high + 1.0)
    else:
        # Quantiles, so that no bin has only a few groups.
        edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _N_BINS + 1)))
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    return np.unique(bins, return_inverse=True)[1].astype(np.int64)
