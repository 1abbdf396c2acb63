"""The steps of a sweep on the GPU."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Bools, Floats, Int32s
from mcsquared.errors import InputError
from mcsquared.kernels.cuda.arrays import (
    N_PARTIAL_SUMS,
    add_floats,
    draw_log_shares,
    draw_table_counts,
    weigh_topics,
)
from mcsquared.kernels.cuda.memory import copy_to_device, copy_to_host
from mcsquared.kernels.cuda.messages import add_messages_of_topics
from mcsquared.kernels.cuda.varying_groups import resample_groups, tabulate_log_rising_factorials
from mcsquared.model.priors import Priors
from mcsquared.observations import MAX_TOKENS, Observations
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.cuda.buffers import Buffers
from mcsquared.samplers.backends.cuda.contexts import DeviceContexts
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.backends.cuda.effects import DeviceEffects
from mcsquared.samplers.backends.cuda.groups import ResidentGroups, StreamedGroups
from mcsquared.samplers.backends.cuda.levels import DeviceMessages
from mcsquared.samplers.backends.cuda.vectors import DeviceVectors
from mcsquared.samplers.backends.cuda.words import DeviceWords
from mcsquared.samplers.content.groups import count_children
from mcsquared.samplers.content.levels import TypeWeights, UnitCount
from mcsquared.samplers.steps.contexts import draw_background, draw_dense
from mcsquared.samplers.steps.weights import (
    NEGLIGIBLE_SHARE,
    draw_log_cluster_weights,
    topic_weights_with_tail,
)
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import (
    ContextDraw,
    Globals,
    GroupFunction,
    Key,
    Sums,
    Sweep,
    Weights,
)
from mcsquared.state import State

# Splits and merges run on the host; those of clusters take about 35 ns per token and thread, a
# hundred times as long as a sweep. With more tokens they are skipped.
MAX_MOVED_TOKENS = 20_000_000
TOO_MANY_TOKENS = (
    f"device 'cuda' requires <= {MAX_TOKENS} tokens of a topic in a cluster, got more; use "
    "device='cpu'"
)


class CudaBackend(Backend):
    """Groups on numba's current GPU.

    Counts stay on the GPU, so the globals that depend on large ones are drawn on it: their arrays
    in `Globals` are device arrays. `sweep_groups` also draws the tables and adds up the
    log-densities, so that everything is copied to the host at once. All chains share ``corpus``.
    """

    draws_contexts_on_host = False

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        corpus: DeviceCorpus,
        threads: ThreadPool = SINGLE_THREAD,
    ) -> None:
        super().__init__(observations, priors, threads)
        self.corpus = corpus
        content = DeviceWords if observations.n_words else DeviceVectors
        self.content: DeviceWords | DeviceVectors = content(observations, priors, corpus)
        self.effects: DeviceEffects | None = None
        if observations.effect_values is not None:
            self.effects = DeviceEffects(observations, priors, corpus)
        self.contexts = DeviceContexts(observations, corpus)
        groups = ResidentGroups if corpus.is_resident else StreamedGroups
        self.groups: ResidentGroups | StreamedGroups = groups(observations, priors, corpus, threads)
        self.moves_topics = self.moves_clusters = observations.n_tokens <= MAX_MOVED_TOKENS
        self._has_moved_topics = False  # since the groups were swept

    def load_labels(self, state: State, key: Key) -> None:
        """Load labels, and copy counts to the GPU."""
        self.groups.load_labels(state, key)
        counts, slots = state.counts, state.tables.shape
        self._load_counts(counts.words_in_topic, counts.category_counts.T, slots)
        self._load_tables(state)

    def _load_counts(self, words: Int32s, categories: Int32s, slots: tuple[int, ...]) -> None:
        self.content.load_counts(words)
        self.contexts.load_counts(categories)
        self._allocate(slots)

    def _allocate(self, slots: tuple[int, ...]) -> None:
        """Allocate the buffers for the numbers of cluster slots and of topic slots."""
        others, counts = self.content.host_shapes(slots[1]), {}
        if self.effects is not None:
            others, counts = (
                others | self.effects.host_shapes(slots[1]),
                self.effects.count_shapes(slots[1]),
            )
        self.buffers = Buffers(self.observations, self.corpus, slots, others, counts)
        self.contexts.allocate(self.buffers)
        self.content.allocate(self.buffers)
        if self.effects is not None:
            is_vectors = isinstance(self.content, DeviceVectors)
            self.effects.allocate(self.buffers, self.content.shares if is_vectors else None)
        self._has_log_counts = False

    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Copy the clusters of groups to a state and, by default, all other labels and counts."""
        self.groups.save_labels(state, clusters_only)
        if clusters_only:
            return
        self.content.save_counts(state)
        state.counts.category_counts = np.ascontiguousarray(self.contexts.host_categories().T)

    def map_groups(self, function: GroupFunction, argument: Any) -> list[Any]:
        """Apply a function to the groups on the host."""
        return self.groups.map_groups(function, argument)

    def count_by_unit(self, sizes: UnitCount) -> Int32s:
        """Count groups by parent and cluster, on the host."""
        return self.groups.count_by_unit(sizes)

    def store_draw(self, cluster_of_slot: Int32s) -> None:
        """Append a kept draw to the file of draws, if the corpus is on disk."""
        self.groups.store_draw(cluster_of_slot)

    def label_files(self) -> dict[str, NDArray[Any]]:
        """Return labels and stored draws of all groups, if the corpus is on disk."""
        return self.groups.label_files()

    def save_counts(self, state: State) -> None:
        """Copy the counts of words to a state."""
        self.content.save_counts(state)

    def load_topics(self, sweep: Sweep) -> None:
        """Copy new topics of tokens, and counts that changed with them, to the GPU.

        Weights, tables and log-densities that depend on them are computed again.
        """
        self.groups.load_mapped()
        self.content.load_counts(sweep.state.counts.words_in_topic)
        self._load_tables(sweep.state)
        self._has_log_counts, self._has_moved_topics = False, True

    def load_clusters(self, state: State) -> None:
        """Copy new clusters of groups, and counts that changed with them, to the GPU."""
        self.groups.load_mapped()
        self._resize(state)
        self._load_tables(state)
        self.contexts.load_counts(state.counts.category_counts.T)

    def _load_tables(self, state: State) -> None:
        """Copy the tables of clusters, and of the values of effects, to the GPU."""
        copy_to_device(state.tables.reshape(-1).astype(np.int32), self.buffers.tables)
        if self.effects is not None:
            self.effects.load_tables(state)

    def draw_globals(self, sweep: Sweep) -> Globals:
        """Draw ψ, τ and the categories of bags on the GPU, and the other globals on the host.

        The GPU prepares the sweep while the host draws.
        """
        state, key = sweep.state, sweep.key
        self._resize(state)
        self.content.draw(sweep)
        topics = topic_weights_with_tail(sweep)
        log_shares = self._draw_log_topic_shares(state.v * topics, key)
        self.content.prepare()
        self._tabulate_base(state.lam)
        effects = None if self.effects is None else self.effects.draw(state, topics, key)
        log_categories = self.contexts.draw_log_categories(sweep)
        log_cluster_weights = draw_log_cluster_weights(sweep)
        natural, python = draw_dense(sweep)
        contexts = ContextDraw(natural, log_categories, python, draw_background(sweep))
        weights = Weights(topics, log_cluster_weights, log_shares)
        return Globals(key, state.lam, weights, contexts, None, effects=effects)

    def _resize(self, state: State) -> None:
        """Resize all arrays to the slots of the state."""
        old, new = self.buffers.slots, state.counts.topics_in_cluster.shape
        if old != new:
            self.content.resize(old[1], new[1])
            self.contexts.resize(old[0], new[0])
            self._allocate(new)
            self._load_tables(state)

    def _draw_log_topic_shares(self, prior: Floats, key: Key) -> Any:
        """Draw the log of τ_k ~ Dir(v ε + O_k) for every cluster slot; ``prior`` is v ε."""
        buffers, out = self.buffers, self.buffers.device["log_shares"]
        copy_to_device(prior, buffers.prior)  # also used for the cluster tables
        draw_log_shares(buffers.n_cluster_slots, buffers.prior, buffers.tables, *key, out)
        return out

    def _tabulate_base(self, lam: float) -> None:
        """Compute λ τ_km, and tabulate its log rising factorials (λ finite).

        With effects, factorials are computed for each group instead, from λ τ_km by topic.
        """
        if self.corpus.groups_vary:
            buffers, (n_cluster_slots, n_slots) = self.buffers, self.buffers.slots
            log_shares, base = buffers.device["log_shares"], buffers.base
            by_topic = buffers.no_shares if self.effects is None else self.effects.base_by_topic
            out = (buffers.no_sums, base, by_topic)
            weigh_topics(base.size, n_slots, log_shares, float(lam), NEGLIGIBLE_SHARE, *out)
            if self.effects is None:
                sizes = (base.size, n_cluster_slots, buffers.n_tabulated)
                tabulate_log_rising_factorials(*sizes, base, buffers.tabulated)

    def sum_messages(self, weights: TypeWeights) -> dict[str, Any]:
        """Draw the topics of all tokens if λ is finite, and sum the messages of groups by parent.

        Counts of topics stay on the GPU until the groups are swept.
        """
        globals_, buffers, messages = weights.globals, self.buffers, DeviceMessages(weights)
        self._begin(globals_)
        if buffers.groups_vary:
            self.content.clear()
        for shard, labels in self.groups.shards():
            arguments = (*self.contexts.of_shard(shard), *messages.arguments_for(shard))
            if buffers.groups_vary:
                self.content.draw_topics(shard, labels, globals_, None)
                add = add_messages_of_topics(buffers.n_slots, buffers.clusters_per_thread)
                tokens = (shard.arrays.group_start, labels[1])
                tabulated = (buffers.base, buffers.tabulated, buffers.n_tabulated)
                add(shard.n_groups, buffers.n_cluster_slots, *tokens, *tabulated, *arguments)
            else:
                self.content.add_messages(shard, arguments)
        return {"messages": messages.on_host()}

    def sweep_groups(self, globals_: Globals) -> Sums:
        """Draw every group's topics and cluster, and count everything.

        All kernels are launched before the host waits for any of them.
        """
        self._has_moved_topics = False
        self._sweep(globals_)
        self.content.draw_cell_topics(globals_.key)
        buffers = self.buffers
        tables, out = buffers.tables, buffers.device["cluster_tables"]
        draw_table_counts(tables.size, tables, buffers.prior, *globals_.key, out)
        if self.effects is not None:
            self.effects.finish(globals_.key)
        self._add_log_counts()
        buffers.copy_to_host()
        return self._host_sums()

    def _sweep(self, globals_: Globals) -> None:
        """Draw topics and clusters of all groups, shard by shard, and sum them on the GPU."""
        self._begin(globals_)
        self.contexts.clear()
        self.buffers.clear()
        self._children: Any = 0
        if self.corpus.groups_vary:
            self._sweep_varying_groups(globals_)
        else:
            self.content.clear()
            for shard, labels in self.groups.shards():
                contexts = self.contexts.of_shard(shard)
                self.content.draw_clusters(shard, contexts, labels, globals_.key)
                self._count(shard, labels[0])
        self.content.finish_sums()

    def _begin(self, globals_: Globals) -> None:
        """Copy to the GPU what the scores of clusters depend on."""
        self._parent_weights = globals_.parent_weights
        self.contexts.begin(globals_)

    def _sweep_varying_groups(self, globals_: Globals) -> None:
        """Draw topics of tokens, clusters of groups and their tables (λ finite).

        With levels above groups, topics were drawn before the types of their parents.
        """
        buffers = self.buffers
        if globals_.parent_weights is None:
            self.content.clear()
        for shard, labels in self.groups.shards():
            if globals_.parent_weights is None:
                self.content.draw_topics(shard, labels, globals_, self.effects)
            contexts = (buffers.log_cluster_weights, *self.contexts.of_shard(shard))
            log_likelihood = buffers.log_likelihood_of_group[shard.groups]
            if self.effects is None:
                self._resample_groups(shard, labels, contexts, globals_.key, log_likelihood)
            else:
                self.effects.resample_groups(shard, labels, contexts, globals_, log_likelihood)
            self._count(shard, labels[0])
        parts = buffers.device["topic_log_likelihood"]
        add_floats(N_PARTIAL_SUMS, buffers.log_likelihood_of_group, parts)

    def _resample_groups(
        self,
        shard: Shard,
        labels: tuple[Any, Any],
        contexts: tuple[Any, ...],
        key: Key,
        log_likelihood: Any,
    ) -> None:
        """Draw z_j and the tables of the groups of a shard, and count these."""
        buffers, (clusters, topics) = self.buffers, labels
        resample = resample_groups(buffers.n_slots, buffers.clusters_per_thread)
        sizes = (shard.n_groups, shard.first_group, shard.first_token, buffers.n_cluster_slots)
        tokens = (shard.arrays.group_start, topics)
        tabulated = (buffers.base, buffers.tabulated, buffers.n_tabulated)
        counts = (buffers.device["topics_in_cluster"], buffers.device["tables_in_cluster"])
        resample(*sizes, *tokens, *tabulated, *contexts, *key, clusters, *counts, log_likelihood)

    def _count(self, shard: Shard, clusters: Any) -> None:
        """Count the groups of a shard, and sum their contexts."""
        self.contexts.count(shard, clusters)
        if shard.observations is None:
            return
        on_host, parents = copy_to_host(clusters), self._parent_weights
        self.contexts.add_python_statistics(shard.observations, on_host)
        if parents is not None:
            n_clusters, rows = self.buffers.n_cluster_slots, parents.row_of_unit
            self._children = self._children + count_children(
                shard.observations, on_host, rows, n_clusters
            )

    def _host_sums(self, all_sums: bool = False) -> Sums:
        """Return the sums on the host: all of them, or those no larger than clusters × topics."""
        host, groups_vary = self.buffers.host, self.corpus.groups_vary
        found: dict[str, Any] = {
            "groups": host["groups"],
            "totals": host["totals"],
            "context_statistics": self.contexts.host_statistics()[None],
            "topics_in_cluster": host["topics_in_cluster"],
            "tables_in_cluster": host["tables_in_cluster"] if groups_vary else None,
            "topic_log_likelihood": host["topic_log_likelihood"] if groups_vary else None,
            "tables_of_values": host.get("tables_of_values"),
            "tables_by_pattern": host.get("tables_by_pattern"),
        }
        if self.observations.has_learned_bags:
            found["categories"] = self.contexts.host_categories()
        if self._parent_weights is not None:
            found["children"] = self._children
        n_tokens = self.observations.n_tokens
        if n_tokens > MAX_TOKENS and host["topics_in_cluster"].sum(dtype=np.int64) != n_tokens:
            raise InputError(TOO_MANY_TOKENS)  # 32-bit counts have overflowed
        return Sums(**found | self.content.host_sums(all_sums))

    def log_shares(self, globals_: Globals) -> Floats:
        """Return log τ, which was copied with the sums unless topics have changed."""
        if self._has_moved_topics:
            return globals_.weights.log_shares
        return self.buffers.host["log_shares"]

    def draw_tables(self, sweep: Sweep) -> Int32s:
        """Return q_km ~ CRT(O_km, v ε_m), drawn by `sweep_groups` unless topics have changed."""
        if self._has_moved_topics:
            return super().draw_tables(sweep)
        return self.buffers.host["cluster_tables"]

    def draw_effect_tables(self, sweep: Sweep) -> Int32s:
        """Return q_sm ~ CRT(O_sm, v_c ε_m), which `sweep_groups` has drawn."""
        return self.buffers.host["effect_tables"]

    def log_effects(self, sweep: Sweep, active: Bools, weights: Floats) -> float:
        """Return the terms of effects in the log joint, most of which `sweep_groups` has summed."""
        return 0.0 if self.effects is None else self.effects.log_terms(sweep.state, weights)

    def _add_log_counts(self) -> None:
        """Add up the log-densities of all counts on the GPU, in parts."""
        self.content.add_log_counts()
        self.contexts.add_log_counts()
        self._has_log_counts = True

    def begin_log_density(self, state: State) -> Callable[[], float]:
        """Return a function that returns the log-density, computed by `sweep_groups`."""
        return partial(self._log_density, state)

    def _log_density(self, state: State) -> float:
        """Return the log-density of content given topics and of bags given clusters."""
        if not self._has_log_counts:
            self._add_log_counts()
            self.buffers.copy_to_host()
        return self.contexts.add_log_density(state, self.content.log_density(state))
