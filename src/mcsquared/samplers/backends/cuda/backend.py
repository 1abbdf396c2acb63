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
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.backends.cuda.tables import Tables, grown
from mcsquared.samplers.backends.cuda.vectors import DeviceVectors
from mcsquared.samplers.backends.cuda.words import DeviceWords
from mcsquared.samplers.content.shares import SMALLEST_SHARE
from mcsquared.samplers.steps.contexts import SMALLEST_SHAPE, draw_dense
from mcsquared.samplers.steps.globals import draw_parameters
from mcsquared.samplers.steps.log_joint import N_KNOWN, log_without_probabilities
from mcsquared.samplers.steps.weights import draw_log_cluster_weights, topic_weights_with_tail
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Globals, Key, Labels, Sums, Weights
from mcsquared.state import Bounds, State

CATEGORIES = int(Step.CATEGORIES)


class CudaBackend(Backend):
    """Groups on the GPU that numba has chosen.

    Counts stay on the GPU, so the globals that depend on large ones are drawn there: their arrays
    in `Globals` are device arrays. `sweep_groups` also draws the tables and adds up the
    log-densities, so that one copy brings everything to the host.

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
        threads: ThreadPool = SINGLE_THREAD,
    ) -> None:
        from mcsquared.kernels import cuda

        super().__init__(observations, priors, threads)
        self.corpus, self.kernels, self.memory = corpus, cuda.load(), cuda.load().memory
        content = DeviceWords if observations.n_words else DeviceVectors
        self.content: DeviceWords | DeviceVectors = content(observations, priors, corpus)
        self.known_of_bag = [
            self.memory.put(log_joint_of_counts(float(c), N_KNOWN))
            for c in observations.bags.concentration
        ]
        self.scales = self.memory.put(corpus.scales)

    def load_labels(self, state: State, key: Key) -> None:
        """Copy labels and counts to the GPU."""
        self._put_labels(Labels(state.cluster_of_group, state.topic_of_token))
        self.content.put(state.counts.words_in_topic)
        padded = self.corpus.padded(state.counts.category_counts)
        self.categories = self.memory.put(padded.reshape(-1))
        self._new_tables(state.tables)

    def _put_labels(self, labels: Labels) -> None:
        self.clusters = self.memory.put(labels.clusters.astype(np.int32))
        topics = labels.topics.astype(np.uint16)
        # Topics of a corpus that is copied shard by shard stay on the host.
        resident = self.corpus.keeps_topics and self.corpus.is_resident
        self.topics = self.memory.put(topics) if resident else topics

    def _new_tables(self, tables_in_cluster: NDArray[np.int32]) -> None:
        slots = tables_in_cluster.shape
        of_content = self.content.host_sizes(slots[1])
        self.tables = Tables(self.observations, self.corpus, slots, of_content)
        self.content.make_tables(self.tables)
        self.memory.put(tables_in_cluster.reshape(-1).astype(np.int32), self.tables.held)
        self.counted = False

    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Copy the clusters of groups and, unless told otherwise, all other labels and counts."""
        take = self.memory.take
        state.cluster_of_group = take(self.clusters)
        if clusters_only:
            return
        if self.corpus.keeps_topics:
            state.topic_of_token = self._host_topics()
        self.content.save(state)
        n_clusters = self.tables.slots[0]
        rows = take(self.categories).reshape(-1, n_clusters)[self.corpus.row_of_category]
        state.counts.category_counts = np.ascontiguousarray(rows.T)

    def _host_topics(self) -> NDArray[np.uint16]:
        """Return the topics of tokens on the host; empty where none are kept."""
        if not self.corpus.keeps_topics:
            return np.zeros(0, np.uint16)
        resident: bool = self.corpus.is_resident
        return self.memory.take(self.topics) if resident else self.topics.copy()

    def draw_globals(self, state: State, bounds: Bounds, key: Key) -> Globals:
        """Draw ψ, τ and the categories of bags on the GPU, the few other globals on the host."""
        self._resize(state)
        parameters = None
        if not self.observations.n_words:
            parameters = draw_parameters(state, self.observations, key)
        self.content.begin(parameters, key)
        topics = topic_weights_with_tail(state, bounds, key)
        weights = Weights(
            topics=topics,
            log_clusters=draw_log_cluster_weights(state, bounds, key),
            log_shares=self._draw_shares(state.v * topics, key),
        )
        contexts = self._draw_contexts(state, key)
        return Globals(key, state.lam, weights, contexts, None)

    def _resize(self, state: State) -> None:
        """Give all tables the size of the state's slots."""
        old, new = self.tables.slots, state.counts.topics_in_cluster.shape
        if old != new:
            self.content.grow(old[1], new[1])
            self.categories = grown(self.memory, self.categories, old[0], new[0])
            self._new_tables(state.tables)

    def _draw_shares(self, prior: NDArray[np.float64], key: Key) -> Any:
        """Draw log τ_k ~ Dir(v ε + O_k) for every cluster slot; ``prior`` is v ε."""
        tables = self.tables
        given = self.memory.put(prior, tables.of_topic)  # cluster tables are drawn by it too
        out = tables.drawn.there["log_shares"]
        self.kernels.shares.draw_log_shares(given, tables.held, *key, out)
        return out

    def _draw_contexts(self, state: State, key: Key) -> ContextParameters:
        """Draw φ_k of every context and cluster slot; those of bags stay on the GPU."""
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
        if self.observations.python_contexts:
            self.save_labels(state, clusters_only=True)
        naturals, extra = draw_dense(state, self.observations, key)
        return ContextParameters(naturals, out, extra)

    def sweep_groups(self, given: Globals) -> Sums:
        """Draw every group's topics and cluster, and count everything.

        All kernels are launched before the host waits for any of them.
        """
        tables = self.tables
        self.memory.zero(self.categories)
        tables.counts.clear()
        tables.give(given.weights.log_clusters, given.contexts.naturals)
        self.content.prepare()
        self._move_groups(given)
        self.content.finish(given.key)
        out = tables.drawn.there["tables"]
        self.kernels.shares.draw_table_counts(tables.held, tables.of_topic, *given.key, out)
        self._add_log_counts()
        tables.bring()
        self.counted = True
        return self._host_sums()

    def _host_sums(self) -> Sums:
        """Return the sums that are as small as clusters × topics; the others stay on the GPU."""
        counts, varies = self.tables.counts.here, self.corpus.varies
        statistics = self.content.topic_statistics()
        return Sums(
            groups=counts["groups"],
            totals=counts["totals"],
            context_statistics=(counts["statistics"] / self.corpus.scales)[None],
            topics=counts["topics"],
            tables=counts["tables"] if varies else None,
            topic_statistics=None if statistics is None else statistics[None],
            log_rising=self.tables.drawn.here["log_likelihood"] if varies else None,
        )

    def log_shares(self, given: Globals) -> NDArray[np.float64]:
        """Return log τ, which was copied with the sums."""
        return self.tables.drawn.here["log_shares"]

    def draw_tables(self, state: State, prior: NDArray[np.float64], key: Key) -> NDArray[np.int32]:
        """Return q_km ~ CRT(O_km, v ε_m), drawn on the GPU after the groups had moved."""
        return self.tables.drawn.here["tables"]

    def _contexts_of(self, shard: Shard, extra: NDArray[np.float64]) -> tuple[Any, ...]:
        """Return the contexts of a shard with the parameters they are scored by."""
        tables, arrays = self.tables, shard.arrays
        own = self.memory.put(extra[shard.groups]) if len(extra) else tables.no_scores
        bags = (arrays["bag_start"], arrays["bag_category"], arrays["bag_count"])
        return (arrays["statistics"], *bags, tables.naturals, tables.log_categories, own)

    def _move_groups(self, given: Globals) -> None:
        """Draw topics and clusters of all groups, shard by shard."""
        extra, key = given.contexts.extra, given.key
        if self.corpus.varies:
            self._move_varying_groups(given)
            return
        for shard in self.corpus.shards():
            contexts, topics = self._contexts_of(shard, extra), self._topics_of(shard)
            (clusters,) = self._of_shard(shard, self.clusters)
            self.content.draw_clusters(shard, contexts, clusters, topics, key)
            self._keep_topics(shard, topics)
            self._count(shard)

    def _move_varying_groups(self, given: Globals) -> None:
        """Draw topics of tokens, clusters of groups and their tables: λ finite."""
        tables, kernels = self.tables, self.kernels
        drawn, counts, base = tables.drawn.there, tables.counts.there, tables.base
        none = (tables.no_sums, base, tables.no_shares)
        scale = (drawn["log_shares"], given.lam, SMALLEST_SHARE)
        kernels.shares.weigh_topics(tables.slots[1], *scale, *none)
        kernels.placing.tabulate_log_rising(tables.slots, base, tables.n_tabulated, tables.rising)
        for shard in self.corpus.shards():
            clusters, scores = self._of_shard(shard, self.clusters, tables.log_likelihood)
            topics = self._topics_of(shard)
            self.content.sweep_tokens(shard, clusters, topics, given.lam, given.key)
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
                self._contexts_of(shard, given.contexts.extra),
                *given.key,
                clusters,
                counts["topics"],
                counts["tables"],
                scores,
            )
            self._keep_topics(shard, topics)
            self._count(shard)
        kernels.sums.add_floats(tables.log_likelihood, drawn["log_likelihood"])

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

    def begin_log_density(self, state: State) -> Callable[[], float]:
        """Return a function that returns the log-density added up when the groups had moved."""
        return partial(self._log_density, state)

    def _log_density(self, state: State) -> float:
        """Return the log-density of content given topics and of bags given clusters."""
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
