"""Words on the GPU: their counts by topic stay there, ψ is drawn there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.tables import log_joint_of_counts
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard, longest_first
from mcsquared.samplers.backends.cuda.tables import Sizes, Tables, grown
from mcsquared.samplers.content.shares import SMALLEST_SHARE
from mcsquared.samplers.steps.log_joint import N_KNOWN, log_without_probabilities
from mcsquared.samplers.steps.psi import SMALL_SUM, draw_small_topics
from mcsquared.samplers.types import Key
from mcsquared.state import State

__all__ = ["DeviceWords"]

CONTENT = int(Step.CONTENT)
Floats = NDArray[np.float32]
MAY_BE_SMALL = 8.0  # a Gamma of a larger shape is below `SMALL_SUM` once in 10⁸⁴ draws


class DeviceWords:
    """The words of all groups, and what is counted and drawn for topics.

    `mcsquared.samplers.backends.cuda.vectors.DeviceVectors` has the same methods.
    """

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        from mcsquared.kernels import cuda

        self.observations, self.priors, self.corpus = observations, priors, corpus
        self.kernels, self.memory = cuda.load(), cuda.load().memory
        put = self.memory.put
        self.beta = float(priors.content.kernel_parameters()[0])
        self.known = put(log_joint_of_counts(self.beta, N_KNOWN))
        if not corpus.varies:
            word_start = observations.layout.word_start
            self.word_order, self.word_start = put(longest_first(word_start)), put(word_start)

    def put(self, words_in_topic: NDArray[np.int32]) -> None:
        """Copy the counts to the GPU."""
        self.words = self.memory.put(words_in_topic.reshape(-1))

    def save(self, state: State) -> None:
        """Copy the counts to a state."""
        n_topics = len(state.topic_weights)
        state.counts.words_in_topic = self.memory.take(self.words).reshape(-1, n_topics)

    def grow(self, old: int, new: int) -> None:
        """Make room for more topics; counts keep their places."""
        self.words = grown(self.memory, self.words, old, new)

    def host_sizes(self, n_topics: int) -> Sizes:
        """Return the shapes and dtypes of what is copied to the host after groups have moved."""
        return {
            "sums_of_topics": ((n_topics,), np.float64),
            "log_counts": ((self.kernels.sums.N_PARTS,), np.float64),
        }

    def make_tables(self, tables: Tables) -> None:
        """Make room for what is drawn; ``tables`` has what all content needs."""
        empty, n_words = self.memory.empty, self.observations.n_words
        n_clusters, n_topics = tables.slots
        self.tables = tables
        self.sums = tables.drawn.there["sums_of_topics"]
        self.variates = empty(n_words * n_topics, np.float32)
        self.parts = empty(self.kernels.sums.N_PARTS * n_topics, np.float64)
        if not tables.varies:
            self.shares = empty(n_clusters * n_topics, np.float32)
            self.shares_by_topic = empty(n_clusters * n_topics, np.float32)
            self.mixtures = empty(n_words * n_clusters, np.float32)
            self.tokens_of_cell = empty(n_words * n_clusters, np.int32)

    def begin(self, parameters: Any, key: Key) -> None:
        """Draw ψ as variates (n_words, topic slots), with each topic's sum."""
        n_topics = self.tables.slots[1]
        self.kernels.gammas.draw_gamma_rows(
            0, self.variates.size, self.words, self.beta, CONTENT, *key, False, self.variates
        )
        self.kernels.sums.add_columns(self.variates, n_topics, self.parts, self.sums)
        if self.beta * self.observations.n_words < MAY_BE_SMALL:
            self._draw_small_topics(key)

    def _draw_small_topics(self, key: Key) -> None:
        """Draw topics in logs whose variates are too small for floats, at home."""
        n_topics = self.tables.slots[1]
        sums = self.memory.take(self.sums)
        if not (sums < SMALL_SUM).any():
            return
        words = self.memory.take(self.words).reshape(-1, n_topics)
        variates = self.memory.take(self.variates).reshape(-1, n_topics)
        draw_small_topics(words, self.beta, key, variates, sums)
        self.memory.put(variates.reshape(-1), self.variates)
        self.memory.put(sums, self.sums)

    def prepare(self) -> None:
        """Begin to count anew, with τ drawn."""
        self.memory.zero(self.words)
        tables, kernels, n_words = self.tables, self.kernels, self.observations.n_words
        if tables.varies:
            # ψ times the number of words: most are near 1, far from where floats end.
            kernels.sums.scale_columns(self.variates, tables.slots[1], self.sums, n_words)
            return
        kernels.shares.weigh_topics(
            tables.slots[1],
            tables.drawn.there["log_shares"],
            1.0,
            SMALLEST_SHARE,
            self.sums,
            self.shares,
            self.shares_by_topic,
        )
        self._mix()

    def take(self, content: Floats, shares: Floats | None) -> None:
        """Begin to count anew with ψ and τ that somebody else has drawn, see `Globals`."""
        self.memory.zero(self.words)
        self.memory.put(content.reshape(-1), self.variates)
        if shares is not None:
            self.memory.put(np.ascontiguousarray(shares.T).reshape(-1), self.shares_by_topic)
            self._mix()

    def _mix(self) -> None:
        """Tabulate the mixtures of all clusters, and begin to count tokens by cluster."""
        self.memory.zero(self.tokens_of_cell)
        self.kernels.mixtures.tabulate_log_mixtures(
            self.observations.n_words,
            self.tables.slots,
            self.variates,
            self.shares_by_topic,
            self.mixtures,
        )

    def sweep_tokens(self, shard: Shard, clusters: Any, topics: Any, lam: float, key: Key) -> None:
        """Draw the topics of a shard's tokens given each other, and count them: λ finite."""
        self.kernels.members.sweep_tokens(
            shard.n_groups,
            shard.first_group,
            shard.first_token,
            self.tables.slots,
            shard.arrays["order"],
            shard.arrays["group_start"],
            shard.arrays["word"],
            self.tables.base,
            self.variates,
            *key,
            clusters,
            topics,
            self.words,
        )

    def draw_clusters(
        self, shard: Shard, contexts: tuple[Any, ...], clusters: Any, topics: Any, key: Key
    ) -> None:
        """Draw the clusters of a shard's groups with topics summed out: λ = ∞."""
        self.kernels.mixtures.draw_clusters_of_words(
            shard.n_groups,
            shard.first_group,
            shard.arrays["order"],
            shard.arrays["entry_start"],
            shard.arrays["entry_word"],
            shard.arrays["entry_count"],
            self.mixtures,
            self.tables.log_clusters,
            contexts,
            *key,
            clusters,
            self.tokens_of_cell,
        )

    def finish(self, key: Key) -> None:
        """Draw topics by (cluster, word) cell if λ = ∞, when all groups have moved."""
        tables = self.tables
        if not tables.varies:
            self.kernels.cells.draw_cells(
                self.observations.n_words,
                tables.slots,
                self.word_order,
                self.word_start,
                self.shares,
                self.variates,
                self.tokens_of_cell,
                *key,
                tables.counts.there["topics"],
                self.words,
            )
        self.add_log_counts()

    def add_log_counts(self) -> None:
        """Add up the log-densities of all counts, in parts."""
        out = self.tables.drawn.there["log_counts"]
        self.kernels.sums.add_log_rising(self.words, self.beta, self.known, out)

    def topic_statistics(self) -> None:
        """Return None: counts of words stay on the GPU."""

    def log_density(self, state: State) -> float:
        """Return the log-density of the words given their topics."""
        total = float(self.tables.drawn.here["log_counts"].sum())
        prior = self.priors.content.kernel_parameters()
        held = np.ascontiguousarray(state.counts.tokens_in_topic)
        return total + log_without_probabilities(prior, held)
