"""Types of units given the clusters of their groups, with the weights Π of types summed out.

`mcsquared.samplers.steps.levels.draw_types` draws types given Π, and Π given types: a type changes
slowly, and a new one has weights that fit no unit. Here Π is summed out, and units are drawn in
turn, at every level given the types above and below:

    p(t_u = t)  ∝  Π_{type of the parent, t} F(x_u | φ_t) ∏_k (vπ_k + C_tk)^(n_uk) / (v + C_t)^(n_u)

where n_uk counts the children of type k of unit u, C_tk those of the other units of type t, n_u and
C_t are sums over k, and x^(n) = Γ(x + n) / Γ(x). Π is not used again before it is redrawn, from the
lowest level up.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from mcsquared.arrays import Int32s
from mcsquared.kernels.cpu.types import resample_types
from mcsquared.kernels.rng import Step
from mcsquared.observations.layout import Entries
from mcsquared.samplers.content.levels import UnitCount
from mcsquared.samplers.steps.levels import MIN_SHAPE, log_prior_of_types
from mcsquared.samplers.types import Sweep

N_SCANS = 3
MAX_CELLS = 20_000_000  # units × clusters


def move_types(sweep: Sweep) -> None:
    """Draw the types of all units in turn, several times, given the clusters of the groups.

    Skipped at the lowest level if there are more than `MAX_CELLS` units × clusters.
    """
    state, parents = sweep.state, sweep.globals.parent_weights
    if parents is None:
        return
    rng, levels = sweep.key.generator(Step.TYPE_SCANS), sweep.observations.levels
    log_below = sweep.log_root_of_clusters
    for number, (level, draw) in enumerate(zip(state.levels, sweep.level_draws, strict=True)):
        prior = np.maximum(level.v * np.exp(log_below), MIN_SHAPE)
        log_below, counts = draw.log_root, children_of_units(sweep, number)
        if counts is None:
            continue
        types, children = level.type_of_unit.copy(), np.zeros_like(level.children)
        np.add.at(children, types, counts)
        log_prior = log_prior_of_types(state, levels, sweep.level_draws, number) + draw.log_contexts
        entries = Entries.from_matrix(sparse.csr_matrix(counts))
        for uniforms in rng.random((N_SCANS, len(types))):
            resample_types(entries, log_prior, prior, children, uniforms, types)
        level.type_of_unit, level.children = types, children
    row_of_unit = np.append(state.levels[0].type_of_unit, parents.row_of_unit[-1:])
    sweep.globals = replace(sweep.globals, parent_weights=parents._replace(row_of_unit=row_of_unit))


def children_of_units(sweep: Sweep, number: int) -> Int32s | None:
    """Return the children of every unit of a level by type (or cluster): (n_units, slots below)."""
    state, n_units = sweep.state, len(sweep.state.levels[number].type_of_unit)
    if number == 0:
        n_clusters = len(state.counts.groups_in_cluster)
        if n_units * n_clusters > MAX_CELLS:
            return None
        counted = sweep.backend.count_by_unit(UnitCount(n_units, n_clusters))
        return np.ascontiguousarray(counted[:-1])
    below, parent = state.levels[number - 1], sweep.observations.levels[number - 1].parent
    children = np.zeros((n_units + 1, below.n_slots), np.int32)
    np.add.at(children, (parent, below.type_of_unit), 1)
    return children[:-1]
