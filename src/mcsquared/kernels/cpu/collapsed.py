"""Topics of tokens in the collapsed sampler, resampled one token at a time.

    p(l_ji = m | ·)  ∝  (c_km + v ε_m) p(w_ji | other tokens of topic m) f_m(t_j)    an active topic
    p(l_ji = new)    ∝  v ε_new p(w_ji) p(t_j)

For words, p(w | topic m) = (n_mw + β) / (n_m + V β). f_m and p(t) are densities over time (see
`mcsquared.kernels.cpu.times`), or 1 if there are no times. Topics occupy slots. An empty slot has
weight 0 and is never drawn, so for words the loop visits all slots up to the last occupied one,
eight at a time.
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.lanes import prefetch_to_write
from mcsquared.kernels.cpu.predictive import (
    JOIN,
    LEAVE,
    add_observation,
    add_observations,
    log_predictive,
    prepare,
    update_prepared,
)
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.cpu.times import (
    begin_group,
    join_component,
    leave_component,
    prepare_components,
)
from mcsquared.kernels.rng import Step, uniform_of

UNROLLED = 8  # number of independent sums
LOOKAHEAD = 4  # tokens between the prefetch of a word's row and its use: about the memory latency
COUNTS_PER_LINE = 16  # 32-bit counts in a cache line of 64 bytes
TOPICS, BIRTHS = int(Step.TOPICS), int(Step.BIRTHS)


class TopicState(NamedTuple):
    """Topics of all tokens, with their counts and weights; updated in place."""

    group_start: np.ndarray  # int64 (n_groups + 1,)
    cluster_of_group: np.ndarray  # int32 (n_groups,)
    topic_of_token: np.ndarray  # int32 (n_tokens,)
    topics_in_cluster: np.ndarray  # int32 (cluster slots, topic slots)
    tokens_in_topic: np.ndarray  # int64 (topic slots,)
    topic_weights: np.ndarray  # float64 (topic slots,): ε_m, 0 in an empty slot
    log_unused: np.ndarray  # float64 (1,): log ε_new
    v: float
    eta: float
    max_topics: int  # maximum number of active topics; negative for no limit


class VectorTopics(NamedTuple):
    """Tokens of a family with few statistics, and the statistics of every topic slot."""

    kind: int  # one of `mcsquared.kernels.cpu.predictive.KINDS`
    parameters: np.ndarray  # float64 (n_parameters,): those of the prior
    values: np.ndarray  # float64 (n_tokens, width), relative to the family's origin
    statistics: np.ndarray  # float64 (topic slots, n_stats)
    prepared: np.ndarray  # float64 (topic slots, prepared numbers)


@njit(cache=True, error_model="numpy")
def free_slot(occupied):
    """Return the first empty slot, or -1 if there is none."""
    for m in range(occupied.size):
        if occupied[m] == 0:
            return m
    return -1


@njit(cache=True, error_model="numpy")
def count_slots_to_visit(occupied):
    """Return the number of slots up to the last occupied one, as a multiple of `UNROLLED`."""
    top = occupied.size
    while top > 0 and occupied[top - 1] == 0:
        top -= 1
    return min((top + UNROLLED - 1) // UNROLLED * UNROLLED, occupied.size)


@njit(cache=True, error_model="numpy")
def compute_weights(counts, topic_factor, beta, n_slots, weights, partial_sums):
    """Write the weight of every topic to ``weights``, and their sums in eight lanes.

    Lane i sums the slots i, i + 8, i + 16, ..., so that the compiler can keep all sums in a vector
    register without changing the order of any sum.
    """
    for m in range(n_slots):
        weights[m] = (counts[m] + beta) * topic_factor[m]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for b in range(0, n_slots, 8):
        s0 += weights[b]
        s1 += weights[b + 1]
        s2 += weights[b + 2]
        s3 += weights[b + 3]
        s4 += weights[b + 4]
        s5 += weights[b + 5]
        s6 += weights[b + 6]
        s7 += weights[b + 7]
    partial_sums[0], partial_sums[1], partial_sums[2], partial_sums[3] = s0, s1, s2, s3
    partial_sums[4], partial_sums[5], partial_sums[6], partial_sums[7] = s4, s5, s6, s7


@njit(cache=True, error_model="numpy")
def update_weight(m, counts, topic_factor, beta, weights, partial_sums):
    """Update ``weights`` and ``partial_sums`` after a change in slot ``m``.

    Rounding errors accumulate only over the repetitions of a word in a group.
    """
    weight = (counts[m] + beta) * topic_factor[m]
    partial_sums[m % UNROLLED] += weight - weights[m]
    weights[m] = weight


@njit(cache=True, error_model="numpy")
def pick_slot(weights, n_slots, partial_sums, threshold):
    """Return the slot where the running sum, lane by lane, exceeds ``threshold``.

    Without branches: a misprediction would cost more than the sums.
    """
    s0, s1, s2, s3 = partial_sums[0], partial_sums[1], partial_sums[2], partial_sums[3]
    s4, s5, s6 = partial_sums[4], partial_sums[5], partial_sums[6]
    c1 = s0 + s1
    c2 = c1 + s2
    c3 = c2 + s3
    c4 = c3 + s4
    c5 = c4 + s5
    c6 = c5 + s6
    lane = int(threshold >= s0) + int(threshold >= c1) + int(threshold >= c2)
    lane += (
        int(threshold >= c3) + int(threshold >= c4) + int(threshold >= c5) + int(threshold >= c6)
    )
    threshold -= s0 * (lane > 0) + s1 * (lane > 1) + s2 * (lane > 2) + s3 * (lane > 3)
    threshold -= s4 * (lane > 4) + s5 * (lane > 5) + s6 * (lane > 6)
    steps = 0
    running = 0.0
    for m in range(lane, n_slots, UNROLLED):
        running += weights[m]
        steps += running <= threshold
    chosen = lane + UNROLLED * steps
    if chosen >= n_slots:  # beyond the end of the lane by rounding: take the last occupied slot
        chosen = n_slots - 1
        while chosen > 0 and weights[chosen] == 0.0:
            chosen -= 1
    return chosen


@njit(cache=True, error_model="numpy")
def compute_topic_factor(m, row, v, topic_weights, tokens_in_topic, smoothing, times):
    """Return the factor of a topic's weight that does not depend on the word."""
    prior = row[m] + v * topic_weights[m]
    if times is not None:
        prior *= times.factor[m]
    return prior / (tokens_in_topic[m] + smoothing)


