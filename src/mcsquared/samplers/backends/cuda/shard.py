"""A shard of groups on the GPU of a Dask worker: globals in, sums out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcsquared.kernels.cuda.memory import copy_to_device, copy_to_host
from mcsquared.model.priors import Priors
from mcsquared.samplers.backends.cuda.backend import CudaBackend
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
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
        if self._slots != given.slots:
            self._slots = given.slots
            words = np.zeros((self.observations.n_words * given.varies, given.slots[1]), np.int32)
            categories = np.zeros((self.observations.n_categories, given.slots[0]), np.int32)
            self._load_counts(words, categories, np.zeros(given.slots, np.int32))
            self._labels_on_device = None
        if labels is not self._labels_on_device:
            self._load_labels(labels)
        self._load_globals(given)
        self._sweep(given)
        self.buffers.copy_to_host()
        clusters = copy_to_host(self.clusters)
        self._labels_on_device = Labels(clusters, self._host_topics())
        return self._labels_on_device, self._shard_sums()

    def _load_globals(self, given: Globals) -> None:
        buffers = self.buffers
        copy_to_device(given.weights.log_shares.reshape(-1), buffers.device["log_shares"])
        log_categories = self.corpus.category_table(given.contexts.log_categories)
        copy_to_device(log_categories, buffers.log_categories)
        self.content.load(given)
        self._tabulate_base(given.lam)

    def _shard_sums(self) -> Sums:
        """Return all sums on the host; floats as the sums of a single chunk."""
        sums = replace(self._host_sums(all_of_them=True), categories=self._host_categories())
        if sums.log_rising is None:
            return sums
        return replace(sums, log_rising=sums.log_rising.sum(keepdims=True))
