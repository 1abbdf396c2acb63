"""Observations of a corpus on disk, read shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.arrays import Int32s, Int64s, Integers
from mcsquared.corpus.content import row_offsets
from mcsquared.errors import InputError
from mcsquared.observations import Observations, observe, with_chunks
from mcsquared.observations.layout import Layout, LayoutSummary

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus, DiskCorpus
    from mcsquared.model.priors import Priors

GROUPS_PER_READ = 1_000_000
# Measured memory of a shard during a sweep: words, labels, token order by word, and copies.
BYTES_PER_SHARD_TOKEN, BYTES_PER_SHARD_GROUP, BYTES_PER_SHARD_CONTEXT = 60, 250, 60
BYTES_PER_SHARD_NUMBER = 24  # of a vector: as read, minus the origin, and in a topic that is moved


@dataclass(frozen=True, kw_only=True)
class DiskObservations(Observations):
    """Observations on disk: the arrays are empty, and shards are read on demand."""

    source: DiskCorpus
    priors: Priors
    summary: LayoutSummary
    # Indices of the groups in memory: chains start from these, and the posterior describes them.
    sample: Int64s

    @property
    def sampled(self) -> Int64s | None:
        """Indices of the groups in memory, int64; None if all of them are."""
        return self.sample if len(self.sample) < self.n_groups else None

    @property
    def n_groups(self) -> int:
        """Number of groups, including empty ones."""
        return self.source.n_groups

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all groups."""
        return self.source.n_tokens

    @property
    def parents_of_all(self) -> Int32s:
        """Unit of each group one level above, read from disk."""
        return self.source.parents()

    @cached_property
    def layout(self) -> Layout:
        """The layout, computed without reading the tokens."""
        layout = Layout(self.group_start, self.word, self.n_words, self.summary.chunk_start)
        layout.__dict__["token_start"] = self.summary.token_start
        layout.__dict__["lengths"] = self.summary.lengths
        layout.__dict__["longest"] = self.summary.longest
        if self.source.word_frequency is not None:
            layout.__dict__["word_start"] = row_offsets(self.source.word_frequency)
        return layout

    def shard(self, first_chunk: int, last_chunk: int) -> Observations:
        """Read the groups of the chunks ``first_chunk:last_chunk``."""
        chunks = self.summary.chunk_start[first_chunk : last_chunk + 1]
        part = replace(
            observe(self.source[int(chunks[0]) : int(chunks[-1])], self.priors),
            first_group=int(chunks[0]),
            first_token=int(self.summary.token_start[first_chunk]),
        )
        return with_chunks(part, chunks)

    def take(self, groups: Integers) -> Observations:
        """Read selected groups."""
        return observe(self.source[groups], self.priors)

    def in_memory(self) -> Observations:
        """Read all groups into memory."""
        return self.shard(0, len(self.summary.chunk_start) - 1)

    def bytes_of_chunk(self) -> int:
        """Return the memory of the largest chunk during a sweep, in bytes."""
        groups, tokens = np.diff(self.summary.chunk_start), np.diff(self.summary.token_start)
        n_contexts = len(self.context_columns) + len(self.bag_families)
        width = self.source.content.width
        return int(bytes_of_groups(groups, tokens, n_contexts, width).max())


def bytes_of_groups(n_groups: Any, n_tokens: Any, n_contexts: int, width: int) -> Any:
    """Return the memory of groups during a sweep, in bytes; ``width`` is 0 for words."""
    per_group = BYTES_PER_SHARD_GROUP + BYTES_PER_SHARD_CONTEXT * n_contexts
    per_token = BYTES_PER_SHARD_TOKEN + BYTES_PER_SHARD_NUMBER * width
    return n_groups * per_group + n_tokens * per_token


def observe_disk(source: DiskCorpus, priors: Priors, sample: Int64s) -> DiskObservations:
    """Return the observations of a corpus on disk; the groups ``sample`` stay in memory."""
    first = source[0:1]
    _check_conversions(first, priors, len(sample) < source.n_groups)
    empty = observe(first, priors).take(np.zeros(0, np.int64))
    fields = {name: getattr(empty, name) for name in Observations.__dataclass_fields__}
    summary = LayoutSummary.from_lengths(_lengths(source), source.n_groups, source.n_tokens)
    return DiskObservations(**fields, source=source, priors=priors, summary=summary, sample=sample)


def _lengths(source: DiskCorpus) -> Iterator[Int64s]:
    for first in range(0, source.n_groups, GROUPS_PER_READ):
        yield source.lengths(first, min(first + GROUPS_PER_READ, source.n_groups))


def _check_conversions(corpus: Corpus, priors: Priors, is_sampled: bool) -> None:
    """Raise `InputError` if a family needs categories that are known only from all groups."""
    for name, family in priors.contexts.items():
        column = corpus.contexts[name]
        if is_sampled and family.kernel == "dirichlet" and not column.accepts(family):
            raise InputError(
                f"context {name!r} must contain strings, lists or categories for the family "
                f"{family.name!r} in a corpus larger than memory, got a {column.kind}"
            )
