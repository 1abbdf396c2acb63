"""Clusters of groups, resampled one after another: a step of the collapsed sampler."""

import numpy as np

from mcsquared.kernels.cpu.clusters import ClusterCounts, ClusterPriors, resample_clusters
from mcsquared.kernels.cpu.contexts import ContextCounts
from mcsquared.samplers.content.python_families import SlotStatistics
from mcsquared.samplers.types import Sweep
from mcsquared.state import recount_contexts

NO_SCORES = np.zeros(0)


def resample_clusters_in_turn(sweep: Sweep) -> None:
    """Draw z_j group by group with parameters integrated out; add slots when they run out."""
    state, observations = sweep.state, sweep.observations
    labels, n_slots = state.cluster_of_group, len(state.counts.groups_in_cluster)
    in_python = [SlotStatistics(c, labels, n_slots) for c in observations.python_contexts]
    first = 0
    while True:
        contexts = recount_contexts(state.counts, state.cluster_of_group, observations)
        first = _draw_from(first, sweep, in_python, contexts)
        if first == observations.n_groups:
            break
        state.grow_clusters()
        for context in in_python:
            context.grow(len(state.counts.groups_in_cluster))
    # Recomputed from scratch: rounding errors of removals must not accumulate over sweeps.
    recount_contexts(state.counts, state.cluster_of_group, observations)


def _draw_from(
    first: int, sweep: Sweep, in_python: list[SlotStatistics], contexts: ContextCounts
) -> int:
    """Draw the clusters from group ``first`` on; return the group at which slots ran out."""
    n_groups, clusters = sweep.observations.n_groups, sweep.state.cluster_of_group
    if not in_python:
        return _draw(first, n_groups, NO_SCORES, sweep, contexts)
    for j in range(first, n_groups):
        old = int(clusters[j])
        scores = np.sum([context.log_predictive(j, old) for context in in_python], axis=0)
        if _draw(j, j + 1, scores, sweep, contexts) == j:
            return j
        for context in in_python:
            context.move(j, old, int(clusters[j]))
    return n_groups


def _draw(first: int, last: int, scores: np.ndarray, sweep: Sweep, contexts: ContextCounts) -> int:
    """Draw the clusters of groups ``first:last``; return where slots ran out, or ``last``."""
    state, observations, bound = sweep.state, sweep.observations, sweep.bounds.clusters
    labels = (observations.group_start, state.topic_of_token, state.cluster_of_group)
    max_clusters = -1 if bound is None else bound
    priors = ClusterPriors(state.alpha, state.v, max_clusters, state.topic_weights)
    counts = ClusterCounts(
        groups_in_cluster=state.counts.groups_in_cluster,
        tokens_in_cluster=state.counts.tokens_in_cluster,
        topics_in_cluster=state.counts.topics_in_cluster,
        log_gammas=np.full(state.counts.topics_in_cluster.shape, np.nan),
    )
    bags = observations.bags_given(state.category_shapes)
    observed = (observations.dense, bags, contexts, scores)
    return resample_clusters(first, last, *labels, counts, priors, *observed, sweep.key)
