"""The groups of a chain on a GPU: the shards that a sweep visits, with their labels."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mcsquared.arrays import Int32s
from mcsquared.kernels.cuda.memory import (
    DeviceArrays,
    copy_to_device,
    copy_to_host,
    wait_for_kernels,
)
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.content.levels import UnitCount, count_by_unit
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import GroupFunction, Key, Labels
from mcsquared.state import State

# A shard with its clusters and, if tokens have topics, its topics, on the GPU.
LabelledShard = tuple[Shard, tuple[Any, Any]]


class ResidentGroups(LocalBackend):
    """All groups and their labels on the GPU. Functions are mapped over them on the host."""

    def __init__(
        self, observations: Observations, priors: Priors, corpus: DeviceCorpus, threads: ThreadPool
    ) -> None:
        super().__init__(observations, priors, threads)
        self.corpus = corpus
        self._on_host: Any = None  # labels, while functions are mapped over the groups

    def load_labels(self, state: State, key: Key) -> None:
        """Copy labels to the GPU."""
        self.clusters = copy_to_device(state.cluster_of_group.astype(np.int32))
        self.topics = None
        if self.corpus.keeps_topics:
            self.topics = copy_to_device(state.topic_of_token.astype(np.uint16))

    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Copy labels to a state."""
        state.cluster_of_group = copy_to_host(self.clusters)
        if self.corpus.keeps_topics and not clusters_only:
            state.topic_of_token = copy_to_host(self.topics)

    def map_groups(self, function: GroupFunction, argument: Any) -> list[Any]:
        """Apply a function to all groups on the host, to which labels are copied."""
        if self._on_host is None:
            no_topics = np.zeros(0, np.uint16)
            topics = copy_to_host(self.topics) if self.corpus.keeps_topics else no_topics
            self._before = self._on_host = Labels(copy_to_host(self.clusters), topics)
        labels, result = function(self.observations, self._on_host, argument, self.threads)
        self._on_host = None if isinstance(labels, Labels) else labels
        self._new = Labels(labels.cluster_of_group, labels.topic_of_token)
        return [result]

    def load_mapped(self) -> None:
        """Copy labels that the mapped functions have changed to the GPU."""
        self.clusters = copy_to_device(self._new.cluster_of_group.astype(np.int32))
        if self._new.topic_of_token is not self._before.topic_of_token:
            self.topics = copy_to_device(self._new.topic_of_token.astype(np.uint16))

    def count_by_unit(self, sizes: UnitCount) -> Int32s:
        """Count groups by parent and cluster, on the host, to which clusters alone are copied."""
        labels = Labels(copy_to_host(self.clusters), np.zeros(0, np.uint16))
        _, found = count_by_unit(self.observations, labels, sizes, self.threads)
        return found["children"]

    def shards(self) -> Iterator[LabelledShard]:
        """Yield the whole corpus, with its labels."""
        yield self.corpus.resident, (self.clusters, self.topics)


class StreamedGroups(ShardedBackend):
    """Groups in host memory or on disk, with their labels; shards are copied to the GPU.

    While the kernels of a shard run, another thread copies the labels of the previous shard to the
    host, writes them if the corpus is on disk, reads the next shard, and copies it to the GPU. So
    two shards are on the GPU, and at most two are in memory if they are read from disk. A pass over
    the corpus waits only for its first shard, and at the end for the labels of its last one.
    """

    def __init__(
        self, observations: Observations, priors: Priors, corpus: DeviceCorpus, threads: ThreadPool
    ) -> None:
        super().__init__(observations, priors, len(corpus.chunks), threads)
        self.chunks, self.corpus = corpus.chunks, corpus
        self._memory = (DeviceArrays(), DeviceArrays())

    def load_mapped(self) -> None:
        """Do nothing: shards are always swept with their current labels."""

    def shards(self) -> Iterator[LabelledShard]:
        """Yield each shard with its labels; store the labels that are drawn."""
        drawn: tuple[Any, ...] = ()  # number and labels of the previous shard
        with self.corpus.copier.thread() as thread:
            next_shard = thread.submit(self._exchange, drawn, 0)
            for number in range(self.n_shards):
                shard, labels = next_shard.result()
                next_shard = thread.submit(self._exchange, drawn, number + 1)
                yield shard, labels
                wait_for_kernels()
                drawn = (number, labels)
            next_shard.result()
            thread.submit(self._exchange, drawn, self.n_shards).result()

    def _exchange(self, drawn: tuple[Any, ...], number: int) -> Any:
        """Store the labels ``drawn`` of a shard; load shard ``number``, if any, with its labels."""
        corpus, to_host = self.corpus, self.corpus.copier.to_host
        if drawn:
            previous, (clusters, topics) = drawn
            on_host = to_host(topics) if corpus.keeps_topics else np.zeros(0, np.uint16)
            self.labels[previous] = Labels(to_host(clusters), on_host)
        if number == self.n_shards:
            return None
        shard, labels = corpus.load(number), self.labels[number]
        arrays = {"clusters": labels.cluster_of_group.astype(np.int32, copy=False)}
        if corpus.keeps_topics:
            arrays["topics"] = labels.topic_of_token.astype(np.uint16, copy=False)
        loaded = self._memory[number % 2].filled(arrays, corpus.copier)
        return shard, (loaded.clusters, getattr(loaded, "topics", None))
