"""Topics of words in the collapsed sampler: one token after another.

    p(l_ji = m | ·)  ∝  (c_km + v ε_m) (n_mw + β) / (n_m + V β) f_m(t_j)       an active topic
    p(l_ji = new)    ∝  v ε_new / V  p(t_j)

f_m and p are densities over time (see `mcsquared.kernels.cpu.times`) and 1 without times. Topics
occupy slots. An empty slot has weight 0 and is never drawn, so the inner loop runs over all slots
without a test, eight at a time.
"""

import math

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.lanes import prefetch
from mcsquared.kernels.cpu.times import begin_group, join_component, leave_component, start_times
from mcsquared.kernels.rng import Step, uniform_of

UNROLLED = 8  # slots that are summed in parallel
PREFETCH_DISTANCE = 4  # in tokens; loading the row of a word from memory takes about as long
COUNTS_PER_LINE = 16  # 32-bit counts in a cache line of 64 bytes
TOPICS, BIRTHS = int(Step.TOPICS), int(Step.BIRTHS)


@njit(cache=True, error_model="numpy")
def free_slot(occupied):
    """Return the lowest empty slot, or -1."""
    for m in range(occupied.size):
        if occupied[m] == 0:
            return m
    return -1


@njit(cache=True, error_model="numpy")
def used_slots(occupied):
    """Return a multiple of `UNROLLED` that covers every occupied slot."""
    top = occupied.size
    while top > 0 and occupied[top - 1] == 0:
        top -= 1
    return min((top + UNROLLED - 1) // UNROLLED * UNROLLED, occupied.size)


@njit(cache=True, error_model="numpy")
def compute_weights(counts, share, beta, n_slots, product, lanes):
    """Write the weight of every topic to ``product`` and the sums of eight lanes to ``lanes``.

    Lane i consists of the slots i, i + 8, i + 16, ...: independent running sums, which a compiler
    can keep in one vector register without changing the order of any sum.
    """
    for m in range(n_slots):
        product[m] = (counts[m] + beta) * share[m]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for b in range(0, n_slots, 8):
        s0 += product[b]
        s1 += product[b + 1]
        s2 += product[b + 2]
        s3 += product[b + 3]
        s4 += product[b + 4]
        s5 += product[b + 5]
        s6 += product[b + 6]
        s7 += product[b + 7]
    lanes[0], lanes[1], lanes[2], lanes[3] = s0, s1, s2, s3
    lanes[4], lanes[5], lanes[6], lanes[7] = s4, s5, s6, s7


@njit(cache=True, error_model="numpy")
def update_weight(m, counts, share, beta, product, lanes):
    """Update ``product`` and ``lanes`` after a change of slot ``m`` only.

    Rounding errors accumulate only over the repeats of one word in one group.
    """
    weight = (counts[m] + beta) * share[m]
    lanes[m % UNROLLED] += weight - product[m]
    product[m] = weight


@njit(cache=True, error_model="numpy")
def pick_slot(product, n_slots, lanes, threshold):
    """Return the slot where the running sum, lane after lane, passes ``threshold``.

    Branch-free: a mispredicted branch would cost more than the sums.
    """
    s0, s1, s2, s3 = lanes[0], lanes[1], lanes[2], lanes[3]
    s4, s5, s6 = lanes[4], lanes[5], lanes[6]
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
        running += product[m]
        steps += running <= threshold
    chosen = lane + UNROLLED * steps
    if chosen >= n_slots:  # past the end of the lane by rounding: take the last non-empty slot
        chosen = n_slots - 1
        while product[chosen] == 0.0:
            chosen -= 1
    return chosen


@njit(cache=True, error_model="numpy")
def share_of(m, row, v, topic_weights, tokens_in_topic, smoothing, times):
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
    """Assign a fraction b ~ Beta(1, η) of the unused weight to a topic; return the remainder."""
    log_rest = math.log(uniform_of(key, BIRTHS, i, 0)) / eta  # log(1 − b)
    topic_weights[m] = -math.expm1(log_rest) * unused
    log_unused[0] += log_rest
    return math.exp(log_unused[0])


@njit(cache=True, nogil=True, error_model="numpy")
def resample_word_topics(
    first_group,
    first_token,
    group_start,
    word,
    cluster_of_group,
    beta,
    v,
    eta,
    max_topics,
    topic_of_token,
    topics_in_cluster,
    words_in_topic,
    tokens_in_topic,
    topic_weights,
    log_unused,
    key,
    times=None,
):
    """Draw the topic of every token from ``first_token`` on and update the counts.

    Parameters
    ----------
    first_group, first_token : int
        The first group and token to visit: 0 and 0, or those at which a previous call ran out of
        slots.
    group_start : int64 (n_groups + 1,)
        Tokens of group ``j`` are ``group_start[j]:group_start[j + 1]``.
    word : int32 (n_tokens,)
    cluster_of_group : int32 (n_groups,)
    beta, v, eta : float
    max_topics : int
        Bound on active topics; negative for no bound.
    topic_of_token : int32 (n_tokens,)
    topics_in_cluster : int32 (cluster slots, topic slots)
    words_in_topic : int32 (n_words, topic slots)
        A word's row is contiguous.
    tokens_in_topic : int64 (topic slots,)
    topic_weights : float64 (topic slots,)
        ε_m; 0 in an empty slot.
    log_unused : float64 (1,)
        log ε_new.
    key : Key
    times : Times, optional
        Times of the groups and components of the topics; without them the code is compiled away.

    Returns
    -------
    tuple of int
        The group and token at which slots ran out, or (n_groups, n_tokens).
    """
    n_words, capacity = words_in_topic.shape
    smoothing = n_words * beta
    share, product, lanes = np.zeros(capacity), np.zeros(capacity), np.zeros(UNROLLED)
    n_slots = used_slots(tokens_in_topic)
    n_active = 0
    for m in range(capacity):
        n_active += tokens_in_topic[m] > 0
    unused = math.exp(log_unused[0])
    full = False
    if times is not None:
        full = start_times(times)
    for j in range(first_group, group_start.size - 1):
        row = topics_in_cluster[cluster_of_group[j]]
        new_density = 1.0
        if times is not None:
            new_density = begin_group(j, times)
        weighted_word = -1  # the word to which ``product`` applies
        for m in range(n_slots):
            share[m] = share_of(m, row, v, topic_weights, tokens_in_topic, smoothing, times)
        for i in range(max(first_token, group_start[j]), group_start[j + 1]):
            if n_active == capacity or full:
                return j, i
            if (
                i + PREFETCH_DISTANCE < word.size
                and word[i + PREFETCH_DISTANCE] != word[i + PREFETCH_DISTANCE - 1]
            ):
                for b in range(0, n_slots, COUNTS_PER_LINE):
                    prefetch(words_in_topic, np.int64(word[i + PREFETCH_DISTANCE]) * capacity + b)
            counts = words_in_topic[word[i]]
            m = topic_of_token[i]
            counts[m] -= 1
            row[m] -= 1
            tokens_in_topic[m] -= 1
            if times is not None:
                leave_component(i, j, m, new_density, times)
            if tokens_in_topic[m] == 0:
                unused = close_topic(m, unused, topic_weights, log_unused)
                share[m] = 0.0
                n_active -= 1
            else:
                share[m] = share_of(m, row, v, topic_weights, tokens_in_topic, smoothing, times)

            # Repeats of a word in a group are adjacent and change at most two topics.
            if word[i] != weighted_word:
                compute_weights(counts, share, beta, n_slots, product, lanes)
                weighted_word = word[i]
            else:
                update_weight(m, counts, share, beta, product, lanes)
            total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
            total += (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
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
                m = pick_slot(product, n_slots, lanes, threshold)
            if times is not None:
                u = uniform_of(key, TOPICS, i, 1)
                full = join_component(i, j, m, new_density, u, times)
            topic_of_token[i] = m
            counts[m] += 1
            row[m] += 1
            tokens_in_topic[m] += 1
            share[m] = share_of(m, row, v, topic_weights, tokens_in_topic, smoothing, times)
            if weighted_word >= 0 and i + 1 < group_start[j + 1] and word[i + 1] == weighted_word:
                update_weight(m, counts, share, beta, product, lanes)
    return group_start.size - 1, group_start[-1]
