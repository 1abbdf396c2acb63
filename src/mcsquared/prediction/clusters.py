"""Cluster probabilities of new groups, including the probability of a new cluster."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from mcsquared.posterior.consensus import share_of_consensus
from mcsquared.prediction.alignment import align
from mcsquared.prediction.fold_in import fold_in_groups
from mcsquared.prediction.likelihood import (
    log_cluster_prior,
    log_context_given_cluster,
    log_group_given_cluster,
)
from mcsquared.prediction.parameters import ModelParameters, parameters_of_draws

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import ParameterDraw, Posterior

Floats = NDArray[np.float64]


def cluster_probabilities(posterior: Posterior, corpus: Corpus) -> tuple[Floats, Floats]:
    """Return each group's probability of every consensus cluster, and of a new cluster.

    The mean over stored parameter draws of p(z_j = k | contents and contexts of j). Cluster k of a
    draw contributes to consensus cluster c in proportion to the share of its groups that are in c.
    For a finite lam, groups are sampled, and the result is also a mean over samples.

    Returns
    -------
    probabilities : float64 (n_groups, n_consensus_clusters)
        Given that the cluster is not new; rows sum to 1.
    new : float64 (n_groups,)
        The probability that the cluster is new.
    """
    corpus = align(posterior, corpus)
    n_groups = corpus.n_groups
    total = np.zeros((n_groups, posterior.n_clusters))
    log_scale = np.full(n_groups, -np.inf)
    new = np.zeros(n_groups)
    for draw, parameters in parameters_of_draws(posterior):
        log_joint = _log_joint(posterior, draw, parameters, corpus)
        log_known = logsumexp(log_joint[:, : parameters.n_clusters], axis=1)
        log_known -= logsumexp(log_joint, axis=1)
        new += np.clip(-np.expm1(log_known), 0.0, 1.0)
        known = softmax(log_joint[:, : parameters.n_clusters], axis=1)
        # Relative to the largest so far: the row of a group that is almost surely new sums to 1.
        scale = np.maximum(log_scale, log_known)
        total *= np.exp(log_scale - scale)[:, None]
        share = share_of_consensus(posterior.cluster_of_group[draw.draw], posterior.labels)
        total += np.exp(log_known - scale)[:, None] * (known @ share)
        log_scale = scale
    total /= total.sum(axis=1, keepdims=True)
    return total, new / len(posterior.parameters)


def most_probable_cluster(posterior: Posterior, corpus: Corpus) -> NDArray[np.int64]:
    """Return the most probable consensus cluster of each group."""
    return cluster_probabilities(posterior, corpus)[0].argmax(axis=1)


def draw_cluster_probabilities(
    posterior: Posterior,
    draw: ParameterDraw,
    parameters: ModelParameters,
    corpus: Corpus,
    leave_out: str | None = None,
) -> Floats:
    """Return p(z_j = k | j) in one draw, shape (n_groups, n_clusters + 1); the last is new."""
    probability = softmax(_log_joint(posterior, draw, parameters, corpus, leave_out), axis=1)
    n_clusters = parameters.n_clusters
    new = probability[:, n_clusters:].sum(axis=1, keepdims=True)
    return np.hstack([probability[:, :n_clusters], new])


def _log_joint(
    posterior: Posterior,
    draw: ParameterDraw,
    parameters: ModelParameters,
    corpus: Corpus,
    leave_out: str | None = None,
) -> Floats:
    """Return log p(z_j = k | j) up to a constant per group."""
    log_context = log_context_given_cluster(posterior, draw, corpus, leave_out)
    log_prior = log_cluster_prior(parameters, log_context)
    if math.isinf(parameters.lam):
        return log_prior + log_group_given_cluster(corpus, parameters)
    return fold_in_groups(corpus, parameters, log_prior).log_cluster
