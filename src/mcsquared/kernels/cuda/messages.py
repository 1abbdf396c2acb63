"""Messages from groups to the units above them: one warp per group.

The counterpart of `mcsquared.kernels.cpu.messages`, from which the messages differ by rounding.
Contents and contexts are read as in the kernels that draw clusters.
"""

import math
from functools import cache

from numba import cuda, float32, float64, int32, int64

from mcsquared.kernels.cpu.messages import FIXED_POINT, MIN_MESSAGE, MIN_SUM
from mcsquared.kernels.cuda.clusters import add_context_scores
from mcsquared.kernels.cuda.launch import N_WARPS, one_warp_each
from mcsquared.kernels.cuda.mixtures import add_word_scores
from mcsquared.kernels.cuda.varying_groups import TOPICS_PER_READ, score_topics
from mcsquared.kernels.cuda.warp import (
    count_topics,
    running_sum,
    shuffle,
    thread_of_warp,
    warp_max,
    warp_of_grid,
)


@cuda.jit(device=True)
def add_message(score, n_cluster_slots, parent, rows, log_rows, messages):
    """Add ln Σ_k Π_tk exp(score_k), for every type t, to the messages of a unit, in fixed point.

    ``score``, float64 (per_thread,), has the scores of this thread's clusters, −∞ beyond the last
    one. ``rows`` and ``log_rows`` are Π and log Π, float64 (type slots, cluster slots).
    """
    thread, highest = thread_of_warp(), -math.inf
    for q in range(score.size):
        highest = max(highest, score[q])
    highest = warp_max(highest)
    if highest == -math.inf:  # the likelihood is 0 in every cluster: the message is 0
        return
    for t in range(rows.shape[0]):
        total = 0.0
        for q in range(score.size):
            k = q * 32 + thread
            if k < n_cluster_slots:
                total += math.exp(score[q] - highest) * rows[t, k]
        total = shuffle(running_sum(total, thread), 31)
        value = -math.inf
        if total > MIN_SUM:
            value = math.log(total)
        else:
            top = -math.inf
            for q in range(score.size):
                k = q * 32 + thread
                if k < n_cluster_slots:
                    top = max(top, score[q] - highest + log_rows[t, k])
            top = warp_max(top)
            if top > -math.inf:
                total = 0.0
                for q in range(score.size):
                    k = q * 32 + thread
                    if k < n_cluster_slots:
                        total += math.exp(score[q] - highest + log_rows[t, k] - top)
                value = top + math.log(shuffle(running_sum(total, thread), 31))
        if thread == 0:
            rounded = int64(math.floor(max(value, MIN_MESSAGE) * FIXED_POINT + 0.5))
            cuda.atomic.add(messages, (parent, t), rounded)


@cache
def add_messages_of_words(per_thread):
    """Return a kernel that adds the messages of groups of words, topics summed out (λ = ∞)."""

    @one_warp_each()
    def kernel(
        n_groups,
        n_cluster_slots,
        order,
        entry_start,
        entry_word,
        entry_count,
        log_mixtures,
        statistics,
        bag_start,
        category,
        bag_count,
        natural,
        log_categories,
        initial_scores,
        row_of_group,
        parent_of_group,
        rows,
        log_rows,
        messages,
    ):
        part = cuda.local.array(per_thread, float32)
        score = cuda.local.array(per_thread, float64)
        thread, warp_index = thread_of_warp(), warp_of_grid()
        if warp_index >= n_groups:
            return
        j = order[warp_index]
        if parent_of_group[j] < 0:
            return
        for q in range(per_thread):
            score[q] = 0.0 if q * 32 + thread < n_cluster_slots else -math.inf
        bags, others = (bag_start, category, bag_count), (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        words, first, last = (entry_word, entry_count), entry_start[j], entry_start[j + 1]
        add_word_scores(first, last, words, n_cluster_slots, log_mixtures, part, score)
        add_message(score, n_cluster_slots, parent_of_group[j], rows, log_rows, messages)

    return kernel


@cache
def add_messages_by_scores(per_thread):
    """Return a kernel that adds the messages of a block of groups, given their scores."""

    @one_warp_each()
    def kernel(
        n_groups,
        block_start,
        n_cluster_slots,
        content_scores,
        statistics,
        bag_start,
        category,
        bag_count,
        natural,
        log_categories,
        initial_scores,
        row_of_group,
        parent_of_group,
        rows,
        log_rows,
        messages,
    ):
        score = cuda.local.array(per_thread, float64)
        thread, row = thread_of_warp(), warp_of_grid()
        if row >= n_groups:
            return
        j = block_start + row
        if parent_of_group[j] < 0:
            return
        for q in range(per_thread):
            k = q * 32 + thread
            score[q] = -math.inf
            if k < n_cluster_slots:
                score[q] = content_scores[row * n_cluster_slots + k]
        bags, others = (bag_start, category, bag_count), (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        add_message(score, n_cluster_slots, parent_of_group[j], rows, log_rows, messages)

    return kernel


@cache
def add_messages_of_topics(n_slots, per_thread):
    """Return a kernel that adds the messages of groups given their topics (λ finite)."""

    @one_warp_each()
    def kernel(
        n_groups,
        n_cluster_slots,
        group_start,
        topic_of_token,
        base,
        tabulated,
        n_tabulated,
        statistics,
        bag_start,
        category,
        bag_count,
        natural,
        log_categories,
        initial_scores,
        row_of_group,
        parent_of_group,
        rows,
        log_rows,
        messages,
    ):
        count = cuda.shared.array((N_WARPS, n_slots), int32)
        topic_score = cuda.local.array(per_thread, float32)
        score = cuda.local.array(per_thread, float64)
        topic = cuda.local.array(TOPICS_PER_READ, int32)
        n_of_topic = cuda.local.array(TOPICS_PER_READ, int32)
        value = cuda.local.array(TOPICS_PER_READ, float32)
        thread, j = thread_of_warp(), warp_of_grid()
        if j >= n_groups or parent_of_group[j] < 0:
            return
        count_topics(n_slots, group_start[j], group_start[j + 1], topic_of_token, count)
        factorials, scratch = (base, tabulated, n_tabulated), (topic, n_of_topic, value)
        score_topics(n_slots, n_cluster_slots, count, factorials, scratch, topic_score)
        for q in range(per_thread):
            k = q * 32 + thread
            score[q] = float64(topic_score[q]) if k < n_cluster_slots else -math.inf
        bags, others = (bag_start, category, bag_count), (initial_scores, row_of_group)
        contexts = (statistics, bags, natural, log_categories, others)
        add_context_scores(j, n_cluster_slots, contexts, score)
        add_message(score, n_cluster_slots, parent_of_group[j], rows, log_rows, messages)

    return kernel
