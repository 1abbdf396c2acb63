"""Levels above groups: types of units, their mixtures over the types below, and their contexts.

A unit u has a type t_u and contexts x_u ~ F(φ_t). A type is a mixture over the types one level
below, which are the clusters at the lowest level:

    π ~ GEM(α),   Π_t ~ DP(v, π of the level below),   z_j ~ Π of the type of its parent

Units and groups without a parent draw from the weights π of their own level. Given all weights and
parameters the tree is drawn at once, upwards and downwards:

    m_u(s)  =  ln Σ_t Π_st F(x_u | φ_t) exp Σ_children m_child(t)          s: a type one level above
    p(t_u = t)  ∝  Π_{type of the parent, t} F(x_u | φ_t) exp Σ_children m_child(t)

At groups the likelihood of the content takes the place of children. The topics of tokens are drawn
first, clusters last. Then, for every level,

    q_tk ~ CRT(C_tk, v π_k),   v given C and q,   π ~ Dir(Σ_t q_tk + children without a parent, α)

where C_tk counts the children of type k of units of type t.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from scipy.special import gammaln

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.families.numerics import draw_columns, log_rising_factorial, log_standard_gamma
from mcsquared.kernels.cpu.messages import FIXED_POINT
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import LevelPriors
from mcsquared.observations.units import UnitContext, Units
from mcsquared.samplers.content.levels import TypeWeights
from mcsquared.samplers.steps.concentrations import resample_concentration
from mcsquared.samplers.steps.context_priors import draw_base_measure, draw_concentration
from mcsquared.samplers.steps.weights import draw_log_root
from mcsquared.samplers.types import ParentWeights, Sweep
from mcsquared.state import LevelState, State, count_units

MIN_SHAPE = 1e-290


class LevelDraw(NamedTuple):
    """Weights of a level in one sweep.

    Attributes
    ----------
    log_root : float64 (type slots,)
        log π of the types of this level.
    log_rows : float64 (type slots, slots below)
        log Π of every type.
    log_contexts : float64 (n_units, type slots)
        Σ log F(x_u | φ_t) over the contexts of every unit.
    """

    log_root: Floats
    log_rows: Floats
    log_contexts: Floats


def draw_types(sweep: Sweep) -> None:
    """Draw the types of all units given the weights, with the clusters of groups summed out.

    Where λ is finite, the topics of all tokens are drawn first.
    """
    state = sweep.state
    if not state.levels:
        return
    log_clusters = sweep.globals.weights.log_cluster_weights
    sweep.level_draws = draws = draw_level_weights(sweep)
    n_units = len(state.levels[0].type_of_unit)
    argument = TypeWeights(sweep.globals, draws[0].log_rows, n_units)
    found = sweep.backend.sum_messages(argument)
    messages = found.pop("messages") / FIXED_POINT
    sweep.topic_sums = found
    draw_tree(state, sweep.observations.levels, draws, messages, sweep.key.generator(Step.TYPES))
    rows = np.vstack([draws[0].log_rows, log_clusters])
    row_of_unit = np.append(state.levels[0].type_of_unit, len(rows) - 1).astype(np.int32)
    # The rows take the place of π.
    weights = replace(sweep.globals.weights, log_cluster_weights=np.zeros(len(log_clusters)))
    parents = ParentWeights(rows, row_of_unit)
    sweep.globals = replace(sweep.globals, weights=weights, parent_weights=parents)
    sweep.log_root_of_clusters = log_clusters


def draw_level_weights(sweep: Sweep) -> list[LevelDraw]:
    """Draw π, Π and φ of every level given the counts of the state."""
    state = sweep.state
    rngs = (sweep.key.generator(Step.TYPE_GLOBALS), sweep.key.generator(Step.TYPE_TAILS))
    log_below, draws = sweep.globals.weights.log_cluster_weights, []
    for number, (level, units) in enumerate(
        zip(state.levels, sweep.observations.levels, strict=True)
    ):
        log_root = draw_log_root(draws_of_types(state, number), level.alpha, None, *rngs)
        log_rows = draw_rows(level.v * np.exp(log_below), level.children, log_below, rngs[0])
        log_contexts = np.zeros((units.n_units, level.n_slots))
        for context, shapes in zip(units.contexts, level.shapes, strict=True):
            log_contexts += draw_context(context, shapes, level, rngs[0])
        draws.append(LevelDraw(log_root, log_rows, log_contexts))
        log_below = log_root
    return draws


def draws_of_types(state: State, number: int) -> Int64s:
    """Return how often each type of a level was drawn from the weights at its root."""
    if number + 1 < len(state.levels):
        return state.levels[number + 1].draws_below
    return state.levels[number].units_in_type


def draw_rows(
    prior: Floats, children: Int32s, log_below: Floats, rng: np.random.Generator
) -> Floats:
    """Draw the log of Π_t ~ Dir(prior + children) for every type; −∞ in closed slots."""
    shape = np.maximum(prior + children, MIN_SHAPE)
    logs = np.where(log_below == -np.inf, -np.inf, log_standard_gamma(shape, rng))
    return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)


def draw_context(
    context: UnitContext, shapes: Floats, level: LevelState, rng: np.random.Generator
) -> Floats:
    """Draw φ of a context in every type; return log F of every unit, 0 if missing."""
    family = context.family_given(shapes)
    statistics = context.statistics_of_types(level.type_of_unit, level.n_slots)
    parameters = family.sample_parameters(statistics, rng)
    result = np.zeros((len(level.type_of_unit), level.n_slots))
    if context.observed.any():
        result[context.observed] = family.log_likelihood(context.x, parameters)
    return result


def draw_tree(
    state: State,
    levels: tuple[Units, ...],
    draws: list[LevelDraw],
    messages: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw the types of all units, given the messages of the groups (n_units, type slots)."""
    log_likelihoods = []
    for number, (units, draw) in enumerate(zip(levels, draws, strict=True)):
        log_likelihood = draw.log_contexts + messages
        log_likelihoods.append(log_likelihood)
        if number + 1 < len(levels):
            rows, has_parent = draws[number + 1].log_rows, units.parent >= 0
            messages = np.zeros((levels[number + 1].n_units, len(rows)))
            children = log_likelihood[has_parent]
            sent = np.stack([np.logaddexp.reduce(row + children, axis=1) for row in rows], 1)
            np.add.at(messages, units.parent[has_parent], sent)
    for number in reversed(range(len(levels))):
        log_weights = log_likelihoods[number] + log_prior_of_types(state, levels, draws, number)
        state.levels[number].type_of_unit = draw_labels(log_weights, rng)


