"""Topics of words, the collapsed sampler's l step: one token after another.

    p(l_ji = m | ·)  ∝  (c_km + v ε_m) (n_mw + β) / (n_m + V β)        an active topic
    p(l_ji = new)    ∝  v ε_new / V

Topics live in slots. An empty slot has weight 0 and can never be drawn, so the inner loop runs
over all slots without asking, eight at a time.
"""

import math

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.prefetch import prefetch
from mcsquared.kernels.rng import Step, uniform

__all__ = ["LANES", "resample_word_topics"]

LANES = 8
AHEAD = 4  # tokens: the row of a word comes from slow memory, and takes about as long to arrive
COUNTS_PER_LINE = 16  # 32-bit counts in 64 bytes of cache
TOPICS, BIRTHS = int(Step.TOPICS), int(Step.BIRTHS)


@njit(cache=True, error_model="numpy")
def free_slot(occupied):
    """Return the lowest slot that holds nothing, or -1."""
    for m in range(occupied.size):
        if occupied[m] == 0:
            return m
    return -1


@njit(cache=True, error_model="numpy")
def used_slots(occupied):
    """Return a multiple of LANES that covers every occupied slot."""
    top = occupied.size
    while top > 0 and occupied[top - 1] == 0:
        top -= 1
    return min((top + LANES - 1) // LANES * LANES, occupied.size)


@njit(cache=True, error_model="numpy")
def weigh(counts, share, beta, n_slots, product, lanes):
    """Fill ``product`` with every topic's weight and ``lanes`` with the sums of eight lanes.

    Lane i holds the slots i, i+8, i+16, ...: independent running sums, which a compiler may keep
    in one vector register without changing the order of any sum.
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
def weigh_again(m, counts, share, beta, product, lanes):
    """Bring ``product`` and ``lanes`` up to date after slot ``m`` alone has changed.

    What rounding this adds ends with the repeats of one word in one group.
    """
    weight = (counts[m] + beta) * share[m]
    lanes[m % LANES] += weight - product[m]
    product[m] = weight


@njit(cache=True, error_model="numpy")
def pick_slot(product, n_slots, lanes, threshold):
    """Return the slot where the running sum, lane after lane, passes ``threshold``.

    Steps are counted, not branched on: a wrong guess of the processor costs more than the sums.
    """
    s0, s1, s2, s3, s4, s5, s6 = (
        lanes[0],
        lanes[1],
        lanes[2],
        lanes[3],
        lanes[4],
        lanes[5],
        lanes[6],
    )
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
    for m in range(lane, n_slots, LANES):
        running += product[m]
        steps += running <= threshold
    chosen = lane + LANES * steps
    if chosen >= n_slots:  # rounding led past the last topic of the lane: take the last there is
        chosen = n_slots - 1
        while product[chosen] == 0.0:
            chosen -= 1
    return chosen


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
    seed,
    chain,
    sweep,
):
    """Draw the topic of every token from ``first_token`` on, counts kept in step.

    Parameters
    ----------
    first_group, first_token : int
        Where to begin: 0 and 0, or where an earlier call ran out of slots.
    group_start : int64 (n_groups + 1,)
        Tokens of group ``j`` are ``group_start[j]:group_start[j + 1]``.
    word : int32 (n_tokens,)
    cluster_of_group : int32 (n_groups,)
    beta, v, eta : float
    max_topics : int
        Bound on active topics, or a negative number for none.
    topic_of_token : int32 (n_tokens,)
    topics_in_cluster : int32 (cluster slots, topic slots)
    words_in_topic : int32 (n_words, topic slots)
        A word's row is contiguous.
    tokens_in_topic : int64 (topic slots,)
    topic_weights : float64 (topic slots,)
        ε_m; 0 in an empty slot.
    log_unused : float64 (1,)
        log ε_new.

    Returns
    -------
    tuple of int
        The group and token at which slots ran out, or (n_groups, n_tokens).
    """
    n_words = words_in_topic.shape[0]
    smoothing = n_words * beta
    capacity = tokens_in_topic.size
    share = np.zeros(capacity)
    product = np.zeros(capacity)
    lanes = np.zeros(LANES)
    n_slots = used_slots(tokens_in_topic)
    n_active = 0
    for m in range(capacity):
        n_active += tokens_in_topic[m] > 0
    unused = math.exp(log_unused[0])
    for j in range(first_group, group_start.size - 1):
        row = topics_in_cluster[cluster_of_group[j]]
        weighed = -1  # the word that ``product`` was filled for
        for m in range(n_slots):
            share[m] = (row[m] + v * topic_weights[m]) / (tokens_in_topic[m] + smoothing)
        for i in range(max(first_token, group_start[j]), group_start[j + 1]):
            if n_active == capacity:
                return j, i
            if i + AHEAD < word.size and word[i + AHEAD] != word[i + AHEAD - 1]:
                for b in range(0, n_slots, COUNTS_PER_LINE):
                    prefetch(words_in_topic, word[i + AHEAD], b)
            counts = words_in_topic[word[i]]
            m = topic_of_token[i]
            counts[m] -= 1
            row[m] -= 1
            tokens_in_topic[m] -= 1
            if tokens_in_topic[m] == 0:
                unused += topic_weights[m]
                log_unused[0] = math.log(unused)
                topic_weights[m] = 0.0
                share[m] = 0.0
                n_active -= 1
            else:
                share[m] = (row[m] + v * topic_weights[m]) / (tokens_in_topic[m] + smoothing)

            # Repeats of a word in a group follow each other, and change two topics at most.
            if word[i] != weighed:
                weigh(counts, share, beta, n_slots, product, lanes)
                weighed = word[i]
            else:
                weigh_again(m, counts, share, beta, product, lanes)
            total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
            total += (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
            fresh = v * unused / n_words
            if max_topics >= 0 and n_active >= max_topics:
                fresh = 0.0
            threshold = uniform(seed, chain, sweep, TOPICS, i, 0) * (total + fresh)
            if threshold >= total and (fresh > 0.0 or total == 0.0):
                m = free_slot(tokens_in_topic)
                n_slots = max(n_slots, (m // LANES + 1) * LANES)
                # b ~ Beta(1, η) splits the unused weight: log(1 − b) = log(U) / η.
                log_rest = math.log(uniform(seed, chain, sweep, BIRTHS, i, 0)) / eta
                topic_weights[m] = -math.expm1(log_rest) * unused
                log_unused[0] += log_rest
                unused = math.exp(log_unused[0])
                n_active += 1
                weighed = -1
            else:
                m = pick_slot(product, n_slots, lanes, threshold)
            topic_of_token[i] = m
            counts[m] += 1
            row[m] += 1
            tokens_in_topic[m] += 1
            share[m] = (row[m] + v * topic_weights[m]) / (tokens_in_topic[m] + smoothing)
            if weighed >= 0 and i + 1 < group_start[j + 1] and word[i + 1] == weighed:
                weigh_again(m, counts, share, beta, product, lanes)
    return group_start.size - 1, group_start[-1]
