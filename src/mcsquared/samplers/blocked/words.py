"""Words in the blocked sampler: groups and tokens, given ψ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.cells import blocks_at_once, draw_cells
from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.lanes import N_LANES, aligned
from mcsquared.kernels.cpu.members import count_words_in_topics, sweep_tokens
from mcsquared.kernels.cpu.mixtures import draw_clusters_of_words, tabulate_log_mixtures
from mcsquared.kernels.cpu.sparse_members import sweep_tokens_by_own_topics, tabulate_mixtures
from mcsquared.observations import Observations
from mcsquared.observations.layout import Entries
from mcsquared.samplers.blocked.members import as_floats, place_members
from mcsquared.samplers.blocked.own import Visits
from mcsquared.samplers.blocked.psi import Floats, Psi
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.workers import Workers
from mcsquared.state import State

__all__ = [
    "divided_shares",
    "draw_clusters",
    "draw_topics",
    "move_groups",
    "move_members",
    "move_members_given",
]

MANY_SLOTS = 512  # above it, weighing all topics at once is slower than those of the group first


def move_groups(
    state: State,
    observations: Observations,
    psi: Psi,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> None:
    """Draw clusters with topics summed out, then topics by (cluster, word) cell: λ = ∞."""
    layout = observations.layout
    variates, sums = psi.variates()
    shares = divided_shares(weights, sums)
    draw_clusters(state, observations, variates, shares, weights, contexts, key, workers)
    cells = (layout.groups_of_word, layout.word_start, layout.word_chunk_start)
    draw_topics(state, *cells, state.cluster_of_group, variates, shares, weights, key, workers)


def divided_shares(weights: Weights, sums: NDArray[np.float64]) -> Floats:
    """Return τ_km divided by the sum of the topic's variates."""
    shares = as_floats(np.exp(weights.log_shares))
    shares /= sums.astype(np.float32)
    return shares


