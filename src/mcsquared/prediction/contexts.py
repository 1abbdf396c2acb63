"""Predictive distributions of a context of new groups, given content and other contexts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax

from mcsquared.arrays import Floats, Int64s
from mcsquared.checks import check_integer
from mcsquared.corpus import Column, Corpus
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.traits import Predictive
from mcsquared.model.effects import Effect
from mcsquared.posterior import ParameterDraw, Posterior
from mcsquared.posterior.contexts import context_of
from mcsquared.posterior.effects import INTERVAL
from mcsquared.prediction.fold_in import Iterations, predict_values_of_groups
from mcsquared.prediction.groups import align, known_and_new_probabilities, weighted_joints
from mcsquared.prediction.levels import (
    average_clusters,
    groups_of_units,
    rows_of_known_units,
    without_levels,
)
from mcsquared.prediction.likelihood import (
    background_of,
    column_statistics,
    log_cluster_prior,
    log_context_given_cluster,
    row_blocks,
    safe_log,
)
from mcsquared.prediction.parameters import parameters_of_draws

if TYPE_CHECKING:
    import pandas as pd


BATCH_GROUPS = 20_000  # limits the array of cluster probabilities over all draws
DEFAULT_TOP = 10
QUANTILE_LEVELS = np.concatenate([[1e-4, 1e-3], np.linspace(0.005, 0.995, 199), [0.999, 0.9999]])
MAX_GRID_POINTS = 4001
MAX_POINTS = 100  # training values that represent a bin of an effect
# Of one chain per draw. The value changes slowly given the topics, so shorter chains depend on
# their starts, and the intervals of their mixture are wider.
EFFECT_ITERATIONS = Iterations(n_burn_in=30, n_kept=30)


def context_distribution(
    posterior: Posterior, corpus: Corpus, name: str, top: int | None = None
) -> pd.DataFrame:
    """Return the predictive distribution of context ``name`` for every group.

        p(x | j)  =  mean over draws of Σ_k p(z_j = k | content and other contexts of j) p(x | k)

    The context itself is not used, even if the corpus has it. For the name of a level above groups,
    the unit of each group is predicted, see `unit_probabilities`. A context that acts on topics is
    sampled with the topics, see `mcsquared.prediction.effects`; numbers and dates then have the
    distribution of the training values in each bin.

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

    if top is not None:
        check_integer("top", top, 1)
    corpus = align(posterior, corpus)
    if name in (levels := [units.name for units in posterior.units]):
        values = posterior.units[levels.index(name)].unit_names
        probability = unit_probabilities(posterior, corpus, levels.index(name))
        return _rank(
            probability, np.eye(len(values)), values, corpus.group_names, top or DEFAULT_TOP
        )
    column, family = context_of(posterior, name)
    outcomes = family.outcomes()
    if outcomes is None and not family.has_predictive:
        raise InputError(
            f"context {name!r} cannot be predicted: its family {type(family).__name__} "
            "defines neither outcomes nor predictive"
        )
    frames = []
    for first in range(0, corpus.n_groups, BATCH_GROUPS):
        batch = corpus[np.arange(first, min(first + BATCH_GROUPS, corpus.n_groups))]
        if name in posterior.priors.effects:
            frames.append(_frame_of_effect(posterior, batch, name, top or DEFAULT_TOP))
            continue
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


def _frame_of_effect(posterior: Posterior, corpus: Corpus, name: str, top: int) -> pd.DataFrame:
    """Return the predictions of a context that acts on topics."""
    column, effect = posterior.contexts[name], posterior.priors.effects[name]
    probability = value_probabilities(posterior, corpus, name)
    if effect.edges is None:
        one = np.eye(effect.n_values)
        return _rank(probability, one, effect.labels(column), corpus.group_names, top)
    return _summarise_bins(probability, column, effect, corpus.group_names)


