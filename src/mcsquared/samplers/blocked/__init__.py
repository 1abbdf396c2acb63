"""The blocked sampler: globals given counts, groups given globals, counts summed.

Fast and parallel, for the paper's model (λ = ∞) and for groups that vary inside their cluster.
Given ψ, τ, π, φ and the concentrations, groups are independent; what they return is new labels and
counts that add up in any order.
"""

from __future__ import annotations

import math

from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked.concentrations import resample_concentrations
from mcsquared.samplers.blocked.place import Place
from mcsquared.samplers.blocked.starts import start
from mcsquared.samplers.blocked.weights import Key, draw_weights, make_room
from mcsquared.samplers.joint import log_joint, log_joint_of_members
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import NO_BOUNDS, Bounds, State

__all__ = ["Key", "Place", "Workers", "start", "sweep"]


def sweep(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds = NO_BOUNDS,
    workers: Workers = ONE,
    place: Place | None = None,
) -> None:
    """Do one sweep: globals, then every group's topics and cluster, then the concentrations.

    Parameters
    ----------
    place : Place, optional
        Where the groups are; by default in the memory of this process.
    """
    place = place or Place(observations, priors, workers)
    state.sweep += 1
    key = Key(seed, chain, state.sweep)
    make_room(state, bounds)
    place.begin(state, key)
    weights = draw_weights(state, bounds, key, place.draw_shares)
    contexts = place.draw_contexts(state, key)
    log_rising = place.move(state, weights, contexts, key)
    end_log_tables = place.begin_log_tables(state)
    tables = place.draw_tables(state, state.v * weights.topics, key)
    varies = not math.isinf(state.lam)
    if varies:
        state.log_joint = log_joint_of_members(
            state, observations, weights.topics, weights.log_shares, log_rising, end_log_tables
        )
    resample_concentrations(state, observations, priors, tables, key)
    if not varies:
        state.log_joint = log_joint(state, observations, priors, end_log_tables)
