"""A corpus on the GPU: all of it, or shards that are copied to it one after another."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus.content import blocks_of_rows, row_offsets
from mcsquared.errors import InputError
from mcsquared.kernels.cpu.gammas import ROWS_PER_PASS
from mcsquared.kernels.cuda.memory import Copier, DeviceArrays, copy_to_device, free_bytes
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.observations.layout import Entries
from mcsquared.samplers.backends.sharded import chunks_of_shards

MEMORY_SHARE = 0.8  # of the free memory for the corpus; the rest is for counts and globals
SHARD_SHARE = 0.2  # of the memory for the corpus: two shards are on the GPU, each with labels
MAX_SHARD_BYTES = 1 << 30  # of one of several shards: every sweep waits for the first shard
MAX_SUM = 2.0**61  # bound on sums of statistics, which are added as integers
ITEMS_PER_BLOCK = 1 << 19  # vector tokens and groups whose likelihoods are in memory at a time


@dataclass(frozen=True)
class Shard:
    """Some consecutive groups on the GPU."""

    groups: slice  # positions in the observations
    n_groups: int
    first_group: int  # positions in the whole corpus, on which the random numbers depend
    first_token: int
    arrays: SimpleNamespace  # device arrays, those of `DeviceCorpus.host_arrays`
    blocks: list[tuple[int, int]]  # of vectors: bounds of the groups that are swept at a time
    block_tokens: list[tuple[int, int]]  # bounds of the tokens of every block
    # The groups in host memory, if steps read them there: with levels, or with Python contexts.
    observations: Observations | None


class DeviceCorpus:
    """A corpus on the GPU, in the form that kernels read.

    It may use ``max_bytes`` of the memory of the GPU, by default most of the free memory. If the
    groups are in host memory and fit, it ``is_resident``: ``resident`` has all of them. Otherwise
    `load` copies shards to the GPU; those of a corpus on disk stay there if all fit. ``n_shards``
    is the smallest number of shards of which each fits into host memory.
    """

    def __init__(
        self,
        observations: Observations,
        groups_vary: bool,
        max_bytes: int | None = None,
        n_shards: int = 1,
    ) -> None:
        self.observations, self.groups_vary = observations, groups_vary
        self.width = _values(observations).shape[1]  # of vectors; 0 for words
        # Whether every token has a topic: for words if λ is finite, for vectors always.
        self.keeps_topics = groups_vary or not observations.n_words
        self.n_statistics = int(observations.dense.stat_start[-1])
        # Statistics of contexts with a background are in an array of their own.
        self.background_columns = columns_with_background(observations)
        # Rows of each bag in arrays of categories, starting at a multiple of `ROWS_PER_PASS`.
        self.bag_rows, n_rows = [], 0
        for family in observations.bag_families:
            self.bag_rows.append(range(n_rows, n_rows + family.n_stats))
            n_rows = -(-self.bag_rows[-1].stop // ROWS_PER_PASS) * ROWS_PER_PASS
        self.n_category_rows = n_rows
        rows = [np.asarray(rows, np.int32) for rows in self.bag_rows]
        self.row_of_category = np.concatenate([np.zeros(0, np.int32), *rows])
        self.on_disk = isinstance(observations, DiskObservations)
        # Whether steps on the host read the groups of a shard while it is swept.
        self._reads_groups = bool(observations.levels or observations.python_contexts)
        available = int(MEMORY_SHARE * free_bytes()) if max_bytes is None else max_bytes
        self._divide(n_shards, available)

    def _divide(self, n_shards: int, available: int) -> None:
        """Copy the corpus to the GPU if it fits there, or divide it into at least ``n_shards``.

        ``available`` are the bytes that it may use.
        """
        whole = self.observations
        self.chunks = chunks_of_shards(whole, n_shards)
        bytes_of_chunk = self._measure()
        self.n_bytes = int(bytes_of_chunk.sum())  # of the whole corpus
        fits = self.n_bytes <= available
        self.is_resident = fits and not self.on_disk
        if self.is_resident:
            arrays = self.host_arrays(whole).items()
            on_device = {name: copy_to_device(array) for name, array in arrays}
            self.resident = self._shard(whole, SimpleNamespace(**on_device))
            return
        self.copier = Copier()
        self._keeps_shards = fits and not self._reads_groups
        self._shards: dict[int, Shard] = {}
        self._memory: dict[int, DeviceArrays] = {}
        if not self._keeps_shards:
            n_chunks, largest = len(whole.layout.chunk_start) - 1, int(bytes_of_chunk.max())
            n_shards = max(n_shards, _n_shards(n_chunks, largest, int(SHARD_SHARE * available)))
            self.chunks = chunks_of_shards(whole, n_shards)

    def load(self, number: int) -> Shard:
        """Return a shard, copied to the GPU while kernels run, unless it is there already.

        The arrays of shard ``number`` - 2 are overwritten, unless all shards stay on the GPU.
        """
        if number in self._shards:
            return self._shards[number]
        position = number if self._keeps_shards else number % 2
        memory = self._memory.setdefault(position, DeviceArrays())
        part = self._part(number)
        shard = self._shard(part, memory.filled(self.host_arrays(part), self.copier))
        if self._keeps_shards:
            self._shards[number] = shard
        return shard

    def _part(self, number: int) -> Observations:
        """Return the groups of a shard in host memory: read from disk, or views."""
        part = self.observations.shard(*self.chunks[number])
        if not self.on_disk and part.n_words and not self.groups_vary:
            whole = self.observations.layout.words_of_group
            start = whole.start[self._groups(part).start :][: part.n_groups + 1]
            columns = slice(int(start[0]), int(start[-1]))
            entries = Entries(start - start[0], whole.column[columns], whole.count[columns])
            # The cached property is set, so that words are not counted again.
            part.layout.__dict__["words_of_group"] = entries
        return part

    def _groups(self, part: Observations) -> slice:
        """Return the positions of the groups of a shard."""
        first = part.first_group - self.observations.first_group
        return slice(first, first + part.n_groups)

    @cached_property
    def _chunk_tokens(self) -> Int64s:
        """First tokens of the chunks that have groups, and the number of all tokens, int64."""
        layout = self.observations.layout
        _, chunks = np.unique(layout.chunk_start, return_index=True)
        return layout.token_start[chunks]

    @property
    def n_chunks(self) -> int:
        """Number of chunks that have groups."""
        return len(self._chunk_tokens) - 1

    @property
    def max_groups(self) -> int:
        """Groups of the largest shard."""
        return self._largest(self.observations.layout.chunk_start)

    @property
    def max_tokens(self) -> int:
        """Tokens of the largest shard."""
        return self._largest(self.observations.layout.token_start)

    def _largest(self, start: Int64s) -> int:
        if self.is_resident:
            return int(start[-1])
        return max(int(start[last] - start[first]) for first, last in self.chunks)

    @property
    def max_block(self) -> tuple[int, int]:
        """Bounds on the numbers of groups and of tokens of a block."""
        if self.observations.n_words:
            return 0, 0
        n_tokens = max(ITEMS_PER_BLOCK, self.observations.layout.longest)
        return min(self.max_groups, ITEMS_PER_BLOCK), min(self.max_tokens, n_tokens)

    def pad_categories(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values (categories, cluster slots) as a flat array with the rows of `bag_rows`."""
        padded = np.zeros((self.n_category_rows, values.shape[1]), values.dtype)
        padded[self.row_of_category] = values
        return padded.reshape(-1)

    def host_arrays(self, part: Observations) -> dict[str, NDArray[Any]]:
        """Return the arrays of the groups of a shard, or of all groups."""
        statistics = statistics_of_groups(part)
        background = statistics[:, self.background_columns]
        statistics[:, self.background_columns] = 0.0
        start, bags = part.group_start, part.bags
        arrays = {
            "statistics": statistics,
            "background_statistics": background,
            "bag_start": bags.start,
            "bag_category": self.row_of_category[bags.category],
            "bag_count": bags.count,
            "group_start": start,
        }
        if part.levels:
            arrays["parent"] = part.parent_of_group
        if part.effect_values is not None:
            values = part.effect_values._asdict()
            arrays |= {f"value_{name}": array for name, array in values.items()}
        if not part.n_words:
            first = part.first_token - self.observations.first_token
            orders = [begin + longest_first(start[begin : end + 1]) for begin, end in _blocks(part)]
            return arrays | {
                "order": np.concatenate([np.zeros(0, np.int64), *orders]),
                "chunk_start": np.clip(self._chunk_tokens - first, 0, part.n_tokens),
                "values": _values(part).reshape(-1),
            }
        if self.groups_vary:
            words = part.word.astype(np.int32, copy=False)
            return arrays | {"order": longest_first(start), "word": words}
        entries = part.layout.words_of_group
        return arrays | {
            "order": longest_first(entries.start),
            "entry_start": entries.start,
            "entry_word": entries.column,
            "entry_count": entries.count,
        }

    def _shard(self, part: Observations, arrays: SimpleNamespace) -> Shard:
        blocks, start = _blocks(part), part.group_start
        return Shard(
            self._groups(part),
            part.n_groups,
            part.first_group,
            part.first_token,
            arrays,
            blocks,
            [(int(start[first]), int(start[last])) for first, last in blocks],
            part if self._reads_groups else None,
        )

    def _measure(self) -> Int64s:
        """Set the scales of statistics; return the bytes of each chunk on the GPU.

        A corpus on disk is read for this.
        """
        largest, sizes = np.zeros(self.n_statistics), []
        numbers, whole = range(len(self.chunks)), [self.observations]
        for part in map(self._part, numbers) if self.on_disk else whole:
            statistics = np.abs(statistics_of_groups(part))
            largest = np.maximum(largest, statistics.max(axis=0, initial=0.0))
            sizes.append(np.diff(row_offsets(self._bytes(part))[part.layout.chunk_start]))
        bound = np.where(largest > 0.0, largest, 1.0) * (self.observations.n_groups + 1)
        scales = MAX_SUM / bound  # of statistics, before they are rounded to integers
        self.scales = np.concatenate([scales, scales[self.background_columns]])
        return np.concatenate(sizes)

    def _bytes(self, part: Observations) -> Int64s:
        """Return the bytes of each group on the GPU."""
        bags = np.diff(part.bags.start, axis=1).sum(axis=0)
        # A group has labels, offsets and statistics; a token a word and a topic, or a count.
        per_group = 24 + 8 * len(self.background_columns) + 8 * self.n_statistics
        per_group += 8 * len(part.bag_families)
        tokens, per_token = np.diff(part.group_start), 8
        if not part.n_words:
            per_token = 8 + 8 * self.width
        elif not self.groups_vary:
            tokens = np.diff(part.layout.words_of_group.start)
        n_bytes = per_group + 8 * bags + per_token * tokens
        if part.effect_values is not None:
            n_bytes += 16 + 12 * np.diff(part.effect_values.start)
        return n_bytes


