"""Messages from groups to the units above them: the likelihood of a group given its parent's type.

    m_j(t)  =  ln Σ_k Π_tk L_jk

with the weights Π_t of type t over the clusters, and the likelihood L_jk of the content and the
contexts of group j in cluster k, known up to a factor per group. Messages of the groups of a unit
are added as integers, rounded to multiples of 2⁻²⁴, so that sums do not depend on their order.
"""

import math

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.contexts import add_context_scores
from mcsquared.kernels.cpu.fast_math import (
    ROUND_TO_INTEGER,
    bits_of_double,
    exponentials,
    log64,
)
from mcsquared.kernels.cpu.mixtures import add_word_scores
from mcsquared.kernels.cpu.varying_groups import group_scratch, score_group
from mcsquared.kernels.cpu.vector_tokens import largest_of, log_mixture, weighted_sum

FIXED_POINT = 2.0**24  # scale of messages that are summed as integers
MIN_MESSAGE = -(2.0**22)  # replaces smaller messages, so that sums do not overflow
MIN_SUM = 1e-200  # smaller sums are computed in logs
ROUNDED_ZERO = int(np.float64(ROUND_TO_INTEGER).view(np.int64))


@njit(cache=True, nogil=True, error_model="numpy")
def score_varying_groups(first, last, groups, topic_of_token, base, tabulated, contexts, scores):
    """Write the log-likelihood of topics and contexts of groups ``first:last`` in every cluster.

    ``scores`` is float64 (last − first, cluster slots); the other arguments are those of
    `mcsquared.kernels.cpu.varying_groups.resample_groups`.
    """
    arguments = (groups, topic_of_token, base, tabulated, contexts, group_scratch(base, contexts))
    for j in range(first, last):
        scores[j - first] = 0.0
        score_group(j, *arguments, scores[j - first])


@njit(cache=True, nogil=True, error_model="numpy")
def keep_scores(first, last, groups, topic_of_token, base, tabulated, contexts, scored):
    """Write the scores of `score_varying_groups` and the groups' topics to a `ScoredGroups`."""
    scratch = group_scratch(base, contexts)
    arguments = (groups, topic_of_token, base, tabulated, contexts, scratch)
    for j in range(first, last):
        scored.scores[j] = 0.0
        n_topics = score_group(j, *arguments, scored.scores[j])
        scored.topic_scores[j] = scratch[3]
        scored.n_topics[j] = n_topics
        for t in range(n_topics):
            scored.topic[scored.start[j] + t] = scratch[0][t]
            scored.count[scored.start[j] + t] = scratch[1][t]


@njit(cache=True, nogil=True, error_model="numpy")
def score_groups_of_words(first, last, entries, log_mixtures, contexts, scores):
    """Write the log-likelihood of words and contexts in every cluster, topics summed out (λ = ∞).

    ``scores`` is float64 (last − first, cluster slots); ``entries`` and ``log_mixtures`` are those
    of `mcsquared.kernels.cpu.mixtures.draw_clusters_of_words`.
    """
    start, word, count = entries
    part, n_statistics = np.empty(scores.shape[1], np.float32), contexts.dense.stat_start[-1]
    statistics = np.empty(n_statistics)
    for j in range(first, last):
        row = scores[j - first]
        row[:] = 0.0
        add_context_scores(j, contexts, statistics, row)
        add_word_scores(start[j], start[j + 1], word, count, log_mixtures, part, row)


@njit(cache=True, nogil=True, error_model="numpy")
def score_contexts(first, last, contexts, scores):
    """Add the log-likelihood of the contexts of groups ``first:last`` to ``scores``.

    ``scores`` is float64 (last − first, cluster slots).
    """
    statistics = np.empty(contexts.dense.stat_start[-1])
    for j in range(first, last):
        add_context_scores(j, contexts, statistics, scores[j - first])


@njit(cache=True, nogil=True, error_model="numpy")
def add_messages(first, scores, log_rows, rows, parent_of_group, messages):
    """Add the messages of groups to those of their parents, in fixed point.

    Parameters
    ----------
    first : int
        Number of the first group.
    scores : float64 (n_groups, cluster slots)
        log L, up to a constant per group.
    log_rows : float64 (type slots, cluster slots)
        log Π.
    rows : float64 (cluster slots, type slots)
        Π, transposed.
    parent_of_group : int32 (groups of the corpus or shard,)
        -1 for groups without a parent, which are skipped.
    messages : int64 (n_units, type slots)
        Messages are added, in fixed point.
    """
    n_clusters, n_types = rows.shape
    likelihood, sums = np.empty(n_clusters), np.empty(n_types)
    for i in range(len(scores)):
        parent = parent_of_group[first + i]
        highest = largest_of(scores[i])
        if parent < 0 or highest == -math.inf:  # the likelihood is 0 everywhere: no information
            continue
        exponentials(scores[i], highest, likelihood)
        weighted_sum(likelihood, rows, sums)
        add_logs(sums, messages[parent])
        for t in range(n_types):
            if sums[t] <= MIN_SUM:
                value = max(log_mixture(log_rows[t], scores[i]) - highest, MIN_MESSAGE)
                messages[parent, t] += round(value * FIXED_POINT)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def add_logs(sums, message):
    """Add the logs of ``sums`` to int64 ``message`` in fixed point, except for too small ones."""
    for t in range(sums.size):
        is_precise = sums[t] > MIN_SUM
        value = log64(sums[t] if is_precise else 1.0)
        # Rounds to an integer in the lowest bits; it has fewer than 51 bits.
        message[t] += bits_of_double(value * FIXED_POINT + ROUND_TO_INTEGER) - ROUNDED_ZERO
