"""Which topics a new group is made of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from mcsquared.corpus import Words
from mcsquared.model.priors import vector_observations
from mcsquared.prediction.alignment import aligned
from mcsquared.prediction.clusters import draw_cluster_probabilities
from mcsquared.prediction.likelihood import (
    log_cluster_prior,
    log_context_given_cluster,
    sum_by_group,
    token_blocks,
)
from mcsquared.prediction.parameters import (
    GLOBALS,
    Globals,
    dense_statistics,
    draw_log_dirichlet,
    globals_of_draw,
    stream,
)
from mcsquared.prediction.varying import fold_in_groups

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.posterior import ParameterDraw, Posterior

__all__ = ["topic_proportions"]

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-9  # a cluster this improbable for a group adds nothing to its topics


def topic_proportions(posterior: Posterior, corpus: Corpus) -> Floats:
    """Return each group's share of every topic of the representative draw.

    The sum over clusters of p(z_j = k | j) times the mean over the group's tokens of

        p(l = m | z_j = k, w)  ∝  (c_km + v ε_m) p(w | tokens of m)

    which is exact for one token with τ and ψ integrated out. Where groups vary inside their cluster
    (a finite lam), the posterior mean of the group's own weights θ_j instead, sampled with τ and ψ
    at their means. Topics never seen are left out. A group without tokens gets its clusters' topic
    weights.

    Returns
    -------
    float64 (n_groups, n_topics)
        In the public order of the topics; rows sum to 1.
    """
    corpus = aligned(posterior, corpus)
    draw = posterior.parameters[posterior.representative]
    if draw.n_topics == 0:
        return np.zeros((corpus.n_groups, 0))
    rng = stream(posterior.seed, GLOBALS, int(posterior.representative), 0)
    parameters = globals_of_draw(posterior, draw, rng)
    if not math.isinf(draw.lam):
        result = _varying(posterior, draw, parameters, corpus, rng)
        return result[:, posterior.topic_order]
    cluster = draw_cluster_probabilities(posterior, draw, parameters, corpus)

    new = draw.topic_weights / draw.topic_weights.sum()
    topic_given_cluster = np.vstack([draw.topic_given_cluster(), new])

    family = posterior.priors.content
    if isinstance(corpus.content, Words):
        result = _topics_of_words(corpus.content, draw, family, cluster, topic_given_cluster)
    else:
        result = _topics_of_vectors(corpus, draw, family, cluster, topic_given_cluster)
    empty = corpus.content.tokens_per_group == 0
    result[empty] = cluster[empty] @ topic_given_cluster
    result /= result.sum(axis=1, keepdims=True)
    return result[:, posterior.topic_order]


def _varying(
    posterior: Posterior,
    draw: ParameterDraw,
    parameters: Globals,
    corpus: Corpus,
    rng: np.random.Generator,
) -> Floats:
    """Return the mean weights θ_j of groups around the mean τ and ψ of the known topics."""
    prior = np.tile(draw.v * draw.topic_weights, (parameters.n_new, 1))
    known = _logs(draw.topic_given_cluster())
    means = replace(
        parameters, log_topic_given_cluster=np.vstack([known, draw_log_dirichlet(prior, rng)])
    )
    family, statistics = posterior.priors.content, dense_statistics(draw)
    words = isinstance(corpus.content, Words)
    log_psi = family.mean_parameters(statistics) if words else None

    def likelihood(tokens: NDArray[Any]) -> Floats:
        if log_psi is None:
            return family.log_predictive(tokens, statistics)
        return log_psi[:, tokens].T

    log_context = log_context_given_cluster(posterior, draw, corpus)
    log_prior = log_cluster_prior(means, log_context)
    return fold_in_groups(corpus, means, family, log_prior, likelihood).topics


def _topics_of_words(
    words: Words,
    draw: ParameterDraw,
    family: ConjugateFamily,
    cluster: Floats,
    topic_given_cluster: Floats,
) -> Floats:
    log_psi = family.mean_parameters(dense_statistics(draw))
    result = np.zeros((words.n_groups, len(log_psi)))
    for k, log_tau in enumerate(_logs(topic_given_cluster)):
        rows = np.flatnonzero((cluster[:, k] > NEGLIGIBLE) & (words.tokens_per_group > 0))
        if len(rows) == 0:
            continue
        part = words.counts[rows].astype(np.float64)
        used = np.unique(part.indices)  # the table below is only as wide as these groups' words
        table = softmax(log_psi[:, used].T + log_tau, axis=1)
        share = cluster[rows, k] / words.tokens_per_group[rows]
        result[rows] += share[:, None] * (part[:, used] @ table)
    return result


def _topics_of_vectors(
    corpus: Corpus,
    draw: ParameterDraw,
    family: ConjugateFamily,
    cluster: Floats,
    topic_given_cluster: Floats,
) -> Floats:
    tokens_per_group = corpus.content.tokens_per_group
    group_of_token = np.repeat(np.arange(corpus.n_groups), tokens_per_group)
    observations = vector_observations(corpus, family)
    statistics, log_tau = dense_statistics(draw), _logs(topic_given_cluster)
    result = np.zeros((corpus.n_groups, len(statistics)))
    for block in token_blocks(len(observations), statistics.size):
        log_psi = family.log_predictive(observations[block], statistics)
        groups = group_of_token[block]
        share = cluster[groups] / tokens_per_group[groups][:, None]
        topics = np.zeros_like(log_psi)
        for k in np.flatnonzero((cluster[groups] > NEGLIGIBLE).any(axis=0)):
            rows = cluster[groups, k] > NEGLIGIBLE
            topics[rows] += share[rows, k, None] * softmax(log_psi[rows] + log_tau[k], axis=1)
        touched, sums = sum_by_group(groups, topics)
        result[touched] += sums
    return result


def _logs(probability: Floats) -> Floats:
    """Return logarithms; a probability that has vanished stays a very small one."""
    return np.log(np.maximum(probability, np.finfo(np.float64).tiny))
