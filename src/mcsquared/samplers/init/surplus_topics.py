"""Surplus topics of a start are dissolved if held-out words are predicted no worse without them.

A start has more topics than it needs, and sweeps rarely empty the surplus ones, because each is a
blend of several others. Here the topics of a start are tried one by one, the smallest first: the
tokens of a topic are divided among the others, a few collapsed sweeps follow, and a fifth of the
tokens, held out from all of these sweeps, decides. Given the topics of the others, a token has

    p(w_i | j)  =  Σ_m (n_jm + λ ε_m) / (N_j + λ)  ·  (n_mw + β) / (n_m + V β)

where p is averaged over a few sweeps. A topic is dissolved if Σ_i ln p(w_i) is at most one standard
error below the highest value so far (the one-standard-error rule of cross-validation).
This is a choice of where a chain starts, not a step of the sampler: draws remain exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Bools, Floats, Int32s, Int64s, Integers, Rng
from mcsquared.kernels.cpu.collapsed import UNROLLED, TopicState, resample_word_topics
from mcsquared.kernels.cpu.counts import count_pairs
from mcsquared.kernels.rng import Step
from mcsquared.observations import Observations
from mcsquared.samplers.types import Key

SURPLUS_CHAIN = 2**27  # offset of the chain number: no sweep of a chain draws the same numbers
HELD_OUT_SHARE = 0.2
MIN_HELD_OUT = 100  # tokens; with fewer, no topic is dissolved
FIRST_SWEEPS = 20  # after tokens were held out
SWEEPS = 4  # after a topic was dissolved; the second half of them is scored
FINAL_SWEEPS = 3  # with all tokens
# Losses of the held-out log-probability, in standard errors: one that is accepted, relative to the
# best value so far, and one with which no sweeps follow because they would hardly undo it.
ACCEPTED_LOSS, CLEAR_LOSS = 1.0, 8.0
BATCH_SIZE = 4096  # tokens


class Tokens(NamedTuple):
    """Some tokens of every group."""

    group_start: Int64s  # (n_groups + 1,)
    word: Int32s  # (n_tokens,)

    @property
    def group(self) -> Int64s:
        """Group of every token: int64 (n_tokens,)."""
        return np.repeat(np.arange(len(self.group_start) - 1), np.diff(self.group_start))

    def take(self, chosen: Bools) -> Tokens:
        """Return the chosen tokens."""
        sizes = np.bincount(self.group[chosen], minlength=len(self.group_start) - 1)
        return Tokens(np.concatenate([[0], np.cumsum(sizes)]), self.word[chosen])


def without_surplus_topics(
    observations: Observations, topics: Integers, lam: float, beta: float, key: Key
) -> NDArray[np.uint16]:
    """Return the topic of every token after surplus topics were dissolved, uint16 (n_tokens,)."""
    rng = key.generator(Step.START)
    tokens = Tokens(observations.group_start, observations.word)
    is_held_out = rng.random(len(tokens.word)) < HELD_OUT_SHARE
    if is_held_out.sum() < MIN_HELD_OUT:
        return np.asarray(topics, np.uint16)
    kept = Topics(tokens.take(~is_held_out), topics[~is_held_out], observations.n_words, lam, beta)
    kept = kept.after_sweeps(FIRST_SWEEPS, key)
    held_out, number = tokens.take(is_held_out), FIRST_SWEEPS

    def resample(topics: Topics) -> tuple[Topics, Floats]:
        nonlocal number
        number += SWEEPS
        return topics.resampled(held_out, key._replace(sweep=number))

    best = resample(kept)[1]
    for m in np.argsort(kept.sizes, kind="stable"):
        # Sweeps may have emptied the topic; slots above the last topic with tokens are dropped.
        if m >= len(kept.sizes) or kept.sizes[m] == 0 or kept.n_topics == 1:
            continue
        trial = kept.without(m, rng)
        change, error = compare(trial.probability(held_out), best)
        if change < -CLEAR_LOSS * error:
            continue
        trial, found = resample(trial)
        change, error = compare(found, best)
        if change >= -ACCEPTED_LOSS * error:
            kept, best = trial, found if change > 0.0 else best
    all_topics = np.empty(len(tokens.word), np.int32)
    all_topics[~is_held_out] = kept.topic
    all_topics[is_held_out] = kept.draw_topics(held_out, rng)
    result = Topics(tokens, all_topics, observations.n_words, lam, beta)
    result = result.after_sweeps(FINAL_SWEEPS, key._replace(sweep=number + SWEEPS))
    return np.unique(result.topic, return_inverse=True)[1].astype(np.uint16)


def compare(found: Floats, best: Floats) -> tuple[float, float]:
    """Return the difference of Σ_i ln p(w_i), and its standard error."""
    change = np.log(found) - np.log(best)
    return float(change.sum()), float(np.sqrt(len(change)) * change.std())


class Topics:
    """Topics of tokens, with the counts that follow from them."""

    def __init__(
        self, tokens: Tokens, topic: Integers, n_words: int, lam: float, beta: float
    ) -> None:
        self.tokens, self.n_words, self.lam, self.beta = tokens, n_words, lam, beta
        self.topic = np.array(topic, np.int32)
        # The kernel needs an empty slot, although no topic is opened.
        n_slots = -(-(int(self.topic.max()) + 2) // UNROLLED) * UNROLLED
        self.topics_of_group = _count(
            tokens.group, self.topic, len(tokens.group_start) - 1, n_slots
        )
        self.words_in_topic = _count(tokens.word, self.topic, n_words, n_slots)
        self.sizes = self.words_in_topic.sum(axis=0, dtype=np.int64)
        # Shares of topics in the tables, if each topic of a group has one table.
        tables = (self.topics_of_group > 0).sum(axis=0)
        self.weights = tables / (tables.sum() + 1.0)

    @property
    def n_topics(self) -> int:
        """Number of topics with tokens."""
        return int(np.count_nonzero(self.sizes))

    def after_sweeps(self, n_sweeps: int, key: Key) -> Topics:
        """Return the topics after collapsed sweeps, which open no topic."""
        found = Topics(self.tokens, self.topic, self.n_words, self.lam, self.beta)
        rows = np.arange(len(found.topics_of_group), dtype=np.int32)
        for number in range(n_sweeps):
            state = TopicState(
                self.tokens.group_start,
                rows,
                found.topic,
                found.topics_of_group,
                found.sizes,
                found.weights,
                np.log([1.0 - found.weights.sum()]),
                self.lam,
                eta=1.0,
                max_topics=0,
            )
            words = (self.tokens.word, found.words_in_topic, self.beta)
            resample_word_topics(0, 0, state, *words, key._replace(sweep=key.sweep + number))
        return Topics(self.tokens, found.topic, self.n_words, self.lam, self.beta)

    def without(self, m: int, rng: Rng) -> Topics:
        """Return the topics after the tokens of topic ``m`` were divided among the others."""
        dissolved, topic = self.topic == m, self.topic.copy()
        others = self.weights.copy()
        others[m] = 0.0
        rest = Topics(
            self.tokens.take(~dissolved), topic[~dissolved], self.n_words, self.lam, self.beta
        )
        rest.weights = others[: len(rest.weights)]
        topic[dissolved] = rest.draw_topics(self.tokens.take(dissolved), rng)
        return Topics(self.tokens, topic, self.n_words, self.lam, self.beta)

    def resampled(self, held_out: Tokens, key: Key) -> tuple[Topics, Floats]:
        """Return the topics after a few sweeps, and the mean p(w_i) of tokens held out."""
        topics, total = self.after_sweeps(SWEEPS // 2, key), np.zeros(len(held_out.word))
        for number in range(SWEEPS // 2, SWEEPS):
            topics = topics.after_sweeps(1, key._replace(sweep=key.sweep + number))
            total += topics.probability(held_out)
        return topics, total / (SWEEPS - SWEEPS // 2)

    def probability(self, tokens: Tokens) -> Floats:
        """Return p(w_i | j) of other tokens: float64 (n_tokens,)."""
        return np.concatenate([part.sum(axis=1) for part in self.topic_probabilities(tokens)])

    def draw_topics(self, tokens: Tokens, rng: Rng) -> Int32s:
        """Draw the topics of other tokens, independently of each other."""
        drawn = []
        for weights in self.topic_probabilities(tokens):
            cumulative = np.cumsum(weights, axis=1)
            threshold = rng.random(len(weights)) * cumulative[:, -1]
            drawn.append((cumulative <= threshold[:, None]).sum(axis=1))
        return np.concatenate(drawn).astype(np.int32)

    def topic_probabilities(self, tokens: Tokens) -> list[Floats]:
        """Return the terms of p(w_i | j), some tokens at a time: float64 (n, n_slots)."""
        base, group = self.lam * self.weights, tokens.group
        lengths = np.diff(self.tokens.group_start)
        scale = 1.0 / (self.sizes + self.n_words * self.beta)
        parts = []
        for first in range(0, len(group), BATCH_SIZE) or [0]:
            part = slice(first, first + BATCH_SIZE)
            j, w = group[part], tokens.word[part]
            shares = (self.topics_of_group[j] + base) / (lengths[j] + base.sum())[:, None]
            parts.append(shares * (self.words_in_topic[w] + self.beta) * scale)
        return parts


def _count(row: Integers, topic: Int32s, n_rows: int, n_slots: int) -> Int32s:
    """Count tokens by row and topic: int32 (n_rows, n_slots)."""
    counts = np.zeros((n_rows, n_slots), np.int32)
    count_pairs(row.astype(np.int32), topic, counts)
    return counts
