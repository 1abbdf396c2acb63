"""Clusters and topics of new groups without sampling, given model parameters.

The cluster of a group is weighed by its tables, since only the first token of a table draws its
topic from the cluster. With s_j tables per token, λ (digamma(λ + N_j) − digamma(λ)) / N_j,

    p(z_j = k | j)  ∝  π_k F(x_j | k) Π_i P_k(w_ji)^s_j,        P_k(w)  =  Σ_m τ_km E[ψ_m(w)]

which is exact for λ = ∞ and for a single token, and close if tables are spread over many topics,
as in long texts. Topics are then found by variational inference with the base measure
λ Σ_k p(z_j = k | j) τ_k. E[ψ_m(w)] is the probability of a new token of a topic given its training
tokens, so that unused topics are equal and form one topic.
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
from mcsquared.kernels.cpu.variational import (
    UNKNOWN,
    TopicTable,
    fold_in_topics,
    mix_rows,
    mix_topics,
    sum_rows,
)
from mcsquared.prediction.likelihood import table_share, token_batches
from mcsquared.prediction.parameters import ModelParameters

N_PASSES = 20
TOLERANCE = 0.01  # share of a group's tokens that change topic in the last pass
TINY = np.float32(1e-37)  # smallest probability, relative to that of the most probable topic
BATCH_SIZE = 1 << 25  # entries times topics of a batch of groups
# From these numbers on, clusters of groups are not sampled: on NIPS papers and UN speeches they
# agree with the sampler within its Monte Carlo error, in shorter texts they do not.
MIN_TOKENS, MIN_TOPICS = 500, 100
MIN_TOKENS_OF_TOPICS = 20  # in groups whose topics are not sampled
MIN_TOKENS_OF_START = 200  # in groups that start from the topics of the previous draw
MIN_SIMILARITY = 0.2  # Σ_w √(p(w) q(w)) over the main words of the same topic in two draws


@dataclass(frozen=True)
class MeanLikelihoods:
    """Mean likelihood of the tokens of some groups in each topic. Equal tokens share a row."""

    groups: slice
    start: Int64s  # entries of group j are start[j]:start[j + 1]
    rows: NDArray[np.int32]  # (n_entries,): row of the table
    occurrences: Float32s  # (n_entries,)
    table: TopicTable  # E[ψ_m(w)] / exp(log_scale)
    log_scale: Floats | None = None  # (n_rows,); None for zeros

    @property
    def sizes(self) -> Floats:
        """Number of tokens of each group: float64 (n_groups,)."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.occurrences, dtype=np.float64)])
        return np.diff(cumulative[self.start])

    def log_clusters(self, parameters: ModelParameters, log_prior: Floats) -> Floats:
        """Return log p(z_j = k | j) up to a constant per group: float64 (n_groups, n_clusters)."""
        used = np.zeros(len(self.table.shape), np.int32)
        used[self.rows] = 1
        position = np.cumsum(used, dtype=np.int32) - 1
        shares = np.exp(parameters.log_topic_given_cluster).T
        log_token = np.empty(
            (position[-1] + 1 if len(position) else 0, shares.shape[1]), np.float32
        )
        mix_topics(self.table, np.flatnonzero(used), np.asarray(shares, np.float32, "C"), log_token)
        np.log(np.maximum(log_token, TINY, out=log_token), out=log_token)
        result = np.empty((len(self.start) - 1, shares.shape[1]))
        sum_rows(self.start, position[self.rows], self.occurrences, log_token, result)
        return log_prior + table_share(parameters.lam, self.sizes)[:, None] * result

    def mean_topics(
        self, parameters: ModelParameters, log_cluster: Floats, initial: Floats | None = None
    ) -> Floats:
        """Return E[θ_j] for a finite λ: float64 (n_groups, topics); rows sum to 1.

        ``initial`` contains initial shares of topics, negative if unknown.
        """
        lam, shares = parameters.lam, np.exp(parameters.log_topic_given_cluster)
        base = lam * (np.exp(log_softmax(log_cluster, axis=1)) @ shares)
        first = np.empty((len(base), 0), np.float32)
        if initial is not None:
            scale = (lam + self.sizes)[:, None]
            counts = np.maximum(scale * initial - base, 0.0)
            first = np.where(initial < 0.0, UNKNOWN, counts).astype(np.float32)
        found, weights = np.empty(base.shape, np.float32), base.astype(np.float32)
        entries = self.start, self.rows, self.occurrences, self.table
        fold_in_topics(*entries, weights, first, N_PASSES, TOLERANCE, found)
        topics = found + base
        return topics / topics.sum(axis=1, keepdims=True)

    def log_tokens(self, topics: Floats) -> Floats:
        """Return log Σ_m θ_jm E[ψ_m(w)] of every entry: float64 (n_entries,)."""
        result = np.empty(len(self.rows), np.float32)
        mix_rows(self.start, self.rows, self.table, topics.astype(np.float32), result)
        logs = np.log(np.maximum(result, TINY), dtype=np.float64)
        return logs if self.log_scale is None else logs + self.log_scale[self.rows]


