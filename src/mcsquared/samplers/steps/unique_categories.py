"""Groups with categories that no other group has, moved with φ of bags integrated out (λ finite).

Given φ, such a group hardly moves: the category has the probability of one observation in its own
cluster, and that of none in all others. With φ integrated out, the category itself has the same
probability in every cluster. Therefore, before φ is used, a cluster k' is drawn for each of these
groups from what remains without bags,

    q(k')  ∝  π_k' p(n_j | λτ_k') Π F(x_j | φ_k')      over the contexts that are not bags

and accepted by the ratio of the densities of its bags in k' and in its cluster k, given the bags of
all other groups there. Groups are accepted or rejected in turn. φ of bags is drawn afterwards.
"""

import numpy as np

from mcsquared.kernels.cpu.contexts import ContextCounts
from mcsquared.kernels.cpu.unique_categories import accept_clusters
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.unique_categories import (
    Moves,
    Proposals,
    UniqueCategories,
    apply_moves,
    propose_moves,
)
from mcsquared.samplers.steps.contexts import can_integrate_bags
from mcsquared.samplers.types import Sweep


def move_groups_with_unique_categories(sweep: Sweep) -> None:
    """Propose another cluster for every group with a category that occurs nowhere else."""
    if not can_integrate_bags(sweep):
        return
    is_unique = sweep.state.counts.category_counts.sum(axis=0, dtype=np.int64) == 1
    if not is_unique.any():
        return
    argument = UniqueCategories(sweep.globals, is_unique, sweep.state.category_shapes)
    parts: list[Proposals] = sweep.backend.map_groups(propose_moves, argument)
    moves = accept(sweep, parts)
    if len(moves.groups):
        sweep.backend.map_groups(apply_moves, moves)


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
