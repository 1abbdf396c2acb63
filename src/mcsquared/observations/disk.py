"""A corpus on disk as the arrays that samplers read: shard by shard, never all of it at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.observations import Observations, observe
from mcsquared.observations.layout import Layout, Survey

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus, DiskCorpus
    from mcsquared.model.priors import Priors

__all__ = ["DiskObservations", "bytes_of_groups", "observe_disk"]

GROUPS_AT_ONCE = 1_000_000
# Of a shard while it is moved, measured: words, labels, their order by word, and copies of these.
BYTES_PER_TOKEN, BYTES_PER_GROUP, BYTES_PER_CONTEXT = 60, 250, 60


@dataclass(frozen=True, kw_only=True)
class DiskObservations(Observations):
    """What is known of all groups without reading them: arrays here have no rows.

    Attributes
    ----------
    source : DiskCorpus
    priors : Priors
    survey : Survey
    sample : int64
        The groups that are in memory all the time: a chain begins with them, and a posterior shows
        them. All of them, where they are not too many.
    """

    source: DiskCorpus
    priors: Priors
    survey: Survey
    sample: NDArray[np.int64]

    @property
    def sampled(self) -> NDArray[np.int64] | None:
        """The groups that stand for all others; None: they are all."""
        return self.sample if len(self.sample) < self.n_groups else None

    @property
    def n_groups(self) -> int:
        """Groups, the empty ones included."""
        return self.source.n_groups

    @property
    def n_tokens(self) -> int:
        """Tokens of all groups."""
        return self.source.n_tokens

    @cached_property
    def layout(self) -> Layout:
        """What the globals need to know of the order of groups and words."""
        layout = Layout(self.group_start, self.word, self.n_words, self.survey.chunk_start)
        # What `Layout` would find by looking at all tokens.
        layout.__dict__["lengths"] = self.survey.lengths
        layout.__dict__["longest"] = self.survey.longest
        frequency = np.cumsum(self.source.word_frequency, dtype=np.int64)
        layout.__dict__["word_start"] = np.concatenate([[0], frequency])
        return layout

    def shard(self, first_chunk: int, last_chunk: int) -> Observations:
        """Read some chunks of groups as observations of their own."""
        chunks = self.survey.chunk_start[first_chunk : last_chunk + 1]
        part = replace(
            observe(self.source[int(chunks[0]) : int(chunks[-1])], self.priors),
            first_group=int(chunks[0]),
            first_token=int(self.survey.token_start[first_chunk]),
        )
        part.__dict__["layout"] = Layout(
            part.group_start, part.word, part.n_words, chunks - chunks[0]
        )
        return part

    def take(self, groups: NDArray[np.integer]) -> Observations:
        """Read some groups, wherever they are, as observations of their own."""
        return observe(self.source[groups], self.priors)

    def whole(self) -> Observations:
        """Read everything, where it is known to be little."""
        return self.shard(0, len(self.survey.chunk_start) - 1)

    def bytes_of_chunk(self) -> int:
        """Return the memory that the largest chunk takes while its groups are moved."""
        groups, tokens = np.diff(self.survey.chunk_start), np.diff(self.survey.token_start)
        n_contexts = len(self.dense_families) + len(self.bag_families)
        return int(bytes_of_groups(groups, tokens, n_contexts).max())


def bytes_of_groups(n_groups: Any, n_tokens: Any, n_contexts: int) -> Any:
    """Return the memory that so many groups take while they are moved."""
    of_group = BYTES_PER_GROUP + BYTES_PER_CONTEXT * n_contexts
    return n_groups * of_group + n_tokens * BYTES_PER_TOKEN


def observe_disk(source: DiskCorpus, priors: Priors, sample: NDArray[np.int64]) -> DiskObservations:
    """Return what samplers need to know of a corpus on disk under these priors.

    Parameters
    ----------
    sample : int64
        Groups that are in memory all the time, in increasing order.
    """
    first = source[0:1]
    _check_conversions(first, priors, len(sample) < source.n_groups)
    known = observe(first, priors)
    nobody = known.take(np.zeros(0, np.int64))
    fields = {name: getattr(nobody, name) for name in Observations.__dataclass_fields__}
    survey = Survey.of(_lengths(source), source.n_groups, source.n_tokens)
    return DiskObservations(**fields, source=source, priors=priors, survey=survey, sample=sample)


def _lengths(source: DiskCorpus) -> Iterator[NDArray[np.int64]]:
    for first in range(0, source.n_groups, GROUPS_AT_ONCE):
        yield source.lengths(first, min(first + GROUPS_AT_ONCE, source.n_groups))


def _check_conversions(corpus: Corpus, priors: Priors, is_large: bool) -> None:
    """Refuse families for which a column must be read whole before its categories are known."""
    for name, family in priors.contexts.items():
        column = corpus.contexts[name]
        if is_large and family.kernel == "dirichlet" and not column.accepts(family):
            raise InputError(
                f"context {name!r} is a {column.kind} and declared as {family.name!r}, but of a "
                "corpus that is larger than memory only strings, lists and categories can be that"
            )
