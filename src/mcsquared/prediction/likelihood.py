"""Log-likelihood of a group's content and contexts in each cluster of a stored draw.

No function creates an array of groups × words or of tokens × clusters: words use one sparse
product, vectors are processed in batches of groups.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import digamma, logsumexp

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.corpus import Column, Corpus, Words
from mcsquared.corpus.content import blocks_of_rows
from mcsquared.families import ConjugateFamily
from mcsquared.kernels.cpu.products import multiply
from mcsquared.model.priors import vector_observations
from mcsquared.posterior import ParameterDraw, Posterior
from mcsquared.prediction.levels import average_clusters, log_weights_of_groups
from mcsquared.prediction.parameters import ModelParameters

BATCH_SIZE = 1 << 22  # entries of the largest array of a batch of groups: 32 MB
MAX_TERMS = 1 << 28  # of a product that is computed without BLAS
BLOCK_SIZE = 1 << 21  # entries of the largest array of a block of rows: 16 MB


class TokenBatch(NamedTuple):
    """Some groups of a corpus with the log-likelihood of their tokens in each topic."""

    groups: slice
    counts: sparse.csr_matrix  # occurrences of each row of log_likelihood, (n_groups, n_rows)
    log_likelihood: Floats  # one row per distinct word, or per vector, (n_rows, n_topics)


def token_batches(corpus: Corpus, parameters: ModelParameters) -> Iterator[TokenBatch]:
    """Split a corpus into batches of whole groups, limited by `BATCH_SIZE`."""
    content = corpus.content
    if isinstance(content, Words):
        start, observations = content.counts.indptr, np.zeros(0)
    else:
        start, observations = content.start, vector_observations(corpus, parameters.family)
    max_rows = BATCH_SIZE // max(parameters.log_topic_given_cluster.shape[1], 1)
    for first, last in blocks_of_rows(start, max_rows):
        offsets = start[first : last + 1] - start[first]
        if isinstance(content, Words):
            entries = slice(start[first], start[last])
            ids, rows = np.unique(content.counts.indices[entries], return_inverse=True)
            occurrences, log_likelihood = content.counts.data[entries], parameters.log_words(ids)
        else:
            rows = np.arange(offsets[-1], dtype=np.int32)
            occurrences = np.ones(len(rows), np.int32)
            log_likelihood = parameters.log_vectors(observations[start[first] : start[last]])
        shape = (last - first, len(log_likelihood))
        counts = sparse.csr_matrix((occurrences, rows.ravel(), offsets), shape=shape)
        yield TokenBatch(slice(first, last), counts, log_likelihood)


def table_share(lam: float, sizes: Floats | Int64s) -> Floats:
    """Return the expected number of tables per token, λ (digamma(λ + N) − digamma(λ)) / N."""
    if lam >= 1e8:  # the difference has no significant digits left
        return np.ones(len(sizes))
    sizes = np.maximum(sizes, 1)
    return np.minimum(lam * (digamma(lam + sizes) - digamma(lam)) / sizes, 1.0)


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Split rows into blocks whose rows × ``width`` arrays are limited by `BLOCK_SIZE`."""
    step = max(1, BLOCK_SIZE // max(width, 1))
    return (slice(first, first + step) for first in range(0, n_rows, step))


def log_mixture(log_likelihood: Floats, log_weights: Floats) -> Floats:
    """Return log Σ_m exp(log_likelihood[n, m] + log_weights[k, m]): float64 (n, k).

    One matrix product per block of rows, each row shifted by its largest term. Sums near the
    smallest float are recomputed in logs.
    """
    result = np.empty((len(log_likelihood), len(log_weights)))
    weights = np.exp(log_weights).T
    for block in row_blocks(len(result), max(log_weights.shape)):
        rows = log_likelihood[block]
        top = rows.max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        total = matrix_product(np.exp(rows - top), weights)
        with np.errstate(divide="ignore"):
            result[block] = np.log(total) + top
        tiny = total < 1e-280
        for k in np.flatnonzero(tiny.any(axis=0)):
            chosen = np.flatnonzero(tiny[:, k])
            result[block.start + chosen, k] = logsumexp(rows[chosen] + log_weights[k], axis=1)
    return result


def matrix_product(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices.

    BLAS starts its threads even for a few million terms, and they stay busy for some time after the
    product, so that predictions would take twice the CPU time.
    """
    if left.size * right.shape[1] > MAX_TERMS:
        return left @ right
    return multiply(np.ascontiguousarray(left), np.ascontiguousarray(right))


def log_word_given_cluster(parameters: ModelParameters) -> Floats:
    """Return log P_kw = log Σ_m τ_km ψ_mw, transposed: shape (n_words, n_clusters + n_new)."""
    result = log_mixture(parameters.content_parameters.T, parameters.log_topic_given_cluster)
    if len(result) and not np.allclose(np.exp(result).sum(axis=0), 1.0, rtol=0.0, atol=1e-8):
        raise ArithmeticError("word probabilities of every cluster must sum to 1")
    return result


def log_group_given_cluster(corpus: Corpus, parameters: ModelParameters) -> Floats:
    """Return log Π_i Σ_m τ_km ψ_m(w_ji) for λ = ∞, shape (n_groups, n_clusters + n_new).

    Tokens are a sequence: there is no multinomial coefficient. A group without tokens has 0.
    """
    if isinstance(corpus.content, Words):
        counts = corpus.content.counts.astype(np.float64)
        return np.asarray(counts @ log_word_given_cluster(parameters))
    log_shares = parameters.log_topic_given_cluster
    result = np.zeros((corpus.n_groups, len(log_shares)))
    for batch in token_batches(corpus, parameters):
        result[batch.groups] = batch.counts @ log_mixture(batch.log_likelihood, log_shares)
    return result


def log_tokens_given_topics(batch: TokenBatch, topics: Floats) -> Floats:
    """Return log Σ_m θ_jm ψ_m(w) of every entry of a batch's counts, float64 (n_entries,).

    ``topics`` are θ of the batch's groups: float64 (n_groups, n_topics).
    """
    top = batch.log_likelihood.max(axis=1)
    likelihood = np.exp(batch.log_likelihood - top[:, None])
    row, counts = batch.counts.indices, batch.counts
    group = np.repeat(np.arange(len(topics)), np.diff(counts.indptr))
    total = np.empty(len(row))
    for block in row_blocks(len(row), 2 * topics.shape[1]):
        total[block] = np.einsum("em,em->e", likelihood[row[block]], topics[group[block]])
    tiny = np.flatnonzero(total < 1e-280)
    total[tiny] = 1.0
    result = np.log(total) + top[row]
    result[tiny] = np.logaddexp.reduce(
        safe_log(topics[group[tiny]]) + batch.log_likelihood[row[tiny]], axis=1
    )
    return result


def safe_log(probability: Floats) -> Floats:
    """Return logarithms, with zeros replaced by the smallest normal float."""
    return np.log(np.maximum(probability, np.finfo(np.float64).tiny))


class BackgroundStatistics(NamedTuple):
    """Statistics of a context with a background, in one draw.

    ``statistics`` has a row per cluster, one of zeros for a new cluster, and the background last.
    ``foreground_share`` is the probability that a new value comes from its cluster.
    """

    statistics: Floats
    foreground_share: float

    def log_mixture(self, log_density: Floats) -> Floats:
        """Return log-densities by cluster, given those by row of ``statistics``."""
        foreground = math.log(self.foreground_share) + log_density[:, :-1]
        return np.logaddexp(foreground, math.log1p(-self.foreground_share) + log_density[:, -1:])

    def weights(self, clusters: Floats) -> Floats:
        """Return the weights of the rows of ``statistics``, given those of clusters (n, k)."""
        background = (1.0 - self.foreground_share) * clusters.sum(axis=1, keepdims=True)
        return np.hstack([self.foreground_share * clusters, background])


def background_of(
    posterior: Posterior, draw: ParameterDraw, name: str
) -> BackgroundStatistics | None:
    """Return the statistics of a context with a background; None for another one."""
    columns = posterior.priors.background_columns.get(name)
    if columns is None or draw.background is None:
        return None
    *clusters, background = draw.background[:, columns]
    n_foreground, n_background = sum(row[0] for row in clusters), background[0]
    share = (1.0 + n_foreground) / (2.0 + n_foreground + n_background)
    rows = [*clusters, np.zeros_like(background), background]
    return BackgroundStatistics(np.vstack(rows), share)


def column_statistics(
    column: Column, family: ConjugateFamily, labels: Int32s, n_clusters: int
) -> Floats:
    """Return a column's statistics in each cluster, and a row of zeros for a new cluster."""
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
    missing in a group, or in the whole corpus, contributes 0. With levels above groups, the log of
    the cluster weights given a group's parent, relative to those given no parent, is added.
    """
    n_clusters = draw.n_clusters
    labels = posterior.cluster_of_group[draw.index]
    result = np.zeros((corpus.n_groups, n_clusters + 1))
    for name in posterior.priors.contexts:
        if name == leave_out or name not in corpus.contexts:
            continue
        column = corpus.contexts[name]
        family = posterior.priors.context_given(name, draw.category_shapes)
        found = background_of(posterior, draw, name)
        if found is not None:
            log_density = family.log_predictive(column.observations(), found.statistics)
            result[column.observed] += found.log_mixture(log_density)
            continue
        statistics = column_statistics(posterior.contexts[name], family, labels, n_clusters)
        result[column.observed] += family.log_predictive(column.observations(), statistics)
    log_weights = log_weights_of_groups(posterior, draw, corpus)
    if log_weights is not None:
        # `log_cluster_prior` adds the weights of a group without a known parent.
        result += log_weights - np.log(average_clusters(posterior, draw))
    return result


def log_cluster_prior(parameters: ModelParameters, log_context: Floats) -> Floats:
    """Return log p(z_j = k, contexts of j), shape (n_groups, n_clusters + n_new).

    ``log_context`` is the result of `log_context_given_cluster`, or zeros to ignore contexts.
    """
    log_weight = parameters.log_weight_of_cluster
    column = np.minimum(np.arange(len(log_weight)), parameters.n_clusters)
    return log_context[:, column] + log_weight
