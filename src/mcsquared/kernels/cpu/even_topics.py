"""Topics of tokens given fixed clusters, topics with even weights: for the start of a chain.

    p(l_ji = m | ·)  ∝  (n_jm + a (c_km + 1/M) / (c_k + 1) + b / M) (n_mw + β) / (n_m + V β)

n_jm are the tokens of group j in topic m, c_km those of its cluster k, and c_k those of the cluster
in all topics, all without token i. a and b weigh the cluster's topics and even ones; M is the
number of topics.
"""

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.rng import Step, uniform_of

TOPICS = int(Step.TOPICS)


@njit(cache=True, error_model="numpy")
def sweep_even_topics(
    group_start,
    word,
    cluster_of_group,
    topic,
    group_counts,
    cluster_counts,
    word_counts,
    a,
    b,
    beta,
    key,
):
    """Draw the topic of every token in turn, and update the counts.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    word : int32 (n_tokens,)
    cluster_of_group : int32 (n_groups,)
    topic : int32 (n_tokens,)
        Updated in place, as are the counts.
    group_counts : int32 (n_groups, n_topics)
    cluster_counts : int32 (n_clusters, n_topics)
    word_counts : int32 (n_words, n_topics)
    a, b, beta : float
    """
    n_words, n_topics = word_counts.shape
    sizes, cluster_sizes = np.zeros(n_topics), np.zeros(cluster_counts.shape[0])
    for w in range(n_words):
        for m in range(n_topics):
            sizes[m] += word_counts[w, m]
    for k in range(cluster_counts.shape[0]):
        for m in range(n_topics):
            cluster_sizes[k] += cluster_counts[k, m]
    cumulative = np.zeros(n_topics)
    for j in range(group_start.size - 1):
        row, cluster = group_counts[j], cluster_counts[cluster_of_group[j]]
        scale = a / max(cluster_sizes[cluster_of_group[j]], 1.0)
        even = (b + scale) / n_topics
        for i in range(group_start[j], group_start[j + 1]):
            words, m = word_counts[word[i]], topic[i]
            row[m] -= 1
            cluster[m] -= 1
            words[m] -= 1
            sizes[m] -= 1.0
            total = 0.0
            for m in range(n_topics):
                share = row[m] + scale * cluster[m] + even
                total += share * (words[m] + beta) / (sizes[m] + n_words * beta)
                cumulative[m] = total
            threshold = uniform_of(key, TOPICS, i, 0) * total
            m = 0
            while m < n_topics - 1 and cumulative[m] <= threshold:
                m += 1
            topic[i] = m
            row[m] += 1
            cluster[m] += 1
            words[m] += 1
            sizes[m] += 1.0
