"""A state as the blocked sampler keeps it, from clusters of groups and topics of tokens."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.tables import open_first_tables
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.starts import state_from_assignments
from mcsquared.state import State

__all__ = ["state_of", "whole_blocks"]


def state_of(
    observations: Observations,
    priors: Priors,
    cluster_of_group: NDArray[np.integer],
    topic_of_token: NDArray[np.integer],
    rng: np.random.Generator,
) -> State:
    """Return a state with these labels: no topics where none are kept, tables where λ is finite."""
    state = state_from_assignments(
        observations, priors, cluster_of_group, topic_of_token, rng, whole_blocks
    )
    if math.isinf(state.lam):
        if observations.n_words:
            state.topic_of_token = np.zeros(0, np.uint16)
        else:
            state.topic_of_token = state.topic_of_token.astype(np.uint16)
        return state
    # One table for every topic of a group, to begin with.
    tables = np.zeros(state.counts.topics_in_cluster.shape, np.int32)
    state.topic_of_token = state.topic_of_token.astype(np.uint16)
    open_first_tables(
        observations.group_start, state.topic_of_token, state.cluster_of_group, tables
    )
    state.tables_in_cluster = tables
    return state


def whole_blocks(n: int) -> int:
    """Return the fewest slots that hold ``n``, in whole vectors; a sweep adds what it needs."""
    return max(N_LANES, -(-n // N_LANES) * N_LANES)
