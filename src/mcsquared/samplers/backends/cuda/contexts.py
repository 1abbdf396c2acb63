"""Contexts of groups on the GPU: parameters and scores, sums and counts by cluster."""

from typing import Any

import numpy as np

from mcsquared.arrays import Floats, Int32s
from mcsquared.kernels.cpu.counts import log_rising_factorials
from mcsquared.kernels.cuda.arrays import (
    N_PARTIAL_SUMS,
    add_log_rising_factorials,
    count_contexts,
    normalise_log_columns,
)
from mcsquared.kernels.cuda.gammas import draw_gamma_rows
from mcsquared.kernels.cuda.memory import copy_to_device, copy_to_host, fill_zeros
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.backgrounds import DeviceBackgrounds
from mcsquared.samplers.backends.cuda.buffers import Buffers, resized
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.backends.cuda.levels import HostScores
from mcsquared.samplers.steps.contexts import MIN_BAG_SHAPE, draw_log_categories
from mcsquared.samplers.steps.log_joint import N_TABULATED, log_bags, log_density_of_totals
from mcsquared.samplers.types import Globals, Sweep
from mcsquared.state import State

CATEGORIES = int(Step.CATEGORIES)


class DeviceContexts:
    """The contexts of all groups; counts of categories stay on the device."""

    buffers: Buffers

    def __init__(self, observations: Observations, corpus: DeviceCorpus) -> None:
        self.observations, self.corpus = observations, corpus
        self.scales = copy_to_device(corpus.scales)
        self.bags = [
            (rows, shape, copy_to_device(log_rising_factorials(shape, N_TABULATED)))
            for rows, (family, _) in zip(corpus.bag_rows, observations.bag_columns, strict=True)
            for shape in (family.initial_shape,)
        ]

        self.backgrounds: DeviceBackgrounds | None = None
        if observations.background_columns:
            self.backgrounds = DeviceBackgrounds(observations, corpus)

    def allocate(self, buffers: Buffers) -> None:
        """Allocate scores for the slots of ``buffers``, if contexts have a background."""
        self.buffers = buffers
        n_statistics = self.observations.n_context_statistics
        self._python_statistics = np.zeros((buffers.n_cluster_slots, n_statistics))
        if self.backgrounds is not None:
            self.backgrounds.allocate(buffers)

    def load_counts(self, categories: Int32s) -> None:
        """Copy counts (categories of all bags, cluster slots) to the GPU."""
        self.categories = copy_to_device(self.corpus.pad_categories(categories))

    def resize(self, n_old: int, n_new: int) -> None:
        """Add cluster slots to the counts."""
        self.categories = resized(self.categories, n_old, n_new)

    def host_categories(self) -> Int32s:
        """Return the counts of categories on the host: (categories, cluster slots)."""
        counts = copy_to_host(self.categories).reshape(-1, self.buffers.n_cluster_slots)
        return counts[self.corpus.row_of_category]

    def draw_log_categories(self, sweep: Sweep) -> Any:
        """Draw the log-probabilities of the categories of all bags in every cluster slot.

        They are drawn on the host if the Dirichlet parameters of categories differ.
        """
        n_cluster_slots, key = self.buffers.n_cluster_slots, sweep.key
        out = self.buffers.log_categories
        if self.observations.has_learned_bags:
            copy_to_device(self.corpus.pad_categories(draw_log_categories(sweep)), out)
            return out
        for rows, concentration, _ in self.bags:
            shape = max(concentration, MIN_BAG_SHAPE)
            cells = (len(rows) * n_cluster_slots, rows.start * n_cluster_slots)
            draw_gamma_rows(*cells, self.categories, shape, CATEGORIES, *key, True, out)
            normalise_log_columns(n_cluster_slots, rows.start, rows.stop, out)
        return out

    def begin(self, globals_: Globals) -> None:
        """Copy to the GPU what the scores of clusters depend on."""
        self._key = globals_.key
        self._scores = HostScores(self.observations, self.buffers, globals_)
        if self.backgrounds is not None:
            self.backgrounds.load(globals_.contexts.background)
        self.buffers.load_weights(globals_.weights.log_cluster_weights, globals_.contexts.natural)

    def of_shard(self, shard: Shard) -> tuple[Any, ...]:
        """Return the contexts of a shard with the parameters that score them."""
        buffers, arrays = self.buffers, shard.arrays
        bags = (arrays.bag_start, arrays.bag_category, arrays.bag_count)
        parameters = (buffers.natural, buffers.log_categories)
        scores = self._scores.of_shard(shard)
        if self.backgrounds is not None:
            scores = self.backgrounds.add_scores(shard, scores)
        return (arrays.statistics, *bags, *parameters, *scores)

    def clear(self) -> None:
        """Set counts of categories and sums on the host to 0; `Buffers.clear` clears the others."""
        fill_zeros(self.categories)
        self._python_statistics[:] = 0.0

    def count(self, shard: Shard, clusters: Any) -> None:
        """Count the groups of a shard, and add up their contexts."""
        arrays, device = shard.arrays, self.buffers.device
        bags = (arrays.bag_start, arrays.bag_category, arrays.bag_count)
        out = (device["groups"], device["statistics"], self.categories, device["totals"])
        count_contexts(shard.n_groups, clusters, arrays.statistics, self.scales, *bags, *out)
        if self.backgrounds is not None:
            self.backgrounds.count(shard, clusters, self._key, self.scales)

    def add_python_statistics(self, groups: Observations, clusters: Int32s) -> None:
        """Add the statistics of contexts of Python families to those of the clusters."""
        for context, columns in groups.python_columns:
            np.add.at(self._python_statistics[:, columns], clusters, context.statistics)

    def host_statistics(self) -> Floats:
        """Return the statistics of contexts; those of Python families are summed on the host."""
        dense = self.buffers.host["statistics"] / self.corpus.scales
        n_dense, statistics = self.corpus.n_statistics, self._python_statistics.copy()
        statistics[:, :n_dense] = dense[:, :n_dense]
        statistics[:, statistics.shape[1] - dense.shape[1] + n_dense :] = dense[:, n_dense:]
        return statistics

    def add_log_counts(self) -> None:
        """Add up the log-densities of the counts of categories, in parts."""
        n_cluster_slots = self.buffers.n_cluster_slots
        for c, (rows, concentration, tabulated) in enumerate(self.bags):
            counts = self.categories[rows.start * n_cluster_slots : rows.stop * n_cluster_slots]
            out = self.buffers.device[f"log_counts {c}"]
            add_log_rising_factorials(N_PARTIAL_SUMS, counts, concentration, tabulated, out)

    def add_log_density(self, state: State, total: float) -> float:
        """Return ``total`` plus the log-density of bags given clusters."""
        if self.observations.has_learned_bags:
            return total + log_bags(state, self.observations)
        for c, family in enumerate(self.observations.bag_families):
            total += float(self.buffers.host[f"log_counts {c}"].sum())
            observed = np.ascontiguousarray(state.counts.category_totals[:, c])
            total += log_density_of_totals(family.kernel_parameters(), observed)
        return total
