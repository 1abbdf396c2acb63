"""Topic proportions of new groups."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from mcsquared.corpus import Words
from mcsquared.prediction.alignment import align
from mcsquared.prediction.clusters import draw_cluster_probabilities
from mcsquared.prediction.fold_in import fold_in_groups
from mcsquared.prediction.likelihood import (
    log_cluster_prior,
    log_context_given_cluster,
    safe_log,
    token_batches,
)
from mcsquared.prediction.parameters import (
    PARAMETERS,
    ModelParameters,
    dense_statistics,
    draw_log_dirichlet,
    draw_parameters,
    stream,
)

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.posterior import Posterior

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-9  # cluster probabilities below this are ignored


def topic_proportions(posterior: Posterior, corpus: Corpus) -> Floats:
    """Return each group's share of every topic of the representative draw.

    For λ = ∞, the sum over clusters of p(z_j = k | j) times the mean over the group's tokens of

        p(l = m | z_j = k, w)  ∝  (c_km + v ε_m) p(w | tokens of m)

    which is exact for one token with τ and ψ integrated out. For a finite λ, the posterior mean of
    the group's weights θ_j, sampled with τ and ψ at their means. Unused topics are left out. A
    group without tokens has the topic weights of its clusters.

    Returns
    -------
    float64 (n_groups, n_topics)
        In the public order of the topics; rows sum to 1.
    """
    corpus = align(posterior, corpus)
    draw = posterior.parameters[posterior.representative]
    if draw.n_topics == 0:
        return np.zeros((corpus.n_groups, 0))
    rng = stream(posterior.seed, PARAMETERS, int(posterior.representative), 0)
    parameters = draw_parameters(posterior, draw, rng)
    words = isinstance(corpus.content, Words)
    topic_given_cluster = draw.topic_given_cluster()
    if not math.isinf(draw.lam):
        new = draw_log_dirichlet(np.tile(draw.v * draw.topic_weights, (parameters.n_new, 1)), rng)
        log_tau = np.vstack([safe_log(topic_given_cluster), new])
        means = at_content_means(parameters, dense_statistics(draw), words)
        means = replace(means, log_topic_given_cluster=log_tau)
        log_context = log_context_given_cluster(posterior, draw, corpus)
        log_prior = log_cluster_prior(means, log_context)
        return fold_in_groups(corpus, means, log_prior).topics[:, posterior.topic_order]

    cluster = draw_cluster_probabilities(posterior, draw, parameters, corpus)
    new = draw.topic_weights / draw.topic_weights.sum()
    topic_given_cluster = np.vstack([topic_given_cluster, new])
    means = at_content_means(parameters, dense_statistics(draw), words)
    responsibilities = _word_responsibilities if words else _vector_responsibilities
    result = responsibilities(corpus, means, cluster, safe_log(topic_given_cluster))
    empty = corpus.content.tokens_per_group == 0
    result[empty] = cluster[empty] @ topic_given_cluster
    result /= result.sum(axis=1, keepdims=True)
    return result[:, posterior.topic_order]


def at_content_means(
    parameters: ModelParameters, statistics: Floats, words: bool
) -> ModelParameters:
    """Return the parameters of known topics with ψ at its mean, or integrated out for vectors."""
    family: ConjugateFamily = parameters.family
    content = family.mean_parameters(statistics) if words else statistics
    return replace(parameters, content_parameters=content, integrated=not words)


def _word_responsibilities(
    corpus: Corpus, means: ModelParameters, cluster: Floats, log_tau: Floats
) -> Floats:
    """Return Σ_k p(z_j = k | j) mean_i p(l_ji = m | k, w_ji), one table of words per cluster."""
    words = corpus.content
    assert isinstance(words, Words)
    result = np.zeros((words.n_groups, len(means.content_parameters)))
    for k, log_weights in enumerate(log_tau):
        groups = np.flatnonzero((cluster[:, k] > NEGLIGIBLE) & (words.tokens_per_group > 0))
        if len(groups) == 0:
            continue
        counts = words.counts[groups].astype(np.float64)
        used = np.unique(counts.indices)  # limits the table to the words of these groups
        table = softmax(means.log_words(used) + log_weights, axis=1)
        share = cluster[groups, k] / words.tokens_per_group[groups]
        result[groups] += share[:, None] * (counts[:, used] @ table)
    return result


def _vector_responsibilities(
    corpus: Corpus, means: ModelParameters, cluster: Floats, log_tau: Floats
) -> Floats:
    """Return the same for vectors, batch by batch."""
    sizes = corpus.content.tokens_per_group
    result = np.zeros((corpus.n_groups, len(means.content_parameters)))
    for groups, counts, log_psi in token_batches(corpus, means):
        weights = np.repeat(cluster[groups], sizes[groups], axis=0)
        share = weights / np.repeat(sizes[groups], sizes[groups])[:, None]
        topics = np.zeros_like(log_psi)
        for k in np.flatnonzero((weights > NEGLIGIBLE).any(axis=0)):
            rows = weights[:, k] > NEGLIGIBLE
            topics[rows] += share[rows, k, None] * softmax(log_psi[rows] + log_tau[k], axis=1)
        result[groups] = counts @ topics
    return result