def log_prior_of_types(
    state: State, levels: tuple[Units, ...], draws: list[LevelDraw], number: int
) -> Floats:
    """Return log Π of the parent of every unit of a level, or log π: (n_units or 1, type slots)."""
    rows = draws[number].log_root[None, :]
    if number + 1 == len(levels):
        return rows
    types_above = np.append(state.levels[number + 1].type_of_unit, -1)
    return np.vstack([draws[number + 1].log_rows, rows])[types_above[levels[number].parent]]


def draw_labels(log_weights: Floats, rng: np.random.Generator) -> Int32s:
    """Draw a column for every row, with probability ∝ exp(log_weights): int32 (n,)."""
    return draw_columns(np.exp(log_weights - log_weights.max(axis=1, keepdims=True)), rng)


def resample_levels(sweep: Sweep) -> None:
    """Draw tables, concentrations and learned contexts of every level, given all types."""
    state = sweep.state
    if not state.levels:
        return
    count_units(state, sweep.observations.levels)
    log_roots = [sweep.log_root_of_clusters, *(draw.log_root for draw in sweep.level_draws)]
    sweep.log_levels = log_density_of_levels(sweep, log_roots)
    rng = sweep.key.generator(Step.TYPE_TABLES)
    priors = list(sweep.priors.levels.values())
    for level, prior, log_below in zip(state.levels, priors, log_roots, strict=False):
        resample_tables_and_v(level, prior, np.exp(log_below), rng)
    for number, (level, prior) in enumerate(zip(state.levels, priors, strict=True)):
        n_types = [int((level.units_in_type > 0).sum())]
        customers = [int(draws_of_types(state, number).sum())]
        level.alpha = resample_concentration(level.alpha, prior.alpha, customers, n_types, rng)
        for position, context in enumerate(sweep.observations.levels[number].contexts):
            if context.is_learned:
                level.shapes[position] = learn_shapes(context, level, position, rng)


