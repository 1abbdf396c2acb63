"""The order in which parallel samplers read groups and words: chunks, and words by group.

Chunks depend on the corpus alone. Threads and workers process whole chunks, so that sums of floats
within chunks, added in chunk order, do not depend on the number of threads or workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from mcsquared.arrays import CountArray, Int32s, Int64s, Integers
from mcsquared.corpus.content import row_offsets
from mcsquared.kernels.cpu.counts import count_labels, sort_by_word

N_CHUNKS = 64  # of groups; a large corpus has more
N_PARTS = 256  # for steps that sum integers; small parts balance the load of threads
MAX_CHUNK_COST = 2**22  # in tokens
GROUP_COST, WORD_COST = 50, 20  # fixed cost of a group and of a word, in tokens
WORD_STEP = 8  # chunks of words begin at multiples of this


class Entries(NamedTuple):
    """Non-zero counts in CSR layout: words in groups, or groups by word.

    ``start`` int64 (n_rows + 1,), ``column`` int32 and ``count`` int32 (n_entries,); counts by
    cluster instead of group may be int64.
    """

    start: Int64s
    column: Int32s
    count: CountArray  # type: ignore[assignment]

    @classmethod
    def from_matrix(cls, matrix: sparse.csr_matrix | sparse.csc_matrix) -> Entries:
        """Return the rows of a CSR matrix, or the columns of a CSC matrix."""
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data,
        )


@dataclass(frozen=True)
class Layout:
    """The tokens of a corpus by group and, if they are words, by word."""

    group_start: Int64s  # (n_groups + 1,)
    word: Int32s  # (n_tokens,): empty for content other than words
    n_words: int
    chunks: Int64s | None = None  # (n_chunks + 1,): given for a shard of a corpus

    @cached_property
    def chunk_start(self) -> Int64s:
        """Bounds of the chunks of groups, int64 (n_chunks + 1,)."""
        if self.chunks is not None:
            return self.chunks
        cost = np.diff(self.group_start) + GROUP_COST
        return split_evenly(cost, n_chunks_for(len(cost), int(self.group_start[-1])))

    @cached_property
    def token_start(self) -> Int64s:
        """First token of each chunk, and the number of all tokens, int64 (n_chunks + 1,)."""
        return self.group_start[self.chunk_start]

    @cached_property
    def order(self) -> Int64s:
        """Groups sorted by chunk, then by length, int64 (n_groups,)."""
        length = np.diff(self.group_start)
        chunk = np.repeat(np.arange(len(self.chunk_start) - 1), np.diff(self.chunk_start))
        return np.lexsort((length, chunk)).astype(np.int64)

    @cached_property
    def order_start(self) -> Int64s:
        """Bounds of parts of `order` of about equal cost, int64 (n_parts + 1,)."""
        return split_evenly(np.diff(self.group_start)[self.order] + GROUP_COST, N_PARTS)

    @cached_property
    def longest(self) -> int:
        """Number of tokens of the longest group."""
        return int(np.diff(self.group_start).max(initial=0))

    @cached_property
    def lengths(self) -> tuple[Int64s, Int64s]:
        """Distinct lengths of non-empty groups, and the number of groups of each length, int64."""
        lengths, n_groups = np.unique(np.diff(self.group_start), return_counts=True)
        return lengths[lengths > 0], n_groups[lengths > 0]

    @cached_property
    def word_start(self) -> Int64s:
        """Bounds of the tokens of each word in `token_by_word`, int64 (n_words + 1,)."""
        counts = np.zeros(self.n_words, np.int64)
        count_labels(self.word, counts)
        return row_offsets(counts)

    @cached_property
    def word_chunk_start(self) -> Int64s:
        """Bounds of chunks of words of about equal cost, int64 (n_chunks + 1,)."""
        return word_chunks(self.word_start)

    @cached_property
    def row_chunk_start(self) -> Int64s:
        """Bounds of chunks of equally many words, for steps whose cost per word is constant."""
        return row_chunks(self.n_words)

    @cached_property
    def words_of_group(self) -> Entries:
        """The words of each group and their counts.

        `observe` sets it to the arrays of a corpus in memory.
        """
        ones = np.ones(len(self.word), np.int32)
        # Copies: duplicates are summed in place.
        arrays = (ones, self.word.copy(), self.group_start.copy())
        counts = sparse.csr_matrix(arrays, shape=(len(self.group_start) - 1, self.n_words))
        counts.sum_duplicates()
        start, column, count = Entries.from_matrix(counts)
        return Entries(start, column.copy(), count.copy())  # without the unused rest of `ones`

    @cached_property
    def groups_of_word(self) -> Entries:
        """The groups of each word and its counts in them."""
        start, column, count = self.words_of_group
        shape = (len(self.group_start) - 1, self.n_words)
        return Entries.from_matrix(sparse.csr_matrix((count, column, start), shape=shape).tocsc())

    @cached_property
    def token_by_word(self) -> Int32s:
        """Indices of the tokens sorted by word, int32 (n_tokens,)."""
        order = np.empty(len(self.word), np.int32)
        sort_by_word(self.word, self.word_start[:-1].copy(), order)
        return order


def word_chunks(word_start: Int64s) -> Int64s:
    """Return bounds of chunks of words of about equal cost, int64 (n_chunks + 1,)."""
    return split_evenly(np.diff(word_start) + WORD_COST, N_PARTS, WORD_STEP)


def row_chunks(n_words: int) -> Int64s:
    """Return bounds of chunks of equally many words, int64 (n_chunks + 1,)."""
    return split_evenly(np.ones(n_words, np.int64), N_CHUNKS, WORD_STEP)


def n_chunks_for(n_groups: int, n_tokens: int) -> int:
    """Return the number of chunks, which grows with the corpus so that chunks stay small."""
    return max(N_CHUNKS, (n_tokens + GROUP_COST * n_groups) // MAX_CHUNK_COST)


@dataclass(frozen=True)
class LayoutSummary:
    """The layout of a corpus on disk, from one pass over the lengths of its groups."""

    chunk_start: Int64s  # (n_chunks + 1,): groups before each chunk
    token_start: Int64s  # (n_chunks + 1,): tokens before each chunk
    lengths: tuple[Int64s, Int64s]  # as in `Layout.lengths`
    longest: int

    @classmethod
    def from_lengths(cls, blocks: Iterable[Integers], n_groups: int, n_tokens: int) -> Self:
        """Compute the summary from blocks of group lengths; chunks are those of `Layout`."""
        n_chunks = n_chunks_for(n_groups, n_tokens)
        targets = np.linspace(0, n_tokens + GROUP_COST * n_groups, n_chunks + 1)[1:-1]
        chunks: list[int] = []
        tokens: list[int] = []
        n_of_length = np.zeros(1, np.int64)
        groups_before = tokens_before = 0
        for block in blocks:
            total = tokens_before + np.cumsum(block, dtype=np.int64)
            cost = total + GROUP_COST * (groups_before + np.arange(1, len(block) + 1))
            passed = targets[len(chunks) : np.searchsorted(targets, cost[-1], side="right")]
            index = np.searchsorted(cost, passed)
            chunks += (groups_before + index + 1).tolist()
            tokens += total[index].tolist()
            n_in_block = np.bincount(block, minlength=len(n_of_length))
            n_in_block[: len(n_of_length)] += n_of_length
            n_of_length = n_in_block
            groups_before, tokens_before = groups_before + len(block), int(total[-1])
        lengths = np.flatnonzero(n_of_length)
        lengths = lengths[lengths > 0].astype(np.int64)
        return cls(
            np.array([0, *chunks, n_groups], np.int64),
            np.array([0, *tokens, n_tokens], np.int64),
            (lengths, n_of_length[lengths]),
            int(lengths.max(initial=0)),
        )


def split_evenly(cost: Integers, n_parts: int, step: int = 1) -> Int64s:
    """Return bounds of parts of about equal cost; all but the last are multiples of ``step``."""
    total = row_offsets(cost)
    targets = np.linspace(0, total[-1], n_parts + 1)
    bounds = np.searchsorted(total, targets).astype(np.int64)
    bounds = (bounds + step - 1) // step * step
    bounds[0], bounds[-1] = 0, len(cost)
    return np.minimum(bounds, len(cost))
