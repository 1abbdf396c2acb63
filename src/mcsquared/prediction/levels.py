"""Weights of clusters for new groups, given their parents at the levels above.

Given a stored draw, with C_tk children of type k in units of type t, C_t = Σ_k C_tk, and π at its
mean,

    E[Π_tk]  =  (C_tk + v π_k) / (C_t + v)

A group of a unit seen in training has the weights of the unit's type in the draw. The type of any
other unit is not known: types are weighted by their probability for a new unit, given the type of
the unit's own parent if that is known, and the unit's contexts. A group without a parent has the
weights π, as in training. If no level of a group is known, it has the mean weights over all types.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.corpus import Corpus
from mcsquared.posterior import ParameterDraw, Posterior


def log_weights_of_groups(
    posterior: Posterior, draw: ParameterDraw, corpus: Corpus
) -> Floats | None:
    """Return log p(z_j = k) given the parents of the groups: (n_groups, n_clusters + 1).

    The last column is a new cluster. None if the corpus has no level of the model.
    """
    names = [level.name for level in corpus.levels]
    if not posterior.units or posterior.units[0].name not in names:
        return None
    rows = rows_of_units(posterior, draw, corpus, 0)
    parents = corpus.levels[names.index(posterior.units[0].name)].parent_of_child
    with np.errstate(divide="ignore"):
        return np.log(np.vstack([rows, root_weights(draw, 0)])[parents])


def rows_of_units(posterior: Posterior, draw: ParameterDraw, corpus: Corpus, number: int) -> Floats:
    """Return the weights of the types below for the units of a level: (n_units, n_below + 1)."""
    units = posterior.units[number]
    level = next(level for level in corpus.levels if level.name == units.name)
    position = {name: u for u, name in enumerate(units.unit_names)}
    known = np.array([position.get(name, -1) for name in level.unit_names], np.int64)
    rows = mean_rows(draw, number)
    types = type_weights(posterior, draw, corpus, number)
    result = types @ rows
    drawn: Int32s = units.type_of_unit[draw.index]
    result[known >= 0] = rows[drawn[known[known >= 0]]]
    return result


def type_weights(posterior: Posterior, draw: ParameterDraw, corpus: Corpus, number: int) -> Floats:
    """Return p(t_u = t) of every unit of a level, as if it were new: (n_units, n_types + 1)."""
    name = posterior.units[number].name
    names = [level.name for level in corpus.levels]
    level = corpus.levels[names.index(name)]
    parent_level = posterior.units[number + 1].name if number + 1 < len(posterior.units) else None
    prior = np.tile(average_types(posterior, draw, number), (level.n_units, 1))
    if parent_level in names:
        rows = rows_of_units(posterior, draw, corpus, number + 1)
        parents = corpus.levels[names.index(parent_level)].parent_of_child
        prior = np.vstack([rows, root_weights(draw, number + 1)])[parents]
    with np.errstate(divide="ignore"):
        return softmax(np.log(prior) + log_unit_densities(posterior, draw, corpus, number), axis=1)


def log_unit_densities(
    posterior: Posterior, draw: ParameterDraw, corpus: Corpus, number: int
) -> Floats:
    """Return the log-density of the contexts of units given their type: (n_units, n_types + 1)."""
    from mcsquared.prediction.groups import align
    from mcsquared.prediction.likelihood import log_context_given_cluster

    name = posterior.units[number].name
    level = next(level for level in corpus.levels if level.name == name)
    trained = posterior.level(name)
    draw_of_level = trained.parameters[posterior.parameters.index(draw)]
    units = Corpus(np.zeros((level.n_units, 1), int), level.contexts, level.unit_names)
    return log_context_given_cluster(trained, draw_of_level, align(trained, units))


def mean_rows(draw: ParameterDraw, number: int) -> Floats:
    """Return E[Π] of every type and, in the last row, of a new one: (n_types + 1, n_below + 1)."""
    level, root = draw.levels[number], root_weights(draw, number)
    counts = np.pad(level.children, ((0, 1), (0, 1))).astype(np.float64)
    return (counts + level.v * root) / (counts.sum(axis=1, keepdims=True) + level.v)


def root_weights(draw: ParameterDraw, number: int) -> Floats:
    """Return the mean weights at the root of the level below, the last for new ones."""
    weights, unused = draw.levels[number].weights_below(draw.alpha_below(number))
    return np.append(weights, unused)


def average_types(posterior: Posterior, draw: ParameterDraw, number: int) -> Floats:
    """Return p(t_u = t) of a new unit without a known parent or context: (n_types + 1,)."""
    if number + 1 < len(draw.levels):
        return average_types(posterior, draw, number + 1) @ mean_rows(draw, number + 1)
    sizes = np.bincount(posterior.units[number].type_of_unit[draw.index])
    weights = np.append(sizes, draw.levels[number].alpha)
    return weights / weights.sum()


def average_clusters(posterior: Posterior, draw: ParameterDraw) -> Floats:
    """Return p(z_j = k) of a group of a new unit: (n_clusters + 1,), the last a new cluster."""
    return average_types(posterior, draw, 0) @ mean_rows(draw, 0)


def rows_of_known_units(posterior: Posterior, draw: ParameterDraw, number: int) -> Floats:
    """Return the weights of clusters for a group of each unit: (n_units, n_clusters + 1)."""
    types = posterior.units[number].type_of_unit[draw.index]
    rows = mean_rows(draw, number)[types]
    for lower in reversed(range(number)):
        rows = rows @ mean_rows(draw, lower)
    return rows


def groups_of_units(posterior: Posterior, number: int) -> Int64s:
    """Return the number of training groups of each unit of a level: int64 (n_units,)."""
    counts = np.ones(posterior.n_groups, np.int64)
    for units in posterior.units[: number + 1]:
        inside = units.parent_of_child >= 0
        parents, n_units = units.parent_of_child[inside], len(units.unit_names)
        counts = np.bincount(parents, counts[inside], n_units).astype(np.int64)
    return counts


def without_levels(corpus: Corpus) -> Corpus:
    """Return the same groups without their parents."""
    result = corpus.with_contexts(corpus.contexts)
    result.levels = ()
    return result