def _n_shards(n_chunks: int, largest: int, available: int) -> int:
    """Return the number of shards if each may have ``available`` bytes.

    ``largest`` is the size of the largest chunk in bytes.
    """
    if largest > available:
        raise InputError(
            f"device 'cuda' requires {largest} bytes for the largest of {n_chunks} parts of the "
            f"corpus, got {available}; use device='cpu'"
        )
    chunks_per_shard = max(min(available, MAX_SHARD_BYTES) // max(largest, 1), 1)
    return -(-n_chunks // chunks_per_shard)


def _values(observations: Observations) -> Floats:
    """Return content other than words (n_tokens, width): coordinates, or Python statistics."""
    content = observations.python_content
    return observations.values if content is None else content.statistics


def _blocks(part: Observations) -> list[tuple[int, int]]:
    """Return the bounds of groups of a shard that are swept at a time."""
    if part.n_words:
        return []
    return list(blocks_of_rows(row_offsets(np.diff(part.group_start) + 1), ITEMS_PER_BLOCK))


def longest_first(start: Int64s) -> Int64s:
    """Return the indices of groups, longest first, so that the last warps to finish are short."""
    return np.argsort(-np.diff(start), kind="stable").astype(np.int64)


def columns_with_background(observations: Observations) -> Int64s:
    """Return the columns of contexts with a background in the statistics of dense contexts."""
    columns = [observations.context_columns[c][1] for c, _ in observations.background_columns]
    ranges = [np.arange(part.start, part.stop, dtype=np.int64) for part in columns]
    return np.concatenate([np.zeros(0, np.int64), *ranges])


def statistics_of_groups(observations: Observations) -> Floats:
    """Return T(x_j) of all dense contexts, 0 where one is missing: (n_groups, statistics)."""
    dense = observations.dense
    statistics = np.zeros((observations.n_groups, int(dense.stat_start[-1])))
    for c, family in enumerate(observations.dense_families):
        observed = dense.observed[:, c]
        values = dense.values[observed, dense.value_start[c] : dense.value_start[c + 1]]
        columns = slice(int(dense.stat_start[c]), int(dense.stat_start[c + 1]))
        statistics[observed, columns] = family.centred_statistics(values)
    return statistics
