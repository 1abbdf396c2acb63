"""Contexts that act on topics, on the GPU: rows of topic weights of values, and base measures."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mcsquared.arrays import Floats
from mcsquared.families.numerics import log_rising_factorial
from mcsquared.kernels.cpu.effects import EffectValues
from mcsquared.kernels.cuda.arrays import N_PARTIAL_SUMS, weigh_topics
from mcsquared.kernels.cuda.effect_values import (
    add_log_ratios,
    draw_log_shares_of_values,
    draw_tables_of_values,
)
from mcsquared.kernels.cuda.effects import fill_bases, resample_groups_with_effects
from mcsquared.kernels.cuda.memory import copy_to_device, empty
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.buffers import Buffers, Shapes
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.steps.effects import (
    FIRST_ROW,
    MIN_FLOAT32_SHAPE,
    padded_starts,
    scales_of_patterns,
)
from mcsquared.samplers.steps.weights import NEGLIGIBLE_SHARE
from mcsquared.samplers.types import EffectDraw, Globals, Key
from mcsquared.state import State

MAX_BASES = 1 << 24  # numbers λ b_jm of words in memory at a time: 64 MiB
VALUE_ARRAYS = [f"value_{name}" for name in EffectValues._fields]


class Sources(NamedTuple):
    """Fields of `SourceRows` on the device, flat."""

    base: Any
    rows: Any
    weights: Any
    scales: Any


class BaseMeasures(NamedTuple):
    """Base measures of some groups of a shard on the device, by group or by cluster."""

    n_groups: int
    order: Any  # int64 (n_groups,): the groups
    row_of_group: Any  # int32 (groups of the shard,): rows of these groups
    rows: Any  # flat, float32: λ b_j; of vectors b_j, float64
    log_rows: Any = None  # flat, float64: log b_j, of vectors only


class DeviceEffects:
    """The effects of all groups of a corpus."""

    buffers: Buffers

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        self.is_words, self.corpus = observations.n_words > 0, corpus
        self.offsets = priors.effect_offsets
        self.n_values, self.n_effects = self.offsets[-1], len(priors.effects)
        self.row_of_group = empty(corpus.max_groups, np.int32)
        sizes, start = np.diff(self.offsets), padded_starts(self.offsets)
        effect = np.repeat(np.arange(self.n_effects), sizes)
        position = np.arange(self.n_values) + (start[:-1] - self.offsets[:-1])[effect]
        self.n_positions = int(start[-1])
        self.effect = copy_to_device(effect.astype(np.int32))
        self.position = copy_to_device(position.astype(np.int32))

    def count_shapes(self, n_slots: int) -> Shapes:
        """Return shapes and dtypes of the counts of a sweep."""
        return {
            "tables_of_values": ((self.n_values, n_slots), np.int32),
            "tables_by_pattern": ((2**self.n_effects,), np.int64),
        }

    def host_shapes(self, n_slots: int) -> Shapes:
        """Return shapes and dtypes of other arrays that are copied to the host after a sweep."""
        return {
            "effect_tables": ((self.n_values, n_slots), np.int32),
            "log_effects": ((N_PARTIAL_SUMS,), np.float64),
        }

    def allocate(self, buffers: Buffers, shares: Any) -> None:
        """Allocate the rows of sources and base measures for the slots of ``buffers``.

        ``shares`` are τ of clusters on the device, float64, if tokens are vectors.
        """
        self.buffers, n_slots = buffers, buffers.n_slots
        self.log_rows = empty(self.n_values * n_slots, np.float64)
        self.shapes = empty(self.n_effects * n_slots, np.float64)
        # λ τ_km by topic; `buffers.base` has it by cluster.
        self.base_by_topic = empty(buffers.n_cluster_slots * n_slots, np.float32)
        self.group_sources = self._sources(self.base_by_topic, np.float32)
        if self.is_words:
            self.token_sources = self.group_sources._replace(base=buffers.base)
            self.n_rows = min(max(MAX_BASES // n_slots, 1), self.corpus.max_groups)
        else:
            self.token_sources = self._sources(shares, np.float64)
            self.n_rows = self.corpus.max_block[0]
        self.bases = empty(self.n_rows * n_slots, self.token_sources.rows.dtype)
        self.log_bases = empty(0 if self.is_words else self.bases.size, np.float64)

    def _sources(self, base: Any, dtype: Any) -> Sources:
        sizes = (self.log_rows.size, self.n_effects + 1, 2**self.n_effects)
        return Sources(base, *(empty(size, dtype) for size in sizes))

    def load_tables(self, state: State) -> None:
        """Copy the tables of values to the GPU."""
        assert state.effects is not None
        tables = state.effects.tables.reshape(-1).astype(np.int32)
        copy_to_device(tables, self.buffers.device["tables_of_values"])

    def draw(self, state: State, topic_weights: Floats, key: Key) -> EffectDraw:
        """Draw log τ_s of every value s on the GPU, as `draw_effects` does."""
        assert state.effects is not None
        tables, values = self.buffers.device["tables_of_values"], (self.position, self.effect)
        copy_to_device((state.effects.v[:, None] * topic_weights).reshape(-1), self.shapes)
        sizes = (self.n_values, self.buffers.n_slots, self.n_positions)
        prior = (self.shapes, MIN_FLOAT32_SHAPE)
        draw_log_shares_of_values(*sizes, *values, *prior, tables, *key, self.log_rows)
        weights = state.effects.weights.copy()
        self._prepare(weights, state.lam)
        return EffectDraw(self.log_rows, weights)

    def load(self, effects: EffectDraw, lam: float) -> None:
        """Copy topic weights that were drawn on the host, instead of `draw`."""
        copy_to_device(effects.log_shares.reshape(-1), self.log_rows)
        self._prepare(effects.weights, lam)

    def _prepare(self, weights: Floats, lam: float) -> None:
        self._weigh(self.group_sources, weights, lam, NEGLIGIBLE_SHARE)
        if not self.is_words:
            self._weigh(self.token_sources, weights, 1.0, 0.0)

    def _weigh(self, sources: Sources, weights: Floats, factor: float, minimum: float) -> None:
        """Fill the arrays of `Sources`, except those of clusters."""
        rows, no_sums = sources.rows, self.buffers.no_sums
        no_copy = no_sums if rows.dtype == no_sums.dtype else self.buffers.no_shares
        inputs = (rows.size, self.buffers.n_slots, self.log_rows, float(factor), minimum)
        weigh_topics(*inputs, no_sums, rows, no_copy)
        copy_to_device(weights.astype(rows.dtype), sources.weights)
        copy_to_device(scales_of_patterns(weights).astype(rows.dtype), sources.scales)

    def bases_of_words(self, shard: Shard, clusters: Any) -> Iterator[BaseMeasures]:
        """Yield λ b_j of the groups of a shard, for batches of groups of similar lengths."""
        for first in range(0, shard.n_groups, max(self.n_rows, 1)):
            yield self.bases_of(shard, clusters, first, min(first + self.n_rows, shard.n_groups))

    def bases_of(self, shard: Shard, clusters: Any, first: int, last: int) -> BaseMeasures:
        """Return base measures of the groups ``order[first:last]`` of a shard."""
        n_slots, order = self.buffers.n_slots, shard.arrays.order
        groups = ((last - first) * n_slots, n_slots, first, order, clusters)
        out = (self.row_of_group, self.bases, self.log_bases)
        fill_bases(*groups, *self._values(shard), *self.token_sources, *out)
        return BaseMeasures(last - first, order[first:last], *out)

    def _values(self, shard: Shard) -> list[Any]:
        return [getattr(shard.arrays, name) for name in VALUE_ARRAYS]

    def resample_groups(
        self,
        shard: Shard,
        labels: tuple[Any, Any],
        contexts: tuple[Any, ...],
        globals_: Globals,
        log_likelihood: Any,
    ) -> None:
        """Draw z_j and the tables of the groups of a shard, and count these."""
        buffers, (clusters, topics) = self.buffers, labels
        resample = resample_groups_with_effects(buffers.n_slots, buffers.clusters_per_thread)
        sizes = (shard.n_groups, shard.first_group, shard.first_token, buffers.n_cluster_slots)
        tokens = (shard.arrays.group_start, topics, *self._values(shard), float(globals_.lam))
        names = ("topics_in_cluster", "tables_in_cluster", "tables_of_values", "tables_by_pattern")
        out = (clusters, *(buffers.device[name] for name in names), log_likelihood)
        resample(*sizes, *tokens, *self.group_sources, *contexts, *globals_.key, *out)

    def finish(self, key: Key) -> None:
        """Draw the tables of ε from values, and sum the terms of the log joint, after a sweep."""
        device, n_slots = self.buffers.device, self.buffers.n_slots
        tables, values = device["tables_of_values"], (self.effect, self.shapes)
        out = device["effect_tables"]
        draw_tables_of_values(tables.size, n_slots, FIRST_ROW, *values, tables, *key, out)
        inputs = (n_slots, *values, tables, self.log_rows)
        add_log_ratios(N_PARTIAL_SUMS, *inputs, device["log_effects"])

    def log_terms(self, state: State, weights: Floats) -> float:
        """Return the terms of the log joint; ``weights`` are all of ε."""
        assert state.effects is not None
        total, tables = float(self.buffers.host["log_effects"].sum()), state.effects.tables
        for v, (first, last) in zip(state.effects.v, pairwise(self.offsets), strict=True):
            totals = tables[first:last].sum(axis=1).astype(np.float64)
            total -= float(log_rising_factorial(float(v * weights.sum()), totals).sum())
        return total
