"""A corpus small enough to enumerate, and a Gibbs sampler for it with the paper's two z steps.

Three groups of words with a Gaussian context, the second one missing. Every partition of the
groups and of the six tokens can be listed, so that the posterior is a table.
"""

from collections import Counter
from itertools import product
from math import exp, lgamma, log

import numpy as np

from mcsquared.families import Gaussian

WORDS = (0, 1, 0, 0, 1, 2)
GROUP_OF_TOKEN = (0, 0, 1, 2, 2, 2)
N_GROUPS, N_TOKENS, N_WORDS = 3, 6, 3
CONTEXT = (0.2, None, 1.1)
ALPHA, V, ETA, BETA = 0.7, 1.4, 1.3, 0.5
FAMILY = Gaussian(mean=0.0, strength=0.5, shape=1.5, rate=1.0)


def partitions(n):
    """Return all partitions of n items, as labels numbered by first appearance."""
    labels = [(0,)]
    for _ in range(n - 1):
        labels = [(*old, new) for old in labels for new in range(max(old) + 2)]
    return labels


def canonical(labels):
    names = {}
    return tuple(names.setdefault(label, len(names)) for label in labels)


def stirling(n):
    """Unsigned Stirling numbers of the first kind, s(n, 0..n), as exact integers."""
    row = [1]
    for i in range(n):
        row = [a + i * b for a, b in zip([0, *row], [*row, 0], strict=True)]
    return row


def _log_contexts():
    """Return the log-marginal of the contexts of every set of groups, computed by the family."""
    terms = {}
    for groups in product((False, True), repeat=N_GROUPS):
        x = np.array([c for c, m in zip(CONTEXT, groups, strict=True) if m and c is not None])
        stats = FAMILY.statistics(x).sum(axis=0)
        terms[groups] = float(FAMILY.log_marginal(stats) + FAMILY.log_base(x).sum())
    return terms


LOG_CONTEXTS = _log_contexts()


def counts(z, topics):
    """Return tokens by cluster and topic, and by topic and word."""
    in_cluster = [[0] * (max(topics) + 1) for _ in range(max(z) + 1)]
    in_topic = [[0] * N_WORDS for _ in range(max(topics) + 1)]
    for i, m in enumerate(topics):
        in_cluster[z[GROUP_OF_TOKEN[i]]][m] += 1
        in_topic[m][WORDS[i]] += 1
    return in_cluster, in_topic


def log_prior_and_contexts(z):
    total = lgamma(ALPHA) - lgamma(ALPHA + N_GROUPS)
    for k in set(z):
        groups = tuple(label == k for label in z)
        total += log(ALPHA) + lgamma(sum(groups)) + LOG_CONTEXTS[groups]
    return total


def log_words(in_topic):
    total = 0.0
    for row in in_topic:
        total += lgamma(N_WORDS * BETA) - lgamma(N_WORDS * BETA + sum(row))
        total += sum(lgamma(BETA + n) - lgamma(BETA) for n in row)
    return total


def log_topics(in_cluster):
    """log p(topics of tokens | clusters), with the root's weights summed out over tables."""
    total = sum(lgamma(V) - lgamma(V + sum(row)) for row in in_cluster)
    cells = [(m, n) for row in in_cluster for m, n in enumerate(row) if n]
    n_topics = len(in_cluster[0])
    mass = 0.0
    for tables in product(*[range(1, n + 1) for _, n in cells]):
        at_root = [0] * n_topics
        weight = ETA**n_topics
        for (m, n), q in zip(cells, tables, strict=True):
            at_root[m] += q
            weight *= stirling(n)[q] * V**q
        log_root = lgamma(ETA) - lgamma(ETA + sum(at_root)) + sum(map(lgamma, at_root))
        mass += weight * exp(log_root)
    return total + log(mass)


def exact_posterior():
    """The posterior over (partition of the groups, number of topics)."""
    table = Counter()
    for z in partitions(N_GROUPS):
        prior = log_prior_and_contexts(z)
        for topics in partitions(N_TOKENS):
            in_cluster, in_topic = counts(z, topics)
            log_joint = prior + log_words(in_topic) + log_topics(in_cluster)
            table[z, max(topics) + 1] += exp(log_joint)
    total = sum(table.values())
    return {state: mass / total for state, mass in table.items()}


