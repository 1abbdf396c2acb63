"""Levels above groups on the GPU: weights of clusters by parent, and messages to the parents."""

from typing import Any

import numpy as np

from mcsquared.arrays import Int32s, Int64s
from mcsquared.kernels.cuda.memory import copy_to_device, copy_to_host
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.buffers import Buffers
from mcsquared.samplers.backends.cuda.corpus import Shard
from mcsquared.samplers.content.levels import TypeWeights
from mcsquared.samplers.content.python_families import log_likelihood_of_groups
from mcsquared.samplers.types import Globals


class HostScores:
    """Scores of groups in every cluster that are computed on the host, in one sweep.

    They are the log-weights of the clusters given the parent, and the log-likelihoods of the
    contexts of Python families. Without such contexts, groups of parents of one type share a row.
    """

    def __init__(self, observations: Observations, buffers: Buffers, globals_: Globals) -> None:
        self._buffers, self._globals = buffers, globals_
        self._rows: Int32s | None = None  # row of each unit in the scores
        parents = globals_.parent_weights
        if parents is not None and not observations.python_contexts:
            self._rows, self._scores = parents.row_of_unit, copy_to_device(parents.log_rows)

    def of_shard(self, shard: Shard) -> tuple[Any, Any]:
        """Return scores on the GPU, and the row of every group of a shard in them."""
        groups = shard.observations
        if groups is None:
            return self._buffers.no_scores, self._buffers.no_rows
        if self._rows is not None:
            return self._scores, copy_to_device(self._rows[groups.parent_of_group])
        scores = log_likelihood_of_groups(groups, self._globals)
        return copy_to_device(scores), self._buffers.no_rows


class DeviceMessages:
    """Messages of groups to their parents, summed on the GPU in fixed point."""

    def __init__(self, weights: TypeWeights) -> None:
        shape = (weights.n_units, len(weights.log_rows))
        self._messages = copy_to_device(np.zeros(shape, np.int64))
        self._rows = copy_to_device(np.exp(weights.log_rows))
        self._log_rows = copy_to_device(weights.log_rows)

    def arguments_for(self, shard: Shard) -> tuple[Any, ...]:
        """Return the last arguments of the kernels that add the messages of a shard."""
        return shard.arrays.parent, self._rows, self._log_rows, self._messages

    def on_host(self) -> Int64s:
        """Return the messages: (n_units, type slots)."""
        return copy_to_host(self._messages)