def resample_tables_and_v(
    level: LevelState, prior: LevelPriors, weights_below: Floats, rng: np.random.Generator
) -> None:
    """Draw the tables of every type, and v given them; ``weights_below`` is π of the level below.

    Each table, and each child without a parent, is a draw from the weights below.
    """
    tables = draw_crt(level.children, level.v * weights_below, rng)
    level.draws_below = tables.sum(axis=0) + level.orphans
    customers = level.children.sum(axis=1, dtype=np.int64)
    level.v = resample_concentration(level.v, prior.v, customers, tables.sum(axis=1), rng)


def draw_crt(customers: Int32s, concentration: Floats, rng: np.random.Generator) -> Int64s:
    """Draw CRT(customers, concentration) for every cell, int64 (n_restaurants, n_dishes).

    ``concentration`` is (n_dishes,) or has a row per restaurant.
    """
    counts = customers.reshape(-1).astype(np.int64)
    a = np.broadcast_to(concentration, customers.shape).reshape(-1)
    cell = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(cell)) - (np.cumsum(counts) - counts)[cell]
    opened = (position == 0) | (rng.random(len(cell)) * (a[cell] + position) < a[cell])
    return np.bincount(cell[opened], minlength=len(counts)).reshape(customers.shape)


def learn_shapes(
    context: UnitContext, level: LevelState, position: int, rng: np.random.Generator
) -> Floats:
    """Draw g and b of a context of units; see `mcsquared.samplers.steps.context_priors`."""
    counts = context.statistics_of_types(level.type_of_unit, level.n_slots).astype(np.int32)
    family = cast(Dirichlet, context.family)
    shapes = draw_concentration(family, level.shapes[position], counts.T, rng)
    return draw_base_measure(shapes, draw_crt(counts, shapes, rng).sum(axis=0), rng)


def log_density_of_levels(sweep: Sweep, log_roots: list[Floats]) -> float:
    """Return log p(z, types, π | α, v) plus the log marginal of the units' contexts.

    ``log_roots`` are log π of the clusters and of the types of every level. The types of the
    highest level are drawn from a Chinese restaurant, with π integrated out.
    """
    state, total = sweep.state, 0.0
    alphas = [state.alpha, *(level.alpha for level in state.levels)]
    for level, log_root, alpha in zip(state.levels, log_roots, alphas, strict=False):
        occupied = (level.children.any(axis=0)) | (level.orphans > 0)
        with np.errstate(divide="ignore"):
            log_unused = np.logaddexp.reduce(log_root[~occupied], initial=-np.inf)
        logs = np.maximum(log_root[occupied], -700.0)
        total += len(logs) * np.log(alpha) + (alpha - 1.0) * max(log_unused, -1e6) - logs.sum()
        total += float(level.orphans[occupied] @ logs)
        children = level.children[:, occupied].astype(np.float64)
        total += float(log_rising_factorial(level.v * np.exp(logs), children).sum())
        total -= float(log_rising_factorial(level.v, children.sum(axis=1)).sum())
    top, alpha = state.levels[-1], alphas[-1]
    sizes = top.units_in_type[top.units_in_type > 0].astype(np.float64)
    total += len(sizes) * np.log(alpha) + float(gammaln(sizes).sum())
    total -= float(log_rising_factorial(alpha, sizes.sum()))
    for level, units in zip(state.levels, sweep.observations.levels, strict=True):
        for context, shapes in zip(units.contexts, level.shapes, strict=True):
            statistics = context.statistics_of_types(level.type_of_unit, level.n_slots)
            total += float(context.family_given(shapes).log_marginal(statistics).sum())
    return total
