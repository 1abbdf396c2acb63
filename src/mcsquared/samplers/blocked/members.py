"""Clusters and tables of groups that vary around their cluster, given their tokens' topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.members import place_groups, tabulate_log_rising
from mcsquared.observations import Observations
from mcsquared.samplers.blocked.own import Visits
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.workers import Workers
from mcsquared.state import State

__all__ = ["as_floats", "place_members"]

SMALLEST_SHARE = 1e-20  # as in the table of variates: less than this is 0
TABULATED = 128  # tokens of a topic in a group up to which log rising factorials are tabulated
TABLE_NUMBERS = 1 << 22  # of that table at most: 16 MB


def place_members(
    state: State,
    observations: Observations,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> NDArray[np.float64]:
    """Draw z_j and o_jm of every group; count c_km and O_km.

    Returns
    -------
    float64 (n_chunks,)
        Σ_j Σ_m ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km) in the clusters drawn, by chunk of groups.
    """
    layout = observations.layout
    base = as_floats(state.lam * np.exp(weights.log_shares))
    n_clusters, n_slots = base.shape
    most = max(min(TABULATED, TABLE_NUMBERS // base.size - 1, layout.longest), 1)
    rising = np.empty((n_slots, most + 1, n_clusters), np.float32)
    visits = Visits(state, observations, contexts, workers)
    log_likelihood = np.zeros(len(visits.bounds) - 1)

    def tabulate(first: int, last: int) -> None:
        tabulate_log_rising(first, last, base, rising)

    def place(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        topics, tables = np.zeros(base.shape, np.int32), np.zeros(base.shape, np.int32)
        for part in visits.parts(first, last):
            place_groups(
                *part,
                visits.bounds,
                observations.group_start,
                state.topic_of_token,
                base,
                rising.reshape(-1),
                layout.longest,
                weights.log_clusters,
                observations.dense,
                observations.bags,
                contexts,
                *key,
                observations.first_group,
                observations.first_token,
                state.cluster_of_group,
                topics,
                tables,
                log_likelihood,
            )
        return topics, tables

    workers.map(n_slots, tabulate)
    parts = visits.workers.map(len(layout.chunk_start) - 1, place)
    state.take_topics(sum(topics for topics, _ in parts))
    state.tables_in_cluster = sum(tables for _, tables in parts)
    return log_likelihood


def as_floats(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return float32, 0 where a value is so small that its products would be slow or lost."""
    return np.where(values < SMALLEST_SHARE, 0.0, values).astype(np.float32)
