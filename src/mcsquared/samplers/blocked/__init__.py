"""The blocked sampler: globals given counts, groups given globals, counts summed.

Fast and parallel, for the paper's model (λ = ∞) and for groups that vary inside their cluster. Given
ψ, τ, π, φ and the concentrations, groups are independent; what they return is new labels and counts
that add up in any order.
"""

from __future__ import annotations

import math

from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers.blocked import words
from mcsquared.samplers.blocked.concentrations import resample_concentrations
from mcsquared.samplers.blocked.contexts import count_groups, draw_contexts
from mcsquared.samplers.blocked.starts import start
from mcsquared.samplers.blocked.weights import Key, draw_weights, make_room
from mcsquared.samplers.blocked.workers import ONE, Workers
from mcsquared.state import NO_BOUNDS, Bounds, State

__all__ = ["Workers", "start", "sweep"]


def sweep(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds = NO_BOUNDS,
    workers: Workers = ONE,
) -> None:
    """Do one sweep: globals, then every group's topics and cluster, then the concentrations."""
    state.sweep += 1
    key = Key(seed, chain, state.sweep)
    make_room(state, bounds)
    weights = draw_weights(state, bounds, key, workers)
    contexts = draw_contexts(state, observations, key, workers)
    move = words.move_groups if math.isinf(state.lam) else words.move_members
    move(state, observations, priors, weights, contexts, key, workers)
    count_groups(state, observations, workers)
    resample_concentrations(state, observations, priors, weights, key)