def log_cluster_weights(j, z, topics_of_group, weights, printed):
    """Log-weights of the clusters for group j, the last of them a new one (appendix A.2).

    If `printed`, the total is Σ_{m≤M}(vε_m + c_km), although the whole prior has weight v.
    """
    others = [i for i in range(N_GROUPS) if i != j]
    labels = sorted({z[i] for i in others})
    prior = [V * weight for weight in weights]
    whole = sum(prior) if printed else V
    added = topics_of_group[j]
    result = []
    for k in [*labels, None]:
        groups = [i for i in others if z[i] == k]
        current = tuple(i in groups for i in range(N_GROUPS))
        joined = tuple(i in groups or i == j for i in range(N_GROUPS))
        value = log(len(groups)) if groups else log(ALPHA)
        value += LOG_CONTEXTS[joined] - LOG_CONTEXTS[current]
        total = whole
        for m, t in enumerate(added):
            c = sum(topics_of_group[i][m] for i in groups)
            total += c
            if t:
                value += lgamma(prior[m] + c + t) - lgamma(prior[m] + c)
        result.append(value + lgamma(total) - lgamma(total + sum(added)))
    return labels, result


def normalised(log_weights):
    top = max(log_weights)
    weights = [exp(value - top) for value in log_weights]
    return [weight / sum(weights) for weight in weights]


def pick(probabilities, uniform):
    total = sum(probabilities) * uniform
    for index, probability in enumerate(probabilities):
        total -= probability
        if total < 0:
            return index
    return len(probabilities) - 1


def run(n_sweeps, printed, seed):
    """Sample (z, topics, root weights) and count (partition of the groups, number of topics)."""
    rng = np.random.default_rng(seed)
    z, topics = [0] * N_GROUPS, [0] * N_TOKENS
    weights, unused = [0.5], 0.5
    seen = Counter()
    for _ in range(n_sweeps):
        uniform = rng.random(N_GROUPS + N_TOKENS).tolist()
        resample_clusters(z, topics, weights, uniform, printed)
        weights, unused = resample_topics(z, topics, weights, unused, uniform, rng)
        tables = [0] * len(weights)
        for row in counts(canonical(z), topics)[0]:
            for m, n in enumerate(row):
                concentration = V * weights[m]
                tables[m] += sum(
                    rng.random() < concentration / (concentration + i) for i in range(n)
                )
        *weights, unused = rng.dirichlet([*tables, ETA]).tolist()
        seen[canonical(z), len(weights)] += 1
    return {state: n / n_sweeps for state, n in seen.items()}


def resample_clusters(z, topics, weights, uniform, printed):
    topics_of_group = [[0] * len(weights) for _ in range(N_GROUPS)]
    for i, m in enumerate(topics):
        topics_of_group[GROUP_OF_TOKEN[i]][m] += 1
    for j in range(N_GROUPS):
        labels, log_weights = log_cluster_weights(j, z, topics_of_group, weights, printed)
        chosen = pick(normalised(log_weights), uniform[j])
        z[j] = labels[chosen] if chosen < len(labels) else max(z) + 1


def resample_topics(z, topics, weights, unused, uniform, rng):
    """Draw each token's topic; births split the unused weight, deaths return to it."""
    for i in range(N_TOKENS):
        k, word, old = z[GROUP_OF_TOKEN[i]], WORDS[i], topics[i]
        topics[i] = -1
        if old not in topics:
            unused += weights.pop(old)
            topics[:] = [m - (m > old) for m in topics]
            topics[i] = -1
        probabilities = []
        for m, weight in enumerate(weights):
            same = [t for t in range(N_TOKENS) if topics[t] == m]
            in_cluster = sum(z[GROUP_OF_TOKEN[t]] == k for t in same)
            same_word = sum(WORDS[t] == word for t in same)
            likelihood = (same_word + BETA) / (len(same) + N_WORDS * BETA)
            probabilities.append((in_cluster + V * weight) * likelihood)
        probabilities.append(V * unused / N_WORDS)
        topics[i] = pick(probabilities, uniform[N_GROUPS + i])
        if topics[i] == len(weights):
            share = rng.beta(1.0, ETA)
            weights.append(share * unused)
            unused *= 1.0 - share
    return weights, unused


def total_variation(first, second):
    states = set(first) | set(second)
    return 0.5 * sum(abs(first.get(s, 0.0) - second.get(s, 0.0)) for s in states)
