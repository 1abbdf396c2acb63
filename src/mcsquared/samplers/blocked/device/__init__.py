"""Groups on a GPU: the corpus and its labels stay there, globals go in and counts come out.

Steps over groups, tokens, words and categories are kernels; what is as small as clusters × topics
is drawn at home, by the code that the CPU has for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mcsquared.errors import InputError
from mcsquared.kernels.cpu.gammas import log_gamma_of_cell
from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.tables import log_joint_of_counts
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers.blocked.contexts import SMALLEST_SHAPE, draw_few
from mcsquared.samplers.blocked.device.corpus import DeviceCorpus, Shard, longest_first
from mcsquared.samplers.blocked.members import TABLE_NUMBERS, TABULATED, as_floats
from mcsquared.samplers.blocked.own import integrates
from mcsquared.samplers.blocked.place import Place
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.blocked.words import SMALL_SUM
from mcsquared.samplers.joint import N_KNOWN, log_without_probabilities
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import State

__all__ = ["Device", "DeviceCorpus", "check_device"]

CONTENT, CATEGORIES = int(Step.CONTENT), int(Step.CATEGORIES)


def check_device(observations: Observations) -> None:
    """Refuse what no GPU can do: where there is none, and families that only Python knows."""
    try:
        from mcsquared.kernels.cuda.memory import missing
    except ImportError as error:
        raise InputError(
            f"device is 'cuda', but numba-cuda is not installed ({error}): "
            "pip install 'mcsquared[gpu]'"
        ) from error
    reason = missing()
    if reason is not None:
        raise InputError(f"device is 'cuda', but no GPU can be used here: {reason}")
    if not observations.n_words:
        raise InputError(
            "device is 'cuda', but the content is no words; device='cpu' takes content of any kind"
        )
    for context in observations.generic_contexts:
        if integrates(context):
            raise InputError(
                f"device is 'cuda', but the family {type(context.family).__name__} does not say "
                "how its parameters are drawn (sample_parameters); device='cpu' takes it"
            )


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
        from mcsquared.kernels.cuda import cells, gammas, members, memory, mixtures, placing, sums

        super().__init__(observations, priors, workers)
        self.corpus = corpus
        self.cells, self.gammas, self.members, self.memory = cells, gammas, members, memory
        self.mixtures, self.placing, self.sums = mixtures, placing, sums
        self.beta = float(priors.content.kernel_parameters()[0])
        self.known = memory.put(log_joint_of_counts(self.beta, N_KNOWN))
        self.known_of_bag = [
            memory.put(log_joint_of_counts(float(c), N_KNOWN))
            for c in observations.bags.concentration
        ]
        self.scales = memory.put(corpus.scales)
        self.slots = (0, 0)
        if not corpus.varies:
            word_start = observations.layout.word_start
            self.word_order = memory.put(longest_first(word_start))
            self.word_start = memory.put(word_start)

    # Labels and counts between here and there.

    def put(self, state: State) -> None:
        """Take over labels and counts."""
        counts, put = state.counts, self.memory.put
        self.clusters = put(state.cluster_of_group.astype(np.int32))
        self.topics: list[Any] = []
        if self.corpus.varies:
            topics = state.topic_of_token.astype(np.uint16)
            self.topics = [topics] if not self.corpus.is_resident else [put(topics)]
        self.words = put(counts.words_in_topic.reshape(-1))
        self.categories = put(self.corpus.padded(counts.category_counts).reshape(-1))
        self.slots = (0, 0)
        self._make_room(state, counts.topics_in_cluster.shape)

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Bring home the clusters of groups and, if asked, everything else that is there."""
        take, counts = self.memory.take, state.counts
        state.cluster_of_group = take(self.clusters)
        if clusters_only:
            return
        if self.corpus.varies:
            resident = self.corpus.is_resident
            state.topic_of_token = take(self.topics[0]) if resident else self.topics[0].copy()
        n_clusters, n_topics = self.slots
        counts.words_in_topic = take(self.words).reshape(-1, n_topics)
        rows = take(self.categories).reshape(-1, n_clusters)[self.corpus.row_of_category]
        counts.category_counts = np.ascontiguousarray(rows.T)
        if self.slots != counts.topics_in_cluster.shape:  # slots were added since the last sweep
            raise RuntimeError("labels are fetched between sweeps, before slots are added")

    def _make_room(self, state: State, slots: tuple[int, ...]) -> None:
        """Give all tables the size that the slots ask for; counts keep their places."""
        if self.slots == slots:
            return
        memory, (n_clusters, n_topics) = self.memory, slots
        if self.slots != (0, 0):
            self.words = self._grown(self.words, self.slots[1], n_topics)
            self.categories = self._grown(self.categories, self.slots[0], n_clusters)
        n_words, n_statistics = self.observations.n_words, len(self.corpus.scales)
        n_bags = len(self.observations.bag_families)
        self.variates = memory.empty(n_words * n_topics, np.float32)
        self.log_categories = memory.empty(self.corpus.n_category_rows * n_clusters, np.float32)
        self.parts = memory.empty(self.sums.N_PARTS * max(n_topics, 1), np.float64)
        self.partial = memory.empty(self.sums.N_PARTS, np.float64)
        self.column_sums = memory.empty(n_topics, np.float64)
        self.shares = memory.empty((n_clusters, n_topics), np.float32)
        self.topics_in_cluster = memory.empty(n_clusters * n_topics, np.int32)
        self.tables_in_cluster = memory.empty(n_clusters * n_topics, np.int32)
        self.groups = memory.empty(n_clusters, np.int32)
        self.statistics = memory.empty(n_clusters * n_statistics, np.int64)
        self.totals = memory.empty(n_clusters * n_bags, np.int64)
        if self.corpus.varies:
            most = min(TABULATED, TABLE_NUMBERS // (n_clusters * n_topics) - 1)
            self.n_tabulated = max(min(most, self.observations.layout.longest), 8)
            size = n_clusters * n_topics * (self.n_tabulated + 1)
            self.rising = memory.empty(size, np.float32)
            self.log_likelihood = memory.empty(self.observations.n_groups, np.float32)
        else:
            self.shares_by_topic = memory.empty((n_topics, n_clusters), np.float32)
            self.mixtures_of_words = memory.empty(n_words * n_clusters, np.float32)
            self.tokens_of_cell = memory.empty(n_words * n_clusters, np.int32)
            memory.zero(self.tokens_of_cell)
        self.slots = (n_clusters, n_topics)

    def _grown(self, table: Any, held: int, wanted: int) -> Any:
        """Return a table of counts with more columns."""
        old = self.memory.take(table).reshape(-1, held)
        new = np.zeros((len(old), wanted), np.int32)
        new[:, :held] = old
        return self.memory.put(new.reshape(-1))

    # The steps of a sweep.

    def draw_contexts(self, state: State, key: Key) -> ContextParameters:
        """Draw φ_k of every context and cluster slot; those of bags stay on the GPU."""
        self._make_room(state, state.counts.topics_in_cluster.shape)
        if self.observations.generic_contexts:
            self.fetch(state, clusters_only=True)
        naturals, extra = draw_few(state, self.observations, key)
        n_clusters = self.slots[0]
        for rows, concentration in zip(
            self.corpus.bag_rows, self.observations.bags.concentration, strict=True
        ):
            self.gammas.draw_gamma_rows(
                rows.start * n_clusters,
                rows.stop * n_clusters,
                self.categories,
                max(float(concentration), SMALLEST_SHAPE),
                CATEGORIES,
                *key,
                True,
                self.log_categories,
            )
            self.sums.normalise_log_rows(rows.start, rows.stop, n_clusters, self.log_categories)
        return ContextParameters(naturals, self.log_categories, extra)

    def move(self, state: State, weights: Weights, contexts: ContextParameters, key: Key) -> float:
        """Draw every group's topics and cluster, and count everything anew."""
        sums_of_topics = self._draw_words(key)
        memory = self.memory
        for array in (
            self.topics_in_cluster,
            self.tables_in_cluster,
            self.words,
            self.groups,
            self.statistics,
            self.categories,
            self.totals,
        ):
            memory.zero(array)
        parameters = (
            memory.put(contexts.naturals.reshape(-1)),
            self.log_categories,
            contexts.extra,
        )
        log_clusters = memory.put(weights.log_clusters)
        move = self._move_members if self.corpus.varies else self._move_groups
        log_rising = move(state, weights, sums_of_topics, log_clusters, parameters, key)
        self._take_counts(state)
        return log_rising

    def _draw_words(self, key: Key) -> NDArray[np.float64]:
        """Draw ψ as variates (n_words, topic slots), and return each topic's sum."""
        n_topics = self.slots[1]
        size = self.variates.size
        self.gammas.draw_gamma_rows(
            0, size, self.words, self.beta, CONTENT, *key, False, self.variates
        )
        self.sums.add_columns(self.variates, n_topics, self.parts, self.column_sums)
        total = self.memory.take(self.column_sums)
        small = np.flatnonzero(total < SMALL_SUM)
        if len(small):
            self._draw_small_topics(small, total, key)
        return total

    def _draw_small_topics(
        self, small: NDArray[np.int64], total: NDArray[np.float64], key: Key
    ) -> None:
        """Draw topics in logs whose variates are too small for floats, at home."""
        n_topics = self.slots[1]
        words = self.memory.take(self.words).reshape(-1, n_topics)
        variates = self.memory.take(self.variates).reshape(-1, n_topics)
        for m in small:
            cells = np.arange(len(words), dtype=np.int64) * n_topics + m
            logs = np.array(
                [
                    log_gamma_of_cell(cell, n, self.beta, CONTENT, *key)
                    for cell, n in zip(cells, words[:, m], strict=True)
                ]
            )
            variates[:, m] = np.exp(logs - logsumexp(logs))
            total[m] = 1.0
        self.memory.put(variates.reshape(-1), self.variates)

    def _contexts_of(self, shard: Shard, parameters: tuple[Any, Any, Any]) -> tuple[Any, ...]:
        """Return the contexts of a shard with the parameters they are scored by."""
        naturals, log_categories, extra = parameters
        arrays = shard.arrays
        own = extra[shard.groups] if len(extra) else extra
        return (
            arrays["statistics"],
            arrays["bag_start"],
            arrays["bag_category"],
            arrays["bag_count"],
            naturals,
            log_categories,
            self.memory.put(own),
        )

    def _move_members(
        self,
        state: State,
        weights: Weights,
        sums_of_topics: NDArray[np.float64],
        log_clusters: Any,
        parameters: tuple[Any, Any, Any],
        key: Key,
    ) -> float:
        """Draw topics of tokens, clusters of groups and their tables: λ finite."""
        memory, n_topics = self.memory, self.slots[1]
        # ψ times the number of words: most are near 1, far from where floats end.
        scale = (self.observations.n_words / sums_of_topics).astype(np.float32)
        self.sums.scale_columns(self.variates, n_topics, memory.put(scale))
        base = memory.put(as_floats(state.lam * np.exp(weights.log_shares)), self.shares)
        self.placing.tabulate_log_rising(base, self.n_tabulated, self.rising)
        for shard in self.corpus.shards():
            clusters = self.clusters[shard.groups]
            resident = self.corpus.is_resident
            topics = self.topics[0] if resident else memory.put(self.topics[0][shard.tokens])
            before = (shard.n_groups, shard.groups.start, shard.tokens.start)
            self.members.sweep_tokens(
                *before,
                shard.arrays["order"],
                shard.arrays["group_start"],
                shard.arrays["word"],
                base,
                self.variates,
                *key,
                clusters,
                topics,
                self.words,
            )
            self.placing.place_groups(
                *before,
                shard.arrays["group_start"],
                topics,
                base,
                self.rising,
                self.n_tabulated,
                log_clusters,
                self._contexts_of(shard, parameters),
                *key,
                clusters,
                self.topics_in_cluster,
                self.tables_in_cluster,
                self.log_likelihood[shard.groups],
            )
            if not resident:
                self.topics[0][shard.tokens] = memory.take(topics)
            self._count(shard)
        self.sums.add_floats(self.log_likelihood, self.partial)
        return float(memory.take(self.partial).sum())

    def _move_groups(
        self,
        state: State,
        weights: Weights,
        sums_of_topics: NDArray[np.float64],
        log_clusters: Any,
        parameters: tuple[Any, Any, Any],
        key: Key,
    ) -> float:
        """Draw clusters with topics summed out, then topics by (cluster, word) cell: λ = ∞."""
        memory, n_words = self.memory, self.observations.n_words
        shares = as_floats(np.exp(weights.log_shares)) / sums_of_topics.astype(np.float32)
        memory.put(shares, self.shares)
        memory.put(np.ascontiguousarray(shares.T), self.shares_by_topic)
        self.mixtures.tabulate_log_mixtures(
            n_words, self.variates, self.shares_by_topic, self.mixtures_of_words
        )
        for shard in self.corpus.shards():
            self.mixtures.draw_clusters_of_words(
                shard.n_groups,
                shard.groups.start,
                shard.arrays["order"],
                shard.arrays["entry_start"],
                shard.arrays["entry_word"],
                shard.arrays["entry_count"],
                self.mixtures_of_words,
                log_clusters,
                self._contexts_of(shard, parameters),
                *key,
                self.clusters[shard.groups],
                self.tokens_of_cell,
            )
            self._count(shard)
        self.cells.draw_cells(
            n_words,
            self.word_order,
            self.word_start,
            self.shares,
            self.variates,
            self.tokens_of_cell,
            *key,
            self.topics_in_cluster,
            self.words,
        )
        return 0.0

    def _count(self, shard: Shard) -> None:
        """Count the groups of a shard, and add up their contexts."""
        arrays = shard.arrays
        self.sums.count_contexts(
            self.clusters[shard.groups],
            arrays["statistics"],
            self.scales,
            (arrays["bag_start"], arrays["bag_category"], arrays["bag_count"]),
            self.groups,
            self.statistics,
            self.categories,
            self.totals,
        )

    def _take_counts(self, state: State) -> None:
        """Bring home the counts that are as small as clusters × topics."""
        take, (n_clusters, n_topics), counts = self.memory.take, self.slots, state.counts
        state.take_topics(take(self.topics_in_cluster).reshape(n_clusters, n_topics))
        if self.corpus.varies:
            state.tables_in_cluster = take(self.tables_in_cluster).reshape(n_clusters, n_topics)
        counts.groups_in_cluster = take(self.groups)
        whole = take(self.statistics).reshape(n_clusters, -1)
        counts.context_statistics = whole / self.corpus.scales
        counts.category_totals = take(self.totals).reshape(n_clusters, -1)

    def log_tables(self, state: State) -> float:
        """Return the log-density of the content given topics and of bags given clusters."""
        observations, counts, n_clusters = self.observations, state.counts, self.slots[0]
        total = self._log_counts(self.words, self.beta, self.known)
        prior = self.priors.content.kernel_parameters()
        total += log_without_probabilities(prior, counts.tokens_in_topic)
        for c, family in enumerate(observations.bag_families):
            rows = self.corpus.bag_rows[c]
            held = self.categories[rows.start * n_clusters : rows.stop * n_clusters]
            prior = family.kernel_parameters()
            total += self._log_counts(held, float(prior[0]), self.known_of_bag[c])
            totals = np.ascontiguousarray(counts.category_totals[:, c])
            total += log_without_probabilities(prior, totals)
        return total

    def _log_counts(self, counts: Any, concentration: float, known: Any) -> float:
        self.sums.add_log_rising(counts, concentration, known, self.partial)
        return float(self.memory.take(self.partial).sum())
