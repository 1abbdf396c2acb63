"""A corpus on the GPU: all of it, or one shard at a time if it is larger than the GPU's memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus.content import blocks_of_rows, row_offsets
from mcsquared.errors import InputError
from mcsquared.kernels.cpu.gammas import ROWS_PER_PASS
from mcsquared.kernels.cuda.memory import copy_to_device, free_bytes
from mcsquared.observations import Observations, take_bags
from mcsquared.observations.effects import take_effects

MEMORY_SHARE = 0.8  # of the free memory for the corpus; the rest is for counts and globals
SHARD_SHARE = 0.2  # of that: a shard is copied before the memory of the last one is freed
MAX_SUM = 2.0**61  # bound on sums of statistics, which are added as integers
ITEMS_PER_BLOCK = 1 << 19  # vector tokens and groups whose likelihoods are in memory at a time


@dataclass(frozen=True)
class Shard:
    """Some consecutive groups on the GPU."""

    groups: slice  # positions in the observations
    tokens: slice
    n_groups: int
    first_group: int  # positions in the whole corpus, on which the random numbers depend
    first_token: int
    arrays: SimpleNamespace  # device arrays, those of `DeviceCorpus.host_arrays`
    blocks: list[tuple[int, int]]  # bounds of groups that are swept at a time, for vectors


class DeviceCorpus:
    """A corpus on the GPU, in the form that kernels read.

    It may use ``max_bytes`` of the memory of the GPU, by default most of the free memory. If it
    needs more, it is not ``is_resident``: shards are copied one after another.
    """

    def __init__(
        self, observations: Observations, groups_vary: bool, max_bytes: int | None = None
    ) -> None:
        self.observations, self.groups_vary = observations, groups_vary
        content = observations.python_content
        # Content other than words (n_tokens, width): coordinates, or statistics of Python families.
        self.values = observations.values if content is None else content.statistics
        # Whether every token has a topic: for words if λ is finite, for vectors always.
        self.keeps_topics = groups_vary or not observations.n_words
        self.statistics = statistics_of_groups(observations)
        largest = np.abs(self.statistics).max(axis=0, initial=0.0)
        bound = np.where(largest > 0.0, largest, 1.0) * (observations.n_groups + 1)
        scales = MAX_SUM / bound  # of statistics, before they are rounded to integers
        # Statistics of contexts with a background are in an array of their own.
        self.background_columns = columns_with_background(observations)
        self.background_statistics = self.statistics[:, self.background_columns]
        self.statistics[:, self.background_columns] = 0.0
        self.scales = np.concatenate([scales, scales[self.background_columns]])
        # Rows of each bag in arrays of categories, starting at a multiple of `ROWS_PER_PASS`.
        self.bag_rows, n_rows = [], 0
        for family in observations.bag_families:
            self.bag_rows.append(range(n_rows, n_rows + family.n_stats))
            n_rows = -(-self.bag_rows[-1].stop // ROWS_PER_PASS) * ROWS_PER_PASS
        self.n_category_rows = n_rows
        rows = [np.asarray(rows, np.int32) for rows in self.bag_rows]
        self.row_of_category = np.concatenate([np.zeros(0, np.int32), *rows])
        free = int(MEMORY_SHARE * free_bytes()) if max_bytes is None else max_bytes
        self._shard_bounds = self._split(free)
        self.is_resident = len(self._shard_bounds) == 2
        self._resident = [self._load(0, observations.n_groups)] if self.is_resident else []

    def shards(self) -> Iterator[Shard]:
        """Yield the shards in their order, each on the GPU."""
        if self.is_resident:
            yield from self._resident
        else:
            for first, last in pairwise(self._shard_bounds):
                yield self._load(first, last)

    @cached_property
    def chunk_bounds(self) -> Int64s:
        """Bounds of the chunks that have groups, int64 (n_chunks + 1,)."""
        return np.unique(self.observations.layout.chunk_start)

    @property
    def max_groups(self) -> int:
        """Groups of the largest shard."""
        return int(np.diff(self._shard_bounds).max())

    @property
    def max_tokens(self) -> int:
        """Tokens of the largest shard."""
        return int(np.diff(self.observations.group_start[self._shard_bounds]).max())

    @property
    def max_block(self) -> tuple[int, int]:
        """Largest numbers of groups and of tokens of a block."""
        start, sizes = self.observations.group_start, [(0, 0)]
        for first, last in pairwise(self._shard_bounds):
            for begin, end in self._blocks(first, last):
                sizes.append((end - begin, int(start[first + end] - start[first + begin])))
        return max(n for n, _ in sizes), max(n for _, n in sizes)

    def pad_categories(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values (categories, cluster slots) as a flat array with the rows of `bag_rows`."""
        padded = np.zeros((self.n_category_rows, values.shape[1]), values.dtype)
        padded[self.row_of_category] = values
        return padded.reshape(-1)

    def host_arrays(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of some groups, with groups and tokens numbered from 0."""
        observations = self.observations
        start = observations.group_start[first : last + 1]
        tokens = slice(int(start[0]), int(start[-1]))
        bags = take_bags(observations.bags, np.arange(first, last))
        arrays = {
            "statistics": self.statistics[first:last],
            "background_statistics": self.background_statistics[first:last],
            "bag_start": bags.start,
            "bag_category": self.row_of_category[bags.category],
            "bag_count": bags.count,
            "group_start": start - start[0],
        }
        if observations.levels:
            arrays["parent"] = observations.parent_of_group[first:last]
        values = take_effects(observations.effect_values, np.arange(first, last))
        if values is not None:
            arrays |= {f"value_{name}": array for name, array in values._asdict().items()}
        if not observations.n_words:
            bounds = observations.group_start[self.chunk_bounds]
            orders = [
                begin + longest_first(start[begin : end + 1])
                for begin, end in self._blocks(first, last)
            ]
            return arrays | {
                "order": np.concatenate([np.zeros(0, np.int64), *orders]),
                "chunk_start": np.clip(bounds, start[0], start[-1]) - start[0],
                "values": self.values[tokens].reshape(-1),
            }
        if self.groups_vary:
            words = observations.word[tokens].astype(np.int32)
            return arrays | {"order": longest_first(start), "word": words}
        entries = observations.layout.words_of_group
        entry_start = entries.start[first : last + 1]
        part = slice(int(entry_start[0]), int(entry_start[-1]))
        return arrays | {
            "order": longest_first(entry_start),
            "entry_start": entry_start - entry_start[0],
            "entry_word": entries.column[part],
            "entry_count": entries.count[part],
        }

    def _load(self, first: int, last: int) -> Shard:
        observations, start = self.observations, self.observations.group_start
        host = self.host_arrays(first, last)
        arrays = {name: copy_to_device(array) for name, array in host.items()}
        tokens = slice(int(start[first]), int(start[last]))
        return Shard(
            slice(first, last),
            tokens,
            last - first,
            observations.first_group + first,
            observations.first_token + tokens.start,
            SimpleNamespace(**arrays),
            self._blocks(first, last),
        )

    def _blocks(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the bounds, relative to the shard, of groups that are swept at a time."""
        if self.observations.n_words:
            return []
        cost = np.diff(self.observations.group_start[first : last + 1]) + 1
        return list(blocks_of_rows(row_offsets(cost), ITEMS_PER_BLOCK))

    def _split(self, free: int) -> list[int]:
        """Return the bounds of the shards."""
        observations = self.observations
        bags = np.diff(observations.bags.start, axis=1).sum(axis=0)
        # A group has labels, offsets and statistics; a token a word and a topic, or a count.
        per_group = 24 + 8 * len(self.scales) + 8 * len(observations.bag_families)
        tokens, per_token = np.diff(observations.group_start), 8
        if not observations.n_words:
            per_token = 8 + 8 * self.values.shape[1]
        elif not self.groups_vary:
            tokens = np.diff(observations.layout.words_of_group.start)
        n_bytes = per_group + 8 * bags + per_token * tokens
        if observations.effect_values is not None:
            n_bytes += 16 + 12 * np.diff(observations.effect_values.start)
        self.n_bytes = int(n_bytes.sum())  # of the whole corpus
        if self.n_bytes <= free:
            return [0, observations.n_groups]
        shard_bytes = int(SHARD_SHARE * free)
        if n_bytes.max() > shard_bytes:
            raise InputError(
                f"device 'cuda' requires {n_bytes.max()} bytes for the largest group, got "
                f"{shard_bytes}; use device='cpu'"
            )
        return [0, *(last for _, last in blocks_of_rows(row_offsets(n_bytes), shard_bytes))]


def longest_first(start: Int64s) -> Int64s:
    """Return the order of descending length, so that the last warps to finish are short."""
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
