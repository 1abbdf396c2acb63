"""Topics of words that carry a time, one token after another, all parameters integrated out.

Every topic has a Dirichlet process mixture of Gaussians over time beside its words. Topic and
component of a token are drawn together, the topic with its components summed out first:

    p(l_ji = m)        ∝  (n_jm + v ε_m) (n_mw + β) / (n_m + V β) f_m(t_j)       an active topic
    p(l_ji = new)      ∝  v ε_new / V  p(t_j)
    p(s_ji = c | m)    ∝  n_mc p(t_j | times of c),    new:  α p(t_j)

    f_m(t)  =  [ Σ_c n_mc p(t | times of c) + α p(t) ] / (Σ_c n_mc + α)

p is the Student-t of a Normal-Gamma prior. All tokens of a group have the same time, so the
densities of all components at that time are kept, and a token that moves changes two of them. A
group without a time has f = 1, and its tokens have no component.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.predictive import prepare_gaussian
from mcsquared.kernels.cpu.prefetch import prefetch
from mcsquared.kernels.cpu.tokens import (
    AHEAD,
    COUNTS_PER_LINE,
    LANES,
    free_slot,
    pick_slot,
    used_slots,
    weigh,
    weigh_again,
)
from mcsquared.kernels.rng import Step, uniform

__all__ = ["Components", "TimedCounts", "resample_timed_topics", "sum_times"]

TOPICS, BIRTHS = int(Step.TOPICS), int(Step.BIRTHS)
TOPIC, COMPONENT = 0, 1  # a token's first and second number


class TimedCounts(NamedTuple):
    """Counts that follow the topics of tokens.

    Parameters
    ----------
    topics_in_group : int32 (n_groups, topic slots)
    words_in_topic : int32 (n_words, topic slots)
    tokens_in_topic : int64 (topic slots,)
    """

    topics_in_group: Any
    words_in_topic: Any
    tokens_in_topic: Any


class Components(NamedTuple):
    """The components of every topic over time; one without tokens is an empty slot.

    Parameters
    ----------
    statistics : float64 (topic slots, component slots, 3)
        n, Σt, Σt².
    prepared : float64 (topic slots, component slots, 4)
        Of each Student-t, see `mcsquared.kernels.cpu.predictive`.
    density : float64 (topic slots, component slots)
        At the time of the group in hand.
    parameters : float64 (4,)
        Normal-Gamma: mean, strength, shape, rate.
    """

    statistics: Any
    prepared: Any
    density: Any
    parameters: Any


@njit(cache=True, nogil=True, error_model="numpy")
def sum_times(group_start, time, topic_of_token, component_of_token, statistics):
    """Sum n, t and t² over the tokens of every component, one after another."""
    statistics[:] = 0.0
    for j in range(group_start.size - 1):
        for i in range(group_start[j], group_start[j + 1]):
            c = component_of_token[i]
            if c >= 0:
                row = statistics[topic_of_token[i], c]
                row[0] += 1.0
                row[1] += time[j]
                row[2] += time[j] * time[j]


@njit(cache=True, error_model="numpy")
def density_at(prepared, t):
    """Return the density of a prepared Student-t."""
    distance = t - prepared[0]
    return math.exp(prepared[1] - prepared[2] * math.log1p(prepared[3] * distance * distance))


@njit(cache=True, error_model="numpy")
def change_component(components, m, c, t, sign):
    """Add (sign 1) or take out (sign -1) a token at time ``t``, that of the group in hand."""
    row, prepared = components.statistics[m, c], components.prepared[m, c]
    row[0] += sign
    row[1] += sign * t
    row[2] += sign * t * t
    if row[0] < 0.5:  # no residue of the subtraction stays
        row[:] = 0.0
        components.density[m, c] = 0.0
        return
    prepare_gaussian(components.parameters, row, prepared)
    components.density[m, c] = density_at(prepared, t)


@njit(cache=True, error_model="numpy")
def mixture_at(components, m, alpha, fresh):
    """Return f_m at the time of the group in hand, where the prior's density is ``fresh``."""
    statistics, density = components.statistics[m], components.density[m]
    total = held = 0.0
    for c in range(density.size):
        total += statistics[c, 0] * density[c]
        held += statistics[c, 0]
    return (total + alpha * fresh) / (held + alpha)


@njit(cache=True, error_model="numpy")
def pick_component(components, m, alpha, fresh, u):
    """Return a component drawn for a token of topic ``m``; an empty one is a birth."""
    statistics, density = components.statistics[m], components.density[m]
    total = alpha * fresh
    for c in range(density.size):
        total += statistics[c, 0] * density[c]
    # The birth comes first: what rounding leaves over at the end goes to what exists.
    threshold = u * total - alpha * fresh
    chosen = -1
    if threshold >= 0.0:
        for c in range(density.size):
            if statistics[c, 0] > 0.0:
                chosen = c
                threshold -= statistics[c, 0] * density[c]
                if threshold < 0.0:
                    break
    if chosen < 0:
        chosen = 0
        while statistics[chosen, 0] > 0.0:
            chosen += 1
    return chosen


@njit(cache=True, error_model="numpy")
def no_room(components, m):
    """Say whether all component slots of a topic are occupied."""
    n_occupied = 0
    for c in range(components.statistics.shape[1]):
        n_occupied += components.statistics[m, c, 0] > 0.0
    return n_occupied == components.statistics.shape[1]


@njit(cache=True, error_model="numpy")
def prepare_all(components):
    """Prepare every occupied component; say whether some topic has no empty slot left."""
    full = False
    for m in range(components.density.shape[0]):
        full |= no_room(components, m)
        for c in range(components.density.shape[1]):
            if components.statistics[m, c, 0] > 0.0:
                prepare_gaussian(
                    components.parameters, components.statistics[m, c], components.prepared[m, c]
                )
    return full


