"""Predictive distributions of a context of new groups, given content and other contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.checks import check_integer
from mcsquared.corpus import Column, Corpus
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.traits import Predictive
from mcsquared.posterior import Posterior
from mcsquared.posterior.contexts import context_of
from mcsquared.prediction.groups import align, known_and_new_probabilities, log_cluster_joint
from mcsquared.prediction.likelihood import column_statistics, row_blocks
from mcsquared.prediction.parameters import parameters_of_draws

if TYPE_CHECKING:
    import pandas as pd


BATCH_GROUPS = 20_000  # limits the array of cluster probabilities over all draws
DEFAULT_TOP = 10
QUANTILE_LEVELS = np.concatenate([[1e-4, 1e-3], np.linspace(0.005, 0.995, 199), [0.999, 0.9999]])
MAX_GRID_POINTS = 4001


def context_distribution(
    posterior: Posterior, corpus: Corpus, name: str, top: int | None = None
) -> pd.DataFrame:
    """Return the predictive distribution of context ``name`` for every group.

        p(x | j)  =  mean over draws of Σ_k p(z_j = k | content and other contexts of j) p(x | k)

    The context itself is not used, even if the corpus has it.

    Parameters
    ----------
    top : int, optional
        Number of most probable values to list, 10 by default; for categories, bags (of which one
        entry is predicted) and booleans.

    Returns
    -------
    pandas.DataFrame
        Categories, bags, booleans: group, rank (from 1), value, probability. Numbers and dates:
        group, mean, sd (of dates: in days), lower, upper (a 90% interval). Vectors: the same per
        dimension.
    """
    import pandas as pd

    column, family = context_of(posterior, name)
    if top is not None:
        check_integer("top", top, 1)
    corpus = align(posterior, corpus)
    outcomes = family.outcomes()
    if outcomes is None and not family.has_predictive:
        raise InputError(
            f"context {name!r} cannot be predicted: its family {type(family).__name__} "
            "defines neither outcomes nor predictive"
        )
    frames = []
    for first in range(0, corpus.n_groups, BATCH_GROUPS):
        batch = corpus[np.arange(first, min(first + BATCH_GROUPS, corpus.n_groups))]
        weights, statistics = _mixture(posterior, batch, name)
        if outcomes is None:
            joined = np.vstack(statistics)
            frames.append(_summarise(weights, family, joined, column, batch.group_names))
            continue
        names = [False, True] if column.categories is None else column.categories
        values = np.asarray(names, dtype=object)
        probability = np.exp(_log_outcomes(posterior, name, outcomes, statistics))[: len(values)]
        frames.append(_rank(weights, probability, values, batch.group_names, top or DEFAULT_TOP))
    return pd.concat(frames, ignore_index=True)


def _log_outcomes(
    posterior: Posterior, name: str, outcomes: Any, statistics: list[Floats]
) -> Floats:
    """Return the log-probability of each outcome in the clusters of all draws."""
    shapes = (draw.category_shapes for draw in posterior.parameters)
    families = [posterior.priors.context_given(name, found) for found in shapes]
    pairs = zip(families, statistics, strict=True)
    return np.hstack([family.log_predictive(outcomes, of_draw) for family, of_draw in pairs])


def _mixture(posterior: Posterior, corpus: Corpus, name: str) -> tuple[Floats, list[Floats]]:
    """Return weights (n_groups, n_components), and statistics of the clusters of each draw."""
    weights, statistics = [], []
    column, family = context_of(posterior, name)
    drawn = parameters_of_draws(posterior)
    for weight, (draw, parameters) in zip(posterior.parameter_weights, drawn, strict=True):
        log_joint = log_cluster_joint(posterior, draw, parameters, corpus, leave_out=name)
        weights.append(weight * known_and_new_probabilities(log_joint, parameters.n_clusters))
        labels = posterior.cluster_of_group[draw.index]
        statistics.append(column_statistics(column, family, labels, parameters.n_clusters))
    return np.hstack(weights) / len(weights), statistics


def _rank(
    weights: Floats, probability: Floats, values: NDArray[Any], names: NDArray[Any], top: int
) -> pd.DataFrame:
    """Rank the values of each group; ``probability`` is (n_values, n_components)."""
    import pandas as pd

    n_groups, top = len(weights), min(top, len(values))
    chosen, predicted = np.empty((n_groups, top), np.int64), np.empty((n_groups, top))
    for block in row_blocks(n_groups, len(values)):
        mixture = weights[block] @ probability.T
        best = np.sort(np.argpartition(-mixture, top - 1, axis=1)[:, :top], axis=1)
        order = np.argsort(-np.take_along_axis(mixture, best, 1), axis=1, kind="stable")
        chosen[block] = np.take_along_axis(best, order, 1)
        predicted[block] = np.take_along_axis(mixture, chosen[block], 1)
    return pd.DataFrame(
        {
            "group": np.repeat(names, top),
            "rank": np.tile(np.arange(1, top + 1), n_groups),
            "value": values[chosen.ravel()],
            "probability": predicted.ravel(),
        }
    )


def _summarise(
    weights: Floats,
    family: ConjugateFamily,
    statistics: Floats,
    column: Column,
    names: NDArray[Any],
) -> pd.DataFrame:
    """Summarise the mixture of each group, one row per group and dimension."""
    import pandas as pd

    frames = []
    for dimension, components in enumerate(family.predictive(statistics)):
        mean, sd, lower, upper = mixture_summary(weights, components)
        table: dict[str, Any] = {"group": names}
        if column.kind == "vector":
            table["dimension"] = dimension
        table |= {"mean": column.display(mean), "sd": sd}
        table |= {"lower": column.display(lower), "upper": column.display(upper)}
        frames.append(pd.DataFrame(table))
    # Sort by group, then by dimension.
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def mixture_summary(
    weights: Floats, components: Predictive, tail: float = 0.05
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, standard deviation, lower and upper ``tail`` quantiles of each row's mixture."""
    centre = float(components.mean.mean())  # centring avoids cancellation
    deviation = components.mean - centre
    mean = weights @ deviation
    with np.errstate(invalid="ignore"):
        square = weights @ (components.variance + deviation**2)
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))

    grid = _grid(components)
    cumulative = components.distribution.cdf(grid)  # (n_components, n_points)
    lower, upper = np.empty(len(weights)), np.empty(len(weights))
    for block in row_blocks(len(weights), len(grid)):
        for j, curve in enumerate(weights[block] @ cumulative, start=block.start):
            if components.discrete:
                index = np.searchsorted(curve, [tail, 1.0 - tail])
                lower[j], upper[j] = grid[np.minimum(index, len(grid) - 1)]
            else:
                lower[j], upper[j] = np.interp([tail, 1.0 - tail], curve, grid)
    return mean + centre, sd, lower, upper


def _grid(components: Predictive) -> Floats:
    """Return the quantiles of all components, at which the mixture's CDF is evaluated."""
    points = np.unique(components.distribution.ppf(QUANTILE_LEVELS))
    points = points[np.isfinite(points)]
    if components.discrete and points[-1] < MAX_GRID_POINTS:
        points = np.arange(0.0, points[-1] + 1.0)
    if len(points) > MAX_GRID_POINTS:
        points = points[np.linspace(0, len(points) - 1, MAX_GRID_POINTS).round().astype(int)]
    return points
