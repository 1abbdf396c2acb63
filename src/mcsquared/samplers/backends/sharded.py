"""Groups in shards: each shard is swept separately and returns its sums.

Draws do not depend on the number of shards: random numbers depend on the position of a group or
token in the whole corpus, integers can be added in any order, and floats are summed by chunk.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int32s
from mcsquared.errors import InputError
from mcsquared.kernels.cpu.counts import count_cells
from mcsquared.kernels.cpu.topic_moves import TopicTokens
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.observations.layout import Entries
from mcsquared.samplers.backends.array_files import ArrayFiles
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.content.divisions import DividedLabels
from mcsquared.samplers.content.groups import ScoredLabels, sweep_groups
from mcsquared.samplers.content.python_families import integrated_families
from mcsquared.samplers.content.topic_tokens import READ_LABELS_ONLY, MovedLabels
from mcsquared.samplers.init.extend_start import StartExtension
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import (
    Cells,
    Globals,
    GroupFunction,
    GroupTask,
    Key,
    Labels,
    Sums,
    add_sums,
    fields_of,
)
from mcsquared.state import State

CLUSTER_DTYPE = np.dtype(np.int32)
TOPIC_DTYPE = DRAW_DTYPE = np.dtype(np.uint16)
LABEL_DTYPES: dict[str, np.dtype[Any]] = {
    "clusters": CLUSTER_DTYPE,
    "topics": TOPIC_DTYPE,
    "draws": DRAW_DTYPE,
}
MAX_CLUSTER_NUMBER = 2**16 - 1  # largest cluster number in a stored draw


def sweep_shard(
    observations: Observations,
    labels: Labels | ScoredLabels,
    globals_: Globals,
    threads: ThreadPool = SINGLE_THREAD,
) -> tuple[Labels, Sums]:
    """Sweep the groups of a shard; return new labels and sums. Arguments are not changed."""
    scores = labels.scores if isinstance(labels, ScoredLabels) else None
    labels = Labels(labels.cluster_of_group.copy(), labels.topic_of_token.copy())
    sums = sweep_groups(GroupTask(observations, labels, globals_, threads), scores=scores)
    if not observations.n_words or globals_.groups_vary:
        return labels, sums
    cell_counts = np.zeros((observations.n_words, globals_.slots[0]), np.int32)
    count_cells(observations.layout.words_of_group, labels.cluster_of_group, cell_counts)
    return labels, replace(sums, cell_counts=cell_counts)


def chunks_of_shards(observations: Observations, n_shards: int) -> list[tuple[int, int]]:
    """Return the bounds of the chunks of each shard: at most as many shards as chunks with groups.

    Chunks of a shard are consecutive; shards without groups are left out.
    """
    start = observations.layout.chunk_start
    n_chunks = len(start) - 1
    bounds = np.linspace(0, n_chunks, min(n_shards, n_chunks) + 1).round().astype(int).tolist()
    return [(a, b) for a, b in pairwise(bounds) if start[a] < start[b]]


class ShardedBackend(Backend):
    """Groups in shards that are swept one after another in this process.

    If the observations are on disk, one shard at a time is in memory, and labels are on disk too.
    """

    labels: Any = None  # of each shard: a list of Labels, or DiskLabels

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        n_shards: int,
        threads: ThreadPool = SINGLE_THREAD,
    ) -> None:
        super().__init__(observations, priors, threads)
        _check_families(observations)
        self.chunks = chunks_of_shards(observations, n_shards)
        self.on_disk = isinstance(observations, DiskObservations)
        self._shards: dict[int, Observations] = {}

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.chunks)

    def shard(self, number: int) -> Observations:
        """Return the observations of a shard, read from disk, or from memory and cached."""
        if self.on_disk:
            return self.observations.shard(*self.chunks[number])
        if number not in self._shards:
            self._shards[number] = self.observations.shard(*self.chunks[number])
        return self._shards[number]

    def load_labels(self, state: State, key: Key) -> None:
        """Divide the labels among the shards; draw initial ones if the state has none."""
        if not isinstance(self.observations, DiskObservations):
            self.labels = [None] * self.n_shards
        elif self.labels is None:
            self.labels = DiskLabels(self.observations, self.chunks, key.chain)
            if key.sweep:  # the files have the labels of an earlier stage of the run
                return
            self.labels.clear()
        whole, extension = self.observations, None
        if len(state.cluster_of_group) != whole.n_groups:
            extension = StartExtension(state, whole, self.priors, key)
        has_topics = len(state.topic_of_token) > 0
        for number in range(self.n_shards):
            shard = self.shard(number)
            if extension is not None:
                self.labels[number] = extension.labels(shard, self.threads)
                continue
            self.labels[number] = Labels(
                state.cluster_of_group[shard.first_group - whole.first_group :][: shard.n_groups],
                state.topic_of_token[shard.first_token - whole.first_token :][
                    : shard.n_tokens * has_topics
                ],
            )

    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Collect the labels of all groups; for a corpus on disk, those of the sample."""
        if self.on_disk:
            state.cluster_of_group = self.labels.of_sample()
            return
        state.cluster_of_group = np.concatenate([part.cluster_of_group for part in self.labels])
        if not clusters_only:
            state.topic_of_token = np.concatenate([part.topic_of_token for part in self.labels])

    def store_draw(self, cluster_of_slot: Int32s) -> None:
        """Append a kept draw to the file of draws, if the corpus is on disk."""
        if self.on_disk:
            self.labels.store_draw(cluster_of_slot)

    def label_files(self) -> dict[str, NDArray[Any]]:
        """Return the labels and stored draws of all groups, mapped from their files on disk."""
        return self.labels.mapped() if self.on_disk else {}

    def sweep_groups(self, globals_: Globals) -> Sums:
        """Draw the topics and clusters of all groups; return their sums."""
        sums = Sums(**self.sum_groups(sweep_shard, globals_))
        if sums.cell_counts is None:
            return sums
        return replace(sums, cells=Cells.from_counts(sums.cell_counts))

    def map_groups(self, function: GroupFunction, argument: Any) -> list[Any]:
        """Apply a function to the groups of every shard; return its results in shard order."""
        return list(self.map_shards(function, argument))

    def sum_groups(self, function: GroupFunction, argument: Any) -> dict[str, Any]:
        """Apply a function to every shard; return the total of its sums."""
        return add_sums(map(fields_of, self.map_shards(function, argument)))

    def map_shards(self, function: GroupFunction, argument: Any) -> Iterator[Any]:
        """Apply a function to every shard; yield its results in shard order."""
        for number in range(self.n_shards):
            reads_groups = not self.on_disk or function not in READ_LABELS_ONLY
            shard = self.shard(number) if reads_groups else self.observations
            before = self.labels[number]
            labels, result = function(shard, before, argument, self.threads)
            if labels is not before:
                self.labels[number] = labels
            yield result


