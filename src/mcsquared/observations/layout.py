"""The order in which parallel samplers read groups and words: chunks, and words by group.

Chunks depend on the corpus alone. Threads and workers process whole chunks, so that sums of floats
within chunks, added in chunk order, are the same on any number of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mcsquared.arrays import Int32s, Int64s, Integers
from mcsquared.corpus.content import starts_of
from mcsquared.kernels.cpu.tables import sort_by_word

N_CHUNKS = 64  # of a corpus that is not large
N_PARTS = 256  # for steps that sum integers: small parts, so that no thread waits long
LARGEST_CHUNK = 2**22  # in tokens, groups at their cost
GROUP_COST, WORD_COST = 50, 20  # of a group or a word without tokens, in tokens
WORDS_AT_A_TIME = 8  # a chunk of words begins at a multiple of it


class Entries(NamedTuple):
    """Non-zero counts in rows: of groups over words, or of words over groups.

    ``start`` int64 (n_rows + 1,), ``column`` int32 and ``count`` int32 (n_entries,).
    """

    start: Int64s
    column: Int32s
    count: Int32s  # type: ignore[assignment]

    @classmethod
    def of(cls, matrix: sparse.csr_matrix | sparse.csc_matrix) -> Entries:
        """Return the rows of a CSR matrix, or the columns of a CSC matrix."""
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data.astype(np.int32, copy=False),
        )


@dataclass(frozen=True)
class Layout:
    """The tokens of a corpus by group and, if they are words, by word.

    Parameters
    ----------
    group_start : int64 (n_groups + 1,)
    word : int32 (n_tokens,)
        Empty for content other than words.
    n_words : int
    chunks : int64 (n_chunks + 1,), optional
        Bounds of the chunks of groups, where these are some chunks of a larger corpus.
    """

    group_start: Int64s
    word: Int32s
    n_words: int
    chunks: Int64s | None = None

    @cached_property
    def chunk_start(self) -> Int64s:
        """Bounds of the chunks of groups, int64 (n_chunks + 1,)."""
        if self.chunks is not None:
            return self.chunks
        cost = np.diff(self.group_start) + GROUP_COST
        return split_evenly(cost, n_chunks_for(len(cost), int(self.group_start[-1])))

    @cached_property
    def order(self) -> Int64s:
        """Groups of each chunk by their length."""
        length = np.diff(self.group_start)
        chunk = np.repeat(np.arange(len(self.chunk_start) - 1), np.diff(self.chunk_start))
        return np.lexsort((length, chunk)).astype(np.int64)

    @cached_property
    def order_start(self) -> Int64s:
        """Bounds of parts of `order` with about as many tokens, int64 (n_parts + 1,)."""
        return split_evenly(np.diff(self.group_start)[self.order] + GROUP_COST, N_PARTS)

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest group."""
        return int(np.diff(self.group_start).max(initial=0))

    @cached_property
    def lengths(self) -> tuple[Int64s, Int64s]:
        """Distinct lengths of groups except 0, and the number of groups of each."""
        lengths, times = np.unique(np.diff(self.group_start), return_counts=True)
        return lengths[lengths > 0], times[lengths > 0]

    @cached_property
    def word_start(self) -> Int64s:
        """Tokens of the words before each, int64 (n_words + 1,)."""
        return starts_of(np.bincount(self.word, minlength=self.n_words))

    @cached_property
    def word_chunk_start(self) -> Int64s:
        """Bounds of chunks of words with about as many tokens, int64 (n_chunks + 1,)."""
        return split_evenly(np.diff(self.word_start) + WORD_COST, N_PARTS, WORDS_AT_A_TIME)

    @cached_property
    def row_chunk_start(self) -> Int64s:
        """Bounds of chunks of as many words each, for steps that cost the same for every word."""
        return split_evenly(np.ones(self.n_words, np.int64), N_CHUNKS, WORDS_AT_A_TIME)

    @cached_property
    def words_of_group(self) -> Entries:
        """Each group's words with their counts."""
        return Entries.of(self._counts)

    @cached_property
    def groups_of_word(self) -> Entries:
        """Each word's groups with their counts."""
        return Entries.of(self._counts.tocsc())

    @cached_property
    def token_by_word(self) -> Int32s:
        """The tokens of the first word, then those of the second, and so on."""
        order = np.empty(len(self.word), np.int32)
        sort_by_word(self.word, self.word_start[:-1].copy(), order)
        return order

    @cached_property
    def _counts(self) -> sparse.csr_matrix:
        shape = (len(self.group_start) - 1, self.n_words)
        ones = np.ones(len(self.word), np.int32)
        # Copies: duplicates are summed in place.
        counts = sparse.csr_matrix((ones, self.word.copy(), self.group_start.copy()), shape=shape)
        counts.sum_duplicates()
        return counts


def n_chunks_for(n_groups: int, n_tokens: int) -> int:
    """Return the number of chunks: more if the corpus is large, so that a chunk fits."""
    return max(N_CHUNKS, (n_tokens + GROUP_COST * n_groups) // LARGEST_CHUNK)


@dataclass(frozen=True)
class LayoutSummary:
    """The layout of a corpus on disk, from one pass over the lengths of its groups.

    Attributes
    ----------
    chunk_start, token_start : int64 (n_chunks + 1,)
        Groups and tokens before each chunk.
    lengths : int64, int64
        As `Layout.lengths`.
    longest : int
    """

    chunk_start: Int64s
    token_start: Int64s
    lengths: tuple[Int64s, Int64s]
    longest: int

    @classmethod
    def of(cls, blocks: Iterable[Integers], n_groups: int, n_tokens: int) -> LayoutSummary:
        """Return the summary of a corpus from blocks of lengths; chunks are those of `Layout`."""
        n_chunks = n_chunks_for(n_groups, n_tokens)
        targets = np.linspace(0, n_tokens + GROUP_COST * n_groups, n_chunks + 1)[1:-1]
        chunks: list[int] = []
        tokens: list[int] = []
        times = np.zeros(1, np.int64)
        groups_before = tokens_before = 0
        for block in blocks:
            total = tokens_before + np.cumsum(block, dtype=np.int64)
            cost = total + GROUP_COST * (groups_before + np.arange(1, len(block) + 1))
            passed = targets[len(chunks) : np.searchsorted(targets, cost[-1], side="right")]
            at = np.searchsorted(cost, passed)
            chunks += (groups_before + at + 1).tolist()
            tokens += total[at].tolist()
            total_times = np.bincount(block, minlength=len(times))
            total_times[: len(times)] += times
            times = total_times
            groups_before, tokens_before = groups_before + len(block), int(total[-1])
        lengths = np.flatnonzero(times)
        lengths = lengths[lengths > 0].astype(np.int64)
        return cls(
            np.array([0, *chunks, n_groups], np.int64),
            np.array([0, *tokens, n_tokens], np.int64),
            (lengths, times[lengths]),
            int(lengths.max(initial=0)),
        )


def split_evenly(cost: Integers, n_parts: int, step: int = 1) -> Int64s:
    """Return bounds of parts of about equal cost, multiples of ``step`` but for the last."""
    total = starts_of(cost)
    targets = np.linspace(0, total[-1], n_parts + 1)
    bounds = np.searchsorted(total, targets).astype(np.int64)
    bounds = (bounds + step - 1) // step * step
    bounds[0], bounds[-1] = 0, len(cost)
    return np.minimum(bounds, len(cost))
