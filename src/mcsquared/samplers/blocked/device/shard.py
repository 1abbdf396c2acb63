"""A shard of groups on the GPU of whoever holds it: told the globals, it returns counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.model.priors import Priors
from mcsquared.samplers.blocked.contexts import GroupCounts
from mcsquared.samplers.blocked.device.corpus import DeviceCorpus
from mcsquared.samplers.blocked.device.place import Device
from mcsquared.samplers.blocked.device.words import WordsThere
from mcsquared.samplers.blocked.shards import Globals, Labels, Sums, state_of_shard
from mcsquared.state import State

__all__ = ["ShardThere"]


class ShardThere(Device):
    """Groups that are moved as `mcsquared.samplers.blocked.shards.move_shard` moves them.

    Draws are the CPU's, but where sums are rounded apart. Sums of floats come back as those of one
    chunk, so that a chain depends on how groups are dealt out, by rounding.

    Parameters
    ----------
    corpus : DeviceCorpus
        What `Observations.shard` returns, on the GPU.
    """

    def __init__(self, corpus: DeviceCorpus, priors: Priors) -> None:
        super().__init__(corpus.observations, priors, corpus)
        self._slots: tuple[int, ...] = ()
        self._left: Labels | None = None

    def move_shard(self, labels: Labels, given: Globals) -> tuple[Labels, Sums]:
        """Move the groups; return their new labels and counts. Arguments stay as they are."""
        state = state_of_shard(self.observations, labels, given)
        self._make_ready(state, labels, given)
        tables = self.tables
        self.memory.zero(self.categories)
        tables.counts.clear()
        tables.give(given.weights.log_clusters, given.contexts.naturals)
        if self.corpus.varies:
            self._tabulate_base(state)
        move = self._move_members if self.corpus.varies else self._move_groups
        move(state, given.contexts.extra, given.key)
        if not isinstance(self.content, WordsThere):
            self.content.finish(given.key)
        tables.bring()
        self.content.take_home(state)
        self.fetch(state, clusters_only=True)
        self._fetch_topics(state)
        self._left = Labels(state.cluster_of_group, state.topic_of_token)
        statistics = None if self.observations.n_words else state.counts.topic_statistics[None]
        return self._left, self._sums(given, statistics)

    def _make_ready(self, state: State, labels: Labels, given: Globals) -> None:
        """Bring labels and globals there; labels that it has left there itself are there."""
        if self._slots != given.weights.log_shares.shape:
            self._slots = given.weights.log_shares.shape
            n_categories = self.observations.n_categories
            state.counts.category_counts = np.zeros((self._slots[0], n_categories), np.int32)
            self.put(state, given.key)
        elif labels is not self._left:
            self.put_labels(state)
        there, put = self.tables.drawn.there["log_shares"], self.memory.put
        put(given.weights.log_shares.reshape(-1), there)
        put(self._rows(given.contexts.log_categories), self.tables.log_categories)
        if isinstance(self.content, WordsThere):
            self.content.take(given.content, given.shares)
        else:
            self.content.begin(state, given.key)
            self.content.prepare()

    def _rows(self, log_categories: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return log-probabilities of categories in the rows that kernels read."""
        table = np.zeros((self.corpus.n_category_rows, log_categories.shape[1]), np.float32)
        table[self.corpus.row_of_category] = log_categories
        return table.reshape(-1)

    def _sums(self, given: Globals, statistics: NDArray[np.float64] | None) -> Sums:
        """Return what was counted; floats as the sums of a single chunk."""
        here, n_clusters = self.tables.counts.here, self.tables.slots[0]
        rows = self.memory.take(self.categories).reshape(-1, n_clusters)
        varies = not math.isinf(given.lam)
        draws_topics = varies or not self.observations.n_words
        log_rising = self.tables.drawn.here["log_likelihood"].sum(keepdims=True)
        return Sums(
            words=self._words(varies),
            topics=here["topics"] if draws_topics else None,
            tables=here["tables"] if varies else None,
            log_rising=log_rising if varies else None,
            statistics=statistics,
            groups=GroupCounts(
                groups=here["groups"],
                categories=rows[self.corpus.row_of_category],
                totals=here["totals"],
                statistics=(here["statistics"] / self.corpus.scales)[None],
            ),
        )

    def _words(self, varies: bool) -> NDArray[Any] | None:
        """Return tokens by word and topic; where λ = ∞ by word and cluster."""
        if not isinstance(self.content, WordsThere):
            return None
        table = self.content.words if varies else self.content.tokens_of_cell
        return self.memory.take(table).reshape(self.observations.n_words, -1)
