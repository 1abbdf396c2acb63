"""The sweep as an ordered list of steps: the list is the algorithm.

`BLOCKED_STEPS` draws globals given counts, groups given globals, and sums the counts; groups are
independent given the globals, so they can be divided among threads, GPUs and machines.
`COLLAPSED_STEPS` is the paper's collapsed Gibbs sampler, corrected, for λ = ∞.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.init.starts import start_blocked, start_collapsed
from mcsquared.samplers.steps.collapsed import COLLAPSED_MOVES, collapsed_step
from mcsquared.samplers.steps.concentrations import resample_concentrations
from mcsquared.samplers.steps.context_priors import resample_context_priors
from mcsquared.samplers.steps.effects import draw_effect_tables, resample_effects
from mcsquared.samplers.steps.globals import draw_globals
from mcsquared.samplers.steps.groups import draw_cell_topics, sweep_groups
from mcsquared.samplers.steps.levels import draw_types, resample_levels
from mcsquared.samplers.steps.log_joint import (
    begin_log_density,
    record_log_joint,
    record_varying_log_joint,
)
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.steps.tables import draw_cluster_tables
from mcsquared.samplers.steps.topic_moves import move_topics
from mcsquared.samplers.steps.type_moves import move_types
from mcsquared.samplers.steps.unique_categories import move_groups_with_unique_categories
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import NO_BOUNDS, Bounds, State

StepFunction = Callable[[Sweep], None]

BLOCKED_STEPS: tuple[StepFunction, ...] = (
    add_empty_slots,
    draw_globals,  # ψ, π, τ, φ, the weights of empty slots, and τ^(c) of effects
    draw_types,  # of units above groups; also l, if λ is finite and there are such units
    move_groups_with_unique_categories,  # z of some groups with φ integrated out, if λ is finite
    sweep_groups,  # z; also l, if it is drawn token by token
    draw_cell_topics,  # l of words, if λ = ∞
    move_topics,  # splits and merges, if λ is finite
    begin_log_density,
    draw_cluster_tables,
    draw_effect_tables,  # if contexts act on topics
    move_types,  # of units above groups, given z
    resample_levels,  # tables and concentrations of units above groups
    record_varying_log_joint,  # if λ is finite
    resample_effects,  # ω and v of effects
    resample_concentrations,  # λ, v, η, ε, α
    resample_context_priors,  # g and b of contexts with a learned prior
    split_and_merge_clusters,  # and λ again, with tables integrated out, if λ is finite
    collapsed_step,  # if λ = ∞ and there are few tokens: a collapsed sweep
    record_log_joint,  # if λ = ∞
)

COLLAPSED_STEPS: tuple[StepFunction, ...] = (*COLLAPSED_MOVES, record_log_joint)


@dataclass(frozen=True)
class Sampler:
    """The steps of a sweep, and the function that starts a chain."""

    steps: tuple[StepFunction, ...]  # each takes a `Sweep`
    start: Callable[..., State]  # returns the initial state of a chain

    def sweep(
        self,
        state: State,
        observations: Observations,
        priors: Priors,
        seed: int,
        chain: int,
        bounds: Bounds = NO_BOUNDS,
        backend: Backend | None = None,
        threads: ThreadPool = SINGLE_THREAD,
    ) -> None:
        """Run every step once.

        The backend must have loaded the labels of ``state``; by default a `LocalBackend` with these
        threads is created.
        """
        state.sweep += 1
        key = Key(seed, chain, state.sweep)
        if backend is None:
            backend = LocalBackend(observations, priors, threads)
            backend.load_labels(state, key)
        sweep = Sweep(state, observations, priors, bounds, key, backend, backend.threads)
        for step in self.steps:
            step(sweep)

    def without(self, step: StepFunction) -> Sampler:
        """Return the same sampler without one of its steps."""
        return replace(self, steps=tuple(other for other in self.steps if other is not step))


BLOCKED = Sampler(BLOCKED_STEPS, start_blocked)
COLLAPSED = Sampler(COLLAPSED_STEPS, start_collapsed)
SAMPLERS = {"blocked": BLOCKED, "collapsed": COLLAPSED}