def value_probabilities(posterior: Posterior, corpus: Corpus, name: str) -> Floats:
    """Return p(x_j = s | content and other contexts of j): float64 (n_groups, n_values).

    The mean over draws, for a context that acts on topics; ``corpus`` must be aligned.
    """
    total: Floats = np.zeros((corpus.n_groups, posterior.priors.effects[name].n_values))
    # ψ is integrated out, as in completion: a few draws of ψ would make intervals wider.
    drawn = parameters_of_draws(posterior, with_content=False)
    for weight, (draw, parameters) in zip(posterior.parameter_weights, drawn, strict=True):
        if weight == 0.0:
            continue
        log_context = log_context_given_cluster(posterior, draw, corpus, leave_out=name)
        log_prior = log_cluster_prior(parameters, log_context)
        assert parameters.effects is not None
        without_values = replace(parameters, effects=parameters.effects.without(name))
        log_values = _log_values(posterior, draw, name)
        cluster = np.minimum(np.arange(log_prior.shape[1]), parameters.n_clusters)
        parts = (log_prior, log_values[cluster], EFFECT_ITERATIONS)
        total += weight * np.exp(predict_values_of_groups(corpus, without_values, *parts))
    return total / total.sum(axis=1, keepdims=True)


def unit_probabilities(posterior: Posterior, corpus: Corpus, number: int) -> Floats:
    """Return p(u | j) for the units of a level above groups: float64 (n_groups, n_units).

        p(u | j)  ∝  n_u Σ_k p(k | u) p(content and contexts of j | z_j = k)

    The mean over draws, with n_u groups of unit u in training. Parents that the corpus has are not
    used; ``corpus`` must be aligned.
    """
    corpus = without_levels(corpus)
    n_groups = groups_of_units(posterior, number)
    total: Floats = np.zeros((corpus.n_groups, len(n_groups)))
    for weight, draw, log_joint in weighted_joints(posterior, corpus):
        clusters = known_and_new_probabilities(log_joint, draw.n_clusters)
        relative = rows_of_known_units(posterior, draw, number) / average_clusters(posterior, draw)
        probabilities = (clusters @ relative.T) * n_groups
        total += weight * probabilities / probabilities.sum(axis=1, keepdims=True)
    return total / total.sum(axis=1, keepdims=True)


def _log_values(posterior: Posterior, draw: ParameterDraw, name: str) -> Floats:
    """Return log F(s | k) in the clusters of a draw and a new one: (n_clusters + 1, n_values)."""
    effect, column = posterior.priors.effects[name], posterior.contexts[name]
    family = posterior.priors.context_given(name, draw.category_shapes)
    labels = posterior.cluster_of_group[draw.index]
    found = background_of(posterior, draw, name)
    statistics = column_statistics(column, family, labels, draw.n_clusters)
    if found is not None:
        statistics = found.statistics
    if effect.edges is None:
        return log_softmax(family.log_predictive(family.outcomes(), statistics).T, axis=1)
    components = family.predictive(statistics)[0]
    edges = np.array(effect.edges)
    below = components.distribution.cdf(np.ceil(edges) - 1.0 if components.discrete else edges)
    below = np.broadcast_to(below, (len(statistics), len(edges)))
    ends = np.zeros((len(statistics), 1))
    probabilities = np.diff(np.hstack([ends, below, ends + 1.0]), axis=1)
    if found is not None:
        share = found.foreground_share
        probabilities = share * probabilities[:-1] + (1.0 - share) * probabilities[-1]
    return log_softmax(safe_log(probabilities), axis=1)


def _summarise_bins(
    probability: Floats, column: Column, effect: Effect, names: NDArray[Any]
) -> pd.DataFrame:
    """Summarise probabilities of bins, with the training values in each bin: mean, sd, interval."""
    import pandas as pd

    groups = np.flatnonzero(column.observed)
    codes, values = effect.codes(column)[groups], column.values[groups]
    points, bin_of_point = [], []
    for code in range(effect.n_values):
        inside = values[codes == code]
        n_points = min(len(inside), MAX_POINTS)
        probabilities = (np.arange(n_points) + 0.5) / n_points
        points.append(np.quantile(inside, probabilities, method="nearest"))
        bin_of_point += [code] * n_points
    # Many groups have the same value, such as a year: one atom per value.
    grid, atom = np.unique(np.concatenate(points), return_inverse=True)
    share = 1.0 / np.bincount(bin_of_point, minlength=effect.n_values)[bin_of_point]
    atoms = sparse.csr_matrix((share, (bin_of_point, atom)), (effect.n_values, len(grid)))
    centre = grid.mean()
    table = np.empty((4, len(probability)))
    for block in row_blocks(len(probability), len(grid)):
        weights = probability[block] @ atoms
        mean = weights @ (grid - centre)
        sd = np.sqrt(np.maximum(weights @ (grid - centre) ** 2 - mean**2, 0.0))
        first, last = atoms_of_interval(weights)
        table[:, block] = mean + centre, sd, grid[first], grid[last]
    mean, sd, lower, upper = table
    displayed = {"mean": column.display(mean), "sd": sd}
    displayed |= {"lower": column.display(lower), "upper": column.display(upper)}
    return pd.DataFrame({"group": names, **displayed})


