"""Groups in shards: whoever holds one is told the globals, moves its groups and returns counts.

What is drawn does not depend on how many shards there are: random numbers belong to groups and
tokens of the whole corpus, whole numbers add up in any order, and sums of floats come by chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.tables import count_cells
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.observations.disk import DiskObservations
from mcsquared.observations.layout import Entries
from mcsquared.samplers.blocked import vectors, words
from mcsquared.samplers.blocked.contexts import GroupCounts, count_groups, take_groups
from mcsquared.samplers.blocked.own import integrates
from mcsquared.samplers.blocked.place import Place
from mcsquared.samplers.blocked.spreading import Labels, Spread
from mcsquared.samplers.blocked.stored import StoredLabels
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.workers import ONE, Workers, add_in_order
from mcsquared.state import Counts, State

__all__ = ["Globals", "Labels", "Shards", "Sums", "move_shard", "state_of_shard"]


@dataclass(frozen=True)
class Globals:
    """What goes out to every shard. Its size does not depend on the number of groups.

    Attributes
    ----------
    content : float32 (n_words, topic slots) or float64 (topic slots, n_stats)
        ψ of words, as `Psi.times_words` has it or, where λ = ∞, as variates; or the statistics of
        the topics, from which everybody draws the same parameters.
    shares : float32 (cluster slots, topic slots) or None
        Of words where λ = ∞: τ divided by the sums of the variates.
    """

    key: Key
    lam: float
    weights: Weights
    contexts: ContextParameters
    content: NDArray[Any]
    shares: NDArray[np.float32] | None


@dataclass(frozen=True)
class Sums:
    """What comes back from a shard. Its size does not depend on the number of groups either.

    Attributes
    ----------
    words : int32
        Tokens by word and topic, (n_words, topic slots); where λ = ∞ by word and cluster.
    topics, tables : int32 (cluster slots, topic slots) or None
    log_rising, statistics : float64 by chunk, or None
        See `vectors.Moved`.
    groups : GroupCounts
    """

    words: NDArray[np.int32] | None
    topics: NDArray[np.int32] | None
    tables: NDArray[np.int32] | None
    log_rising: NDArray[np.float64] | None
    statistics: NDArray[np.float64] | None
    groups: GroupCounts


def move_shard(
    observations: Observations, labels: Labels, given: Globals, workers: Workers = ONE
) -> tuple[Labels, Sums]:
    """Move the groups of a shard; return their new labels and counts. Arguments stay as they are.

    Parameters
    ----------
    observations : Observations
        From `Observations.shard`.
    """
    state = state_of_shard(observations, labels, given)
    move = (given.weights, given.contexts, given.key, workers)
    held = log_rising = statistics = None
    if observations.n_words and math.isinf(given.lam):
        assert given.shares is not None
        words.draw_clusters(state, observations, given.content, given.shares, *move)
        held = np.zeros((observations.n_words, len(given.weights.log_clusters)), np.int32)
        entries = observations.layout.words_of_group
        count_cells(entries.start, entries.column, entries.count, state.cluster_of_group, held)
    elif observations.n_words:
        log_rising = words.move_members_given(state, observations, given.content, *move)
        held = state.counts.words_in_topic
    else:
        vector_move = vectors.move_groups if math.isinf(given.lam) else vectors.move_members
        log_rising, statistics = vector_move(state, observations, *move)
    draws_topics = not (observations.n_words and math.isinf(given.lam))
    return Labels(state.cluster_of_group, state.topic_of_token), Sums(
        words=held,
        topics=state.counts.topics_in_cluster if draws_topics else None,
        tables=state.tables_in_cluster,
        log_rising=log_rising,
        statistics=statistics,
        groups=count_groups(state, observations, workers),
    )


def state_of_shard(observations: Observations, labels: Labels, given: Globals) -> State:
    """Return a state with a shard's labels, and of the counts only what its move reads."""
    n_clusters, n_topics = given.weights.log_shares.shape
    is_words = observations.n_words > 0
    none = np.zeros((0, n_topics), np.int32)
    room = np.zeros((observations.n_words, n_topics), np.int32)
    counts = Counts(
        groups_in_cluster=np.zeros(n_clusters, np.int32),
        tokens_in_cluster=np.zeros(n_clusters, np.int64),
        topics_in_cluster=np.zeros((n_clusters, n_topics), np.int32),
        tokens_in_topic=np.zeros(n_topics, np.int64),
        words_in_topic=none if math.isinf(given.lam) else room,
        topic_statistics=np.zeros((n_topics, 0)) if is_words else given.content,
        context_statistics=np.zeros((n_clusters, 0)),
        category_counts=np.zeros((n_clusters, 0), np.int32),
        category_totals=np.zeros((n_clusters, 0), np.int64),
    )
    return State(
        cluster_of_group=labels.clusters.copy(),
        topic_of_token=labels.topics.copy(),
        topic_weights=given.weights.topics,
        log_unused=np.zeros(1),
        alpha=1.0,
        v=1.0,
        eta=1.0,
        lam=given.lam,
        sweep=given.key.sweep,
        counts=counts,
    )


