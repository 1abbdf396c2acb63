"""Where a chain of the blocked sampler begins."""

from __future__ import annotations

import math

import numpy as np

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers import starts
from mcsquared.state import NO_BOUNDS, Bounds, State

__all__ = ["start"]


def start(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str = "auto",
    n_clusters: int = starts.RANDOM_CLUSTERS,
    n_topics: int | None = None,
    bounds: Bounds = NO_BOUNDS,
) -> State:
    """Return the state before the first sweep."""
    state = starts.start(
        observations, priors, seed, chain, init, n_clusters, n_topics, bounds, whole_blocks
    )
    if math.isinf(state.lam):
        if observations.n_words:
            state.topic_of_token = np.zeros(0, np.uint16)
        return state
    # One table for every topic of a group, to begin with.
    tables = np.zeros(state.counts.topics_in_cluster.shape, np.int32)
    n_slots = len(state.topic_weights)
    group = np.repeat(np.arange(observations.n_groups), np.diff(observations.group_start))
    cells = np.unique(group * n_slots + state.topic_of_token)
    np.add.at(tables, (state.cluster_of_group[cells // n_slots], cells % n_slots), 1)
    state.tables_in_cluster = tables
    state.topic_of_token = state.topic_of_token.astype(np.uint16)
    return state


def whole_blocks(n: int) -> int:
    """Return the fewest slots that hold ``n``, in whole vectors; a sweep adds what it needs."""
    return max(N_LANES, -(-n // N_LANES) * N_LANES)
