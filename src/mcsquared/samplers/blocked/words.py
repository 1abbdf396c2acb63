"""Words in the blocked sampler: ψ drawn for all topics, then groups and tokens given it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from mcsquared.kernels.cpu.cells import draw_cells
from mcsquared.kernels.cpu.gammas import add_columns, draw_gamma_rows, log_gamma_of_cell
from mcsquared.kernels.cpu.given_contexts import ContextParameters
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.members import count_words_in_topics, sweep_tokens
from mcsquared.kernels.cpu.mixtures import draw_clusters_of_words, tabulate_log_mixtures
from mcsquared.kernels.cpu.sparse_members import sweep_tokens_by_own_topics, tabulate_mixtures
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.observations.layout import Entries
from mcsquared.priors import Priors
from mcsquared.samplers.blocked.members import as_floats, place_members
from mcsquared.samplers.blocked.own import Visits
from mcsquared.samplers.blocked.weights import Key, Weights
from mcsquared.samplers.workers import Workers, add_in_order
from mcsquared.state import State

__all__ = [
    "SMALL_SUM",
    "divided_shares",
    "draw_clusters",
    "draw_psi",
    "draw_small_topics",
    "draw_topics",
    "draw_words",
    "move_groups",
    "move_members",
    "move_members_given",
]

MANY_SLOTS = 512  # above it, weighing all topics at once is slower than those of the group first
SMALL_SUM = 1e-10  # of a topic's variates: floats may not hold their proportions

Floats = NDArray[np.float32]


def draw_words(
    state: State, observations: Observations, priors: Priors, key: Key, workers: Workers
) -> tuple[Floats, NDArray[np.float64]]:
    """Draw ψ as variates (n_words, topic slots), and return them with each topic's sum.

    ψ_mw is the variate divided by its topic's sum, ~ Dir(β + n_m).
    """
    words, bounds = state.counts.words_in_topic, observations.layout.row_chunk_start
    beta = float(priors.content.concentration)  # type: ignore[attr-defined]
    variates = np.empty(words.shape, np.float32)
    sums = np.zeros((len(bounds) - 1, words.shape[1]))
    step = int(Step.CONTENT)

    def run(first: int, last: int) -> None:
        draw_gamma_rows(
            bounds[first],
            bounds[last],
            words.shape[1],
            words.reshape(-1),
            beta,
            step,
            *key,
            False,
            variates.reshape(-1),
        )
        add_columns(first, last, bounds, variates, sums)

    workers.map(len(bounds) - 1, run)
    total = add_in_order(sums)
    draw_small_topics(words, beta, key, variates, total)
    return variates, total


def draw_small_topics(
    words: NDArray[np.int32], beta: float, key: Key, variates: Floats, sums: NDArray[np.float64]
) -> None:
    """Draw in logs, from the same numbers, the topics whose variates are too small for floats."""
    for m in np.flatnonzero(sums < SMALL_SUM):
        cells = np.arange(len(words), dtype=np.int64) * words.shape[1] + m
        logs = np.array(
            [
                log_gamma_of_cell(cell, n, beta, int(Step.CONTENT), *key)
                for cell, n in zip(cells, words[:, m], strict=True)
            ]
        )
        variates[:, m] = np.exp(logs - logsumexp(logs))
        sums[m] = 1.0


def move_groups(
    state: State,
    observations: Observations,
    priors: Priors,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> None:
    """Draw clusters with topics summed out, then topics by (cluster, word) cell: λ = ∞."""
    layout = observations.layout
    variates, sums = draw_words(state, observations, priors, key, workers)
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
        From `draw_words`.
    shares : float32 (cluster slots, topic slots)
        τ_km divided by the sum of the topic's variates.
    """
    layout, row_bounds = observations.layout, observations.layout.row_chunk_start
    visits = Visits(state, observations, contexts, workers)
    n_words, n_slots = len(variates), len(shares)
    table, means = np.empty((n_words, n_slots), np.float32), np.empty(n_words, np.float32)
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
    words = state.counts.words_in_topic

    def draw(first: int, last: int) -> NDArray[np.int32]:
        topics = np.zeros(shares.shape, np.int32)
        draw_cells(
            word_bounds[first],
            word_bounds[last],
            shares.shape[1],
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

    That happens to one token of some ten million, see `mcsquared.kernels.cpu.cells`; a bound on the
    number of topics holds nevertheless. Counts by cluster and by word change alike.
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
    priors: Priors,
    weights: Weights,
    contexts: ContextParameters,
    key: Key,
    workers: Workers,
) -> NDArray[np.float64]:
    """Draw topics of tokens, clusters of groups and their tables: λ finite.

    Returns what `place_members` does.
    """
    # ψ has no name here, so that it is gone once the tokens have moved.
    return move_members_given(
        state,
        observations,
        draw_psi(state, observations, priors, key, workers),
        weights,
        contexts,
        key,
        workers,
    )


def draw_psi(
    state: State, observations: Observations, priors: Priors, key: Key, workers: Workers
) -> Floats:
    """Draw ψ times the number of words: most are near 1, far from where floats end."""
    variates, sums = draw_words(state, observations, priors, key, workers)
    scale = (len(variates) / sums).astype(np.float32)
    bounds = observations.layout.row_chunk_start

    def divide(first: int, last: int) -> None:
        variates[bounds[first] : bounds[last]] *= scale

    workers.map(len(bounds) - 1, divide)
    return variates


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
            layout.chunk_start,
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

    workers.map(len(layout.chunk_start) - 1, visit)


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
    table = np.empty((len(psi), len(base)), np.float32)
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