def _check_families(observations: Observations) -> None:
    """Raise an error for families that cannot be used in shards."""
    for family in integrated_families(observations):
        raise InputError(
            "a corpus on disk or on Dask workers requires families with sample_parameters and "
            f"log_likelihood, got {type(family).__name__}"
        )


class DiskLabels:
    """The labels of a corpus on disk, read and written shard by shard.

    Files are not memory-mapped: mapped pages count as memory of the process. Each chain has its own
    files. ``chunks`` are the bounds of the chunks of each shard.
    """

    def __init__(
        self, observations: DiskObservations, chunks: list[tuple[int, int]], chain: int = 0
    ) -> None:
        folder = observations.source.folder
        summary = observations.summary
        # While clusters are split and merged: fields of `DividedLabels`.
        self._rows, self._sides = ArrayFiles(folder, "rows"), ArrayFiles(folder, "sides")
        # While topics are split and merged: fields of `MovedLabels` that stay the same during a
        # move, and those that change.
        self._tokens_of_topics = ArrayFiles(folder, "tokens")
        self._divisions = ArrayFiles(folder, "divisions")
        self._last_read: TopicTokens | None = None
        self._files = label_paths(folder, chain)
        self._clusters, self._topics, self._draws = self._files.values()
        self._groups = [
            (int(summary.chunk_start[a]), int(summary.chunk_start[b])) for a, b in chunks
        ]
        self._tokens = [
            (int(summary.token_start[a]), int(summary.token_start[b])) for a, b in chunks
        ]
        self._sample = observations.sample

    def clear(self) -> None:
        """Create empty files."""
        for path in self._files.values():
            path.write_bytes(b"")

    def mapped(self) -> dict[str, NDArray[Any]]:
        """Return the contents of the files, which later sweeps change."""
        files = {
            name: _mapped(path, LABEL_DTYPES[name], path.stat().st_size)
            for name, path in self._files.items()
        }
        return files | {"sample": self._sample}

    def __getitem__(self, number: int) -> Labels | DividedLabels | MovedLabels:
        """Read the labels of a shard."""
        clusters = _read(self._clusters, CLUSTER_DTYPE, *self._groups[number])
        if number in self._tokens_of_topics:
            return self._read_moved(number, clusters)
        if number not in self._rows:
            topics = _read(self._topics, TOPIC_DTYPE, *self._tokens[number])
            return Labels(clusters, topics)
        [sides] = self._sides.read(number)
        # Topics do not change while clusters are split and merged, and are not read then.
        return DividedLabels(
            clusters, np.zeros(0, TOPIC_DTYPE), Entries(*self._rows.read(number)), sides
        )

    def _mapped_topics(self, number: int) -> NDArray[Any]:
        """Return the topics of a shard, which are read only if they are used."""
        first, last = self._tokens[number]
        if first == last:
            return np.zeros(0, TOPIC_DTYPE)
        # `np.memmap` resolves the path, which takes longer than the step of a small shard.
        with open(self._topics, "rb") as file:
            pages = mmap(file.fileno(), last * TOPIC_DTYPE.itemsize, access=ACCESS_READ)
        return np.frombuffer(pages, TOPIC_DTYPE)[first:]

    def _read_moved(self, number: int, clusters: Int32s) -> MovedLabels:
        """Read the tokens of the topics that are being moved."""
        self._last_read = None
        *tokens, chunk_start, values = self._tokens_of_topics.read(number)
        self._last_read = TopicTokens(*tokens)
        constant = (clusters, self._mapped_topics(number), self._last_read, chunk_start, values)
        return MovedLabels(*constant, *self._divisions.read(number))

    def _write_moved(self, number: int, labels: MovedLabels) -> None:
        """Write the tokens of the topics that are being moved, and topics that have changed."""
        has_changed = labels.topic_of_token.flags.writeable  # mapped topics are not
        if number in self._tokens_of_topics and has_changed:
            _write(self._topics, labels.topic_of_token, TOPIC_DTYPE, self._tokens[number][0])
        if labels.tokens is not self._last_read:
            tokens = (*labels.tokens, labels.chunk_start, labels.values)
            self._tokens_of_topics.write(number, tokens)
        self._divisions.write(number, (labels.share, labels.in_b))

    def __setitem__(self, number: int, labels: Labels | DividedLabels | MovedLabels) -> None:
        """Write the labels of a shard."""
        if isinstance(labels, MovedLabels):
            self._write_moved(number, labels)
            return
        if number in self._tokens_of_topics:  # topics were written when they changed
            self._tokens_of_topics.remove(number)
            self._divisions.remove(number)
            return
        _write(self._clusters, labels.cluster_of_group, CLUSTER_DTYPE, self._groups[number][0])
        if isinstance(labels, DividedLabels):
            if number not in self._rows:
                self._rows.write(number, labels.rows)
            self._sides.write(number, (labels.sides,))
            return
        if len(labels.topic_of_token):
            _write(self._topics, labels.topic_of_token, TOPIC_DTYPE, self._tokens[number][0])
        if number in self._rows:
            self._rows.remove(number)
            self._sides.remove(number)

    def of_sample(self) -> Int32s:
        """Return the clusters of the sampled groups: int32 (n_sampled,)."""
        parts = []
        for first, last in self._groups:
            chosen = self._sample[np.searchsorted(self._sample, first) :]
            chosen = chosen[: np.searchsorted(chosen, last)]
            parts.append(_read(self._clusters, CLUSTER_DTYPE, first, last)[chosen - first])
        return np.concatenate(parts)

    def store_draw(self, cluster_of_slot: Int32s) -> None:
        """Append the clusters of all groups to the file of stored draws."""
        with self._draws.open("ab") as file:
            for first, last in self._groups:
                clusters = cluster_of_slot[_read(self._clusters, CLUSTER_DTYPE, first, last)]
                np.minimum(clusters, MAX_CLUSTER_NUMBER).astype(DRAW_DTYPE).tofile(file)


