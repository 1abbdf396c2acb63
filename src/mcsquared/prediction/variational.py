"""Clusters and topics of new groups without sampling, given model parameters.

The cluster of a group is weighed by its tables, since only the first token of a table draws its
topic from the cluster. With s_j tables per token, λ (digamma(λ + N_j) − digamma(λ)) / N_j,

    p(z_j = k | j)  ∝  π_k F(x_j | k) Π_i P_k(w_ji)^s_j,        P_k(w)  =  Σ_m τ_km E[ψ_m(w)]

which is exact for λ = ∞ and for a single token, and close if tables are spread over many topics,
as in long texts. Topics are then found by collapsed variational
inference with the base measure λ Σ_k p(z_j = k | j) τ_k. E[ψ_m(w)] is the probability of a new
token of a topic given its training tokens, so that unused topics are equal and form one topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from mcsquared.arrays import Float32s, Floats, Int64s
from mcsquared.corpus import Corpus, Words
from mcsquared.corpus.content import blocks_of_rows
from mcsquared.kernels.cpu.variational import WIDTH, fold_in_topics, mix_rows, sum_rows
from mcsquared.prediction.likelihood import table_share, token_batches
from mcsquared.prediction.parameters import ModelParameters

N_PASSES = 20
TOLERANCE = 0.01  # share of a group's tokens that change topic in the last pass
TINY = np.float32(1e-37)  # smaller probabilities, relative to the most probable topic's, are this
BATCH_SIZE = 1 << 25  # entries of the largest array of a batch of groups: 128 MB
# Clusters are not sampled in groups of so many tokens, given so many topics: on NIPS papers and UN
# speeches they agree with the sampler within its Monte Carlo error, in shorter texts they do not.
MIN_TOKENS, MIN_TOPICS = 500, 100
MIN_TOKENS_OF_TOPICS = 20  # of groups whose topics are not sampled


@dataclass(frozen=True)
class MeanLikelihoods:
    """Mean likelihood of the tokens of some groups in each topic. Equal tokens share a row."""

    groups: slice
    start: Int64s  # entries of group j are start[j]:start[j + 1]
    rows: NDArray[np.int32]  # (n_entries,): row of the table
    occurrences: Float32s  # (n_entries,)
    table: Float32s  # (n_rows, topics, padded): E[ψ_m(w)] / exp(log_scale)
    log_scale: Floats  # (n_rows,)

    @property
    def sizes(self) -> Floats:
        """Number of tokens of each group: float64 (n_groups,)."""
        group = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        sizes = np.bincount(group, self.occurrences, minlength=len(self.start) - 1)
        return sizes.astype(np.float64)

    def log_clusters(self, parameters: ModelParameters, log_prior: Floats) -> Floats:
        """Return log p(z_j = k | j) up to a constant per group: float64 (n_groups, n_clusters)."""
        shares = self.padded(np.exp(parameters.log_topic_given_cluster))
        log_token = np.log(np.maximum(self.table @ shares.T, TINY))
        result = np.empty((len(self.start) - 1, len(shares)))
        sum_rows(self.start, self.rows, self.occurrences, log_token, result)
        return log_prior + table_share(parameters.lam, self.sizes)[:, None] * result

    def mean_topics(self, parameters: ModelParameters, log_cluster: Floats) -> Floats:
        """Return E[θ_j] for a finite λ: float64 (n_groups, topics); rows sum to 1."""
        lam, shares = parameters.lam, np.exp(parameters.log_topic_given_cluster)
        base = np.exp(log_softmax(log_cluster, axis=1)) @ shares
        counts = self.padded(np.zeros_like(base))
        arrays = self.start, self.rows, self.occurrences, self.table
        fold_in_topics(*arrays, self.padded(lam * base), N_PASSES, TOLERANCE, counts)
        topics = counts[:, : base.shape[1]] + lam * base
        return topics / topics.sum(axis=1, keepdims=True)

    def log_tokens(self, topics: Floats) -> Floats:
        """Return log Σ_m θ_jm E[ψ_m(w)] of every entry: float64 (n_entries,)."""
        result = np.empty(len(self.rows), np.float32)
        mix_rows(self.start, self.rows, self.table, self.padded(topics), result)
        return np.log(np.maximum(result, TINY), dtype=np.float64) + self.log_scale[self.rows]

    def padded(self, rows: Floats) -> Float32s:
        """Return rows of topics as float32, padded like the table."""
        result = np.zeros((len(rows), self.table.shape[1]), np.float32)
        result[:, : rows.shape[1]] = rows
        return result


def log_cluster_variational(
    corpus: Corpus, parameters: ModelParameters, log_prior: Floats
) -> Floats:
    """Return log p(z_j = k | j) up to a constant per group: float64 (n_groups, n_clusters)."""
    result = np.empty_like(log_prior)
    for batch in mean_likelihoods(corpus, parameters):
        result[batch.groups] = batch.log_clusters(parameters, log_prior[batch.groups])
    return result


def topics_variational(corpus: Corpus, parameters: ModelParameters, log_prior: Floats) -> Floats:
    """Return E[θ_j] for a finite λ: float64 (n_groups, topics); rows sum to 1."""
    result = np.empty((corpus.n_groups, parameters.log_topic_given_cluster.shape[1]))
    for batch in mean_likelihoods(corpus, parameters):
        log_cluster = batch.log_clusters(parameters, log_prior[batch.groups])
        result[batch.groups] = batch.mean_topics(parameters, log_cluster)
    return result


def mean_likelihoods(corpus: Corpus, parameters: ModelParameters) -> Iterator[MeanLikelihoods]:
    """Yield the likelihoods of a corpus in batches of whole groups.

    ``parameters`` were drawn without content: their content parameters are the statistics of the
    topics.
    """
    n_topics = parameters.log_topic_given_cluster.shape[1]
    width = n_topics + -n_topics % WIDTH
    content = corpus.content
    if not isinstance(content, Words):
        for batch in token_batches(corpus, parameters):
            log_scale = batch.log_likelihood.max(axis=1)
            table = np.zeros((len(log_scale), width), np.float32)
            table[:, :n_topics] = np.exp(batch.log_likelihood - log_scale[:, None])
            start, rows = batch.counts.indptr.astype(np.int64), batch.counts.indices
            occurrences = np.asarray(batch.counts.data, np.float32)
            yield MeanLikelihoods(batch.groups, start, rows, occurrences, table, log_scale)
        return
    counts = content.counts
    for first, last in blocks_of_rows(counts.indptr, BATCH_SIZE // width):
        entries = slice(counts.indptr[first], counts.indptr[last])
        row_of_word = np.full(counts.shape[1], -1, np.int32)
        row_of_word[counts.indices[entries]] = 0
        ids = np.flatnonzero(row_of_word == 0)
        row_of_word[ids] = np.arange(len(ids), dtype=np.int32)
        yield MeanLikelihoods(
            slice(first, last),
            (counts.indptr[first : last + 1] - counts.indptr[first]).astype(np.int64),
            row_of_word[counts.indices[entries]],
            counts.data[entries].astype(np.float32),
            parameters.mean_words(ids, row_of_word, width),
            np.zeros(len(ids)),
        )
