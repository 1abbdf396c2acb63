"""Content other than words on the GPU: parameters of topics come, their statistics go home."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.predictive import MULTIVARIATE_GAUSSIAN
from mcsquared.kernels.cpu.vector_likelihood import natural_tokens
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.backends.cuda.tables import Sizes, Tables
from mcsquared.samplers.types import Key
from mcsquared.state import State

__all__ = ["DeviceVectors"]


class DeviceVectors:
    """The tokens of all groups, and what is summed and drawn for topics.

    `mcsquared.samplers.backends.cuda.words.DeviceWords` has the same methods.
    """

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        from mcsquared.kernels import cuda

        self.observations, self.priors, self.corpus = observations, priors, corpus
        self.kernels, self.memory = cuda.load(), cuda.load().memory
        self.width = observations.values.shape[1]
        factors = self.kernels.vector_likelihood.factors_of(observations.content_kind, self.width)
        self.n_statistics = factors.shape[1]
        self.factors = self.memory.put(factors)
        self.token_in_order = self.memory.empty(corpus.most_tokens, np.int32)

    def put(self, words_in_topic: NDArray[np.int32]) -> None:
        """Do nothing: no counts are kept on the GPU."""

    def save(self, state: State) -> None:
        """Do nothing: the counts are on the host."""

    def grow(self, old: int, new: int) -> None:
        """Make room for more topics."""

    def host_sizes(self, n_topics: int) -> Sizes:
        """Return the shapes and dtypes of what is copied to the host after groups have moved."""
        return {"topic_statistics": ((n_topics, self.n_statistics), np.float64)}

    def make_tables(self, tables: Tables) -> None:
        """Make room for what is drawn; ``tables`` has what all content needs."""
        empty, corpus = self.memory.empty, self.corpus
        n_clusters, n_topics = tables.slots
        n_cells, n_chunks = n_clusters * n_topics, len(corpus.chunk_bounds) - 1
        most_groups, most_tokens = corpus.most_at_once
        self.tables = tables
        self.log_tau = tables.drawn.there["log_shares"]
        self.natural = empty(self.n_statistics * n_topics, np.float64)
        self.rows = empty(most_tokens * n_topics, np.float64)
        self.tau = empty(n_cells, np.float64)
        self.tau_by_topic = empty(0 if tables.varies else n_cells, np.float64)
        self.scores = empty(0 if tables.varies else most_groups * n_clusters, np.float64)
        pieces = self.kernels.vector_sums.N_PIECES
        self.starts = empty(n_chunks * n_topics * pieces, np.int32)
        self.statistics = empty(n_chunks * n_topics * self.n_statistics, np.float64)

    def begin(self, parameters: Any, key: Key) -> None:
        """Copy the parameters of all topics to the GPU."""
        observations = self.observations
        natural = observations.content_family.natural_parameters(parameters)
        tokens = natural_tokens(observations.content_kind, observations.values, natural)
        self.memory.put(tokens.natural.reshape(-1), self.natural)

    def prepare(self) -> None:
        """Begin to count anew, with τ drawn."""
        self.memory.zero(self.statistics)
        self.kernels.vector_groups.tabulate_shares(
            self.tables.slots[1], self.log_tau, self.tau, self.tau_by_topic
        )

    def sweep_tokens(self, shard: Shard, clusters: Any, topics: Any, lam: float, key: Key) -> None:
        """Draw the topics of a shard's tokens given each other, and sum them: λ finite."""
        arrays = shard.arrays
        for first, last in shard.blocks:
            self._compare_tokens(shard, first, last)
            self.kernels.vector_tokens.sweep_vector_groups(
                first,
                last,
                shard.first_token,
                self.tables.slots,
                arrays["order"],
                arrays["group_start"],
                self.rows,
                self.tau,
                self.log_tau,
                lam,
                *key,
                clusters,
                topics,
            )
        self._add_statistics(shard, topics)

    def draw_clusters(
        self, shard: Shard, contexts: tuple[Any, ...], clusters: Any, topics: Any, key: Key
    ) -> None:
        """Draw clusters with topics summed out, then topics, and sum those: λ = ∞."""
        tables, arrays, kernels = self.tables, shard.arrays, self.kernels
        for first, last in shard.blocks:
            n_tokens = self._compare_tokens(shard, first, last)
            kernels.vector_groups.score_vector_groups(
                first,
                last,
                tables.slots,
                arrays["order"],
                arrays["group_start"],
                self.rows,
                self.log_tau,
                self.tau_by_topic,
                self.scores,
            )
            kernels.vector_groups.draw_clusters_by_scores(
                first,
                last,
                self.scores,
                tables.log_clusters,
                contexts,
                *key,
                shard.first_group,
                clusters,
            )
            kernels.vector_tokens.draw_vector_topics(
                first,
                last,
                n_tokens,
                shard.first_token,
                tables.slots,
                arrays["group_start"],
                self.rows,
                self.tau,
                self.log_tau,
                *key,
                clusters,
                topics,
                tables.counts.there["topics"],
            )
        self._add_statistics(shard, topics)

    def _compare_tokens(self, shard: Shard, first: int, last: int) -> int:
        """Write the log-likelihoods of some groups' tokens to ``rows``; return how many."""
        start = self.observations.group_start[shard.groups]
        end = shard.tokens.stop if last == shard.n_groups else int(start[last])
        tokens = (int(start[first]) - shard.tokens.start, end - shard.tokens.start)
        self.kernels.vector_likelihood.log_likelihood_rows(
            *tokens,
            self.tables.slots[1],
            self.width,
            shard.arrays["values"],
            self.factors,
            self.natural,
            self.rows,
        )
        return tokens[1] - tokens[0]

    def _add_statistics(self, shard: Shard, topics: Any) -> None:
        """Add a shard's tokens to the statistics of their topics, chunk by chunk."""
        arrays, sums, n_topics = shard.arrays, self.kernels.vector_sums, self.tables.slots[1]
        sums.sort_by_topic(
            n_topics, arrays["chunk_start"], topics, self.starts, self.token_in_order
        )
        sums.add_statistics(
            n_topics,
            self.width,
            arrays["chunk_start"],
            arrays["values"],
            self.factors,
            self.starts,
            self.token_in_order,
            self.statistics,
        )

    def finish(self, key: Key) -> None:
        """Add up the chunks."""
        out = self.tables.drawn.there["topic_statistics"]
        self.kernels.vector_sums.add_chunks(self.statistics, out)

    def add_log_counts(self) -> None:
        """Add up log-densities there: the few numbers of topics are at home."""

    def topic_statistics(self) -> NDArray[np.float64]:
        """Return the topics' statistics on the host; a product comes once and stands twice."""
        found = self.tables.drawn.here["topic_statistics"]
        if self.observations.content_kind == MULTIVARIATE_GAUSSIAN:
            place = np.zeros((self.width, self.width), np.int64)
            below = np.tril_indices(self.width)
            place[below] = place.T[below] = 1 + self.width + np.arange(len(below[0]))
            found = np.hstack([found[:, : 1 + self.width], found[:, place.reshape(-1)]])
        return found

    def log_density(self, state: State) -> float:
        """Return the log-density of the tokens given their topics, without base measure."""
        counts = state.counts
        active = counts.tokens_in_topic > 0
        return float(self.priors.content.log_marginal(counts.topic_statistics[active]).sum())
