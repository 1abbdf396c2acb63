"""Groups with categories that no other group has, moved with φ of bags integrated out (λ finite).

Given φ, such a group hardly moves: the category has the probability of one observation in its own
cluster, and that of none in all others. With φ integrated out, the category itself has the same
probability in every cluster. Therefore, before φ is used, a cluster k' is drawn for each of these
groups from what remains without bags,

    q(k')  ∝  π_k' p(n_j | λτ_k') Π F(x_j | φ_k')      over the contexts that are not bags

and accepted by the ratio of the densities of its bags in k' and in its cluster k, given the bags of
all other groups there. Groups are accepted or rejected in turn. φ of bags is then redrawn.
"""

import math
from dataclasses import replace

import numpy as np

from mcsquared.kernels.cpu.contexts import ContextCounts
from mcsquared.kernels.cpu.unique_categories import accept_clusters
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.python_families import is_integrated
from mcsquared.samplers.content.unique_categories import (
    Moves,
    Proposals,
    UniqueCategories,
    apply_moves,
    propose_moves,
)
from mcsquared.samplers.steps.contexts import draw_log_categories
from mcsquared.samplers.types import Sweep


def move_groups_with_unique_categories(sweep: Sweep) -> None:
    """Propose another cluster for every group with a category that occurs nowhere else."""
    if not sweep.observations.bag_families or not is_possible(sweep):
        return
    is_unique = sweep.state.counts.category_counts.sum(axis=0, dtype=np.int64) == 1
    if not is_unique.any():
        return
    argument = UniqueCategories(sweep.globals, is_unique, sweep.state.category_shapes)
    parts: list[Proposals] = sweep.backend.map_groups(propose_moves, argument)
    moves = accept(sweep, parts)
    if len(moves.groups):
        sweep.backend.map_groups(apply_moves, moves)
        contexts = sweep.globals.contexts._replace(log_categories=draw_log_categories(sweep))
        sweep.globals = replace(sweep.globals, contexts=contexts)


def is_possible(sweep: Sweep) -> bool:
    """Return whether λ is finite and nothing is integrated out in the sweep over the groups.

    Models with levels or effects are excluded, and so are backends that draw φ on a device.
    """
    state, observations = sweep.state, sweep.observations
    integrated = any(is_integrated(context) for context in observations.python_contexts)
    simple = not (state.levels or integrated or sweep.globals.effects is not None)
    return simple and math.isfinite(state.lam) and sweep.backend.draws_contexts_on_host


def accept(sweep: Sweep, parts: list[Proposals]) -> Moves:
    """Accept or reject the proposals in turn; return the groups that move, and update the bags."""
    state, dense = sweep.state, sweep.observations.dense
    no_dense = dense._replace(kind=dense.kind[:0])
    n_groups = sum(len(part.groups) for part in parts)
    rng = sweep.key.generator(Step.UNIQUE_MOVES)
    log_uniforms = np.log(1.0 - rng.random(n_groups))
    counts = ContextCounts(
        statistics=np.zeros((len(state.counts.category_counts), 0)),
        prepared=np.zeros((0, 0)),
        categories=np.ascontiguousarray(state.counts.category_counts),
        totals=state.counts.category_totals.copy(),
    )
    groups, clusters, first = [], [], 0
    for part in parts:
        found, last = part.clusters.copy(), first + len(part.groups)
        accept_clusters(part.proposed, no_dense, part.bags, counts, log_uniforms[first:last], found)
        moved = found != part.clusters
        groups.append(part.groups[moved])
        clusters.append(found[moved])
        first = last
    state.counts.category_counts = counts.categories
    state.counts.category_totals = counts.totals
    return Moves(np.concatenate(groups), np.concatenate(clusters))
