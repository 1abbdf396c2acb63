"""The shard of a Dask worker on its GPU."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from mcsquared.kernels.cuda.memory import copy_to_device
from mcsquared.model.priors import Priors
from mcsquared.samplers.backends.cuda.backend import CudaBackend
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
from mcsquared.samplers.types import Globals, Labels, Sums


class DeviceShard(CudaBackend):
    """A shard on the GPU: the counterpart of `mcsquared.samplers.backends.sharded.sweep_shard`.

    Draws are those of the CPU up to rounding. Floats are summed over the shard as a single chunk,
    so that rounding depends on how groups are divided among workers. ``corpus`` is the result of
    `Observations.shard`, on the GPU.
    """

    def __init__(self, corpus: DeviceCorpus, priors: Priors) -> None:
        super().__init__(corpus.observations, priors, corpus)
        self._slots: tuple[int, ...] = ()
        self._labels_on_device: Labels | None = None

    def sweep_shard(self, labels: Labels, globals_: Globals) -> tuple[Labels, Sums]:
        """Sweep the groups; return new labels and sums. Arguments are not changed."""
        if self._slots != globals_.slots:
            self._slots = globals_.slots
            words = np.zeros(
                (self.observations.n_words * globals_.groups_vary, globals_.slots[1]), np.int32
            )
            categories = np.zeros((self.observations.n_categories, globals_.slots[0]), np.int32)
            self._load_counts(words, categories, globals_.slots)
            self._labels_on_device = None
        if labels is not self._labels_on_device:
            given: Any = labels  # used like a state
            self.groups.load_labels(given, globals_.key)
        self._load_globals(globals_)
        self._sweep(globals_)
        self.buffers.copy_to_host()
        drawn: Any = SimpleNamespace(topic_of_token=labels.topic_of_token)
        self.groups.save_labels(drawn)
        self._labels_on_device = Labels(drawn.cluster_of_group, drawn.topic_of_token)
        return self._labels_on_device, self._shard_sums()

    def _load_globals(self, globals_: Globals) -> None:
        buffers = self.buffers
        copy_to_device(globals_.weights.log_shares.reshape(-1), buffers.device["log_shares"])
        log_categories = self.corpus.pad_categories(globals_.contexts.log_categories)
        copy_to_device(log_categories, buffers.log_categories)
        self.content.load(globals_)
        self._tabulate_base(globals_.lam)
        if self.effects is not None and globals_.effects is not None:
            self.effects.load(globals_.effects, globals_.lam)

    def _shard_sums(self) -> Sums:
        """Return all sums on the host; floats as the sums of a single chunk."""
        sums = replace(self._host_sums(all_sums=True), categories=self.contexts.host_categories())
        if sums.topic_log_likelihood is None:
            return sums
        return replace(sums, topic_log_likelihood=sums.topic_log_likelihood.sum(keepdims=True))
