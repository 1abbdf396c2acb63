"""Clusters of groups, the collapsed sampler's z step: one group after another.

    log p(z_j = k | ·)  =  log n_k [old] or log α [new]
        + Σ_contexts log p(x_j | contexts of k)
        + ln Γ(v + c_k) − ln Γ(v + c_k + N_j)
        + Σ_m [ ln Γ(v ε_m + c_km + t_jm) − ln Γ(v ε_m + c_km) ]

with group j taken out; t_jm are its tokens per topic. The paper's appendix sums ε over the active
topics only in the first Γ ratio; the whole prior weighs v.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.contexts import log_contexts, move_contexts, prepare_cluster
from mcsquared.kernels.cpu.predictive import JOIN, LEAVE
from mcsquared.kernels.cpu.special import add_log, log_gamma, log_rising, pick
from mcsquared.kernels.cpu.tokens import free_slot
from mcsquared.kernels.rng import Step, uniform_of

__all__ = ["ClusterCounts", "resample_clusters"]

CLUSTERS = int(Step.CLUSTERS)
FEW = 8  # tokens whose factors are cheaper to multiply than two logarithms of Γ


class ClusterCounts(NamedTuple):
    """Counts of each cluster slot, except those of contexts."""

    groups: np.ndarray  # int32 (cluster slots,): n_k
    tokens: np.ndarray  # int64 (cluster slots,): c_k
    topics: np.ndarray  # int32 (cluster slots, topic slots): c_km
    table: np.ndarray  # float64, as topics: ln Γ(v ε_m + c_km), NaN until computed


class GroupTopics(NamedTuple):
    """Topics of the group being resampled.

    Its tokens per topic, and a list of the topics that it has; `count_group_topics` fills both.
    """

    tokens: np.ndarray  # int64 (topic slots,): t_jm
    topics: np.ndarray  # int64 (topic slots,)


@njit(cache=True, error_model="numpy")
def count_group_topics(first, last, topic_of_token, group):
    """Count the topics of tokens ``first:last`` and return the number of distinct topics."""
    n_topics = np.int64(0)
    for i in range(first, last):
        m = topic_of_token[i]
        if group.tokens[m] == 0:
            group.topics[n_topics] = m
            n_topics += 1
        group.tokens[m] += 1
    return n_topics


@njit(cache=True, error_model="numpy")
def move(j, k, sign, n_tokens, n_topics, group, counts, dense, bags, contexts):
    """Add group ``j`` to cluster ``k`` (JOIN) or remove it (LEAVE)."""
    counts.groups[k] += sign
    counts.tokens[k] += sign * n_tokens
    for d in range(n_topics):
        m = group.topics[d]
        counts.topics[k, m] += sign * group.tokens[m]
        counts.table[k, m] = math.nan
    move_contexts(j, k, sign, dense, bags, contexts)
    if counts.groups[k] == 0:
        contexts.statistics[k] = 0.0  # an empty slot keeps no rounding errors
    prepare_cluster(k, dense, contexts)


@njit(cache=True, error_model="numpy")
def list_choices(groups, max_clusters, choices):
    """Fill ``choices`` with the occupied slots, then a free one; return both numbers."""
    n_open = 0
    for k in range(groups.size):
        if groups[k] > 0:
            choices[n_open] = k
            n_open += 1
    if n_open == 0 or max_clusters < 0 or n_open < max_clusters:
        choices[n_open] = free_slot(groups)
        return n_open, n_open + 1
    return n_open, n_open


@njit(cache=True, error_model="numpy")
def log_topics(k, n_topics, group, prior, counts):
    """Return Σ_m [ln Γ(v ε_m + c_km + t_jm) − ln Γ(v ε_m + c_km)] over the group's topics.

    Γ(a+t) / Γ(a) = a (a+1) ... (a+t-1): for few tokens the factors of many topics are multiplied
    before one logarithm is taken.
    """
    value = 0.0
    product = 1.0
    for d in range(n_topics):
        m = group.topics[d]
        n = group.tokens[m]
        a = prior[m] + counts.topics[k, m]
        if a > 1e8:  # a product may overflow, and a difference of log-gammas loses its digits
            value += log_rising(a, n)
        elif n > FEW:
            if math.isnan(counts.table[k, m]):
                counts.table[k, m] = log_gamma(a)
            value += log_gamma(a + n) - counts.table[k, m]
        else:
            factor = a
            for i in range(1, n):
                factor *= a + i
            value, product = add_log(value, product, factor)
    return value + math.log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def resample_clusters(
    first,
    last,
    group_start,
    topic_of_token,
    alpha,
    v,
    max_clusters,
    topic_weights,
    cluster_of_group,
    counts,
    dense,
    bags,
    contexts,
    extra,
    key,
):
    """Draw the cluster of every group in ``first:last`` and update the counts.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    topic_of_token : int32 (n_tokens,)
    alpha, v : float
    max_clusters : int
        Bound on occupied clusters; negative for no bound.
    topic_weights : float64 (topic slots,)
    cluster_of_group : int32 (n_groups,)
    counts : ClusterCounts
    dense, bags, contexts
        See `mcsquared.kernels.cpu.contexts`.
    extra : float64 (cluster slots,) or (0,)
        Log-densities of contexts whose family has no kernel, for a call with one group.

    Returns
    -------
    int
        The group at which cluster slots ran out, or ``last``.
    """
    n_slots = topic_weights.size
    prior = v * topic_weights
    group = GroupTopics(np.zeros(n_slots, np.int64), np.zeros(n_slots, np.int64))
    log_weights = np.empty(counts.groups.size)
    choices = np.empty(counts.groups.size, np.int64)
    for j in range(first, last):
        if free_slot(counts.groups) < 0:
            return j
        n_tokens = group_start[j + 1] - group_start[j]
        n_topics = count_group_topics(group_start[j], group_start[j + 1], topic_of_token, group)
        old = np.int64(cluster_of_group[j])
        move(j, old, LEAVE, n_tokens, n_topics, group, counts, dense, bags, contexts)

        n_open, n_choices = list_choices(counts.groups, max_clusters, choices)
        for q in range(n_choices):
            k = choices[q]
            weight = math.log(float(counts.groups[k])) if q < n_open else math.log(alpha)
            weight += log_contexts(j, k, dense, bags, contexts)
            if n_tokens > 0:
                weight -= log_rising(v + counts.tokens[k], n_tokens)
                weight += log_topics(k, n_topics, group, prior, counts)
            if extra.size > 0:
                weight += extra[k]
            log_weights[q] = weight

        k = choices[pick(log_weights, n_choices, uniform_of(key, CLUSTERS, j, 0))]
        cluster_of_group[j] = k
        move(j, k, JOIN, n_tokens, n_topics, group, counts, dense, bags, contexts)
        for d in range(n_topics):
            group.tokens[group.topics[d]] = 0
    return last