class Shards(Place):
    """Groups in shards that somebody moves: here one after another, on a cluster side by side.

    Parameters
    ----------
    observations : Observations
        In memory, or on disk: then no more than a shard of them is in memory at a time, and labels
        are on disk as well.
    n_shards : int
        At the least; as many as there are chunks at the most.

    Attributes
    ----------
    labels : list of Labels, or what behaves so
        Of each shard.
    """

    labels: Any

    def __init__(
        self,
        observations: Observations,
        priors: Priors,
        n_shards: int,
        workers: Workers = ONE,
    ) -> None:
        super().__init__(observations, priors, workers)
        _refuse_own_families(observations)
        n_chunks = len(observations.layout.chunk_start) - 1
        bounds = np.linspace(0, n_chunks, min(n_shards, n_chunks) + 1).round().astype(int)
        self.chunks = [(int(first), int(last)) for first, last in pairwise(bounds)]
        self.is_stored = isinstance(observations, DiskObservations)
        self._cut: dict[int, Observations] = {}

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.chunks)

    def shard(self, number: int) -> Observations:
        """Return the observations of a shard: read anew, or cut out once."""
        if self.is_stored:
            return self.observations.shard(*self.chunks[number])
        if number not in self._cut:
            self._cut[number] = self.observations.shard(*self.chunks[number])
        return self._cut[number]

    def put(self, state: State, key: Key) -> None:
        """Deal out the labels; or make first ones, where the state has none."""
        if isinstance(self.observations, DiskObservations):
            self.labels = StoredLabels(self.observations, self.chunks)
        else:
            self.labels = [None] * self.n_shards
        spread = None
        if len(state.cluster_of_group) != self.observations.n_groups:
            spread = Spread(state, self.observations, self.priors, key)
        has_topics = len(state.topic_of_token) > 0
        for number in range(self.n_shards):
            shard = self.shard(number)
            if spread is not None:
                self.labels[number] = spread.labels(shard, self.workers)
                continue
            self.labels[number] = Labels(
                state.cluster_of_group[shard.first_group :][: shard.n_groups],
                state.topic_of_token[shard.first_token :][: shard.n_tokens * has_topics],
            )

    def fetch(self, state: State, clusters_only: bool = False) -> None:
        """Collect the labels: of all groups, or of those that are shown of a corpus on disk."""
        if self.is_stored:
            state.cluster_of_group = self.labels.of_shown()
            return
        state.cluster_of_group = np.concatenate([part.clusters for part in self.labels])
        if not clusters_only:
            state.topic_of_token = np.concatenate([part.topics for part in self.labels])

    def keep(self, number_of_slot: NDArray[np.int32]) -> None:
        """Write the labels of a draw that is kept to disk, where the corpus is."""
        if self.is_stored:
            self.labels.keep(number_of_slot)

    def move_all(self, given: Globals) -> Iterator[Sums]:
        """Have every shard moved; return what each sends back, in their order."""
        for number in range(self.n_shards):
            shard = self.shard(number)
            self.labels[number], sums = move_shard(shard, self.labels[number], given, self.workers)
            yield sums

    def move(self, state: State, weights: Weights, contexts: ContextParameters, key: Key) -> float:
        """Draw every group's topics and cluster, and count everything anew."""
        given = self._globals(state, weights, contexts, key)
        found = Total()
        for sums in self.move_all(given):
            found.add(sums)
        if given.shares is not None:
            self._draw_cells(state, given, found.words)
        else:
            state.take_topics(found.topics)
            if self.observations.n_words:
                state.counts.words_in_topic = found.words
            else:
                by_chunk = np.concatenate(found.statistics)
                state.counts.topic_statistics = add_in_order(by_chunk)
        take_groups(state, found.groups)
        if math.isinf(state.lam):
            return 0.0
        state.tables_in_cluster = found.tables
        return float(np.concatenate(found.log_rising).sum())

    def _globals(
        self, state: State, weights: Weights, contexts: ContextParameters, key: Key
    ) -> Globals:
        told = (key, state.lam, weights, contexts)
        if not self.observations.n_words:
            return Globals(*told, state.counts.topic_statistics, None)
        psi = self.take_psi()
        if not math.isinf(state.lam):
            return Globals(*told, psi.times_words(), None)
        variates, sums = psi.variates()
        return Globals(*told, variates, words.divided_shares(weights, sums))

    def _draw_cells(self, state: State, given: Globals, cells: NDArray[np.int32]) -> None:
        """Draw topics by (word, cluster) cell, here: no matter which groups a cell is made of."""
        assert given.shares is not None
        layout = self.observations.layout
        words.draw_topics(
            state,
            Entries.of(sparse.csr_matrix(cells)),
            layout.word_start,
            layout.word_chunk_start,
            np.arange(cells.shape[1], dtype=np.int32),
            given.content,
            given.shares,
            given.weights,
            given.key,
            self.workers,
        )