def draw_clusters(
    state: State,
    observations: Observations,
    variates: Floats,
    shares: Floats,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> None:
    """Draw the cluster of every group, topics summed out.

    Parameters
    ----------
    variates : float32 (n_words, topic slots)
        From `Psi.variates`.
    shares : float32 (cluster slots, topic slots)
        τ_km divided by the sum of the topic's variates.
    """
    layout, row_bounds = observations.layout, observations.layout.row_chunk_start
    visits = Visits(state, observations, contexts, workers)
    n_words, n_slots = len(variates), len(shares)
    table, means = aligned(n_words, n_slots), np.empty(n_words, np.float32)
    by_topic = np.ascontiguousarray(shares.T)

    def tabulate(first: int, last: int) -> None:
        tabulate_log_mixtures(
            row_bounds[first],
            row_bounds[last],
            variates.reshape(-1),
            by_topic.reshape(-1),
            table,
            means,
        )

    def place(first: int, last: int) -> None:
        for part in visits.parts(first, last):
            draw_clusters_of_words(
                *part,
                visits.bounds,
                layout.words_of_group.start,
                layout.words_of_group.column,
                layout.words_of_group.count,
                table.reshape(-1),
                weights.log_clusters,
                observations.dense,
                observations.bags,
                contexts,
                *key,
                observations.first_group,
                state.cluster_of_group,
            )

    workers.map(len(row_bounds) - 1, tabulate)
    visits.workers.map(len(layout.chunk_start) - 1, place)


def draw_topics(
    state: State,
    groups_of_word: Entries,
    word_start: NDArray[np.int64],
    word_bounds: NDArray[np.int64],
    cluster_of_group: NDArray[np.int32],
    variates: Floats,
    shares: Floats,
    weights: Weights,
    key: Key,
    workers: Workers,
) -> None:
    """Draw the topics of all tokens by their cells, and count them.

    Parameters
    ----------
    groups_of_word : Entries
        Each word's groups with their counts; or its clusters, where ``cluster_of_group`` says that
        each is itself.
    word_start, word_bounds : int64
        Tokens of the words before each, and bounds of chunks of words.
    """
    words, at_once = state.counts.words_in_topic, blocks_at_once(shares.shape[1])

    def draw(first: int, last: int) -> NDArray[np.int32]:
        topics = np.zeros(shares.shape, np.int32)
        draw_cells(
            word_bounds[first],
            word_bounds[last],
            shares.shape[1],
            at_once,
            groups_of_word.start,
            groups_of_word.column,
            groups_of_word.count,
            word_start,
            cluster_of_group,
            shares.reshape(-1),
            variates.reshape(-1),
            *key,
            topics.reshape(-1),
            words.reshape(-1),
        )
        return topics

    topics = sum(workers.map(len(word_bounds) - 1, draw))
    leave_closed_slots(topics, words, weights.topics > 0.0)
    state.take_topics(topics)


def leave_closed_slots(
    topics: NDArray[np.int32], words: NDArray[np.int32], is_open: NDArray[np.bool_]
) -> None:
    """Move tokens that rounding put into slots without weight to the open slot beside each.

    That hardly ever happens, see `mcsquared.kernels.cpu.cells`; a bound on the number of topics
    holds nevertheless. Counts by cluster and by word change alike.
    """
    for m in np.flatnonzero(~is_open & topics.any(axis=0)):
        candidates = np.flatnonzero(is_open)
        beside = candidates[max(int(np.searchsorted(candidates, m)) - 1, 0)]
        for table in (topics, words):
            table[:, beside] += table[:, m]
            table[:, m] = 0


def move_members(
    state: State,
    observations: Observations,
    psi: Psi,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> NDArray[np.float64]:
    """Draw topics of tokens, clusters of groups and their tables: λ finite.

    Returns what `place_members` does.
    """
    # ψ drawn has no name here, so that it is gone once the tokens have moved.
    return move_members_given(
        state, observations, psi.times_words(), weights, contexts, key, workers
    )


def move_members_given(
    state: State,
    observations: Observations,
    psi: Floats,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> NDArray[np.float64]:
    """Draw topics of tokens, clusters of groups and their tables, given ψ."""
    layout, counts = observations.layout, state.counts
    base = as_floats(state.lam * np.exp(weights.log_shares))
    word_bounds = layout.word_chunk_start

    def count(first: int, last: int) -> None:
        count_words_in_topics(
            word_bounds[first],
            word_bounds[last],
            layout.word_start,
            layout.token_by_word,
            state.topic_of_token,
            counts.words_in_topic,
        )

    visit = visit_all_topics if base.shape[1] <= MANY_SLOTS else visit_own_topics
    visit(state, observations, base, psi, key, workers)
    del psi
    workers.map(len(word_bounds) - 1, count)
    return place_members(state, observations, weights, contexts, key, workers)


def visit_all_topics(
    state: State,
    observations: Observations,
    base: Floats,
    psi: Floats,
    key: Key,
    workers: Workers,
) -> None:
    """Draw the topic of every token, all topics weighed at once."""
    layout = observations.layout
    blocks = (0,) * (base.shape[1] // N_LANES)

    def visit(first: int, last: int) -> None:
        sweep_tokens(
            first,
            last,
            layout.order_start,
            layout.order,
            observations.group_start,
            observations.word,
            base,
            psi.reshape(-1),
            layout.longest,
            blocks,
            *key,
            observations.first_group,
            observations.first_token,
            state.cluster_of_group,
            state.topic_of_token,
        )

    workers.map(len(layout.order_start) - 1, visit)


def visit_own_topics(
    state: State,
    observations: Observations,
    base: Floats,
    psi: Floats,
    key: Key,
    workers: Workers,
) -> None:
    """Draw the topic of every token, the topics of its group first."""
    layout, by_topic = observations.layout, np.ascontiguousarray(base.T)
    table = aligned(len(psi), len(base))
    row_bounds = layout.row_chunk_start

    def tabulate(first: int, last: int) -> None:
        tabulate_mixtures(
            row_bounds[first],
            row_bounds[last],
            psi.reshape(-1),
            by_topic.reshape(-1),
            table,
        )

    def visit(first: int, last: int) -> None:
        sweep_tokens_by_own_topics(
            first,
            last,
            layout.chunk_start,
            observations.group_start,
            observations.word,
            base.shape[1],
            base.reshape(-1),
            psi.reshape(-1),
            table,
            layout.longest,
            *key,
            observations.first_group,
            observations.first_token,
            state.cluster_of_group,
            state.topic_of_token,
        )

    workers.map(len(row_bounds) - 1, tabulate)
    workers.map(len(layout.chunk_start) - 1, visit)
