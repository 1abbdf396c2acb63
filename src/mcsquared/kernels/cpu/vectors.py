"""Topics of continuous content, the collapsed sampler's l step for families with few statistics.

p(l_ji = m | ·)  ∝  (c_km + v ε_m) p(w_ji | the others of topic m)      an active topic
p(l_ji = new)    ∝  v ε_new p(w_ji)
"""

import math

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.predictive import (
    add_observation,
    add_observations,
    log_predictive,
    prepare,
)
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.cpu.tokens import TOPICS, close_topic, free_slot, open_topic
from mcsquared.kernels.rng import uniform_of

__all__ = ["rebuild_topics", "resample_vector_topics"]


@njit(cache=True, nogil=True, error_model="numpy")
def rebuild_topics(kind, parameters, values, topic_of_token, statistics, prepared):
    """Sum the statistics of every topic anew, token by token, and prepare every slot."""
    statistics[:] = 0.0
    add_observations(kind, values, topic_of_token, statistics)
    for m in range(statistics.shape[0]):
        prepare(kind, parameters, statistics[m], prepared[m])


@njit(cache=True, nogil=True, error_model="numpy")
def resample_vector_topics(
    first_group,
    first_token,
    group_start,
    values,
    cluster_of_group,
    kind,
    parameters,
    v,
    eta,
    max_topics,
    topic_of_token,
    topics_in_cluster,
    statistics,
    prepared,
    tokens_in_topic,
    topic_weights,
    log_unused,
    key,
):
    """Draw the topic of every token from ``first_token`` on, counts and statistics kept in step.

    Parameters
    ----------
    values : float64 (n_tokens, width)
        Relative to the family's origin.
    kind, parameters
        See `mcsquared.kernels.cpu.predictive`.
    statistics, prepared : float64 (topic slots, ...)
    others
        As in `mcsquared.kernels.cpu.tokens.resample_word_topics`.

    Returns
    -------
    tuple of int
        The group and token at which slots ran out, or (n_groups, n_tokens).
    """
    capacity = tokens_in_topic.size
    log_weights = np.empty(capacity)
    active = np.empty(capacity, np.int64)
    n_active = 0
    for m in range(capacity):
        n_active += tokens_in_topic[m] > 0
    for j in range(first_group, group_start.size - 1):
        row = topics_in_cluster[cluster_of_group[j]]
        for i in range(max(first_token, group_start[j]), group_start[j + 1]):
            if n_active == capacity:
                return j, i
            m = topic_of_token[i]
            row[m] -= 1
            tokens_in_topic[m] -= 1
            add_observation(kind, statistics[m], values[i], -1)
            if tokens_in_topic[m] == 0:
                close_topic(m, math.exp(log_unused[0]), topic_weights, log_unused)
                statistics[m] = 0.0  # exactly: nothing of an old topic stays in an empty slot
                n_active -= 1
            prepare(kind, parameters, statistics[m], prepared[m])

            n_choices = 0
            for m in range(capacity):
                if tokens_in_topic[m] > 0:
                    weight = math.log(row[m] + v * topic_weights[m])
                    log_weights[n_choices] = weight + log_predictive(kind, prepared[m], values[i])
                    active[n_choices] = m
                    n_choices += 1
            if n_active == 0 or max_topics < 0 or n_active < max_topics:
                m = free_slot(tokens_in_topic)
                weight = math.log(v) + log_unused[0]
                log_weights[n_choices] = weight + log_predictive(kind, prepared[m], values[i])
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
            add_observation(kind, statistics[m], values[i], 1)
            prepare(kind, parameters, statistics[m], prepared[m])
    return group_start.size - 1, group_start[-1]
