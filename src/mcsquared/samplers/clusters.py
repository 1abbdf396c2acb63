"""The z step over all groups: the kernel, given room when new clusters fill the slots."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.clusters import ClusterCounts, resample_clusters
from mcsquared.kernels.cpu.contexts import ContextCounts, rebuild_contexts
from mcsquared.observations import Observations
from mcsquared.samplers.generic import GenericContexts
from mcsquared.state import Bounds, State, context_counts

__all__ = ["sweep_clusters"]


def sweep_clusters(
    state: State, observations: Observations, seed: int, chain: int, bounds: Bounds
) -> None:
    """Draw z_j for every group in turn."""
    generic = GenericContexts.of(state, observations)
    first = 0
    while True:
        contexts = _summed_contexts(state, observations)
        first = generic.walk(
            first, partial(_draw, state, observations, contexts, seed, chain, bounds)
        )
        if first == observations.n_groups:
            break
        state.grow_clusters()
        generic.grow()
    # What was moved in and out is summed anew, so that no digit is lost from sweep to sweep.
    _summed_contexts(state, observations)


def _summed_contexts(state: State, observations: Observations) -> ContextCounts:
    """Sum the contexts of every cluster anew and return them as the kernel takes them."""
    contexts = context_counts(state.counts, observations)
    rebuild_contexts(
        state.cluster_of_group,
        state.counts.groups_in_cluster,
        observations.dense,
        observations.bags,
        contexts,
    )
    return contexts


def _draw(
    state: State,
    observations: Observations,
    contexts: ContextCounts,
    seed: int,
    chain: int,
    bounds: Bounds,
    first: int,
    last: int,
    extra: NDArray[np.float64],
) -> int:
    """Draw the clusters of groups ``first:last``; return where slots ran out, or ``last``."""
    counts = state.counts
    return resample_clusters(
        first,
        last,
        observations.group_start,
        state.topic_of_token,
        state.alpha,
        state.v,
        -1 if bounds.clusters is None else bounds.clusters,
        state.topic_weights,
        state.cluster_of_group,
        ClusterCounts(
            groups=counts.groups_in_cluster,
            tokens=counts.tokens_in_cluster,
            topics=counts.topics_in_cluster,
            table=np.full(counts.topics_in_cluster.shape, np.nan),
        ),
        observations.dense,
        observations.bags,
        contexts,
        extra,
        seed,
        chain,
        state.sweep,
    )
