"""Content other than words on the GPU: parameters of topics are copied in, their statistics out."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.vector_tokens import natural_tokens
from mcsquared.kernels.cuda import vector_statistics as kernels
from mcsquared.kernels.cuda.arrays import add_chunks, weigh_topics
from mcsquared.kernels.cuda.clusters import draw_clusters_by_scores
from mcsquared.kernels.cuda.memory import copy_to_device, empty, fill_zeros
from mcsquared.kernels.cuda.messages import add_messages_by_scores
from mcsquared.kernels.cuda.vector_groups import score_vector_groups
from mcsquared.kernels.cuda.vector_tokens import draw_vector_topics, sweep_vector_groups
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.buffers import Buffers, DeviceContent, Shapes
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.backends.cuda.effects import BaseMeasures, DeviceEffects
from mcsquared.samplers.content.python_families import checked_naturals
from mcsquared.samplers.steps.globals import draw_topic_parameters
from mcsquared.samplers.types import Globals, Key, Sweep
from mcsquared.state import State


class DeviceVectors(DeviceContent):
    """The tokens of all groups, as vectors."""

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        super().__init__(observations, priors, corpus)
        self.width = corpus.width
        factors = kernels.factors_of(observations.content_kernel, self.width)
        if observations.python_content is not None:  # the values are the statistics
            factors = np.array([range(self.width), [-1] * self.width], np.int32)
        self.n_statistics = factors.shape[1]
        self.factors = copy_to_device(factors)
        self.token_in_order = empty(corpus.max_tokens, np.int32)

    def host_shapes(self, n_slots: int) -> Shapes:
        """Return shapes and dtypes of the arrays that are copied to the host after a sweep."""
        return {"topic_statistics": ((n_slots, self.n_statistics), np.float64)}

    def allocate(self, buffers: Buffers) -> None:
        """Allocate arrays of draws and sums for the slots of ``buffers``."""
        corpus, (n_cluster_slots, n_slots) = self.corpus, buffers.slots
        n_cells, n_chunks = n_cluster_slots * n_slots, corpus.n_chunks
        max_groups, max_tokens = corpus.max_block
        self.buffers = buffers
        self.log_shares = buffers.device["log_shares"]
        self.natural = empty(self.n_statistics * n_slots, np.float64)
        self.rows = empty(max_tokens * n_slots, np.float64)
        self.shares = empty(n_cells, np.float64)
        self.shares_by_topic = empty(0 if buffers.groups_vary else n_cells, np.float64)
        self.scores = empty(0 if buffers.groups_vary else max_groups * n_cluster_slots, np.float64)
        self.starts = empty(n_chunks * n_slots * kernels.N_SEGMENTS, np.int32)
        self.statistics = empty(n_chunks * n_slots * self.n_statistics, np.float64)

    def draw(self, sweep: Sweep) -> None:
        """Draw the parameters of all topics on the host, and copy them to the GPU."""
        self._load_parameters(draw_topic_parameters(sweep))

    def _load_parameters(self, parameters: Any) -> None:
        family = self.observations.content_family
        natural = family.natural_parameters(parameters)
        if family.kernel is None:
            natural = checked_naturals(family, natural, self.buffers.n_slots)
        no_values = np.zeros((0, self.width))
        tokens = natural_tokens(self.observations.content_kernel, no_values, natural)
        copy_to_device(tokens.natural.reshape(-1), self.natural)

    def prepare(self) -> None:
        """Compute τ from its logarithm."""
        sizes, no_sums = (self.shares.size, self.buffers.n_slots), self.buffers.no_sums
        weigh_topics(*sizes, self.log_shares, 1.0, 0.0, no_sums, self.shares, self.shares_by_topic)

    def load(self, globals_: Globals) -> None:
        """Copy parameters that were drawn on the host, instead of `draw` and `prepare`."""
        self._load_parameters(globals_.content)
        self.prepare()

    def clear(self) -> None:
        """Set all sums to 0."""
        fill_zeros(self.statistics)

    def draw_topics(
        self,
        shard: Shard,
        labels: tuple[Any, Any],
        globals_: Globals,
        effects: DeviceEffects | None,
    ) -> None:
        """Draw the topics of a shard's tokens given each other, and sum them (λ finite)."""
        arrays, (clusters, topics) = shard.arrays, labels
        draw = sweep_vector_groups(self.buffers.n_slots)
        tokens = (arrays.order, arrays.group_start, self.rows)
        parameters = (float(globals_.lam), *globals_.key)
        weights = BaseMeasures(0, arrays.order, clusters, self.shares, self.log_shares)
        for (first, last), tokens_of_block in zip(shard.blocks, shard.block_tokens, strict=True):
            self._fill_rows(shard, tokens_of_block)
            if effects is not None:
                weights = effects.bases_of(shard, clusters, first, last)
            inputs = (*tokens, weights.rows, weights.log_rows, *parameters)
            draw(last - first, first, shard.first_token, *inputs, weights.row_of_group, topics)
        self._add_statistics(shard, topics)

    def draw_clusters(
        self, shard: Shard, contexts: tuple[Any, ...], labels: tuple[Any, Any], key: Key
    ) -> None:
        """Draw clusters with topics integrated out, then topics, and sum those (λ = ∞)."""
        buffers, arrays = self.buffers, shard.arrays
        draw_clusters = draw_clusters_by_scores(buffers.clusters_per_thread)
        draw_topics = draw_vector_topics(buffers.n_slots)
        weights = (buffers.log_cluster_weights, *contexts)
        shares, out = (self.shares, self.log_shares), buffers.device["topics_in_cluster"]
        for first, last, n_tokens in self._score_blocks(shard):
            groups, tokens = (last - first, first, buffers.n_cluster_slots), (n_tokens, first, last)
            draw_clusters(*groups, self.scores, *weights, *key, shard.first_group, labels[0])
            rows = (arrays.group_start, self.rows)
            draw_topics(*tokens, shard.first_token, *rows, *shares, *key, *labels, out)
        self._add_statistics(shard, labels[1])

    def add_messages(self, shard: Shard, arguments: tuple[Any, ...]) -> None:
        """Add the messages of a shard's groups, topics integrated out (λ = ∞).

        ``arguments`` are the contexts and the result of `DeviceMessages.arguments_for`.
        """
        add = add_messages_by_scores(self.buffers.clusters_per_thread)
        for first, last, _ in self._score_blocks(shard):
            add(last - first, first, self.buffers.n_cluster_slots, self.scores, *arguments)

    def _score_blocks(self, shard: Shard) -> Iterator[tuple[int, int, int]]:
        """Score the groups of each block in every cluster; yield its bounds and n_tokens."""
        buffers, arrays = self.buffers, shard.arrays
        score_groups = score_vector_groups(buffers.n_slots, buffers.clusters_per_thread)
        shares = (self.log_shares, self.shares_by_topic)
        for (first, last), tokens in zip(shard.blocks, shard.block_tokens, strict=True):
            self._fill_rows(shard, tokens)
            groups = (last - first, first, buffers.n_cluster_slots, arrays.order)
            score_groups(*groups, arrays.group_start, self.rows, *shares, self.scores)
            yield first, last, tokens[1] - tokens[0]

    def _fill_rows(self, shard: Shard, tokens: tuple[int, int]) -> None:
        """Compute the log-likelihoods of the tokens of a block."""
        sizes, values = (self.buffers.n_slots, self.width), (shard.arrays.values, self.factors)
        kernels.log_likelihood_rows(*tokens, *sizes, *values, self.natural, self.rows)

    def _add_statistics(self, shard: Shard, topics: Any) -> None:
        """Add a shard's tokens to the statistics of their topics, chunk by chunk."""
        n_slots = self.buffers.n_slots
        chunks = shard.arrays.chunk_start
        order = (self.starts, self.token_in_order)
        kernels.sort_by_topic(n_slots, chunks, topics, *order)
        sizes = (self.statistics.size, n_slots, self.width)
        values = (shard.arrays.values, self.factors)
        kernels.add_statistics(*sizes, chunks, *values, *order, self.statistics)

    def finish_sums(self) -> None:
        """Add the sums of all chunks, in their order."""
        out = self.buffers.device["topic_statistics"]
        add_chunks(out.size, self.statistics, out)

    def host_sums(self, all_sums: bool) -> dict[str, NDArray[Any] | None]:
        """Return the topics' statistics, as the sums of a single chunk."""
        folded = self.buffers.host["topic_statistics"]
        statistics = kernels.unfold_statistics(self.observations.content_kernel, self.width, folded)
        return {"topic_statistics": statistics[None]}

    def log_density(self, state: State) -> float:
        """Return the log-density of the tokens given their topics, without base measure."""
        counts = state.counts
        active = counts.tokens_in_topic > 0
        return float(self.priors.content.log_marginal(counts.topic_statistics[active]).sum())
