"""Clusters of groups with categories of their own, the parameters of bags integrated out."""

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import add_context_scores, log_contexts, move_contexts
from mcsquared.kernels.cpu.groups import list_topics
from mcsquared.kernels.cpu.predictive import JOIN, LEAVE
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.cpu.varying_groups import score_clusters
from mcsquared.kernels.rng import Step, uniform_of

UNIQUE_PROPOSALS = int(Step.UNIQUE_PROPOSALS)


@njit(cache=True, nogil=True, error_model="numpy")
def propose_clusters(
    first, last, chosen, groups, topic_of_token, base, tabulated, log_weights, contexts, key, out
):
    """Draw a cluster for the chosen groups ``first:last``, as `resample_groups` draws z_j."""
    n_cluster_slots, n_slots = base.shape
    dense, bags, parameters = contexts
    scores, log_scores = np.empty(n_cluster_slots), np.empty(n_cluster_slots, np.float32)
    statistics, count = np.empty(dense.stat_start[-1]), np.zeros(n_slots, np.int64)
    topics, counts = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    n_tabulated = tabulated.size // base.size - 1
    for i in range(first, last):
        j = chosen[i]
        n_topics = list_topics(j, groups, topic_of_token, count, topics, counts)
        score_clusters(topics, counts, n_topics, base, tabulated, n_tabulated, log_scores)
        for k in range(n_cluster_slots):
            scores[k] = log_weights[k] + log_scores[k]
        add_context_scores(j, dense, bags, parameters, statistics, scores)
        u = uniform_of(key, UNIQUE_PROPOSALS, groups.first_group + j, 0)
        out[i] = pick(scores, n_cluster_slots, u)


@njit(cache=True, nogil=True, error_model="numpy")
def accept_clusters(proposed, dense, bags, counts, log_uniforms, clusters):
    """Accept or reject the proposed cluster of each group in turn; update ``clusters``.

    ``dense`` has no contexts; ``counts`` contains the groups themselves and is updated.
    """
    for i in range(proposed.size):
        old, new = np.int64(clusters[i]), np.int64(proposed[i])
        if old == new:
            continue
        move_contexts(i, old, LEAVE, dense, bags, counts)
        gain = log_contexts(i, new, dense, bags, counts) - log_contexts(i, old, dense, bags, counts)
        if log_uniforms[i] < gain:
            clusters[i] = new
        move_contexts(i, np.int64(clusters[i]), JOIN, dense, bags, counts)
