"""Backgrounds of numeric contexts on the GPU: scores of groups, and values from the background."""

from typing import Any

import numpy as np

from mcsquared.kernels.cpu.contexts import Background
from mcsquared.kernels.cuda.background import count_backgrounds, score_backgrounds
from mcsquared.kernels.cuda.memory import copy_to_device, empty
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.buffers import Buffers
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.types import Key


class DeviceBackgrounds:
    """The contexts of all groups that have a background."""

    def __init__(self, observations: Observations, corpus: DeviceCorpus) -> None:
        self.max_groups, self.columns = corpus.max_groups, corpus.background_columns
        self.context_numbers = np.array([c for c, _ in observations.background_columns])
        sizes = [columns.stop - columns.start for _, columns in observations.background_columns]
        self.device_numbers = copy_to_device(self.context_numbers.astype(np.int32))
        self.start = copy_to_device(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
        self.device_columns = copy_to_device(self.columns.astype(np.int32))

    def allocate(self, buffers: Buffers) -> None:
        """Allocate a score per group of a shard and cluster."""
        self.buffers = buffers
        self.scores = empty((self.max_groups, buffers.n_cluster_slots), np.float64)

    def load(self, background: Background) -> None:
        """Copy ρ and the parameters of the backgrounds to the GPU."""
        self.log_probabilities = copy_to_device(background.log_probabilities[self.context_numbers])
        self.natural = copy_to_device(background.natural[self.columns])

    def add_scores(self, shard: Shard, others: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the sum of other scores of a shard, see `HostScores.of_shard`, and of these."""
        n_cluster_slots = self.buffers.n_cluster_slots
        sizes = (shard.n_groups * n_cluster_slots, n_cluster_slots)
        score_backgrounds(*sizes, *self._inputs(shard), *others, self.scores)
        return self.scores, self.buffers.no_rows

    def count(self, shard: Shard, clusters: Any, key: Key, scales: Any) -> None:
        """Draw which values of a shard come from their cluster, and sum both kinds."""
        sizes = (shard.n_groups, shard.first_group, self.buffers.n_cluster_slots)
        out = (clusters, self.buffers.device["statistics"])
        count_backgrounds(*sizes, self.device_numbers, *self._inputs(shard), scales, *key, *out)

    def _inputs(self, shard: Shard) -> tuple[Any, ...]:
        statistics = (self.start, self.device_columns, shard.arrays.background_statistics)
        return (*statistics, self.buffers.natural, self.log_probabilities, self.natural)