@njit(cache=True, error_model="numpy")
def move_to(t, components, tokens_in_topic):
    """Bring the densities of all components to another time."""
    for m in range(tokens_in_topic.size):
        for c in range(components.density.shape[1]):
            occupied = components.statistics[m, c, 0] > 0.0
            density = density_at(components.prepared[m, c], t) if occupied else 0.0
            components.density[m, c] = density


@njit(cache=True, nogil=True, error_model="numpy")
def resample_timed_topics(
    first_group,
    first_token,
    group_start,
    word,
    time,
    beta,
    v,
    eta,
    alpha,
    max_topics,
    topic_of_token,
    component_of_token,
    counts,
    components,
    topic_weights,
    log_unused,
    seed,
    chain,
    sweep,
):
    """Draw topic and component of every token from ``first_token`` on, counts kept in step.

    Parameters
    ----------
    first_group, first_token : int
        Where to begin: 0 and 0, or where an earlier call ran out of slots.
    group_start : int64 (n_groups + 1,)
        Tokens of group ``j`` are ``group_start[j]:group_start[j + 1]``.
    word : int32 (n_tokens,)
    time : float64 (n_groups,)
        NaN where it is missing.
    beta, v, eta, alpha : float
    max_topics : int
        Bound on active topics, or a negative number for none.
    topic_of_token, component_of_token : int32 (n_tokens,)
    counts : TimedCounts
    components : Components
        ``statistics`` in step with the labels; the rest is scratch.
    topic_weights : float64 (topic slots,)
        ε_m; 0 in an empty slot.
    log_unused : float64 (1,)
        log ε_new.

    Returns
    -------
    tuple of int
        The group and token at which slots ran out, or (n_groups, n_tokens).
    """
    words_in_topic, tokens_in_topic = counts.words_in_topic, counts.tokens_in_topic
    n_words = words_in_topic.shape[0]
    smoothing, capacity = n_words * beta, tokens_in_topic.size
    share, product, lanes = np.zeros(capacity), np.zeros(capacity), np.zeros(LANES)
    factor, nothing = np.ones(capacity), np.empty(4)
    prepare_gaussian(components.parameters, np.zeros(3), nothing)
    full = prepare_all(components)
    n_slots, n_active = used_slots(tokens_in_topic), 0
    for m in range(capacity):
        n_active += tokens_in_topic[m] > 0
    unused, at = math.exp(log_unused[0]), math.nan
    for j in range(first_group, group_start.size - 1):
        row, t = counts.topics_in_group[j], time[j]
        timed, fresh = not math.isnan(t), 1.0
        if timed:
            fresh = density_at(nothing, t)
            if t != at:
                move_to(t, components, tokens_in_topic)
                at = t
        weighed = -1  # the word that ``product`` was filled for
        for m in range(capacity):
            factor[m] = mixture_at(components, m, alpha, fresh) if timed else 1.0
            prior = row[m] + v * topic_weights[m]
            share[m] = prior * factor[m] / (tokens_in_topic[m] + smoothing)
        for i in range(max(first_token, group_start[j]), group_start[j + 1]):
            if n_active == capacity or full:
                return j, i
            if i + AHEAD < word.size and word[i + AHEAD] != word[i + AHEAD - 1]:
                for b in range(0, n_slots, COUNTS_PER_LINE):
                    prefetch(words_in_topic, word[i + AHEAD], b)
            of_word = words_in_topic[word[i]]
            m = topic_of_token[i]
            of_word[m] -= 1
            row[m] -= 1
            tokens_in_topic[m] -= 1
            if timed:
                change_component(components, m, component_of_token[i], t, -1)
                factor[m] = mixture_at(components, m, alpha, fresh)
            if tokens_in_topic[m] == 0:
                unused += topic_weights[m]
                log_unused[0] = math.log(unused)
                topic_weights[m] = 0.0
                share[m] = 0.0
                n_active -= 1
            else:
                prior = row[m] + v * topic_weights[m]
                share[m] = prior * factor[m] / (tokens_in_topic[m] + smoothing)

            # Repeats of a word in a group follow each other, and change two topics at most.
            if word[i] != weighed:
                weigh(of_word, share, beta, n_slots, product, lanes)
                weighed = word[i]
            else:
                weigh_again(m, of_word, share, beta, product, lanes)
            total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
            total += (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
            birth = v * unused / n_words * fresh
            if max_topics >= 0 and n_active >= max_topics:
                birth = 0.0
            threshold = uniform(seed, chain, sweep, TOPICS, i, TOPIC) * (total + birth)
            if threshold >= total and (birth > 0.0 or total == 0.0):
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
            if timed:
                u = uniform(seed, chain, sweep, TOPICS, i, COMPONENT)
                c = pick_component(components, m, alpha, fresh, u)
                full = components.statistics[m, c, 0] == 0.0
                change_component(components, m, c, t, 1)
                full = full and no_room(components, m)
                component_of_token[i] = c
                factor[m] = mixture_at(components, m, alpha, fresh)
            topic_of_token[i] = m
            of_word[m] += 1
            row[m] += 1
            tokens_in_topic[m] += 1
            prior = row[m] + v * topic_weights[m]
            share[m] = prior * factor[m] / (tokens_in_topic[m] + smoothing)
            if weighed >= 0 and i + 1 < group_start[j + 1] and word[i + 1] == weighed:
                weigh_again(m, of_word, share, beta, product, lanes)
    return group_start.size - 1, group_start[-1]