def log_cluster_variational(
    corpus: Corpus, parameters: ModelParameters, log_prior: Floats
) -> Floats:
    """Return log p(z_j = k | j) up to a constant per group: float64 (n_groups, n_clusters)."""
    result = np.empty_like(log_prior)
    for batch in mean_likelihoods(corpus, parameters):
        result[batch.groups] = batch.log_clusters(parameters, log_prior[batch.groups])
    return result


def topics_variational(
    corpus: Corpus, parameters: ModelParameters, log_prior: Floats, initial: Floats | None = None
) -> Floats:
    """Return E[θ_j] for a finite λ: float64 (n_groups, topics); rows sum to 1."""
    result = np.empty((corpus.n_groups, parameters.log_topic_given_cluster.shape[1]))
    for batch in mean_likelihoods(corpus, parameters):
        groups = batch.groups
        log_cluster = batch.log_clusters(parameters, log_prior[groups])
        first = None if initial is None else initial[groups]
        result[groups] = batch.mean_topics(parameters, log_cluster, first)
    return result


def mean_likelihoods(corpus: Corpus, parameters: ModelParameters) -> Iterator[MeanLikelihoods]:
    """Yield the likelihoods of a corpus in batches of whole groups.

    ``parameters`` were drawn without content: their content parameters are the statistics of the
    topics.
    """
    n_topics = parameters.log_topic_given_cluster.shape[1]
    content = corpus.content
    if not isinstance(content, Words):
        for batch in token_batches(corpus, parameters):
            log_scale = batch.log_likelihood.max(axis=1)
            table = full_table(np.exp(batch.log_likelihood - log_scale[:, None]))
            start, rows = batch.counts.indptr.astype(np.int64), batch.counts.indices
            occurrences = np.asarray(batch.counts.data, np.float32)
            yield MeanLikelihoods(batch.groups, start, rows, occurrences, table, log_scale)
        return
    counts, table = content.counts, parameters.topic_table
    for first, last in blocks_of_rows(counts.indptr, BATCH_SIZE // n_topics):
        entries = slice(counts.indptr[first], counts.indptr[last])
        yield MeanLikelihoods(
            slice(first, last),
            (counts.indptr[first : last + 1] - counts.indptr[first]).astype(np.int64),
            counts.indices[entries],
            counts.data[entries].astype(np.float32),
            table,
        )


def full_table(likelihood: NDArray[np.floating]) -> TopicTable:
    """Return the table of tokens whose likelihood in each topic is given, (n_rows, n_topics)."""
    n_rows, n_topics = likelihood.shape
    return TopicTable(
        np.arange(n_rows + 1, dtype=np.int64) * n_topics,
        np.tile(np.arange(n_topics, dtype=np.uint16 if n_topics <= 1 << 16 else np.int32), n_rows),
        likelihood.astype(np.float32).ravel(),
        np.zeros(n_rows, np.float32),
        np.zeros(n_topics, np.float32),
    )


def shares_of_similar_topics(
    previous: ModelParameters, parameters: ModelParameters, topics: Floats, sizes: Int64s
) -> Floats:
    """Return the shares of the most similar topic of the previous draw; −1 if there is none.

    ``topics`` are those of the previous draw, (n_groups, topics), ``sizes`` the numbers of tokens.
    Draws of a chain have mostly the same topics, so that few passes are needed from these shares.
    The shares of groups with fewer than `MIN_TOKENS_OF_START` tokens are −1: few passes would make
    their draws too similar, and the mean over draws predicts worse.
    """
    similarity = (parameters.main_words @ previous.main_words.T).toarray()
    result = topics[:, similarity.argmax(axis=1)]
    result[:, similarity.max(axis=1) < MIN_SIMILARITY] = -1.0
    result[sizes < MIN_TOKENS_OF_START] = -1.0
    return result
