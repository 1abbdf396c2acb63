"""How probable a group's content and contexts are in each cluster of a kept draw.

Nothing here makes an array of groups × words, nor of tokens × clusters: words go through one
sparse product, vectors through blocks of tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from mcsquared.corpus import Words
from mcsquared.model.priors import vector_observations
from mcsquared.prediction.parameters import Globals, log_content

if TYPE_CHECKING:
    from mcsquared.corpus import Column, Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.posterior import ParameterDraw, Posterior

__all__ = [
    "context_statistics",
    "log_cluster_prior",
    "log_context_given_cluster",
    "log_group_given_cluster",
    "log_mixture",
    "log_word_given_cluster",
    "log_words_given_cluster",
    "sum_by_group",
    "token_blocks",
]

Floats = NDArray[np.float64]

BLOCK_NUMBERS = 1 << 21  # numbers in a block's largest array: 16 MB


def log_mixture(log_likelihood: Floats, log_weights: Floats) -> Floats:
    """Return log Σ_m exp(log_likelihood[n, m] + log_weights[k, m]): shape (n, k).

    One matrix product, each row shifted by its largest term. A sum that comes near the smallest
    float all the same is done again in logs.
    """
    top = log_likelihood.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.exp(log_likelihood - top) @ np.exp(log_weights).T
    with np.errstate(divide="ignore"):
        result = np.log(total) + top
    tiny = total < 1e-280
    for cluster in np.flatnonzero(tiny.any(axis=0)):
        rows = tiny[:, cluster]
        result[rows, cluster] = logsumexp(log_likelihood[rows] + log_weights[cluster], axis=1)
    return result


def log_word_given_cluster(parameters: Globals) -> Floats:
    """Return log P_kw = log Σ_m τ_km ψ_mw, transposed: shape (n_words, n_clusters + n_new)."""
    log_psi, log_tau = parameters.content_parameters, parameters.log_topic_given_cluster
    n_words = log_psi.shape[1]
    result = np.empty((n_words, log_tau.shape[0]))
    step = max(1, BLOCK_NUMBERS // max(log_tau.shape))
    for first in range(0, n_words, step):
        block = slice(first, first + step)
        result[block] = log_mixture(log_psi[:, block].T, log_tau)
    if n_words and not np.allclose(np.exp(result).sum(axis=0), 1.0, rtol=0.0, atol=1e-8):
        raise ArithmeticError("the words' probabilities of some cluster do not sum to 1")
    return result


def log_group_given_cluster(corpus: Corpus, parameters: Globals, family: ConjugateFamily) -> Floats:
    """Return log Π_i Σ_m τ_km ψ_m(w_ji), shape (n_groups, n_clusters + n_new).

    The tokens are a sequence: no multinomial coefficient. A group without tokens has 0.
    """
    if isinstance(corpus.content, Words):
        return log_words_given_cluster(corpus.content.counts, log_word_given_cluster(parameters))
    result = np.zeros((corpus.n_groups, len(parameters.log_weight_of_cluster)))
    observations = vector_observations(corpus, family)
    group_of_token = np.repeat(np.arange(corpus.n_groups), corpus.content.tokens_per_group)
    for block in token_blocks(len(observations), max(parameters.log_topic_given_cluster.shape)):
        likelihood = log_content(family, observations[block], parameters.content_parameters)
        log_token = log_mixture(likelihood, parameters.log_topic_given_cluster)
        groups, sums = sum_by_group(group_of_token[block], log_token)
        result[groups] += sums
    return result


def log_words_given_cluster(counts: sparse.csr_matrix, log_word: Floats) -> Floats:
    """Return Σ_w n_jw log P_kw: one sparse × dense product, shape (n_groups, n_columns)."""
    return np.asarray(counts.astype(np.float64) @ log_word)


def token_blocks(n_tokens: int, width: int) -> list[slice]:
    """Cut the tokens into blocks whose tokens × ``width`` arrays stay small."""
    step = max(1, BLOCK_NUMBERS // max(width, 1))
    return [slice(first, min(first + step, n_tokens)) for first in range(0, n_tokens, step)]


def sum_by_group(group_of_token: NDArray[np.int64], values: Floats) -> tuple[slice, Floats]:
    """Sum the rows of a block of tokens by group: the groups it touches, and their sums."""
    first, last = int(group_of_token[0]), int(group_of_token[-1]) + 1
    n_tokens = len(group_of_token)
    member = sparse.csr_matrix(
        (np.ones(n_tokens), (group_of_token - first, np.arange(n_tokens))),
        shape=(last - first, n_tokens),
    )
    return slice(first, last), np.asarray(member @ values)


def context_statistics(
    column: Column, family: ConjugateFamily, labels: NDArray[np.int32], n_clusters: int
) -> Floats:
    """Return the statistics of a training context per cluster, and a last row of zeros: new."""
    statistics = np.zeros((n_clusters + 1, family.n_stats))
    statistics[:n_clusters] = family.statistics_by_cluster(
        column.observations(), labels[column.observed], n_clusters
    )
    return statistics


def log_context_given_cluster(
    posterior: Posterior, draw: ParameterDraw, corpus: Corpus, leave_out: str | None = None
) -> Floats:
    """Return the log-density of each group's contexts, shape (n_groups, n_clusters + 1).

    The context parameters φ are integrated out; the last column is a new cluster. A context that is
    missing in a group, or in the whole corpus, is a factor of 1.
    """
    n_clusters = draw.topics_in_cluster.shape[0]
    labels = posterior.cluster_of_group[draw.draw]
    result = np.zeros((corpus.n_groups, n_clusters + 1))
    for name, family in posterior.priors.contexts.items():
        if name == leave_out or name not in corpus.contexts:
            continue
        column = corpus.contexts[name]
        statistics = context_statistics(posterior.contexts[name], family, labels, n_clusters)
        result[column.observed] += family.log_predictive(column.observations(), statistics)
    return result


def log_cluster_prior(parameters: Globals, log_context: Floats) -> Floats:
    """Return log p(z_j = k, contexts of j), shape (n_groups, n_clusters + n_new).

    Parameters
    ----------
    log_context : float64 (n_groups, n_clusters + 1)
        From `log_context_given_cluster`; zeros where contexts are not used.
    """
    weight = parameters.log_weight_of_cluster
    column = np.minimum(np.arange(len(weight)), parameters.n_clusters)
    return log_context[:, column] + weight