def label_paths(folder: Path, chain: int) -> dict[str, Path]:
    """Return the files of a chain: clusters of groups, topics of tokens, stored draws."""
    return {name: folder / f"{name}.{chain}" for name in LABEL_DTYPES}


def write_label_files(folder: Path, chain: int, labels: Mapping[str, NDArray[Any]]) -> None:
    """Write the files of a resumed chain; a file is empty if ``labels`` lacks its name."""
    for name, path in label_paths(folder, chain).items():
        with path.open("wb") as file:
            labels.get(name, np.zeros(0, LABEL_DTYPES[name])).tofile(file)


def draws_file(folder: Path, chain: int) -> Path:
    """Return the file of the stored draws of a chain."""
    return label_paths(folder, chain)["draws"]


def _mapped(path: Path, dtype: np.dtype[Any], n_bytes: int) -> NDArray[Any]:
    if not n_bytes:  # an empty file cannot be mapped
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, "r", shape=(n_bytes // dtype.itemsize,))


def read_draw(path: Path, n_groups: int, row: int, first: int, last: int) -> NDArray[np.uint16]:
    """Return the clusters of groups ``first:last`` in a stored draw."""
    return _read(path, DRAW_DTYPE, row * n_groups + first, row * n_groups + last)


def _read(path: Path, dtype: np.dtype[Any], first: int, last: int) -> NDArray[Any]:
    return np.fromfile(path, dtype, last - first, offset=first * dtype.itemsize)


def _write(path: Path, labels: NDArray[Any], dtype: np.dtype[Any], first: int) -> None:
    with path.open("r+b") as file:
        file.seek(first * dtype.itemsize)
        labels.astype(dtype, copy=False).tofile(file)