@njit(cache=True, error_model="numpy")
def close_topic(m, unused, topic_weights, log_unused):
    """Add the weight of an emptied topic to the unused weight and return the sum."""
    unused += topic_weights[m]
    log_unused[0] = math.log(unused)
    topic_weights[m] = 0.0
    return unused


@njit(cache=True, error_model="numpy")
def open_topic(m, i, unused, eta, topic_weights, log_unused, key):
    """Assign a fraction b ~ Beta(1, η) of the unused weight to a new topic; return the rest."""
    log_rest = math.log(uniform_of(key, BIRTHS, i, 0)) / eta  # log(1 − b)
    topic_weights[m] = -math.expm1(log_rest) * unused
    log_unused[0] += log_rest
    return math.exp(log_unused[0])


@njit(cache=True, nogil=True, error_model="numpy")
def resample_word_topics(
    first_group, first_token, state, word, words_in_topic, beta, key, times=None
):
    """Draw the topic of every token from ``first_token`` on, and update the counts.

    Parameters
    ----------
    first_group, first_token : int
        The first group and token to visit: 0 and 0, or what an earlier call returned.
    state : TopicState
    word : int32 (n_tokens,)
    words_in_topic : int32 (n_words, topic slots)
    beta : float
    times : Times, optional
        Times of the groups and components of the topics. Without them, their code is not compiled.

    Returns
    -------
    tuple of int
        The group and token at which no slot was free for a topic or, with times, for a component of
        some topic; otherwise (n_groups, n_tokens).
    """
    group_start, cluster_of_group, topic_of_token, topics_in_cluster = state[:4]
    tokens_in_topic, topic_weights, log_unused, v, eta, max_topics = state[4:]
    n_words, capacity = words_in_topic.shape
    smoothing = n_words * beta
    topic_factor, weights, partial_sums = np.zeros(capacity), np.zeros(capacity), np.zeros(UNROLLED)
    n_slots = count_slots_to_visit(tokens_in_topic)
    n_active = np.count_nonzero(tokens_in_topic)
    unused = math.exp(log_unused[0])
    is_full = False
    if times is not None:
        is_full = prepare_components(times)
    for j in range(first_group, group_start.size - 1):
        row = topics_in_cluster[cluster_of_group[j]]
        new_density = 1.0
        if times is not None:
            new_density = begin_group(j, times)
        weighted_word = -1  # the word whose weights are in ``weights``
        for m in range(n_slots):
            topic_factor[m] = compute_topic_factor(
                m, row, v, topic_weights, tokens_in_topic, smoothing, times
            )
        for i in range(max(first_token, group_start[j]), group_start[j + 1]):
            if n_active == capacity or is_full:
                return j, i
            if i + LOOKAHEAD < word.size and word[i + LOOKAHEAD] != word[i + LOOKAHEAD - 1]:
                for b in range(0, n_slots, COUNTS_PER_LINE):
                    prefetch_to_write(words_in_topic, np.int64(word[i + LOOKAHEAD]) * capacity + b)
            counts = words_in_topic[word[i]]
            m = topic_of_token[i]
            counts[m] -= 1
            row[m] -= 1
            tokens_in_topic[m] -= 1
            if times is not None:
                leave_component(i, j, m, new_density, times)
            if tokens_in_topic[m] == 0:
                unused = close_topic(m, unused, topic_weights, log_unused)
                topic_factor[m] = 0.0
                n_active -= 1
            else:
                topic_factor[m] = compute_topic_factor(
                    m, row, v, topic_weights, tokens_in_topic, smoothing, times
                )

            # Repetitions of a word in a group are adjacent; each changes at most two topics.
            if word[i] != weighted_word:
                compute_weights(counts, topic_factor, beta, n_slots, weights, partial_sums)
                weighted_word = word[i]
            else:
                update_weight(m, counts, topic_factor, beta, weights, partial_sums)
            total = (partial_sums[0] + partial_sums[1]) + (partial_sums[2] + partial_sums[3])
            total += (partial_sums[4] + partial_sums[5]) + (partial_sums[6] + partial_sums[7])
            new_weight = v * unused / n_words * new_density
            if max_topics >= 0 and n_active >= max_topics:
                new_weight = 0.0
            threshold = uniform_of(key, TOPICS, i, 0) * (total + new_weight)
            if threshold >= total and (new_weight > 0.0 or total == 0.0):
                m = free_slot(tokens_in_topic)
                n_slots = max(n_slots, (m // UNROLLED + 1) * UNROLLED)
                unused = open_topic(m, i, unused, eta, topic_weights, log_unused, key)
                n_active += 1
                weighted_word = -1
            else:
                m = pick_slot(weights, n_slots, partial_sums, threshold)
            if times is not None:
                u = uniform_of(key, TOPICS, i, 1)
                is_full = join_component(i, j, m, new_density, u, times)
            topic_of_token[i] = m
            counts[m] += 1
            row[m] += 1
            tokens_in_topic[m] += 1
            topic_factor[m] = compute_topic_factor(
                m, row, v, topic_weights, tokens_in_topic, smoothing, times
            )
            if weighted_word >= 0 and i + 1 < group_start[j + 1] and word[i + 1] == weighted_word:
                update_weight(m, counts, topic_factor, beta, weights, partial_sums)
    return group_start.size - 1, group_start[-1]


@njit(cache=True, nogil=True, error_model="numpy")
def rebuild_topics(topic_of_token, content):
    """Recompute the statistics of every topic, token by token, and prepare all slots.

    ``content`` is a `VectorTopics`.
    """
    kind, parameters, values, statistics, prepared = content
    statistics[:] = 0.0
    add_observations(kind, values, topic_of_token, statistics)
    for m in range(statistics.shape[0]):
        prepare(kind, parameters, statistics[m], prepared[m])


@njit(cache=True, nogil=True, error_model="numpy")
def resample_vector_topics(first_group, first_token, state, content, key):
    """Draw the topic of every token from ``first_token`` on; update counts and statistics.

    ``content`` is a `VectorTopics`; the other arguments are those of `resample_word_topics`.
    """
    group_start, cluster_of_group, topic_of_token, topics_in_cluster = state[:4]
    tokens_in_topic, topic_weights, log_unused, v, eta, max_topics = state[4:]
    kind, parameters, values, statistics, prepared = content
    capacity = tokens_in_topic.size
    log_weights = np.empty(capacity)
    active = np.empty(capacity, np.int64)
    n_active = np.count_nonzero(tokens_in_topic)
    for j in range(first_group, group_start.size - 1):
        row = topics_in_cluster[cluster_of_group[j]]
        for i in range(max(first_token, group_start[j]), group_start[j + 1]):
            if n_active == capacity:
                return j, i
            m, x = topic_of_token[i], values[i]
            row[m] -= 1
            tokens_in_topic[m] -= 1
            add_observation(kind, statistics[m], x, LEAVE)
            if tokens_in_topic[m] == 0:
                close_topic(m, math.exp(log_unused[0]), topic_weights, log_unused)
                statistics[m] = 0.0  # discards the rounding errors of removals
                n_active -= 1
            update_prepared(kind, parameters, statistics[m], x, LEAVE, prepared[m])

            n_choices = 0
            for m in range(capacity):
                if tokens_in_topic[m] > 0:
                    weight = math.log(row[m] + v * topic_weights[m])
                    log_weights[n_choices] = weight + log_predictive(kind, prepared[m], x)
                    active[n_choices] = m
                    n_choices += 1
            if n_active == 0 or max_topics < 0 or n_active < max_topics:
                m = free_slot(tokens_in_topic)
                weight = math.log(v) + log_unused[0]
                log_weights[n_choices] = weight + log_predictive(kind, prepared[m], x)
                active[n_choices] = m
                n_choices += 1
            m = active[pick(log_weights, n_choices, uniform_of(key, TOPICS, i, 0))]
            if tokens_in_topic[m] == 0:
                unused = math.exp(log_unused[0])
                open_topic(m, i, unused, eta, topic_weights, log_unused, key)
                n_active += 1
            topic_of_token[i] = m
            row[m] += 1
            tokens_in_topic[m] += 1
            add_observation(kind, statistics[m], x, JOIN)
            update_prepared(kind, parameters, statistics[m], x, JOIN, prepared[m])
    return group_start.size - 1, group_start[-1]
