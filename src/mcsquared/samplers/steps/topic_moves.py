"""Splits and merges of topics, if λ is finite.

A sweep over the groups opens a topic by a draw of its parameters from the prior, which rarely fits,
so that the number of topics follows the number a chain starts with. Here a topic is split in two,
or two are merged. The moves are Metropolis-Hastings steps given (z, ε, τ), with ψ, θ and the tables
of both topics integrated out; these tables are redrawn when a move is accepted.
`mcsquared.samplers.steps.topic_division` has the ratio R of a division; a merge has its inverse.

*Fitted* moves split a topic that is a blend. They rarely merge topics, because a fit seldom
reproduces an arbitrary division of the tokens. *Flat* moves merge topics with the same words: the
ratio of a flat merge depends on the word counts of both topics only. *Word* moves divide the words
of a topic and merge topics that have different words but occur in the same groups. The reverse of a
move is a move of the same kind.

The tokens of the topics concerned stay in their shards: a move is a few sums over them. Floats are
summed as integers or by chunk of groups, so that moves do not depend on shards or threads.

The probabilities of choosing a split or a merge, and of choosing its topics, enter the acceptance
probability. The number of trials depends on the sweep only: if it depended on the number of topics,
the moves would not be reversible.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mcsquared.arrays import Floats, Int64s
from mcsquared.families.numerics import draw_index
from mcsquared.kernels.cpu.topic_moves import FIXED_POINT, overlap_with_topics
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.topic_tokens import (
    AcceptedMove,
    ChosenTopics,
    SeedCells,
    WordSides,
    accept_move,
    divide_tokens_by_word,
    end_moves,
    find_tokens,
)
from mcsquared.samplers.steps.topic_division import (
    MIN_POSITIVE,
    Topic,
    TopicDivision,
    TopicLaunch,
    TopicSides,
    divide_topic,
    divided_base,
    draw_division,
    draw_shares_of_words,
    fitted_launch,
    flat_launch,
    launch_for_division,
    log_ratio_of_tokens,
    log_ratio_of_weights,
    log_ratio_of_words,
    sides_of,
)
from mcsquared.samplers.types import Sweep

SWEEPS_BEFORE_MOVES = 10  # in which the initial topics, blends of others, separate
FIRST_SWEEPS, PERIOD = 100, 5  # moves in every sweep up to the 100th, then in every fifth one
SMALL_CORPUS = 20_000  # tokens; smaller corpora have moves in every sweep
LARGE_CORPUS = 1_000_000  # tokens; of larger corpora, every fifth sweep only: few are accepted
SHARPNESS, UNIFORM_SHARE = 20.0, 0.05  # of the choice of a topic to merge with


class MoveKind(NamedTuple):
    """A kind of move."""

    name: str  # "fitted", "flat" or "words"
    merge_share: float  # share of the trials that are merges
    n_trials: int  # number of trials in a sweep with moves


MOVE_KINDS = (MoveKind("fitted", 0.1, 3), MoveKind("flat", 0.95, 3), MoveKind("words", 0.9, 3))


def move_topics(sweep: Sweep) -> None:
    """Try to split or merge some topics."""
    state = sweep.state
    n_tokens = sweep.observations.n_tokens
    is_early = state.sweep <= FIRST_SWEEPS and n_tokens <= LARGE_CORPUS
    is_due = n_tokens <= SMALL_CORPUS or is_early or state.sweep % PERIOD == 0
    if state.sweep <= SWEEPS_BEFORE_MOVES or not is_due or not is_possible(sweep):
        return
    sweep.backend.save_counts(state)
    moves = TopicMoves(sweep)
    # Only words can be divided by word.
    kinds = [kind for kind in MOVE_KINDS if sweep.observations.n_words or kind.name != "words"]
    kinds = [kind for kind in kinds for _ in range(kind.n_trials)]
    for trial, kind in enumerate(kinds):
        if moves.rng.random() < kind.merge_share:
            moves.try_merge(kind, trial)
        else:
            moves.try_split(kind, trial)
    if moves.has_found_tokens:
        sweep.backend.map_groups(end_moves, None)
    if moves.n_accepted:
        moves.save_weights()
        sweep.backend.load_topics(sweep)


def is_possible(sweep: Sweep) -> bool:
    """Return whether topics can be moved: λ is finite, and the content has kernels."""
    observations = sweep.observations
    has_kernel = observations.n_words > 0 or observations.content_kernel >= 0
    if sweep.state.effects is not None:  # the base measures of a cluster's groups differ
        return False
    varies = sweep.backend.moves_topics and sweep.globals.groups_vary
    return varies and has_kernel and observations.n_tokens > 0


class TopicMoves:
    """The moves of one sweep, after its groups have been resampled.

    Labels and counts of the state change when a move is accepted.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep, self.state, self.counts = sweep, sweep.state, sweep.state.counts
        make_writeable(self.counts, "words_in_topic", "topics_in_cluster")
        make_writeable(self.state, "tables_in_cluster")
        self.rng, self.n_accepted = sweep.key.generator(Step.TOPIC_MOVES), 0
        self.has_found_tokens = False
        weights, empty = sweep.globals.weights, self.counts.tokens_in_topic == 0
        self.log_weights = np.log(np.maximum(weights.topic_weights, MIN_POSITIVE))
        self.log_shares = sweep.backend.log_shares(sweep.globals).copy()
        self.unused_weight = weights.topic_weights[empty].sum()
        self.log_unused_shares = np.logaddexp.reduce(self.log_shares[:, empty], axis=1)

    def try_split(self, kind: MoveKind, trial: int) -> None:
        """Propose to split a topic, large ones more often; accept or reject."""
        sizes, bound = self.counts.tokens_in_topic, self.sweep.bounds.topics
        topics = np.flatnonzero(sizes)
        probabilities = self.split_probabilities(sizes[topics], len(topics))
        m = int(topics[draw_index(probabilities, self.rng)])
        if len(topics) >= (len(sizes) if bound is None else min(bound, len(sizes))):
            return
        pair = [m, int(np.flatnonzero(sizes == 0)[0])]
        size, log_share = int(sizes[m]), self.log_shares[:, m].copy()
        topic = Topic(self.content_of([m])[0], size, float(self.log_weights[m]), log_share)
        launch, division, sides, log_ratio = self.divide(kind, topic, m, trial)
        if sides.n_tokens.min() == 0:
            return
        log_ratio += self.log_ratio_of_content(sides.statistics)
        log_ratio += log_ratio_of_weights(self.sweep, topic.log_weight, launch, division)
        log_ratio -= self.log_choice_of_split(kind, size, len(topics))
        log_uniform = math.log(1.0 - self.rng.random())
        if not log_uniform < log_ratio:
            return
        self.set_content(pair, sides)
        if not log_uniform < log_ratio + self.log_choice_of_partner(kind, m)[pair[1]]:
            self.set_content(pair, sides, as_one=True)
            return
        self.accept(pair, topic, division, trial, is_split=True)
        self.log_weights[pair] = topic.log_weight + division.log_root
        self.log_shares[:, pair] = (topic.log_share + division.log_parts).T

    def try_merge(self, kind: MoveKind, trial: int) -> None:
        """Propose to merge two topics, similar ones more often; accept or reject."""
        sizes = self.counts.tokens_in_topic
        topics = np.flatnonzero(sizes)
        if len(topics) == 1:
            return
        a = int(topics[self.rng.integers(len(topics))])
        log_choice = self.log_choice_of_partner(kind, a)
        b = draw_index(np.exp(log_choice), self.rng)
        pair, sides = [a, b], TopicSides(self.content_of([a, b]), sizes[[a, b]])
        log_weight = float(np.logaddexp(*self.log_weights[pair]))
        log_share = np.logaddexp(*self.log_shares[:, pair].T)
        log_parts = self.log_shares[:, pair].T - log_share
        size = int(sides.n_tokens.sum())
        topic = Topic(sides.statistics.sum(axis=0), size, log_weight, log_share)
        division = TopicDivision(self.log_weights[pair] - log_weight, log_parts)
        log_ratio = self.log_ratio_of_content(sides.statistics) + log_choice[b]
        log_ratio -= self.log_choice_of_split(kind, size, len(topics) - 1)
        log_uniform = math.log(1.0 - self.rng.random())
        launch, log_ratio_of_sides = self.score(kind, topic, pair, division, sides, trial)
        log_ratio += log_ratio_of_sides
        log_ratio += log_ratio_of_weights(self.sweep, log_weight, launch, division)
        if not log_uniform < -log_ratio:
            return
        if kind.name == "flat":
            self.find_tokens(kind, pair, trial)
        self.set_content(pair, sides, as_one=True)
        self.accept(pair, topic, division, trial, is_split=False)
        self.log_weights[a], self.log_shares[:, a] = log_weight, log_share

    def find_tokens(self, kind: MoveKind, topics: list[int], trial: int) -> SeedCells:
        """Collect the tokens of one or two topics; return the seeds of a fitted launch."""
        seeds = (2 * trial, 2 * trial + 1) if kind.name == "fitted" else ()
        argument = ChosenTopics(topics[0], topics[-1], seeds, self.sweep.key)
        parts = self.sweep.backend.map_groups(find_tokens, argument)
        self.has_found_tokens = True
        if len(parts) == 1:
            return parts[0]
        found = SeedCells(*(np.stack(arrays) for arrays in zip(*parts, strict=True)))
        first, seed = found.time.argmin(axis=0), np.arange(len(seeds))
        return SeedCells(*(array[first, seed] for array in found))

    def divide(
        self, kind: MoveKind, topic: Topic, m: int, trial: int
    ) -> tuple[TopicLaunch, TopicDivision, TopicSides, float]:
        """Draw a division of topic m; return also its launch and the first line of log R."""
        sweep, rng = self.sweep, self.rng
        seeds = self.find_tokens(kind, [m], trial)
        if kind.name == "words":
            words = WordSides(draw_shares_of_words(topic.statistics, rng), trial, sweep.key)
            sides = sides_of(sweep, topic, sweep.backend.sum_groups(divide_tokens_by_word, words))
            launch = launch_for_division(sweep, topic, sides.n_tokens)
            division = draw_division(sweep, topic, launch, rng)
            log_ratio = log_ratio_of_words(sweep, topic, division, sides.statistics)
            return launch, division, sides, log_ratio
        if kind.name == "flat":
            launch = flat_launch(sweep, len(topic.log_share))
        else:
            launch = fitted_launch(sweep, topic, seeds)
        division = draw_division(sweep, topic, launch, rng)
        found = divide_topic(sweep, topic, launch, division, trial, draws=True)
        return launch, division, sides_of(sweep, topic, found), log_ratio_of_tokens(found)

    def score(
        self,
        kind: MoveKind,
        topic: Topic,
        pair: list[int],
        division: TopicDivision,
        sides: TopicSides,
        trial: int,
    ) -> tuple[TopicLaunch, float]:
        """Return the launch of the division in two given topics, and the first line of log R."""
        sweep = self.sweep
        if kind.name == "flat":  # no token is visited
            return flat_launch(sweep, len(topic.log_share)), 0.0
        seeds = self.find_tokens(kind, pair, trial)
        if kind.name == "words":
            launch = launch_for_division(sweep, topic, sides.n_tokens)
            return launch, log_ratio_of_words(sweep, topic, division, sides.statistics)
        launch = fitted_launch(sweep, topic, seeds)
        found = divide_topic(sweep, topic, launch, division, trial, draws=False)
        return launch, log_ratio_of_tokens(found)

    def split_probabilities(self, sizes: Int64s, n_topics: int) -> Floats:
        """Return the probabilities of choosing topics of these sizes for a split."""
        return 0.5 * sizes / self.sweep.observations.n_tokens + 0.5 / n_topics

    def log_choice_of_split(self, kind: MoveKind, n_tokens: int, n_topics: int) -> float:
        """Return log q of a split of one of ``n_topics`` topics, minus that of the reverse merge.

        Excludes the choice of the second topic to merge, see `log_choice_of_partner`.
        """
        split = self.split_probabilities(np.array([n_tokens]), n_topics)[0]
        merge = kind.merge_share / (n_topics + 1)
        return math.log((1.0 - kind.merge_share) * split / merge)

    def log_choice_of_partner(self, kind: MoveKind, m: int) -> Floats:
        """Return the log-probability of each slot to be merged with ``m``; −∞ if not occupied.

        Topics with similar words are more probable. For vectors, and in word moves, all topics are
        equally probable.
        """
        sizes = self.counts.tokens_in_topic
        others, weights = sizes > 0, np.ones(len(sizes))
        others[m] = False
        if self.sweep.observations.n_words and kind.name != "words":
            overlap_with_topics(self.counts.words_in_topic, m, weights)
            cosine = weights / np.sqrt(np.maximum(sizes * sizes[m], 1))
            weights = np.maximum(cosine, 1e-6) ** SHARPNESS
        weights = np.where(others, weights, 0.0)
        by_similarity = (1.0 - UNIFORM_SHARE) * weights / weights.sum()
        return np.where(others, np.log(by_similarity + UNIFORM_SHARE / others.sum()), -np.inf)

    def content_of(self, topics: list[int]) -> Floats:
        """Return the statistics of some topics: float64 (len(topics), n_stats)."""
        if self.sweep.observations.n_words:
            return self.counts.words_in_topic[:, topics].T.astype(np.float64)
        return self.counts.topic_statistics[topics]

    def set_content(self, pair: list[int], sides: TopicSides, as_one: bool = False) -> None:
        """Write the content of two topics, or of both in the first slot, to the counts."""
        statistics, sizes = sides
        if as_one:
            sizes = np.array([sizes.sum(), 0])
            statistics = np.stack([statistics.sum(axis=0), np.zeros_like(statistics[1])])
        self.counts.tokens_in_topic[pair] = sizes
        if self.sweep.observations.n_words:
            self.counts.words_in_topic[:, pair] = statistics.T
        else:
            self.counts.topic_statistics[pair] = statistics

    def log_ratio_of_content(self, statistics: Floats) -> float:
        """Return DM(n_a) + DM(n_b) − DM(n_m), see `mcsquared.samplers.steps.topic_division`."""
        family = self.sweep.observations.content_family
        if self.sweep.observations.n_words:
            statistics = statistics[:, statistics.any(axis=0)]
        merged = statistics.sum(axis=0, keepdims=True)
        log_marginal = family.log_marginal(np.concatenate([statistics, merged]))
        return float(log_marginal[0] + log_marginal[1] - log_marginal[2])

    def accept(
        self, pair: list[int], topic: Topic, division: TopicDivision, trial: int, is_split: bool
    ) -> None:
        """Change the topics of tokens, draw o_jm, and count tokens and tables by cluster."""
        base = divided_base(self.sweep, topic.log_share, np.exp(division.log_parts))
        move = AcceptedMove(pair[0], pair[1], is_split, base, trial, self.sweep.key)
        found = self.sweep.backend.sum_groups(accept_move, move)
        self.counts.topics_in_cluster[:, pair] = found["topics"].T
        self.state.tables[:, pair] = found["tables"].T
        assert self.sweep.sums.topic_log_likelihood is not None
        self.sweep.sums.topic_log_likelihood[0] += found["change"][0] / FIXED_POINT
        self.n_accepted += 1

    def save_weights(self) -> None:
        """Put ε and τ into the globals; the first empty slot takes the weight of all of them."""
        topic_weights, log_shares = np.exp(self.log_weights), self.log_shares
        empty = np.flatnonzero(self.counts.tokens_in_topic == 0)
        topic_weights[empty], log_shares[:, empty] = 0.0, -np.inf
        topic_weights[empty[:1]] = self.unused_weight
        log_shares[:, empty[:1]] = self.log_unused_shares[:, None]
        weights = replace(
            self.sweep.globals.weights, topic_weights=topic_weights, log_shares=log_shares
        )
        self.sweep.globals = replace(self.sweep.globals, weights=weights)


def make_writeable(owner: object, *names: str) -> None:
    """Copy read-only arrays, such as those received from a worker."""
    for name in names:
        setattr(owner, name, np.require(getattr(owner, name), requirements="W"))
