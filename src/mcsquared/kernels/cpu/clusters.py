"""Clusters of groups, the collapsed sampler's z step: one group after another.

    log p(z_j = k | ·)  =  log n_k [old] or log α [new]
        + Σ_contexts log p(x_j | contexts of k)
        + ln Γ(v + c_k) − ln Γ(v + c_k + N_j)
        + Σ_m [ ln Γ(v ε_m + c_km + t_jm) − ln Γ(v ε_m + c_km) ]

with group j taken out; t_jm are its tokens per topic. The paper's appendix sums ε over the active
topics only in the first Γ ratio; the whole prior weighs v.
"""

import math

import numpy as np
from numba import njit

from mcsquared.kernels.cpu.contexts import JOIN, LEAVE, log_contexts, move_contexts, prepare_cluster
from mcsquared.kernels.cpu.special import add_log, log_gamma, log_rising, pick
from mcsquared.kernels.cpu.tokens import free_slot
from mcsquared.kernels.rng import Step, uniform

__all__ = ["resample_clusters"]

CLUSTERS = int(Step.CLUSTERS)
FEW = 8  # tokens whose factors are cheaper to multiply than two logarithms of Γ


@njit(cache=True, error_model="numpy")
def log_topics(k, held, topics, tokens, prior, topics_in_cluster, table):
    """Return Σ_m [ln Γ(v ε_m + c_km + t_jm) − ln Γ(v ε_m + c_km)] over the group's topics.

    Γ(a+t) / Γ(a) = a (a+1) ... (a+t-1): for few tokens the factors of many topics are multiplied
    before one logarithm is taken.
    """
    value = 0.0
    product = 1.0
    for d in range(held):
        m = topics[d]
        a = prior[m] + topics_in_cluster[k, m]
        if a > 1e8:  # a product may overflow, and a difference of log-gammas loses its digits
            value += log_rising(a, tokens[m])
            continue
        if tokens[m] > FEW:
            if math.isnan(table[k, m]):
                table[k, m] = log_gamma(a)
            value += log_gamma(a + tokens[m]) - table[k, m]
            continue
        factor = a
        for i in range(1, tokens[m]):
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
    cluster_of_group,
    groups_in_cluster,
    tokens_in_cluster,
    topics_in_cluster,
    topic_weights,
    dense,
    bags,
    contexts,
    extra,
    table,
    seed,
    chain,
    sweep,
):
    """Draw the cluster of every group in ``first:last``, counts kept in step.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    topic_of_token : int32 (n_tokens,)
    alpha, v : float
    max_clusters : int
        Bound on occupied clusters, or a negative number for none.
    cluster_of_group : int32 (n_groups,)
    groups_in_cluster : int32 (cluster slots,)
    tokens_in_cluster : int64 (cluster slots,)
    topics_in_cluster : int32 (cluster slots, topic slots)
    topic_weights : float64 (topic slots,)
    dense, bags, contexts
        See `mcsquared.kernels.cpu.contexts`.
    extra : float64 (cluster slots,) or (0,)
        Log-densities of contexts whose family has no kernel, for a call with one group.
    table : float64 (cluster slots, topic slots)
        ln Γ(v ε_m + c_km) where it is known, NaN elsewhere; filled when it is asked for.

    Returns
    -------
    int
        The group at which cluster slots ran out, or ``last``.
    """
    capacity = groups_in_cluster.size
    prior = v * topic_weights
    tokens = np.zeros(topic_weights.size, np.int64)
    topics = np.zeros(topic_weights.size, np.int64)
    log_weights = np.empty(capacity)
    occupied = np.empty(capacity, np.int64)
    for j in range(first, last):
        fresh = free_slot(groups_in_cluster)
        if fresh < 0:
            return j
        old = np.int64(cluster_of_group[j])
        n_tokens = group_start[j + 1] - group_start[j]
        held = np.int64(0)
        for i in range(group_start[j], group_start[j + 1]):
            m = topic_of_token[i]
            if tokens[m] == 0:
                topics[held] = m
                held += 1
            tokens[m] += 1
        _move(
            j,
            old,
            LEAVE,
            tokens,
            topics,
            held,
            n_tokens,
            groups_in_cluster,
            tokens_in_cluster,
            topics_in_cluster,
            table,
            dense,
            bags,
            contexts,
        )
        if groups_in_cluster[old] == 0:
            fresh = min(fresh, old)

        n_open = 0
        for k in range(capacity):
            if groups_in_cluster[k] > 0:
                occupied[n_open] = k
                n_open += 1
        n_choices = n_open
        if n_open == 0 or max_clusters < 0 or n_open < max_clusters:
            occupied[n_open] = fresh
            n_choices += 1
        for q in range(n_choices):
            k = occupied[q]
            weight = math.log(float(groups_in_cluster[k])) if q < n_open else math.log(alpha)
            weight += log_contexts(j, k, dense, bags, contexts)
            if n_tokens > 0:
                weight -= log_rising(v + tokens_in_cluster[k], n_tokens)
                weight += log_topics(k, held, topics, tokens, prior, topics_in_cluster, table)
            if extra.size > 0:
                weight += extra[k]
            log_weights[q] = weight
        k = occupied[pick(log_weights, n_choices, uniform(seed, chain, sweep, CLUSTERS, j, 0))]
        cluster_of_group[j] = k
        _move(
            j,
            k,
            JOIN,
            tokens,
            topics,
            held,
            n_tokens,
            groups_in_cluster,
            tokens_in_cluster,
            topics_in_cluster,
            table,
            dense,
            bags,
            contexts,
        )
        for d in range(held):
            tokens[topics[d]] = 0
    return last


@njit(cache=True, error_model="numpy")
def _move(
    j, k, sign, tokens, topics, held, n_tokens, groups_in_cluster, tokens_in_cluster,
    topics_in_cluster, table, dense, bags, contexts,
):  # fmt: skip
    """Add group ``j`` to cluster ``k`` (sign 1) or take it out (sign -1)."""
    groups_in_cluster[k] += sign
    tokens_in_cluster[k] += sign * n_tokens
    for d in range(held):
        m = topics[d]
        topics_in_cluster[k, m] += sign * tokens[m]
        table[k, m] = math.nan
    move_contexts(j, k, sign, dense, bags, contexts)
    if groups_in_cluster[k] == 0:
        contexts.statistics[k] = 0.0  # exactly: nothing of an old cluster stays in an empty slot
    prepare_cluster(k, dense, contexts)
