"""Words on the GPU: counts by word and topic stay on the device, where ψ is drawn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int32s
from mcsquared.kernels.cpu.counts import log_rising_factorials
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cuda.arrays import (
    N_PARTIAL_SUMS,
    add_columns,
    add_log_rising_factorials,
    scale_columns,
    weigh_topics,
)
from mcsquared.kernels.cuda.cells import draw_cells
from mcsquared.kernels.cuda.gammas import draw_gamma_rows
from mcsquared.kernels.cuda.memory import copy_to_device, copy_to_host, empty, fill_zeros
from mcsquared.kernels.cuda.messages import add_messages_of_words
from mcsquared.kernels.cuda.mixtures import draw_clusters_of_words, tabulate_log_mixtures
from mcsquared.kernels.cuda.varying_tokens import sweep_tokens
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.buffers import Buffers, DeviceContent, Shapes, resized
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard, longest_first
from mcsquared.samplers.backends.cuda.effects import BaseMeasures, DeviceEffects
from mcsquared.samplers.steps.log_joint import N_TABULATED, log_density_of_totals
from mcsquared.samplers.steps.psi import SMALL_SUM, draw_small_topics
from mcsquared.samplers.steps.weights import NEGLIGIBLE_SHARE
from mcsquared.samplers.types import Globals, Key, Sweep
from mcsquared.state import State

CONTENT = int(Step.CONTENT)
MAX_SMALL_SHAPE = 8.0  # a Gamma of a larger shape is below `SMALL_SUM` once in 10⁸⁴ draws


class DeviceWords(DeviceContent):
    """The words of all groups."""

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        super().__init__(observations, priors, corpus)
        self.n_words = observations.n_words
        self.beta = float(priors.content.kernel_parameters()[0])
        self.tabulated = copy_to_device(log_rising_factorials(self.beta, N_TABULATED))
        if not corpus.groups_vary:
            word_start = observations.layout.word_start
            self.word_order = copy_to_device(longest_first(word_start))
            self.word_start = copy_to_device(word_start)

    def load_counts(self, words_in_topic: Int32s) -> None:
        """Copy counts to the GPU."""
        self.words = copy_to_device(words_in_topic.reshape(-1))

    def save_counts(self, state: State) -> None:
        """Copy counts to a state."""
        state.counts.words_in_topic = self._to_host(self.words)

    def _to_host(self, array: Any) -> NDArray[Any]:
        """Copy an array with a row per word to the host."""
        return copy_to_host(array).reshape(self.n_words, -1)

    def resize(self, n_old: int, n_new: int) -> None:
        """Add topic slots to the counts."""
        self.words = resized(self.words, n_old, n_new)

    def host_shapes(self, n_slots: int) -> Shapes:
        """Return shapes and dtypes of the arrays that are copied to the host after a sweep."""
        return {"log_counts": ((N_PARTIAL_SUMS,), np.float64)}

    def allocate(self, buffers: Buffers) -> None:
        """Allocate arrays of draws and counts for the slots of ``buffers``."""
        n_cluster_slots, n_slots = buffers.slots
        self.buffers = buffers
        self.sums = empty(n_slots, np.float64)
        self.variates = empty(self.n_words * n_slots, np.float32)
        self.parts = empty(N_PARTIAL_SUMS * n_slots, np.float64)
        if not buffers.groups_vary:
            self.shares = empty(n_cluster_slots * n_slots, np.float32)
            self.shares_by_topic = empty(n_cluster_slots * n_slots, np.float32)
            self.mixtures = empty(self.n_words * n_cluster_slots, np.float32)
            self.tokens_of_cell = empty(self.n_words * n_cluster_slots, np.int32)

    def draw(self, sweep: Sweep) -> None:
        """Draw ψ as variates (n_words, topic slots), with each topic's sum."""
        variates, key = self.variates, sweep.key
        draw_gamma_rows(
            variates.size, 0, self.words, self.beta, CONTENT, *sweep.key, False, variates
        )
        add_columns(self.buffers.n_slots, variates, self.parts, self.sums)
        if self.beta * self.n_words < MAX_SMALL_SHAPE:
            self._draw_small_topics(key)

    def _draw_small_topics(self, key: Key) -> None:
        """Redraw topics whose variates underflow, in logs on the host."""
        sums = copy_to_host(self.sums)
        if (sums < SMALL_SUM).any():
            variates = self._to_host(self.variates)
            draw_small_topics(self._to_host(self.words), self.beta, key, variates, sums)
            copy_to_device(variates.reshape(-1), self.variates)
            copy_to_device(sums, self.sums)

    def prepare(self) -> None:
        """Scale ψ or, where λ = ∞, tabulate the mixtures of the clusters."""
        buffers, n_slots = self.buffers, self.buffers.n_slots
        if buffers.groups_vary:
            # ψ times the number of words: most values are near 1, far from the limits of floats.
            scale_columns(self.variates.size, n_slots, self.variates, self.sums, self.n_words)
            return
        log_shares, out = buffers.device["log_shares"], (self.shares, self.shares_by_topic)
        weigh_topics(self.shares.size, n_slots, log_shares, 1.0, NEGLIGIBLE_SHARE, self.sums, *out)
        self._tabulate_mixtures()

    def load(self, globals_: Globals) -> None:
        """Copy ψ and τ that were drawn on the host, instead of `draw` and `prepare`."""
        copy_to_device(globals_.content.reshape(-1), self.variates)
        if globals_.scaled_shares is not None:
            copy_to_device(globals_.scaled_shares.T.reshape(-1), self.shares_by_topic)
            self._tabulate_mixtures()

    def clear(self) -> None:
        """Set all counts to 0."""
        fill_zeros(self.words)
        if not self.buffers.groups_vary:
            fill_zeros(self.tokens_of_cell)

    def _tabulate_mixtures(self) -> None:
        tabulate_log_mixtures(
            self.n_words, self.buffers.slots, self.variates, self.shares_by_topic, self.mixtures
        )

    def draw_topics(
        self,
        shard: Shard,
        labels: tuple[Any, Any],
        globals_: Globals,
        effects: DeviceEffects | None,
    ) -> None:
        """Draw the topics of a shard's tokens given each other, and count them (λ finite)."""
        arrays, (clusters, topics) = shard.arrays, labels
        draw = sweep_tokens(self.buffers.n_slots // N_LANES)
        before, tokens = (shard.first_group, shard.first_token), (arrays.group_start, arrays.word)
        by_cluster = BaseMeasures(shard.n_groups, arrays.order, clusters, self.buffers.base)
        for part in [by_cluster] if effects is None else effects.bases_of_words(shard, clusters):
            weights = (part.rows, self.variates)
            out = (part.row_of_group, topics, self.words)
            draw(part.n_groups, *before, part.order, *tokens, *weights, *globals_.key, *out)

    def draw_clusters(
        self, shard: Shard, contexts: tuple[Any, ...], labels: tuple[Any, Any], key: Key
    ) -> None:
        """Draw the clusters of a shard's groups with topics integrated out (λ = ∞)."""
        buffers, arrays = self.buffers, shard.arrays
        draw = draw_clusters_of_words(buffers.clusters_per_thread)
        sizes = (shard.n_groups, shard.first_group, buffers.n_cluster_slots)
        words = (arrays.order, arrays.entry_start, arrays.entry_word, arrays.entry_count)
        weights = (self.mixtures, buffers.log_cluster_weights)
        draw(*sizes, *words, *weights, *contexts, *key, labels[0], self.tokens_of_cell)

    def add_messages(self, shard: Shard, arguments: tuple[Any, ...]) -> None:
        """Add the messages of a shard's groups, topics integrated out (λ = ∞).

        ``arguments`` are the contexts and the result of `DeviceMessages.arguments_for`.
        """
        buffers, arrays = self.buffers, shard.arrays
        add = add_messages_of_words(buffers.clusters_per_thread)
        words = (arrays.order, arrays.entry_start, arrays.entry_word, arrays.entry_count)
        add(shard.n_groups, buffers.n_cluster_slots, *words, self.mixtures, *arguments)

    def draw_cell_topics(self, key: Key) -> None:
        """Draw topics by (cluster, word) cell (λ = ∞)."""
        buffers = self.buffers
        if not buffers.groups_vary:
            words = (self.word_order, self.word_start)
            sizes, out = (
                (self.n_words, buffers.n_cluster_slots),
                buffers.device["topics_in_cluster"],
            )
            weights = (self.shares, self.variates, self.tokens_of_cell)
            draw_cells(buffers.n_slots)(*sizes, *words, *weights, *key, out, self.words)

    def add_log_counts(self) -> None:
        """Add up the log-densities of all counts, in parts."""
        out = self.buffers.device["log_counts"]
        add_log_rising_factorials(N_PARTIAL_SUMS, self.words, self.beta, self.tabulated, out)

    def host_sums(self, all_sums: bool) -> dict[str, NDArray[Any] | None]:
        """Return tokens by word and topic on the host; where λ = ∞, by word and cluster."""
        if not all_sums:
            return {}
        if self.buffers.groups_vary:
            return {"words_in_topic": self._to_host(self.words)}
        return {"topics_in_cluster": None, "cell_counts": self._to_host(self.tokens_of_cell)}

    def log_density(self, state: State) -> float:
        """Return the log-density of the words given their topics."""
        total = float(self.buffers.host["log_counts"].sum())
        prior = self.priors.content.kernel_parameters()
        tokens = np.ascontiguousarray(state.counts.tokens_in_topic)
        return total + log_density_of_totals(prior, tokens)
