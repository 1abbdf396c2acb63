"""The steps of a sweep on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.tables import log_joint_of_counts
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked.contexts import SMALLEST_SHAPE, draw_few
from mcsquared.samplers.blocked.device.corpus import DeviceCorpus, Shard
from mcsquared.samplers.blocked.device.tables import Tables, grown
from mcsquared.samplers.blocked.device.vectors import VectorsThere
from mcsquared.samplers.blocked.device.words import WordsThere
from mcsquared.samplers.blocked.members import SMALLEST_SHARE
from mcsquared.samplers.blocked.place import Place
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.joint import N_KNOWN, log_without_probabilities
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = ["Device"]

CATEGORIES = int(Step.CATEGORIES)


class Device(Place):
    """Groups on the GPU that numba has chosen.

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
        there = WordsThere if observations.n_words else VectorsThere
        self.content: WordsThere | VectorsThere = there(observations, priors, corpus)
        self.known_of_bag = [
            self.memory.put(log_joint_of_counts(float(c), N_KNOWN))
            for c in observations.bags.concentration
        ]
        self.scales = self.memory.put(corpus.scales)
        self._tokens_moved = False  # before the contexts of the sweep were drawn

    def put(self, state: State, key: Key) -> None:
        """Take over labels and counts."""
        self.put_labels(state)
        self.content.put(state)
        padded = self.corpus.padded(state.counts.category_counts)
        self.categories = self.memory.put(padded.reshape(-1))
        self._new_tables(state)

    def put_labels(self, state: State) -> None:
        """Take over labels."""
        self.clusters = self.memory.put(state.cluster_of_group.astype(np.int32))
        topics = state.topic_of_token.astype(np.uint16)
        # Topics of a corpus that comes in shards stay at home.
        resident = self.corpus.keeps_topics and self.corpus.is_resident
        self.topics = self.memory.put(topics) if resident else topics

    def _new_tables(self, state: State) -> None:
        slots = state.counts.topics_in_cluster.shape
        of_content = self.content.sizes_at_home(slots[1])
        self.tables = Tables(self.observations, self.corpus, slots, of_content)
        self.content.make_tables(self.tables)
        self.memory.put(state.tables.reshape(-1).astype(np.int32), self.tables.held)
        self.counted = False

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Bring home the clusters of groups and, if asked, everything else that is there."""
        take = self.memory.take
        state.cluster_of_group = take(self.clusters)
        if clusters_only:
            return
        self._fetch_topics(state)
        self.content.fetch(state)
        n_clusters = self.tables.slots[0]
        rows = take(self.categories).reshape(-1, n_clusters)[self.corpus.row_of_category]
        state.counts.category_counts = np.ascontiguousarray(rows.T)

    def _fetch_topics(self, state: State) -> None:
        """Bring home the topics of tokens, where there are any."""
        if self.corpus.keeps_topics:
            resident, take = self.corpus.is_resident, self.memory.take
            state.topic_of_token = take(self.topics) if resident else self.topics.copy()

    def begin(self, state: State, key: Key) -> None:
        """Give all tables the size that the slots ask for, and draw the parameters of topics."""
        old, new = self.tables.slots, state.counts.topics_in_cluster.shape
        if old != new:
            self.content.grow(old[1], new[1])
            self.categories = grown(self.memory, self.categories, old[0], new[0])
            self._new_tables(state)
        self.content.begin(state, key)

    def draw_shares(
        self, state: State, topics: NDArray[np.float64], key: Key
    ) -> NDArray[np.float64]:
        """Draw log τ_k ~ Dir(v ε + O_k) for every cluster slot.

        What is returned is filled when the groups have moved: nobody here reads it before.
        """
        tables = self.tables
        prior = self.memory.put(state.v * topics, tables.of_topic)  # tables are drawn by it too
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
        """Draw φ_k of every context and cluster slot; those of bags stay on the GPU.

        Tokens that are on the GPU move in the meantime: they do not ask for contexts.
        """
        if self.corpus.varies and self.corpus.is_resident:
            self._weigh_topics(state)
            for shard in self.corpus.shards():
                self._sweep_tokens(shard, state, key)
            self._tokens_moved = True
        if self.observations.python_contexts:
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
        tables = self.tables
        self.memory.zero(self.categories)
        tables.counts.clear()
        tables.give(weights.log_clusters, contexts.naturals)
        if not self.corpus.varies:
            self.content.prepare()
        elif not self._tokens_moved:
            self._weigh_topics(state)
        move = self._move_members if self.corpus.varies else self._move_groups
        move(state, contexts.extra, key)
        self.content.finish(key)
        out = tables.drawn.there["tables"]
        self.kernels.shares.draw_table_counts(tables.held, tables.of_topic, *key, out)
        self._add_log_counts()
        self._take_home(state)
        return float(tables.drawn.here["log_likelihood"].sum()) if self.corpus.varies else 0.0

    def _take_home(self, state: State) -> None:
        """Bring home what is as small as clusters × topics."""
        tables, counts = self.tables, state.counts
        tables.bring()
        here = tables.counts.here
        state.take_topics(here["topics"])
        if self.corpus.varies:
            state.tables_in_cluster = here["tables"]
        counts.groups_in_cluster = here["groups"]
        counts.context_statistics = here["statistics"] / self.corpus.scales
        counts.category_totals = here["totals"]
        self.content.take_home(state)
        self.log_shares[:] = tables.drawn.here["log_shares"]
        self.counted = True

    def _contexts_of(self, shard: Shard, extra: NDArray[np.float64]) -> tuple[Any, ...]:
        """Return the contexts of a shard with the parameters they are scored by."""
        tables, arrays = self.tables, shard.arrays
        own = self.memory.put(extra[shard.groups]) if len(extra) else tables.no_scores
        bags = (arrays["bag_start"], arrays["bag_category"], arrays["bag_count"])
        return (arrays["statistics"], *bags, tables.naturals, tables.log_categories, own)

    def _move_members(self, state: State, extra: NDArray[np.float64], key: Key) -> None:
        """Draw topics of tokens, clusters of groups and their tables: λ finite."""
        tables, kernels = self.tables, self.kernels
        drawn, counts, base = tables.drawn.there, tables.counts.there, tables.base
        kernels.placing.tabulate_log_rising(tables.slots, base, tables.n_tabulated, tables.rising)
        for shard in self.corpus.shards():
            topics = self.topics if self._tokens_moved else self._sweep_tokens(shard, state, key)
            clusters, scores = self._of_shard(shard, self.clusters, tables.log_likelihood)
            kernels.placing.place_groups(
                shard.n_groups,
                shard.first_group,
                shard.first_token,
                tables.slots,
                shard.arrays["group_start"],
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
            self._keep_topics(shard, topics)
            self._count(shard)
        self._tokens_moved = False
        kernels.sums.add_floats(tables.log_likelihood, drawn["log_likelihood"])

    def _weigh_topics(self, state: State) -> None:
        """Begin to count anew, and tabulate λ τ."""
        self.content.prepare()
        self._tabulate_base(state)

    def _tabulate_base(self, state: State) -> None:
        tables = self.tables
        none = (tables.no_sums, tables.base, tables.no_shares)
        log_shares = tables.drawn.there["log_shares"]
        given = (log_shares, state.lam, SMALLEST_SHARE)
        self.kernels.shares.weigh_topics(tables.slots[1], *given, *none)

    def _sweep_tokens(self, shard: Shard, state: State, key: Key) -> Any:
        """Draw the topics of a shard's tokens; return them."""
        (clusters,) = self._of_shard(shard, self.clusters)
        topics = self._topics_of(shard)
        self.content.sweep_tokens(shard, clusters, topics, state.lam, key)
        return topics

    def _move_groups(self, state: State, extra: NDArray[np.float64], key: Key) -> None:
        """Draw clusters with topics summed out, then topics: λ = ∞."""
        for shard in self.corpus.shards():
            contexts, topics = self._contexts_of(shard, extra), self._topics_of(shard)
            (clusters,) = self._of_shard(shard, self.clusters)
            self.content.draw_clusters(shard, contexts, clusters, topics, key)
            self._keep_topics(shard, topics)
            self._count(shard)

    def _of_shard(self, shard: Shard, *arrays: Any) -> list[Any]:
        """Return the parts of arrays over groups that belong to a shard."""
        if self.corpus.is_resident:
            return list(arrays)
        return [array[shard.groups] for array in arrays]

    def _topics_of(self, shard: Shard) -> Any:
        """Return the topics of a shard's tokens on the GPU, None where none are kept."""
        if not self.corpus.keeps_topics:
            return None
        resident = self.corpus.is_resident
        return self.topics if resident else self.memory.put(self.topics[shard.tokens])

    def _keep_topics(self, shard: Shard, topics: Any) -> None:
        """Take the topics of a shard home before it goes."""
        if self.corpus.keeps_topics and not self.corpus.is_resident:
            self.topics[shard.tokens] = self.memory.take(topics)

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
        """Add up the log-densities of all counts of bags, in parts."""
        add, n_clusters = self.kernels.sums.add_log_rising, self.tables.slots[0]
        for c, rows in enumerate(self.corpus.bag_rows):
            held = self.categories[rows.start * n_clusters : rows.stop * n_clusters]
            concentration = float(self.observations.bags.concentration[c])
            out = self.tables.drawn.there[f"log_counts {c}"]
            add(held, concentration, self.known_of_bag[c], out)

    def begin_log_tables(self, state: State) -> Callable[[], float]:
        """Return what asks for the log-density that was added up when the groups had moved."""
        return partial(self._log_tables, state)

    def _log_tables(self, state: State) -> float:
        """Return the log-density of the content given topics and of bags given clusters."""
        if not self.counted:
            self.content.add_log_counts()
            self._add_log_counts()
            self.tables.bring()
            self.counted = True
        total = self.content.log_density(state)
        for c, family in enumerate(self.observations.bag_families):
            total += float(self.tables.drawn.here[f"log_counts {c}"].sum())
            observed = np.ascontiguousarray(state.counts.category_totals[:, c])
            total += log_without_probabilities(family.kernel_parameters(), observed)
        return total
