"""A corpus on the GPU: all of it, or a shard at a time where it is larger than the memory there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.kernels.cpu.gammas import ROWS
from mcsquared.observations import Observations, bags_of_groups

__all__ = ["DeviceCorpus", "Shard", "longest_first"]

SHARE = 0.8  # of the free memory that a corpus may take; what is left is for tables
SHARE_OF_SHARD = 0.2  # the next one is copied before the last one's memory is free
MOST_WHOLE = 2.0**61  # sums of statistics are whole numbers below it
AT_ONCE = 1 << 19  # tokens and groups of vectors whose likelihoods are in memory at a time


@dataclass(frozen=True)
class Shard:
    """Some groups in a row, on the GPU.

    Attributes
    ----------
    groups, tokens : slice
        Which ones of the observations.
    first_group, first_token : int
        Groups and tokens of the whole corpus before these: random numbers are those of the whole.
    arrays : dict
        Those of `DeviceCorpus.host_arrays`.
    blocks : list of (int, int)
        Groups of the shard that are moved at a time, where tokens are vectors.
    """

    groups: slice
    tokens: slice
    first_group: int
    first_token: int
    arrays: dict[str, Any]
    blocks: list[tuple[int, int]]

    @property
    def n_groups(self) -> int:
        """Groups of the shard."""
        return self.groups.stop - self.groups.start


class DeviceCorpus:
    """A corpus as the kernels read it, on the GPU.

    Parameters
    ----------
    observations : Observations
    varies : bool
        Whether topics are drawn token by token, as where λ is finite.
    most_bytes : int, optional
        Of the GPU's memory that the corpus may take; by default most of what is free.

    Attributes
    ----------
    keeps_topics : bool
        Whether every token has a topic: for words where λ is finite, always for vectors.
    is_resident : bool
        Whether all of it stays on the GPU; else shards are copied there one after another.
    n_bytes : int
        Of all of it.
    bag_rows : list of range
        Rows of each bag in tables of categories, where kernels can begin; rows between are empty.
    scales : float64 (statistics of dense contexts,)
        What a statistic is multiplied by before it is rounded to a whole number.
    """

    def __init__(
        self, observations: Observations, varies: bool, most_bytes: int | None = None
    ) -> None:
        from mcsquared.kernels.cuda import memory

        self.observations, self.varies = observations, varies
        self.keeps_topics = varies or not observations.n_words
        self.statistics = statistics_of_groups(observations)
        largest = np.abs(self.statistics).max(axis=0, initial=0.0)
        bound = np.where(largest > 0.0, largest, 1.0) * (observations.n_groups + 1)
        self.scales = MOST_WHOLE / bound
        self.bag_rows = rows_of_bags(observations)
        self.row_of_category = np.concatenate(
            [np.zeros(0, np.int32), *(np.asarray(rows, np.int32) for rows in self.bag_rows)]
        )
        last = self.bag_rows[-1].stop if self.bag_rows else 0
        self.n_category_rows = -(-last // ROWS) * ROWS
        free = int(SHARE * memory.free_bytes()) if most_bytes is None else most_bytes
        bounds = self._bounds(free)
        self.is_resident = len(bounds) == 2
        self._bounds_of_shards = bounds
        self._held = [self._load(0, observations.n_groups)] if self.is_resident else []

    def shards(self) -> Iterator[Shard]:
        """Yield the shards in their order, each on the GPU."""
        if self.is_resident:
            yield from self._held
            return
        for first, last in pairwise(self._bounds_of_shards.tolist()):
            yield self._load(first, last)

    @cached_property
    def chunk_bounds(self) -> NDArray[np.int64]:
        """Groups at which the chunks begin that have any: statistics of vectors are summed by them.

        int64 (n_chunks + 1,)
        """
        return np.unique(self.observations.layout.chunk_start)

    @property
    def most_tokens(self) -> int:
        """Tokens of the largest shard."""
        return int(np.diff(self.observations.group_start[self._bounds_of_shards]).max())

    @property
    def most_at_once(self) -> tuple[int, int]:
        """Groups and tokens of the blocks that have most of them."""
        start, most = self.observations.group_start, [0, 0]
        for first, last in pairwise(self._bounds_of_shards.tolist()):
            for begin, end in self._blocks(first, last):
                n_tokens = int(start[first + end] - start[first + begin])
                most = [max(most[0], end - begin), max(most[1], n_tokens)]
        return most[0], most[1]

    def padded(self, category_counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return counts (cluster slots, categories) as a table with rows where kernels begin."""
        table = np.zeros((self.n_category_rows, len(category_counts)), np.int32)
        table[self.row_of_category] = category_counts.T
        return table

    def host_arrays(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Return what kernels read of some groups; groups and tokens count from the first."""
        observations, layout = self.observations, self.observations.layout
        start = observations.group_start[first : last + 1]
        bags = bags_of_groups(observations.bags, slice(first, last))
        arrays = {
            "statistics": self.statistics[first:last],
            "bag_start": bags.start,
            "bag_category": self.row_of_category[bags.category],
            "bag_count": bags.count,
            "group_start": start - start[0],
        }
        if not observations.n_words:
            bounds = observations.group_start[self.chunk_bounds]
            blocks = [
                begin + longest_first(start[begin : end + 1])
                for begin, end in self._blocks(first, last)
            ]
            return arrays | {
                "order": np.concatenate([np.zeros(0, np.int64), *blocks]),
                "chunk_start": np.clip(bounds, start[0], start[-1]) - start[0],
                "values": observations.values[int(start[0]) : int(start[-1])].reshape(-1),
            }
        if self.varies:
            words = observations.word[int(start[0]) : int(start[-1])]
            return arrays | {"order": longest_first(start), "word": words.astype(np.int32)}
        held = layout.words_of_group
        begin = held.start[first : last + 1]
        part = slice(int(begin[0]), int(begin[-1]))
        return arrays | {
            "order": longest_first(begin),
            "entry_start": begin - begin[0],
            "entry_word": held.column[part],
            "entry_count": held.count[part],
        }

    def _load(self, first: int, last: int) -> Shard:
        from mcsquared.kernels.cuda import memory

        start = self.observations.group_start
        host = self.host_arrays(first, last)
        arrays = {name: memory.put(array) for name, array in host.items()}
        tokens = slice(int(start[first]), int(start[last]))
        before = (
            self.observations.first_group + first,
            self.observations.first_token + tokens.start,
        )
        return Shard(slice(first, last), tokens, *before, arrays, self._blocks(first, last))

    def _blocks(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return groups of a shard, counted from its first, that are moved at a time."""
        if self.observations.n_words:
            return []
        cost = np.diff(self.observations.group_start[first : last + 1]) + 1
        return list(pairwise(filled(np.cumsum(cost), AT_ONCE)))

    def _bounds(self, free: int) -> NDArray[np.int64]:
        """Return the groups at which shards begin, and their end."""
        observations = self.observations
        bags = np.diff(observations.bags.start, axis=1).sum(axis=0)
        # Labels and places of a group, and its statistics; words with topics, or with counts.
        of_group = 24 + 8 * self.statistics.shape[1] + 8 * len(observations.bag_families)
        tokens, of_token = np.diff(observations.group_start), 8
        if not observations.n_words:
            of_token = 8 + 8 * observations.values.shape[1]
        elif not self.varies:
            tokens = np.diff(observations.layout.words_of_group.start)
        needed = of_group + 8 * bags + of_token * tokens
        total = np.cumsum(needed)
        self.n_bytes = int(needed.sum())
        if self.n_bytes <= free:
            return np.array([0, observations.n_groups])
        most = int(SHARE_OF_SHARD * free)
        if needed.max() > most:
            raise InputError(
                f"device is 'cuda', but its memory has {most} bytes for a shard of the corpus and "
                f"the largest group needs {needed.max()}; device='cpu' takes it"
            )
        return np.array(filled(total, most))


def filled(total: NDArray[np.int64], most: int) -> list[int]:
    """Return bounds of parts that hold ``most`` at most, or one group: ``total`` is cumulative."""
    bounds, done = [0], 0
    while bounds[-1] < len(total):
        last = int(np.searchsorted(total, done + most, side="right"))
        bounds.append(max(last, bounds[-1] + 1))
        done = int(total[bounds[-1] - 1])
    return bounds


def longest_first(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order in which the longest come first: the last ones worked on are short."""
    return np.argsort(-np.diff(start), kind="stable").astype(np.int64)


def rows_of_bags(observations: Observations) -> list[range]:
    """Return rows for the categories of each bag, beginning where the gamma kernel can begin."""
    rows, first = [], 0
    for family in observations.bag_families:
        rows.append(range(first, first + family.n_stats))
        first = -(-rows[-1].stop // ROWS) * ROWS
    return rows


def statistics_of_groups(observations: Observations) -> NDArray[np.float64]:
    """Return T(x_j) of all dense contexts, 0 where one is missing: (n_groups, statistics)."""
    dense = observations.dense
    statistics = np.zeros((observations.n_groups, int(dense.stat_start[-1])))
    for c, family in enumerate(observations.dense_families):
        seen = dense.observed[:, c]
        values = dense.values[seen, dense.value_start[c] : dense.value_start[c + 1]]
        columns = slice(int(dense.stat_start[c]), int(dense.stat_start[c + 1]))
        statistics[seen, columns] = family.centred_statistics(values)
    return statistics
