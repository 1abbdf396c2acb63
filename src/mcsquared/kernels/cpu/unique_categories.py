"""Clusters of groups with a category that no other group has; parameters of bags integrated out."""

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import log_contexts, move_contexts
from mcsquared.kernels.cpu.predictive import JOIN, LEAVE
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.cpu.varying_groups import group_scratch, score_group
from mcsquared.kernels.rng import Step, uniform_of

UNIQUE_PROPOSALS = int(Step.UNIQUE_PROPOSALS)


@njit(cache=True, nogil=True, error_model="numpy")
def propose_clusters(
    first, last, chosen, groups, topic_of_token, base, tabulated, log_weights, contexts, key, out
):
    """Draw a cluster for the chosen groups ``first:last``, as `resample_groups` draws z_j.

    ``chosen``, int64, and ``out``, int32, are (n_chosen,).
    """
    scratch, scores = group_scratch(base, contexts), np.empty(len(base))
    arguments = (groups, topic_of_token, base, tabulated, contexts, scratch)
    for i in range(first, last):
        scores[:] = log_weights
        score_group(chosen[i], *arguments, scores)
        u = uniform_of(key, UNIQUE_PROPOSALS, groups.first_group + chosen[i], 0)
        out[i] = pick(scores, scores.size, u)


@njit(cache=True, nogil=True, error_model="numpy")
def accept_clusters(proposed, dense, bags, counts, log_uniforms, clusters):
    """Accept or reject the proposed cluster of each group in turn; update ``clusters``.

    ``proposed`` and ``clusters``, int32, and ``log_uniforms``, float64, are (n_groups,). ``dense``
    has no contexts; ``counts``, a `ContextCounts`, includes these groups and is updated.
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
