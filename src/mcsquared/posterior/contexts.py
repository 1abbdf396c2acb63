"""Distributions of contexts in clusters and topics, and of topics given a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import softmax

from mcsquared.arrays import Floats
from mcsquared.corpus import Column
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.registry import display_of

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior


_GRID_POINTS = 101
_POINTS_PER_STEP = 9  # averaged around each grid point, so that narrow peaks are not missed
_MAX_COUNT = 1000  # up to here, the grid contains every integer


def context_of(posterior: Posterior, name: str) -> tuple[Column, ConjugateFamily]:
    """Return the training column and the family of a context.

    A base measure and a concentration that are learned are those of the representative draw.
    """
    if name not in posterior.priors.contexts:
        names = ", ".join(map(repr, posterior.priors.contexts)) or "none"
        level_names = [units.name for units in posterior.units if name in units.contexts]
        hint = (
            f", a context of the level {level_names[0]!r}: see Posterior.level"
            if level_names
            else ""
        )
        raise InputError(f"name must be a context of this model ({names}), got {name!r}{hint}")
    draws = posterior.parameters
    shapes = draws[posterior.representative].category_shapes if draws else None
    return posterior.contexts[name], posterior.priors.context_given(name, shapes)


def context_display(posterior: Posterior, name: str) -> str | None:
    """Return how a context is displayed: "curve", "counts", "categories", "vector" or None."""
    column, family = context_of(posterior, name)
    return display_of(family, column.kind)


def context_statistics(posterior: Posterior, name: str) -> Floats:
    """Return a context's statistics in the consensus clusters: float64 (n_clusters, n_stats)."""
    column, family = context_of(posterior, name)
    return family.statistics_by_cluster(
        column.observations(), posterior.labels[column.observed], posterior.n_clusters
    )


def topic_given_context(posterior: Posterior, name: str, value: Any) -> pd.DataFrame:
    """Return the topic probabilities of a group given one context.

    p(m | x)  ∝  Σ_k p(k) p(x | k) τ_km over the clusters k, with p(k) their share of the groups.
    """
    column, family = context_of(posterior, name)
    observation = _observation(column, name, value)
    statistics = context_statistics(posterior, name)
    log_weight = np.log(np.bincount(posterior.labels) / posterior.n_groups)
    log_weight += family.log_predictive(observation, statistics)[0]
    probability = softmax(log_weight) @ posterior.topic_given_cluster.to_numpy()
    table = pd.DataFrame({"topic": np.arange(len(probability)), "probability": probability})
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def _observation(column: Column, name: str, value: Any) -> Any:
    """Return a value as an observation, in the form of the training column."""
    from mcsquared.corpus import Corpus

    # A list of integers would be inferred as a bag.
    values: Any = np.array([value]) if column.kind == "vector" else [value]
    try:
        single = Corpus(sparse.csr_matrix((1, 1), dtype=np.int32), {name: values})
        conformed = single.contexts[name].conform(column)
    except InputError as error:
        raise InputError(f"value {value!r:.60} is invalid: {error}") from error
    if not conformed.observed.any():
        raise InputError(f"value must occur in the context {name!r}, got {value!r}")
    return conformed.observations()


def context_table(posterior: Posterior, name: str, weights: Floats, axis: str) -> pd.DataFrame:
    """Return the posterior predictive distribution of a context in mixtures of clusters.

    Each column is a mixture; ``weights`` is (n_clusters, n_columns), ``axis`` names the columns.
    """
    column, family = context_of(posterior, name)
    statistics = context_statistics(posterior, name)
    columns = pd.RangeIndex(weights.shape[1], name=axis)
    display = context_display(posterior, name)
    if display == "curve":
        points = _number_grid(column)
        values, index = _densities(family, points, statistics), column.display(points)
    elif display == "counts":
        points = _counts_grid(column)
        values, index = softmax(family.log_predictive(points, statistics), axis=0), points
    elif display == "categories" and column.categories is None:
        index = np.array([False, True])
        values = np.exp(family.log_predictive(column.default_family().outcomes(), statistics))
    elif display == "categories" and family.outcomes() is not None:
        values = np.asarray(family.mean_observation(statistics)).T
        named = column.n_categories == len(values)
        index = column.categories if named else np.arange(len(values))
    elif display == "vector" and family.has_predictive:
        return _moments(family, statistics, weights, axis)
    else:
        raise InputError(
            f"context {name!r} has no table: the user-defined family {family.name!r} does not "
            f"support it for columns of kind {column.kind!r}"
        )
    return pd.DataFrame(values @ weights, pd.Index(index, name=name), columns)


def _number_grid(column: Column) -> Floats:
    """Return evenly spaced points over the observed range, extended by 10% on both sides."""
    values = column.observations()
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5 * max(1.0, abs(low) * 1e-6), high + 0.5 * max(1.0, abs(high) * 1e-6)
    margin = 0.1 * (high - low)
    return np.linspace(low - margin, high + margin, _GRID_POINTS)


def _counts_grid(column: Column) -> Floats:
    """Return integers from 0 to about twice the largest observation, all or 101 of them."""
    values = column.observations()
    last = np.ceil(2.0 * (values.max() if len(values) else 1.0)) + 10.0
    if last <= _MAX_COUNT:
        return np.arange(last + 1.0)
    return np.unique(np.round(np.linspace(0.0, last, _GRID_POINTS)))


def _densities(family: ConjugateFamily, points: Floats, statistics: Floats) -> Floats:
    """Return densities (n_points, n_clusters) that integrate to 1 by the trapezoidal rule."""
    step = points[1] - points[0]
    offsets = (np.arange(_POINTS_PER_STEP) - _POINTS_PER_STEP // 2) / _POINTS_PER_STEP * step
    around = (points[:, None] + offsets).ravel()
    density = np.exp(family.log_predictive(around, statistics))
    density = density.reshape(len(points), _POINTS_PER_STEP, -1).mean(axis=1)
    area = np.trapezoid(density, points, axis=0)
    uniform = np.full_like(density, 1.0 / (points[-1] - points[0]))
    return np.divide(density, area, out=uniform, where=area > 0)


def _moments(
    family: ConjugateFamily, statistics: Floats, weights: Floats, axis: str
) -> pd.DataFrame:
    """Return mean and sd of each dimension: one row per dimension, two columns per mixture."""
    dimensions = family.predictive(statistics)
    means = np.stack([dimension.mean for dimension in dimensions], axis=1)
    variances = np.square(np.stack([dimension.sd for dimension in dimensions], axis=1))
    mean = weights.T @ means
    centred = means[None, :, :] - mean[:, None, :]
    variance = weights.T @ variances + np.einsum("cm,mcd->md", weights, np.square(centred))
    moments = np.stack([mean, np.sqrt(variance)], axis=1).reshape(-1, len(dimensions)).T
    pairs = [range(weights.shape[1]), ["mean", "sd"]]
    columns = pd.MultiIndex.from_product(pairs, names=[axis, None])
    return pd.DataFrame(moments, pd.RangeIndex(len(dimensions), name="dimension"), columns)