def _refuse_own_families(observations: Observations) -> None:
    """Refuse families whose parameters are integrated out, and contexts that only Python knows."""
    refused = [context.family for context in observations.python_contexts]
    if integrates(observations.python_content):
        refused.append(observations.content_family)
    if refused:
        raise InputError(
            f"the family {type(refused[0]).__name__} is one of your own, but groups in shards take "
            "only families that mcsquared has kernels for"
        )


class Total:
    """The sums of all shards, added up as they come: no more than two are in memory."""

    words: Any = None
    topics: Any = None
    tables: Any = None

    def __init__(self) -> None:
        self.log_rising: list[NDArray[np.float64]] = []
        self.statistics: list[NDArray[np.float64]] = []
        self._of_contexts: list[NDArray[np.float64]] = []
        self._groups: GroupCounts | None = None

    def add(self, sums: Sums) -> None:
        """Add what one more shard has sent. Sums of floats stay by chunk, whole numbers do not."""
        for name in ("words", "topics", "tables"):
            setattr(self, name, _added(getattr(self, name), getattr(sums, name)))
        if sums.log_rising is not None:
            self.log_rising.append(sums.log_rising)
        if sums.statistics is not None:
            self.statistics.append(sums.statistics)
        held, more = self._groups, sums.groups
        self._of_contexts.append(more.statistics)
        self._groups = more._replace(
            groups=_added(held and held.groups, more.groups),
            categories=_added(held and held.categories, more.categories),
            totals=_added(held and held.totals, more.totals),
        )

    @property
    def groups(self) -> GroupCounts:
        """Groups and contexts of all shards."""
        assert self._groups is not None
        return self._groups._replace(statistics=np.concatenate(self._of_contexts))


def _added(total: NDArray[Any] | None, part: Any) -> Any:
    """Add counts, in the type they have; what a worker sent may not be written to."""
    return part if total is None else total + part
