"""Labels on disk, beside the corpus they belong to."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.types import Labels

CLUSTER, TOPIC, DRAW = np.dtype(np.int32), np.dtype(np.uint16), np.dtype(np.uint16)
MAX_CLUSTER_NUMBER = 2**16 - 1  # largest cluster number in a stored draw


class DiskLabels:
    """The labels of a corpus on disk, read and written shard by shard.

    Files are not memory-mapped: mapped pages count as memory of the process.

    Parameters
    ----------
    chunks : list of (first, last)
        Chunks of each shard.
    """

    def __init__(self, observations: DiskObservations, chunks: list[tuple[int, int]]) -> None:
        folder, summary = observations.source.folder, observations.summary
        self._clusters, self._topics = folder / "clusters.bin", folder / "topics.bin"
        self._draws = folder / "kept.bin"
        self._groups = [
            (int(summary.chunk_start[a]), int(summary.chunk_start[b])) for a, b in chunks
        ]
        self._tokens = [
            (int(summary.token_start[a]), int(summary.token_start[b])) for a, b in chunks
        ]
        self._sample = observations.sample
        self._topics.unlink(missing_ok=True)
        for path in (self._clusters, self._topics):
            path.touch()

    def __getitem__(self, number: int) -> Labels:
        """Read the labels of a shard."""
        return Labels(
            _read(self._clusters, CLUSTER, *self._groups[number]),
            _read(self._topics, TOPIC, *self._tokens[number]),
        )

    def __setitem__(self, number: int, labels: Labels) -> None:
        """Write the labels of a shard."""
        _write(self._clusters, labels.clusters, CLUSTER, self._groups[number][0])
        if len(labels.topics):
            _write(self._topics, labels.topics, TOPIC, self._tokens[number][0])

    def of_sample(self) -> NDArray[np.int32]:
        """Return the clusters of the groups that are in memory."""
        parts = []
        for first, last in self._groups:
            chosen = self._sample[np.searchsorted(self._sample, first) :]
            chosen = chosen[: np.searchsorted(chosen, last)]
            parts.append(_read(self._clusters, CLUSTER, first, last)[chosen - first])
        return np.concatenate(parts)

    def store_draw(self, number_of_slot: NDArray[np.int32]) -> None:
        """Append the clusters of all groups to the file of stored draws."""
        with self._draws.open("ab") as file:
            for first, last in self._groups:
                clusters = number_of_slot[_read(self._clusters, CLUSTER, first, last)]
                np.minimum(clusters, MAX_CLUSTER_NUMBER).astype(DRAW).tofile(file)


def read_draw(folder: Path, n_groups: int, draw: int, first: int, last: int) -> NDArray[np.uint16]:
    """Return the clusters of groups ``first:last`` in a stored draw."""
    return _read(folder / "kept.bin", DRAW, draw * n_groups + first, draw * n_groups + last)


def _read(path: Path, dtype: np.dtype[Any], first: int, last: int) -> NDArray[Any]:
    return np.fromfile(path, dtype, last - first, offset=first * dtype.itemsize)


def _write(path: Path, labels: NDArray[Any], dtype: np.dtype[Any], first: int) -> None:
    with path.open("r+b") as file:
        file.seek(first * dtype.itemsize)
        labels.astype(dtype, copy=False).tofile(file)