def atoms_of_interval(weights: Floats, level: float = 0.9) -> tuple[Int64s, Int64s]:
    """Return the first and the last atom of an interval of about this probability, for each row.

    At first an atom belongs to it if the middle of its mass lies between the quantiles; then the
    lighter end is dropped as long as the probability of the rest is nearer to ``level``. Otherwise
    intervals of few atoms would be too wide: with weights (0.15, 0.7, 0.15), all three atoms
    instead of two.
    """
    tail, row = 0.5 * (1.0 - level), np.arange(len(weights))
    cumulative = np.cumsum(weights, axis=1)
    middle = cumulative - 0.5 * weights
    lower = np.argmax(middle >= tail, axis=1)
    upper = np.maximum((middle <= 1.0 - tail).sum(axis=1) - 1, lower)
    inside = cumulative[row, upper] - cumulative[row, lower] + weights[row, lower]
    while True:
        left, right = weights[row, lower], weights[row, upper]
        lighter = np.minimum(left, right)
        nearer = np.abs(inside - lighter - level) < np.abs(inside - level) - 1e-9  # not if equal
        drops = nearer & (lower < upper)
        if not drops.any():
            return lower, upper
        lower, upper = lower + (drops & (left <= right)), upper - (drops & (left > right))
        inside = inside - drops * lighter


def _log_outcomes(
    posterior: Posterior, name: str, outcomes: Any, statistics: list[Floats]
) -> Floats:
    """Return the log-probability of each outcome in the clusters of all draws."""
    drawn = zip(posterior.parameters, posterior.parameter_weights, strict=True)
    shapes = (draw.category_shapes for draw, weight in drawn if weight > 0.0)
    families = [posterior.priors.context_given(name, found) for found in shapes]
    pairs = zip(families, statistics, strict=True)
    return np.hstack([family.log_predictive(outcomes, rows) for family, rows in pairs])


def _mixture(posterior: Posterior, corpus: Corpus, name: str) -> tuple[Floats, list[Floats]]:
    """Return weights (n_groups, n_components), and statistics of the clusters of each draw."""
    weights, statistics = [], []
    column, family = context_of(posterior, name)
    for weight, draw, log_joint in weighted_joints(posterior, corpus, leave_out=name):
        clusters = weight * known_and_new_probabilities(log_joint, draw.n_clusters)
        if (found := background_of(posterior, draw, name)) is not None:
            weights.append(found.weights(clusters))
            statistics.append(found.statistics)
            continue
        weights.append(clusters)
        labels = posterior.cluster_of_group[draw.index]
        statistics.append(column_statistics(column, family, labels, draw.n_clusters))
    return np.hstack(weights) / len(posterior.parameters), statistics


def _rank(
    weights: Floats, probability: Floats, values: NDArray[Any], names: NDArray[Any], top: int
) -> pd.DataFrame:
    """Rank the values of each group by their probability in a mixture of components.

    ``weights`` is (n_groups, n_components), ``probability`` (n_values, n_components), ``names``
    those of the groups.
    """
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
    weights: Floats, components: Predictive
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, standard deviation and the bounds of `INTERVAL` of each row's mixture."""
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
        curves = weights[block] @ cumulative
        if components.discrete:
            first, last = atoms_of_interval(np.diff(curves, axis=1, prepend=0.0))
            lower[block], upper[block] = grid[first], grid[last]
            continue
        for j, curve in enumerate(curves, start=block.start):
            lower[j], upper[j] = np.interp(INTERVAL, curve, grid)
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
