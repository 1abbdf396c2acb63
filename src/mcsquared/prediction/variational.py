"""Clusters and topics of new groups without sampling, given model parameters.

Evidence of a group's cluster comes from its tables, since only the first token of a table draws its
topic from the cluster. With s_j = λ (digamma(λ + N_j) − digamma(λ)) / N_j, the expected number of
tables per token,

    p(z_j = k | j)  ∝  π_k F(x_j | k) Π_i P_k(w_ji)^s_j,        P_k(w)  =  Σ_m τ_km E[ψ_m(w)]

which is exact for λ = ∞ and for a single token, and close if tables are spread over many topics,
as in long texts. Topics are then found by variational inference with the base measure
λ Σ_k p(z_j = k | j) τ_k. E[ψ_m(w)] is the probability of a new token of a topic given its training
tokens, so that unused topics are equal and form one topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from mcsquared.arrays import Float32s, Floats, Int32s, Int64s, Integers
from mcsquared.corpus import Corpus, Words
from mcsquared.corpus.content import blocks_of_rows, entries_of_rows
from mcsquared.kernels.cpu.similar_topics import most_similar
from mcsquared.kernels.cpu.topic_table import TopicTable, mix_rows, sum_groups, sum_rows
from mcsquared.kernels.cpu.variational import fold_in_topics, update_topics
from mcsquared.prediction.likelihood import matrix_product, table_share, token_batches
from mcsquared.prediction.parameters import MIN_RELATIVE_PROBABILITY, ModelParameters

N_PASSES = 3  # over the words of a group; in texts, more passes agree less with the sampler
MAX_PASSES = 20  # if words are repeated, which takes more passes: see `n_passes`
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
    rows: Int32s  # (n_entries,): row of the table
    occurrences: Float32s  # (n_entries,)
    table: TopicTable  # E[ψ_m(w)] / exp(log_scale)
    log_scale: Floats | None = None  # (n_rows,); None for zeros

    @cached_property
    def sizes(self) -> Floats:
        """Number of tokens of each group: float64 (n_groups,)."""
        return sum_groups(self.start, self.occurrences)

    def log_clusters(self, parameters: ModelParameters, log_prior: Floats) -> Floats:
        """Return log p(z_j = k | j) up to a constant per group: float64 (n_groups, n_clusters)."""
        rows: Integers = self.rows
        if self.shared and len(rows) >= len(self.table.shape):
            log_token = parameters.log_word_given_cluster
        else:
            used, rows = np.unique(rows, return_inverse=True)
            log_token = parameters.mix_clusters(self.table, used)
        result = np.empty((len(self.start) - 1, log_token.shape[1]))
        sum_rows(self.start, rows, self.occurrences, log_token, result)
        return log_prior + table_share(parameters.lam, self.sizes)[:, None] * result

    def mean_topics(
        self, parameters: ModelParameters, log_cluster: Floats, initial: Floats | None = None
    ) -> Floats:
        """Return E[θ_j] for a finite λ: float64 (n_groups, topics); rows sum to 1.

        ``initial`` contains initial shares of topics, negative if unknown.
        """
        clusters = np.exp(log_softmax(log_cluster, axis=1))
        base = parameters.lam * matrix_product(clusters, parameters.topic_shares)
        found, weights = np.empty(base.shape, np.float32), base.astype(np.float32)
        known = np.zeros(len(base), bool) if initial is None else (initial >= 0.0).any(axis=1)
        for is_known in (False, True):
            groups = np.flatnonzero(known == is_known)
            if not len(groups):
                continue
            part, counts = self.select(groups), np.empty((len(groups), base.shape[1]), np.float32)
            entries = part.start, part.rows, part.occurrences, part.table, weights[groups]
            if is_known and initial is not None:
                scale = (parameters.lam + part.sizes)[:, None]
                first = np.maximum(scale * initial[groups] - base[groups], 0.0).astype(np.float32)
                update_topics(*entries, first, counts)
            else:
                fold_in_topics(*entries, n_passes(part.start, part.sizes), self.shared, counts)
            found[groups] = counts
        topics = found + base
        return topics / topics.sum(axis=1, keepdims=True)

    def select(self, groups: Int64s) -> MeanLikelihoods:
        """Return some of the groups."""
        if len(groups) == len(self.start) - 1:
            return self
        entries, start = entries_of_rows(self.start, groups)
        rows, occurrences = self.rows[entries], self.occurrences[entries]
        return replace(self, start=start, rows=rows, occurrences=occurrences)

    def mix(self, topics: Floats) -> Float32s:
        """Return Σ_m θ_jm E[ψ_m(w)] / exp(log_scale) of every entry: float32 (n_entries,)."""
        result = np.empty(len(self.rows), np.float32)
        weights = topics.astype(np.float32)
        mix_rows(self.start, self.rows, self.table, weights, self.shared, result)
        return np.maximum(result, MIN_RELATIVE_PROBABILITY)

    def log_tokens(self, topics: Floats) -> Floats:
        """Return log Σ_m θ_jm E[ψ_m(w)] of every entry: float64 (n_entries,)."""
        logs = np.log(self.mix(topics), dtype=np.float64)
        return logs if self.log_scale is None else logs + self.log_scale[self.rows]

    @property
    def shared(self) -> bool:
        """Whether groups share rows of the table: they are words, not vectors."""
        return self.log_scale is None


def n_passes(start: Int64s, sizes: Floats) -> Int64s:
    """Return the number of passes for each group: its tokens per distinct one, at least three."""
    repeats = sizes // np.maximum(np.diff(start), 1)
    return np.clip(repeats, N_PASSES, MAX_PASSES).astype(np.int64)


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
    main, others = parameters.main_words, previous.main_words
    best, similarity = most_similar(main, others, len(parameters.topic_table.shape))
    result = np.take(topics, best, axis=1)
    result[:, similarity < MIN_SIMILARITY] = -1.0
    result[sizes < MIN_TOKENS_OF_START] = -1.0
    return result
