"""Corpora whose topics, and the effect of whose contexts, are known."""

import numpy as np

from mcsquared.corpus import Corpus

N_TOPICS, WORDS_OF_TOPIC = 4, 6


def planted_topics(rng, concentration=3.0):
    """Topics on words of their own, and a tenth of their weight on all the others."""
    n_words = N_TOPICS * WORDS_OF_TOPIC
    topics = np.full((N_TOPICS, n_words), 0.1 / n_words)
    for m in range(N_TOPICS):
        words_of_topic = slice(m * WORDS_OF_TOPIC, (m + 1) * WORDS_OF_TOPIC)
        topics[m, words_of_topic] += 0.9 * rng.dirichlet(np.full(WORDS_OF_TOPIC, concentration))
    return topics


def draw_corpus(topics, weights, n_tokens, rng, contexts=None):
    """Groups of so many tokens with these topic weights (n_groups, n_topics)."""
    mixed = weights @ topics
    counts = np.array([rng.multinomial(n_tokens, p / p.sum()) for p in mixed])
    return Corpus(counts, contexts)


def lda_corpus(n_groups=200, n_tokens=50, seed=0):
    """A draw from LDA: (corpus, topics, weights)."""
    rng = np.random.default_rng(seed)
    topics = planted_topics(rng)
    weights = rng.dirichlet(np.full(N_TOPICS, 0.3), n_groups)
    return draw_corpus(topics, weights, n_tokens, rng), topics, weights


def matched(found, topics):
    """The order of the found topics in which they are nearest to these, and that distance."""
    from scipy.optimize import linear_sum_assignment

    distance = 0.5 * np.abs(found[:, None] - topics[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(distance)
    order = rows[np.argsort(columns)]
    return order, distance[order, np.arange(len(topics))]
