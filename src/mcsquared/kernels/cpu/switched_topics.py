"""Collapsed Gibbs sampler of the multi-grain clustering topic model: local and global topics.

A token of a group in cluster k has a local topic r of that cluster or a global topic g. With all
parameters integrated out, the next token of the group has word w and topic r or g with probability

    p(r, w)  =  (γ₁ + n_local) / (γ₁ + γ₂ + n)  ·  (α_kr + n_r) / (Σα_k + n_local)  ·  p(w | r)
    p(g, w)  =  (γ₂ + n_global) / (γ₁ + γ₂ + n)  ·  (α_g + n_g) / (Σα + n_global)  ·  p(w | g)

where n counts tokens of the group, and N in p(w | r) = (β + N_rw) / (Vβ + N_r) those of all groups.
γ, α and β are the parameters of the Dirichlet priors of the switch, topics and words; a is that of
the clusters, and N_k below the number of groups in a cluster.

A group cannot keep its local topics when it changes cluster, so cluster and topics are drawn
together. The topics of its tokens under another cluster k are imputed one after the other, with
weight W_k = Π_i Σ_m p(m, w_i); W_k of its own cluster is computed for the topics that it has. Then
cluster k and its imputed topics are selected with probability proportional to (a + N_k) W_k. This
is a Gibbs step for a larger model, in which a group has topics under every cluster, and those of
the other clusters follow the imputation. It leaves the posterior invariant, as conditional
importance sampling does (Andrieu, Doucet and Holenstein 2010).
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.rng import Step, uniform_of

START, CLUSTERS, TOPICS = int(Step.START), int(Step.CLUSTERS), int(Step.TOPICS)
IMPUTATION = int(Step.CLUSTER_MOVES)


class SwitchedTopics(NamedTuple):
    """Counts and priors. Columns are the local topics of cluster 0, 1, ..., then global topics.

    A token's topic is the number of a local topic of its cluster, below n_local, or n_local plus
    the number of a global topic.
    """

    words_in_topic: np.ndarray  # int32 (n_words, n_clusters * n_local + n_global)
    tokens_in_topic: np.ndarray  # int64 (n_clusters * n_local + n_global,)
    inverse_totals: np.ndarray  # 1 / (Vβ + N_m): float64, of the same shape
    groups_in_cluster: np.ndarray  # int64 (n_clusters,)
    local_prior: np.ndarray  # α_k: float64 (n_clusters, n_local)
    global_prior: np.ndarray  # α: float64 (n_global,)
    switch_prior: np.ndarray  # γ, of local and of global topics: float64 (2,)
    concentration: float  # β
    cluster_prior: float  # a


@njit(cache=True, error_model="numpy")
def start_group(cluster, model, weights):
    """Write the prior weights of all topics of a group, then those of local and of global tokens.

    ``weights`` is float64 (n_topics + 4,). Its last two entries are the sums of the topic weights.
    """
    n_local = model.local_prior.shape[1]
    weights[:n_local] = model.local_prior[cluster]
    weights[n_local:-4] = model.global_prior
    weights[-4:-2] = model.switch_prior
    weights[-2] = model.local_prior[cluster].sum()
    weights[-1] = model.global_prior.sum()


@njit(cache=True, error_model="numpy")
def count_token(word, topic, cluster, sign, model, weights):
    """Add a token to the counts and to the weights of its group (sign 1), or remove it (−1)."""
    n_clusters, n_local = model.local_prior.shape
    is_global = int(topic >= n_local)
    column = topic + n_local * (n_clusters - 1 if is_global else cluster)
    model.words_in_topic[word, column] += sign
    model.tokens_in_topic[column] += sign
    total = model.words_in_topic.shape[0] * model.concentration + model.tokens_in_topic[column]
    model.inverse_totals[column] = 1.0 / total
    weights[topic] += sign
    weights[is_global - 4] += sign
    weights[is_global - 2] += sign


@njit(cache=True, error_model="numpy")
def weigh_topics(word, cluster, model, weights, cumulative):
    """Write the running sums of p(m, w) over all topics m of a token; return their total."""
    n_clusters, n_local = model.local_prior.shape
    counts, beta, total = model.words_in_topic[word], model.concentration, 0.0
    tokens = weights[-4] + weights[-3]
    first, scale = cluster * n_local, weights[-4] / (tokens * weights[-2])
    for m in range(cumulative.size):
        if m == n_local:
            first, scale = (n_clusters - 1) * n_local, weights[-3] / (tokens * weights[-1])
        word_given_topic = (beta + counts[first + m]) * model.inverse_totals[first + m]
        total += scale * weights[m] * word_given_topic
        cumulative[m] = total
    return total


@njit(cache=True, error_model="numpy")
def search(cumulative, threshold):
    """Return the first topic whose running sum exceeds the threshold."""
    topic = 0
    while topic < cumulative.size - 1 and cumulative[topic] <= threshold:
        topic += 1
    return topic


@njit(cache=True, error_model="numpy")
def impute_topics(words, first, cluster, topics, keep_topics, model, key, step, attempt, scratch):
    """Add the tokens of a group one after the other; return log W.

    Parameters
    ----------
    words : int32 (n,)
    first : int
        Number of the group's first token in the corpus, for random numbers.
    topics : int32 (n,)
        Topics of the tokens: kept if ``keep_topics``, drawn otherwise.
    scratch : (float64 (n_topics + 4,), float64 (n_topics,))
        The weights of `start_group` and the running sums of `weigh_topics`.
    """
    weights, cumulative = scratch
    start_group(cluster, model, weights)
    log_weight = 0.0
    for i in range(words.size):
        total = weigh_topics(words[i], cluster, model, weights, cumulative)
        log_weight += math.log(total)
        if not keep_topics:
            threshold = uniform_of(key, step, first + i, attempt) * total
            topics[i] = search(cumulative, threshold)
        count_token(words[i], topics[i], cluster, 1, model, weights)
    return log_weight


@njit(cache=True, error_model="numpy")
def count_group(words, topics, cluster, sign, model, weights):
    """Add all tokens of a group to the counts (sign 1), or remove them (−1)."""
    for i in range(words.size):
        count_token(words[i], topics[i], cluster, sign, model, weights)


@njit(cache=True, nogil=True, error_model="numpy")
def start_groups(group_start, word, cluster_of_group, topic_of_token, model, key):
    """Impute the topics of all groups in turn, given their clusters. The counts must be zeros."""
    n_topics = model.local_prior.shape[1] + model.global_prior.size
    scratch = np.empty(n_topics + 4), np.empty(n_topics)
    for j in range(cluster_of_group.size):
        first, last, k = group_start[j], group_start[j + 1], cluster_of_group[j]
        words, topics = word[first:last], topic_of_token[first:last]
        impute_topics(words, first, k, topics, False, model, key, START, 0, scratch)
        model.groups_in_cluster[k] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def resample_groups(group_start, word, cluster_of_group, topic_of_token, model, key):
    """Draw the cluster of each group with the topics of its tokens, then each topic again.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    word : int32 (n_tokens,)
    cluster_of_group : int32 (n_groups,)
    topic_of_token : int32 (n_tokens,)
    model : SwitchedTopics
        Its counts are updated.
    """
    n_clusters, n_local = model.local_prior.shape
    n_topics = n_local + model.global_prior.size
    imputed = np.empty((n_clusters, np.diff(group_start).max()), np.int32)
    log_weights = np.empty(n_clusters)
    weights, cumulative = np.empty(n_topics + 4), np.empty(n_topics)
    scratch = (weights, cumulative)
    for j in range(cluster_of_group.size):
        first, last, old = group_start[j], group_start[j + 1], cluster_of_group[j]
        words, topics, n = word[first:last], topic_of_token[first:last], last - first
        count_group(words, topics, old, -1, model, weights)
        model.groups_in_cluster[old] -= 1
        imputed[old, :n] = topics
        for k in range(n_clusters):
            candidate = imputed[k, :n]
            log_weights[k] = math.log(model.cluster_prior + model.groups_in_cluster[k])
            log_weights[k] += impute_topics(
                words, first, k, candidate, k == old, model, key, IMPUTATION, k, scratch
            )
            count_group(words, candidate, k, -1, model, weights)
        new = pick(log_weights, n_clusters, uniform_of(key, CLUSTERS, j, 0))
        cluster_of_group[j] = new
        model.groups_in_cluster[new] += 1
        topics[:] = imputed[new, :n]
        start_group(new, model, weights)
        count_group(words, topics, new, 1, model, weights)
        for i in range(n):
            count_token(words[i], topics[i], new, -1, model, weights)
            total = weigh_topics(words[i], new, model, weights, cumulative)
            topics[i] = search(cumulative, uniform_of(key, TOPICS, first + i, 0) * total)
            count_token(words[i], topics[i], new, 1, model, weights)


@njit(cache=True, nogil=True, error_model="numpy")
def log_evidence(group_start, word, model, key, out):
    """Write log W of new groups under each cluster; its mean over repeats estimates p(w_j | k).

    Parameters
    ----------
    model : SwitchedTopics
        Of the training groups. The counts are the same afterwards.
    out : float64 (n_groups, n_clusters, n_repeats)
    """
    n_groups, n_clusters, n_repeats = out.shape
    n_topics = model.local_prior.shape[1] + model.global_prior.size
    scratch = np.empty(n_topics + 4), np.empty(n_topics)
    topics = np.empty(np.diff(group_start).max(), np.int32)
    for j in range(n_groups):
        first, last = group_start[j], group_start[j + 1]
        words, imputed = word[first:last], topics[: last - first]
        for k in range(n_clusters):
            for repeat in range(n_repeats):
                attempt = k * n_repeats + repeat
                out[j, k, repeat] = impute_topics(
                    words, first, k, imputed, False, model, key, IMPUTATION, attempt, scratch
                )
                count_group(words, imputed, k, -1, model, scratch[0])
