"""Splits and merges of topics: λ finite, labels in memory.

A sweep over the groups opens a topic by a draw of its parameters from the prior, which rarely fits,
so that the number of topics follows the number a chain starts with. Here a topic is split in two,
or two are merged. The moves are Metropolis-Hastings steps given (z, ε, τ), with ψ, θ and the tables
of both topics integrated out; these tables are drawn anew when a move is accepted.
`mcsquared.samplers.steps.topic_division` has the ratio R of a division; a merge has its inverse.

*Fitted* moves split a topic that is a blend. They rarely merge topics, because a fit does not find
an arbitrary division of the tokens. *Flat* moves merge topics with the same words: the ratio of a
flat merge depends on the word counts of both topics only. *Word* moves divide the words of a topic
and merge topics that have different words but occur in the same groups. The reverse of a move is a
move of the same kind.

The probabilities of choosing a split or a merge, and of choosing its topics, enter the acceptance
probability. The number of trials depends on the sweep only: if it depended on the number of topics,
the moves would not be reversible.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats
from mcsquared.families.numerics import draw_index
from mcsquared.kernels.cpu.topic_moves import (
    TopicTokens,
    draw_cell_tables,
    find_cells,
    overlap_with_topics,
)
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.topic_tokens import VectorContent, WordContent
from mcsquared.samplers.steps.topic_division import (
    SMALLEST,
    Topic,
    TopicDivision,
    TopicLaunch,
    divide_by_word,
    divide_topic,
    divided_base,
    draw_division,
    fitted_launch,
    flat_launch,
    launch_for_division,
    log_ratio_of_weights,
    log_ratio_of_words,
)
from mcsquared.samplers.types import Sweep

SWEEPS_BEFORE_MOVES = 10  # in which the initial topics, blends of others, separate
FIRST_SWEEPS, PERIOD = 100, 5  # moves in each of the first 100 sweeps, then in every fifth one
SMALL_CORPUS = 20_000  # tokens; smaller corpora have moves in every sweep
NO_TOKENS = np.zeros(0, np.uint8)
SHARPNESS, UNIFORM_SHARE = 20.0, 0.05  # of the choice of a topic to merge with


class MoveKind(NamedTuple):
    """A kind of move."""

    name: str  # "fitted", "flat" or "words"
    merge_share: float  # share of the trials that are merges
    n_trials: int  # number of trials in a sweep with moves


MOVE_KINDS = (MoveKind("fitted", 0.1, 3), MoveKind("flat", 0.95, 3), MoveKind("words", 0.9, 3))


def move_topics(sweep: Sweep) -> None:
    """Try to split or merge some topics, if the backend can collect the labels of tokens."""
    state = sweep.state
    is_small = sweep.observations.n_tokens <= SMALL_CORPUS
    is_due = is_small or state.sweep <= FIRST_SWEEPS or state.sweep % PERIOD == 0
    if state.sweep <= SWEEPS_BEFORE_MOVES or not is_due or not is_possible(sweep):
        return
    sweep.backend.save_labels(state)
    moves = TopicMoves(sweep)
    kinds = [kind for kind in kinds_for(sweep) for _ in range(kind.n_trials)]
    for trial, kind in enumerate(kinds):
        if moves.rng.random() < kind.merge_share:
            moves.try_merge(kind, trial)
        else:
            moves.try_split(kind, trial)
    if moves.n_accepted:
        moves.save_weights()
        sweep.backend.load_labels(state, sweep.key)


def kinds_for(sweep: Sweep) -> list[MoveKind]:
    """Return the kinds of moves for the content: only words can be divided by word."""
    return [kind for kind in MOVE_KINDS if sweep.observations.n_words or kind.name != "words"]


def is_possible(sweep: Sweep) -> bool:
    """Return whether the labels of tokens can be collected, and their content has kernels."""
    observations = sweep.observations
    has_kernel = observations.n_words > 0 or observations.content_kernel >= 0
    has_labels = sweep.backend.collects_labels and sweep.globals.groups_vary
    if sweep.state.effects is not None:  # the base measures of a cluster's groups differ
        return False
    return has_labels and has_kernel and observations.n_tokens > 0


class TopicMoves:
    """The moves of one sweep, after its groups have been resampled.

    Labels and counts of the state change when a move is accepted.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep, self.state, self.counts = sweep, sweep.state, sweep.state.counts
        make_writeable(self.counts, "words_in_topic", "topics_in_cluster")
        make_writeable(self.state, "tables_in_cluster", "topic_of_token")
        self.rng, self.n_accepted = sweep.key.generator(Step.TOPIC_MOVES), 0
        weights, empty = sweep.globals.weights, self.counts.tokens_in_topic == 0
        self.log_topics = np.log(np.maximum(weights.topic_weights, SMALLEST))
        self.log_shares = weights.log_shares.copy()
        self.unused = weights.topic_weights[empty].sum()
        self.log_unused_shares = np.logaddexp.reduce(self.log_shares[:, empty], axis=1)

    def try_split(self, kind: MoveKind, trial: int) -> None:
        """Propose to split a topic, large ones more often; accept or reject."""
        sizes, bound = self.counts.tokens_in_topic, self.sweep.bounds.topics
        topics = np.flatnonzero(sizes)
        m = int(topics[draw_index(self.chances(sizes[topics], len(topics)), self.rng)])
        if len(topics) >= (len(sizes) if bound is None else min(bound, len(sizes))):
            return
        pair = [m, int(np.flatnonzero(sizes == 0)[0])]
        is_m = self.state.topic_of_token == m
        topic = self.topic(is_m, float(self.log_topics[m]), self.log_shares[:, m].copy())
        launch, division, log_ratio = self.divide(kind, topic, trial)
        in_b = division.in_b == 1
        if in_b.all() or not in_b.any():
            return
        statistics = np.stack([topic.content.statistics(1.0 * side) for side in (~in_b, in_b)])
        if kind.name == "words":
            log_ratio = log_ratio_of_words(self.sweep, topic, division, statistics)
        log_ratio += self.log_ratio_of_content(statistics)
        log_ratio += log_ratio_of_weights(self.sweep, topic.log_weight, launch, division)
        log_ratio -= self.log_choice_of_split(kind, len(in_b), len(topics))
        log_u = math.log(1.0 - self.rng.random())
        if not log_u < log_ratio:
            return
        self.set_content(pair, division, statistics)
        if not log_u < log_ratio + self.log_choice_of_partner(kind, m)[pair[1]]:
            self.set_content(pair, division, statistics, as_one=True)
            return
        self.state.topic_of_token[topic.tokens.token[in_b]] = pair[1]
        self.redraw_tables(pair, topic, division, trial, is_split=True)
        self.log_topics[pair] = topic.log_weight + division.log_root
        self.log_shares[:, pair] = (topic.log_share + division.log_parts).T

    def try_merge(self, kind: MoveKind, trial: int) -> None:
        """Propose to merge two topics, similar ones more often; accept or reject."""
        sizes, labels = self.counts.tokens_in_topic, self.state.topic_of_token
        topics = np.flatnonzero(sizes)
        if len(topics) == 1:
            return
        a = int(topics[self.rng.integers(len(topics))])
        log_choice = self.log_choice_of_partner(kind, a)
        b = draw_index(np.exp(log_choice), self.rng)
        pair, statistics = [a, b], self.content_of([a, b])
        log_weight = float(np.logaddexp(*self.log_topics[pair]))
        log_share = np.logaddexp(*self.log_shares[:, pair].T)
        log_parts = self.log_shares[:, pair].T - log_share
        division = TopicDivision(self.log_topics[pair] - log_weight, log_parts, NO_TOKENS)
        log_ratio = self.log_ratio_of_content(statistics) + log_choice[b]
        log_ratio -= self.log_choice_of_split(kind, int(sizes[pair].sum()), len(topics) - 1)
        log_u = math.log(1.0 - self.rng.random())
        if kind.name == "flat":
            launch = flat_launch(0, len(log_share))
            log_ratio += log_ratio_of_weights(self.sweep, log_weight, launch, division)
            if not log_u < -log_ratio:
                return
        topic = self.topic((labels == a) | (labels == b), log_weight, log_share)
        in_b = (labels[topic.tokens.token] == b).view(np.uint8)
        division = division._replace(in_b=in_b)
        if kind.name == "fitted":
            launch = fitted_launch(self.sweep, topic, self.rng)
            log_ratio += divide_topic(self.sweep, topic, launch, division, trial, draw=False)
        elif kind.name == "words":
            launch = launch_for_division(self.sweep, topic, in_b)
            log_ratio += log_ratio_of_words(self.sweep, topic, division, statistics)
        if kind.name != "flat":
            log_ratio += log_ratio_of_weights(self.sweep, log_weight, launch, division)
            if not log_u < -log_ratio:
                return
        labels[topic.tokens.token] = a
        self.set_content(pair, division, statistics, as_one=True)
        self.redraw_tables(pair, topic, division, trial, is_split=False)
        self.log_topics[a], self.log_shares[:, a] = log_weight, log_share

    def topic(self, chosen: NDArray[np.bool_], log_weight: float, log_share: Floats) -> Topic:
        """Return the topic that has the chosen tokens."""
        observations, token = self.sweep.observations, np.flatnonzero(chosen)
        start, group = find_cells(token, observations.group_start)
        cluster = self.state.cluster_of_group[group].astype(np.int64)
        content = (WordContent if observations.n_words else VectorContent)(observations, token)
        tokens = TopicTokens(token, content.column, start, group, cluster)
        return Topic(tokens, content, log_weight, log_share)

    def divide(
        self, kind: MoveKind, topic: Topic, trial: int
    ) -> tuple[TopicLaunch, TopicDivision, float]:
        """Draw a division; return its launch and, except for words, the first line of log R."""
        if kind.name == "words":
            in_b = divide_by_word(topic, self.rng)
            launch = launch_for_division(self.sweep, topic, in_b)
            division = draw_division(self.sweep, topic, launch, self.rng)
            return launch, division._replace(in_b=in_b), 0.0
        if kind.name == "flat":
            n_columns = int(topic.tokens.column.max()) + 1
            launch = flat_launch(n_columns, len(topic.log_share))
        else:
            launch = fitted_launch(self.sweep, topic, self.rng)
        division = draw_division(self.sweep, topic, launch, self.rng)
        return launch, division, divide_topic(self.sweep, topic, launch, division, trial, draw=True)

    def chances(self, sizes: NDArray[np.int64], n_topics: int) -> Floats:
        """Return the probability that a topic of each size is the one to split."""
        chances: Floats = 0.5 * sizes / self.sweep.observations.n_tokens + 0.5 / n_topics
        return chances

    def log_choice_of_split(self, kind: MoveKind, n_tokens: int, n_topics: int) -> float:
        """Return log q of a split, of one topic of ``n_topics``, over q of the reverse merge.

        Without the choice of the second topic to merge, see `log_choice_of_partner`.
        """
        split = (1.0 - kind.merge_share) * self.chances(np.array([n_tokens]), n_topics)[0]
        return math.log(split / (kind.merge_share / (n_topics + 1)))

    def log_choice_of_partner(self, kind: MoveKind, m: int) -> Floats:
        """Return the log-probability of each slot to be merged with ``m``; −∞ if not occupied.

        Topics with similar words are more probable. Of vectors and in word moves all are alike.
        """
        sizes = self.counts.tokens_in_topic
        others, weights = sizes > 0, np.ones(len(sizes))
        others[m] = False
        if self.sweep.observations.n_words and kind.name != "words":
            overlap_with_topics(self.counts.words_in_topic, m, weights)
            cosine = weights / np.sqrt(np.maximum(sizes * sizes[m], 1))
            weights = np.maximum(cosine, 1e-6) ** SHARPNESS
        weights = np.where(others, weights, 0.0)
        chances = (1.0 - UNIFORM_SHARE) * weights / weights.sum() + UNIFORM_SHARE / others.sum()
        return np.where(others, np.log(chances), -np.inf)

    def content_of(self, pair: list[int]) -> Floats:
        """Return the statistics of two topics: float64 (2, n_stats)."""
        if self.sweep.observations.n_words:
            return self.counts.words_in_topic[:, pair].T.astype(np.float64)
        return self.counts.topic_statistics[pair]

    def set_content(
        self, pair: list[int], division: TopicDivision, statistics: Floats, as_one: bool = False
    ) -> None:
        """Write the statistics of two topics, or of both in the first slot, to the counts."""
        in_b = int(division.in_b.sum())
        sizes = np.array([len(division.in_b) - in_b, in_b])
        if as_one:
            sizes = np.array([len(division.in_b), 0])
            statistics = np.stack([statistics.sum(axis=0), np.zeros_like(statistics[1])])
        self.counts.tokens_in_topic[pair] = sizes
        if self.sweep.observations.n_words:
            self.counts.words_in_topic[:, pair] = statistics.T
        else:
            self.counts.topic_statistics[pair] = statistics

    def log_ratio_of_content(self, statistics: Floats) -> float:
        """Return DM(n_a) + DM(n_b) − DM(n_m), see `mcsquared.samplers.steps.topic_division`."""
        family = self.sweep.observations.content_family
        together = statistics.sum(axis=0, keepdims=True)
        log_marginal = family.log_marginal(np.concatenate([statistics, together]))
        return float(log_marginal[0] + log_marginal[1] - log_marginal[2])

    def redraw_tables(
        self, pair: list[int], topic: Topic, division: TopicDivision, trial: int, is_split: bool
    ) -> None:
        """Draw o_jm of the changed topics, and count their tokens and tables by cluster."""
        base = divided_base(self.sweep, topic.log_share, np.exp(division.log_parts))
        topics, tables = np.zeros(base.shape, np.int32), np.zeros(base.shape, np.int32)
        cells = (topic.tokens, division.in_b, base, is_split)
        change = draw_cell_tables(*cells, self.sweep.key, trial, topics, tables)
        self.counts.topics_in_cluster[:, pair] = topics.T
        self.state.tables[:, pair] = tables.T
        assert self.sweep.sums.topic_log_likelihood is not None
        self.sweep.sums.topic_log_likelihood[0] += change
        self.n_accepted += 1

    def save_weights(self) -> None:
        """Put ε and τ into the globals; the first empty slot takes the weight of all of them."""
        topics, log_shares = np.exp(self.log_topics), self.log_shares
        empty = np.flatnonzero(self.counts.tokens_in_topic == 0)
        topics[empty], log_shares[:, empty] = 0.0, -np.inf
        topics[empty[:1]] = self.unused
        log_shares[:, empty[:1]] = self.log_unused_shares[:, None]
        weights = replace(self.sweep.globals.weights, topic_weights=topics, log_shares=log_shares)
        self.sweep.globals = replace(self.sweep.globals, weights=weights)


def make_writeable(owner: object, *names: str) -> None:
    """Copy arrays that were received from a worker, which are read-only."""
    for name in names:
        setattr(owner, name, np.require(getattr(owner, name), requirements="W"))
