"""The blocked sampler: globals given counts, groups given globals, counts summed.

Fast and parallel, for the paper's model (λ = ∞) and for groups that vary inside their cluster.
Given ψ, τ, π, φ and the concentrations, groups are independent; what they return is new labels and
counts that add up in any order.
"""

from __future__ import annotations

import math

from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers.blocked import vectors, words
from mcsquared.samplers.blocked.concentrations import resample_concentrations
from mcsquared.samplers.blocked.contexts import count_groups, draw_contexts
from mcsquared.samplers.blocked.starts import start
from mcsquared.samplers.blocked.weights import Key, Weights, draw_weights, make_room
from mcsquared.samplers.joint import log_joint_of_members
from mcsquared.samplers.workers import ONE, Workers
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
    log_rising = _move(state, observations, priors, weights, contexts, key, workers)
    count_groups(state, observations, workers)
    if not math.isinf(state.lam):
        state.log_joint = log_joint_of_members(
            state, observations, priors, weights.topics, weights.log_shares, log_rising, workers
        )
    resample_concentrations(state, observations, priors, weights, key, workers)


def _move(
    state: State,
    observations: Observations,
    priors: Priors,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> float:
    """Draw every group's topics and cluster; return what `place_members` does, 0 at λ = ∞."""
    varies = not math.isinf(state.lam)
    if observations.n_words:
        move = words.move_members if varies else words.move_groups
        return move(state, observations, priors, weights, contexts, key, workers) or 0.0
    vector_move = vectors.move_members if varies else vectors.move_groups
    return vector_move(state, observations, weights, contexts, key, workers) or 0.0
