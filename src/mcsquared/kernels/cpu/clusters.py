"""Clusters of groups in the collapsed sampler, resampled one group at a time.

    log p(z_j = k | ·)  =  log n_k [old] or log α [new]
        + Σ_contexts log p(x_j | contexts of k)
        + ln Γ(v + c_k) − ln Γ(v + c_k + N_j)
        + Σ_m [ ln Γ(v ε_m + c_km + t_jm) − ln Γ(v ε_m + c_km) ]

where group j is removed from all counts and t_jm is its number of tokens in topic m. In the first
ratio of Γ the paper's appendix sums ε over the active topics only; here ε_new is included.
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.collapsed import free_slot
from mcsquared.kernels.cpu.contexts import log_contexts, move_contexts, prepare_cluster
from mcsquared.kernels.cpu.predictive import JOIN, LEAVE
from mcsquared.kernels.cpu.special import add_log, log_gamma, log_rising_factorial, pick
from mcsquared.kernels.rng import Step, uniform_of

CLUSTERS = int(Step.CLUSTERS)
MAX_PRODUCT_TOKENS = 8  # up to here, multiplying factors is faster than two log-gammas


class ClusterCounts(NamedTuple):
    """Numbers of groups, tokens and tokens per topic in each cluster slot."""

    groups_in_cluster: np.ndarray  # int32 (cluster slots,): n_k
    tokens_in_cluster: np.ndarray  # int64 (cluster slots,): c_k
    topics_in_cluster: np.ndarray  # int32 (cluster slots, topic slots): c_km
    log_gammas: np.ndarray  # float64, same shape: ln Γ(v ε_m + c_km), NaN if not yet computed


class ClusterPriors(NamedTuple):
    """Parameters of the priors of the clusters and of their topics."""

    alpha: float
    v: float
    max_clusters: int  # maximum number of occupied clusters; negative for no limit
    topic_weights: np.ndarray  # float64 (topic slots,): ε_m


class GroupTopics(NamedTuple):
    """Token counts of the group being resampled, by topic, and a list of its topics."""

    counts: np.ndarray  # int64 (topic slots,): t_jm
    topics: np.ndarray  # int64 (topic slots,): the first ones are the topics of the group


@njit(cache=True, error_model="numpy")
def count_topics(first, last, topic_of_token, group):
    """Count the tokens ``first:last`` by topic in ``group``; return the number of topics."""
    n_topics = np.int64(0)
    for i in range(first, last):
        m = topic_of_token[i]
        if group.counts[m] == 0:
            group.topics[n_topics] = m
            n_topics += 1
        group.counts[m] += 1
    return n_topics


@njit(cache=True, error_model="numpy")
def move(j, k, sign, n_tokens, n_topics, group, counts, dense, bags, contexts):
    """Add group ``j`` to cluster ``k`` (``sign`` JOIN) or remove it (LEAVE).

    ``group`` is a `GroupTopics`, ``counts`` a `ClusterCounts`, and ``contexts`` a `ContextCounts`.
    """
    counts.groups_in_cluster[k] += sign
    counts.tokens_in_cluster[k] += sign * n_tokens
    for d in range(n_topics):
        m = group.topics[d]
        counts.topics_in_cluster[k, m] += sign * group.counts[m]
        counts.log_gammas[k, m] = math.nan
    move_contexts(j, k, sign, dense, bags, contexts)
    if counts.groups_in_cluster[k] == 0:
        contexts.statistics[k] = 0.0  # discards the rounding errors of removals
    prepare_cluster(k, dense, contexts)


@njit(cache=True, error_model="numpy")
def list_choices(groups_in_cluster, max_clusters, choices):
    """List occupied slots and, if allowed, an empty one; return n_occupied and n_choices."""
    n_occupied = 0
    for k in range(groups_in_cluster.size):
        if groups_in_cluster[k] > 0:
            choices[n_occupied] = k
            n_occupied += 1
    if n_occupied == 0 or max_clusters < 0 or n_occupied < max_clusters:
        choices[n_occupied] = free_slot(groups_in_cluster)
        return n_occupied, n_occupied + 1
    return n_occupied, n_occupied


@njit(cache=True, error_model="numpy")
def log_topics(k, n_topics, group, prior, counts):
    """Return Σ_m [ln Γ(v ε_m + c_km + t_jm) − ln Γ(v ε_m + c_km)] over the group's topics.

    Γ(a+t) / Γ(a) = a (a+1) ... (a+t-1). If t is small, the factors of several topics are multiplied
    before a logarithm is taken. ``prior``, float64 (topic slots,), contains v ε_m.
    """
    value = 0.0
    product = 1.0
    for d in range(n_topics):
        m = group.topics[d]
        n = group.counts[m]
        a = prior[m] + counts.topics_in_cluster[k, m]
        if a > 1e8:  # products could overflow, differences of log-gammas lose digits
            value += log_rising_factorial(a, n)
        elif n > MAX_PRODUCT_TOKENS:
            if math.isnan(counts.log_gammas[k, m]):
                counts.log_gammas[k, m] = log_gamma(a)
            value += log_gamma(a + n) - counts.log_gammas[k, m]
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
    cluster_of_group,
    counts,
    priors,
    dense,
    bags,
    contexts,
    python_scores,
    key,
):
    """Draw the cluster of every group in ``first:last`` and update the counts.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    topic_of_token : int32 (n_tokens,)
    cluster_of_group : int32 (n_groups,)
    counts : ClusterCounts
    priors : ClusterPriors
    dense, bags, contexts : DenseContexts, BagContexts, ContextCounts
    python_scores : float64 (cluster slots,) or (0,)
        Log-densities of the contexts of Python families; only if there is a single group.

    Returns
    -------
    int
        The first group not resampled because no cluster slot was free, or ``last``.
    """
    alpha, v, max_clusters, topic_weights = priors
    prior = v * topic_weights
    group = GroupTopics(np.zeros(prior.size, np.int64), np.zeros(prior.size, np.int64))
    log_weights = np.empty(counts.groups_in_cluster.size)
    choices = np.empty(counts.groups_in_cluster.size, np.int64)
    for j in range(first, last):
        if free_slot(counts.groups_in_cluster) < 0:
            return j
        n_tokens = group_start[j + 1] - group_start[j]
        n_topics = count_topics(group_start[j], group_start[j + 1], topic_of_token, group)
        old = np.int64(cluster_of_group[j])
        move(j, old, LEAVE, n_tokens, n_topics, group, counts, dense, bags, contexts)

        n_occupied, n_choices = list_choices(counts.groups_in_cluster, max_clusters, choices)
        for q in range(n_choices):
            k = choices[q]
            weight = math.log(counts.groups_in_cluster[k] if q < n_occupied else alpha)
            weight += log_contexts(j, k, dense, bags, contexts)
            if n_tokens > 0:
                weight -= log_rising_factorial(v + counts.tokens_in_cluster[k], n_tokens)
                weight += log_topics(k, n_topics, group, prior, counts)
            if python_scores.size > 0:
                weight += python_scores[k]
            log_weights[q] = weight

        k = choices[pick(log_weights, n_choices, uniform_of(key, CLUSTERS, j, 0))]
        cluster_of_group[j] = k
        move(j, k, JOIN, n_tokens, n_topics, group, counts, dense, bags, contexts)
        for d in range(n_topics):
            group.counts[group.topics[d]] = 0
    return last
