"""The z step over all groups: the kernel, given room when new clusters fill the slots."""

from __future__ import annotations

import numpy as np

from mcsquared.kernels.cpu.clusters import resample_clusters
from mcsquared.kernels.cpu.contexts import rebuild_contexts
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
        counts = state.counts
        contexts = context_counts(counts, observations)
        rebuild_contexts(
            state.cluster_of_group,
            counts.groups_in_cluster,
            observations.dense,
            observations.bags,
            contexts,
        )
        table = np.full(counts.topics_in_cluster.shape, np.nan)

        def draw(begin: int, end: int, extra: np.ndarray) -> int:
            return resample_clusters(
                begin,
                end,
                observations.group_start,
                state.topic_of_token,
                state.alpha,
                state.v,
                -1 if bounds.clusters is None else bounds.clusters,
                state.cluster_of_group,
                counts.groups_in_cluster,  # noqa: B023  called before the loop goes on
                counts.tokens_in_cluster,  # noqa: B023
                counts.topics_in_cluster,  # noqa: B023
                state.topic_weights,
                observations.dense,
                observations.bags,
                contexts,  # noqa: B023
                extra,
                table,  # noqa: B023
                seed,
                chain,
                state.sweep,
            )

        first = generic.walk(first, draw)
        if first == observations.n_groups:
            break
        state.grow_clusters()
        generic.grow()
    # What was moved in and out is summed anew, so that no digit is lost from sweep to sweep.
    rebuild_contexts(
        state.cluster_of_group,
        counts.groups_in_cluster,
        observations.dense,
        observations.bags,
        contexts,
    )
