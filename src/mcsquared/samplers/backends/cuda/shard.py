"""A shard of groups on the GPU of a Dask worker: globals in, sums out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mcsquared.model.priors import Priors
from mcsquared.samplers.backends.cuda.backend import CudaBackend
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
from mcsquared.samplers.backends.cuda.words import DeviceWords
from mcsquared.samplers.types import Globals, Labels, Sums


class DeviceShard(CudaBackend):
    """Groups that are swept as `mcsquared.samplers.backends.sharded.sweep_shard` sweeps them.

    Draws are those of the CPU up to rounding. Sums of floats are those of a single chunk, so that
    a chain depends, by rounding, on how groups are divided over workers.

    Parameters
    ----------
    corpus : DeviceCorpus
        Of what `Observations.shard` returns, on the GPU.
    """

    def __init__(self, corpus: DeviceCorpus, priors: Priors) -> None:
        super().__init__(corpus.observations, priors, corpus)
        self._slots: tuple[int, ...] = ()
        self._labels_on_device: Labels | None = None

    def sweep_shard(self, labels: Labels, given: Globals) -> tuple[Labels, Sums]:
        """Sweep the groups; return new labels and sums. Arguments are not changed."""
        self._prepare(labels, given)
        self.memory.zero(self.categories)
        self.tables.counts.clear()
        self.tables.give(given.weights.log_clusters, given.contexts.naturals)
        self._move_groups(given)
        if not isinstance(self.content, DeviceWords):
            self.content.finish(given.key)
        self.tables.bring()
        self._labels_on_device = Labels(self.memory.take(self.clusters), self._host_topics())
        return self._labels_on_device, self._shard_sums(given)

    def _prepare(self, labels: Labels, given: Globals) -> None:
        """Copy labels and globals to the GPU, unless the labels are those of the last sweep."""
        if self._slots != given.slots:
            self._slots = given.slots
            n_words = self.observations.n_words if given.varies else 0
            self.content.put(np.zeros((n_words, given.slots[1]), np.int32))
            n_categories = self.observations.n_categories
            padded = self.corpus.padded(np.zeros((given.slots[0], n_categories), np.int32))
            self.categories = self.memory.put(padded.reshape(-1))
            self._put_labels(labels)
            self._new_tables(np.zeros(given.slots, np.int32))
        elif labels is not self._labels_on_device:
            self._put_labels(labels)
        put, drawn = self.memory.put, self.tables.drawn.there
        put(given.weights.log_shares.reshape(-1), drawn["log_shares"])
        put(self._rows(given.contexts.log_categories), self.tables.log_categories)
        if isinstance(self.content, DeviceWords):
            self.content.take(given.content, given.shares)
        else:
            self.content.begin(given.content, given.key)
            self.content.prepare()

    def _rows(self, log_categories: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return log-probabilities of categories in the rows that kernels read."""
        table = np.zeros((self.corpus.n_category_rows, log_categories.shape[1]), np.float32)
        table[self.corpus.row_of_category] = log_categories
        return table.reshape(-1)

    def _shard_sums(self, given: Globals) -> Sums:
        """Return all sums on the host; floats as the sums of a single chunk."""
        sums = self._host_sums()
        rows = self.memory.take(self.categories).reshape(-1, given.slots[0])
        sums = replace(sums, categories=rows[self.corpus.row_of_category])
        if sums.log_rising is not None:
            sums = replace(sums, log_rising=sums.log_rising.sum(keepdims=True))
        if not isinstance(self.content, DeviceWords):
            return sums
        shape = (self.observations.n_words, -1)
        if given.varies:
            return replace(sums, words=self.memory.take(self.content.words).reshape(shape))
        table = self.memory.take(self.content.tokens_of_cell).reshape(shape)
        return replace(sums, topics=None, cell_table=table)
