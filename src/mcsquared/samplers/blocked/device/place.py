"""The steps of a sweep on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.tables import log_joint_of_counts
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers.blocked.contexts import SMALLEST_SHAPE, draw_few
from mcsquared.samplers.blocked.device.corpus import DeviceCorpus, Shard, longest_first
from mcsquared.samplers.blocked.device.tables import Tables, grown
from mcsquared.samplers.blocked.members import SMALLEST_SHARE
from mcsquared.samplers.blocked.place import Place
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.blocked.words import SMALL_SUM, draw_small_topics
from mcsquared.samplers.joint import N_KNOWN, log_without_probabilities
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = ["Device"]

CONTENT, CATEGORIES = int(Step.CONTENT), int(Step.CATEGORIES)
MAY_BE_SMALL = 8.0  # a Gamma of a larger shape is below `SMALL_SUM` once in 10⁸⁴ draws


class Device(Place):
    """Groups of words on the GPU that numba has chosen.

    Parameters
    ----------
    corpus : DeviceCorpus
        On the GPU; chains share it.
    """

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        corpus: DeviceCorpus,
        workers: Workers = ONE,
    ) -> None:
        from mcsquared.kernels import cuda

        super().__init__(observations, priors, workers)
        self.corpus, self.kernels, self.memory = corpus, cuda.load(), cuda.load().memory
        put = self.memory.put
        self.beta = float(priors.content.kernel_parameters()[0])
        self.known = put(log_joint_of_counts(self.beta, N_KNOWN))
        self.known_of_bag = [
            put(log_joint_of_counts(float(c), N_KNOWN)) for c in observations.bags.concentration
        ]
        self.scales = put(corpus.scales)
        if not corpus.varies:
            word_start = observations.layout.word_start
            self.word_order, self.word_start = put(longest_first(word_start)), put(word_start)

    def put(self, state: State, key: Key) -> None:
        """Take over labels and counts."""
        counts, put = state.counts, self.memory.put
        self.clusters = put(state.cluster_of_group.astype(np.int32))
        topics = state.topic_of_token.astype(np.uint16)
        # Topics of a corpus that comes in shards stay at home.
        self.topics = put(topics) if self.corpus.varies and self.corpus.is_resident else topics
        self.words = put(counts.words_in_topic.reshape(-1))
        self.categories = put(self.corpus.padded(counts.category_counts).reshape(-1))
        self._new_tables(state)

    def _new_tables(self, state: State) -> None:
        slots = state.counts.topics_in_cluster.shape
        self.tables = Tables(self.observations, self.corpus, slots)
        self.memory.put(state.tables.reshape(-1).astype(np.int32), self.tables.held)
        self.counted = False

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Bring home the clusters of groups and, if asked, everything else that is there."""
        take, counts = self.memory.take, state.counts
        state.cluster_of_group = take(self.clusters)
        if clusters_only:
            return
        if self.corpus.varies:
            resident = self.corpus.is_resident
            state.topic_of_token = take(self.topics) if resident else self.topics.copy()
        n_clusters, n_topics = self.tables.slots
        counts.words_in_topic = take(self.words).reshape(-1, n_topics)
        rows = take(self.categories).reshape(-1, n_clusters)[self.corpus.row_of_category]
        counts.category_counts = np.ascontiguousarray(rows.T)

    def _make_room(self, state: State) -> None:
        """Give all tables the size that the slots ask for; counts keep their places."""
        old, new = self.tables.slots, state.counts.topics_in_cluster.shape
        if old != new:
            self.words = grown(self.memory, self.words, old[1], new[1])
            self.categories = grown(self.memory, self.categories, old[0], new[0])
            self._new_tables(state)

    def begin(self, state: State, key: Key) -> None:
        """Draw ψ as variates (n_words, topic slots), with each topic's sum."""
        self._make_room(state)
        tables, n_topics = self.tables, self.tables.slots[1]
        sums = tables.drawn.there["sums_of_topics"]
        self.kernels.gammas.draw_gamma_rows(
            0, tables.variates.size, self.words, self.beta, CONTENT, *key, False, tables.variates
        )
        self.kernels.sums.add_columns(tables.variates, n_topics, tables.parts, sums)
        if self.beta * self.observations.n_words < MAY_BE_SMALL:
            self._draw_small_topics(key)

    def draw_shares(
        self, state: State, topics: NDArray[np.float64], key: Key
    ) -> NDArray[np.float64]:
        """Draw log τ_k ~ Dir(v ε + O_k) for every cluster slot.

        What is returned is filled when the groups have moved: nobody here reads it before.
        """
        tables = self.tables
        prior = self.memory.put(state.v * topics, tables.of_topic)
        out = tables.drawn.there["log_shares"]
        self.kernels.shares.draw_log_shares(prior, tables.held, *key, out)
        self.log_shares = np.empty(tables.slots)
        return self.log_shares

    def draw_tables(
        self, state: State, concentration: NDArray[np.float64], key: Key
    ) -> NDArray[np.int32]:
        """Return q_km ~ CRT(O_km, v ε_m), which were drawn when the groups had moved."""
        return self.tables.drawn.here["tables"]

    def draw_contexts(self, state: State, key: Key) -> ContextParameters:
        """Draw φ_k of every context and cluster slot; those of bags stay on the GPU."""
        if self.observations.generic_contexts:
            self.fetch(state, clusters_only=True)
        naturals, extra = draw_few(state, self.observations, key)
        n_clusters, out = self.tables.slots[0], self.tables.log_categories
        for rows, concentration in zip(
            self.corpus.bag_rows, self.observations.bags.concentration, strict=True
        ):
            self.kernels.gammas.draw_gamma_rows(
                rows.start * n_clusters,
                rows.stop * n_clusters,
                self.categories,
                max(float(concentration), SMALLEST_SHAPE),
                CATEGORIES,
                *key,
                True,
                out,
            )
            self.kernels.sums.normalise_log_rows(rows.start, rows.stop, n_clusters, out)
        return ContextParameters(naturals, out, extra)

    def move(self, state: State, weights: Weights, contexts: ContextParameters, key: Key) -> float:
        """Draw every group's topics and cluster, and count everything anew.

        Nothing is waited for before all of it has been asked for.
        """
        tables, memory = self.tables, self.memory
        for table in (self.words, self.categories):
            memory.zero(table)
        tables.counts.clear()
        memory.put(contexts.naturals.reshape(-1), tables.naturals)
        memory.put(weights.log_clusters, tables.log_clusters)
        move = self._move_members if self.corpus.varies else self._move_groups
        move(state, contexts.extra, key)
        given = memory.put(state.v * weights.topics, tables.of_topic)
        out = tables.drawn.there["tables"]
        self.kernels.shares.draw_table_counts(tables.held, given, *key, out)
        self._add_log_counts()
        self._take_home(state)
        return float(tables.drawn.here["log_likelihood"].sum()) if self.corpus.varies else 0.0

    def _take_home(self, state: State) -> None:
        """Bring home what is as small as clusters × topics."""
        tables, counts = self.tables, state.counts
        tables.counts.bring()
        tables.drawn.bring()
        here = tables.counts.here
        state.take_topics(here["topics"])
        if self.corpus.varies:
            state.tables_in_cluster = here["tables"]
        counts.groups_in_cluster = here["groups"]
        counts.context_statistics = here["statistics"] / self.corpus.scales
        counts.category_totals = here["totals"]
        self.log_shares[:] = tables.drawn.here["log_shares"]
        self.counted = True

    def _draw_small_topics(self, key: Key) -> None:
        """Draw topics in logs whose variates are too small for floats, at home."""
        tables, n_topics = self.tables, self.tables.slots[1]
        sums = self.memory.take(tables.drawn.there["sums_of_topics"])
        if not (sums < SMALL_SUM).any():
            return
        words = self.memory.take(self.words).reshape(-1, n_topics)
        variates = self.memory.take(tables.variates).reshape(-1, n_topics)
        draw_small_topics(words, self.beta, key, variates, sums)
        self.memory.put(variates.reshape(-1), tables.variates)
        self.memory.put(sums, tables.drawn.there["sums_of_topics"])

    def _contexts_of(self, shard: Shard, extra: NDArray[np.float64]) -> tuple[Any, ...]:
        """Return the contexts of a shard with the parameters they are scored by."""
        tables, arrays = self.tables, shard.arrays
        own = self.memory.put(extra[shard.groups]) if len(extra) else tables.no_scores
        bags = (arrays["bag_start"], arrays["bag_category"], arrays["bag_count"])
        return (arrays["statistics"], *bags, tables.naturals, tables.log_categories, own)

    def _move_members(self, state: State, extra: NDArray[np.float64], key: Key) -> None:
        """Draw topics of tokens, clusters of groups and their tables: λ finite."""
        tables, memory, kernels = self.tables, self.memory, self.kernels
        drawn, counts = tables.drawn.there, tables.counts.there
        # ψ times the number of words: most are near 1, far from where floats end.
        sums, n_words = drawn["sums_of_topics"], self.observations.n_words
        kernels.sums.scale_columns(tables.variates, tables.slots[1], sums, n_words)
        base = tables.shares
        none = (tables.no_sums, base, tables.shares_by_topic)
        kernels.shares.weigh_topics(
            tables.slots[1], drawn["log_shares"], state.lam, SMALLEST_SHARE, *none
        )
        kernels.placing.tabulate_log_rising(tables.slots, base, tables.n_tabulated, tables.rising)
        for shard in self.corpus.shards():
            arrays, resident = shard.arrays, self.corpus.is_resident
            clusters, scores = self._of_shard(shard, self.clusters, tables.log_likelihood)
            topics = self.topics if resident else memory.put(self.topics[shard.tokens])
            before = (shard.n_groups, shard.groups.start, shard.tokens.start, tables.slots)
            kernels.members.sweep_tokens(
                *before,
                arrays["order"],
                arrays["group_start"],
                arrays["word"],
                base,
                tables.variates,
                *key,
                clusters,
                topics,
                self.words,
            )
            kernels.placing.place_groups(
                *before,
                arrays["group_start"],
                topics,
                base,
                tables.rising,
                tables.n_tabulated,
                tables.log_clusters,
                self._contexts_of(shard, extra),
                *key,
                clusters,
                counts["topics"],
                counts["tables"],
                scores,
            )
            if not resident:
                self.topics[shard.tokens] = memory.take(topics)
            self._count(shard)
        kernels.sums.add_floats(tables.log_likelihood, drawn["log_likelihood"])

    def _move_groups(self, state: State, extra: NDArray[np.float64], key: Key) -> None:
        """Draw clusters with topics summed out, then topics by (cluster, word) cell: λ = ∞."""
        tables, kernels, n_words = self.tables, self.kernels, self.observations.n_words
        drawn = tables.drawn.there
        kernels.shares.weigh_topics(
            tables.slots[1],
            drawn["log_shares"],
            1.0,
            SMALLEST_SHARE,
            drawn["sums_of_topics"],
            tables.shares,
            tables.shares_by_topic,
        )
        self.memory.zero(tables.tokens_of_cell)
        kernels.mixtures.tabulate_log_mixtures(
            n_words, tables.slots, tables.variates, tables.shares_by_topic, tables.mixtures
        )
        for shard in self.corpus.shards():
            kernels.mixtures.draw_clusters_of_words(
                shard.n_groups,
                shard.groups.start,
                shard.arrays["order"],
                shard.arrays["entry_start"],
                shard.arrays["entry_word"],
                shard.arrays["entry_count"],
                tables.mixtures,
                tables.log_clusters,
                self._contexts_of(shard, extra),
                *key,
                *self._of_shard(shard, self.clusters),
                tables.tokens_of_cell,
            )
            self._count(shard)
        kernels.cells.draw_cells(
            n_words,
            tables.slots,
            self.word_order,
            self.word_start,
            tables.shares,
            tables.variates,
            tables.tokens_of_cell,
            *key,
            tables.counts.there["topics"],
            self.words,
        )

    def _of_shard(self, shard: Shard, *arrays: Any) -> list[Any]:
        """Return the parts of arrays over groups that belong to a shard."""
        if self.corpus.is_resident:
            return list(arrays)
        return [array[shard.groups] for array in arrays]

    def _count(self, shard: Shard) -> None:
        """Count the groups of a shard, and add up their contexts."""
        arrays, counts = shard.arrays, self.tables.counts.there
        self.kernels.sums.count_contexts(
            *self._of_shard(shard, self.clusters),
            arrays["statistics"],
            self.scales,
            (arrays["bag_start"], arrays["bag_category"], arrays["bag_count"]),
            counts["groups"],
            counts["statistics"],
            self.categories,
            counts["totals"],
        )

    def _add_log_counts(self) -> None:
        """Add up the log-densities of all counts, in parts."""
        add, drawn = self.kernels.sums.add_log_rising, self.tables.drawn.there
        add(self.words, self.beta, self.known, drawn["log_counts 0"])
        n_clusters = self.tables.slots[0]
        for c, rows in enumerate(self.corpus.bag_rows):
            held = self.categories[rows.start * n_clusters : rows.stop * n_clusters]
            concentration = float(self.observations.bags.concentration[c])
            add(held, concentration, self.known_of_bag[c], drawn[f"log_counts {c + 1}"])

    def log_tables(self, state: State) -> float:
        """Return the log-density of the content given topics and of bags given clusters."""
        counts = state.counts
        if not self.counted:
            self._add_log_counts()
            self.tables.drawn.bring()
            self.counted = True
        families = [self.priors.content, *self.observations.bag_families]
        totals = [counts.tokens_in_topic, *counts.category_totals.T]
        total = 0.0
        for c, (family, observed) in enumerate(zip(families, totals, strict=True)):
            total += float(self.tables.drawn.here[f"log_counts {c}"].sum())
            prior = family.kernel_parameters()
            total += log_without_probabilities(prior, np.ascontiguousarray(observed))
        return total
