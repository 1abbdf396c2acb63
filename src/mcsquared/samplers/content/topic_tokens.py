"""Functions that moves of topics map over the groups of every shard, and their arguments.

`find_tokens` collects the tokens of one topic, or of two that may be merged, in each shard; the
other functions visit these tokens only. Each takes the observations and labels of a shard, an
argument and threads, and returns the labels and additive sums, so that moves do not depend on the
shards. `mcsquared.samplers.steps.topic_moves` calls them through the backend.

Tokens are words, or vectors of a family with kernels. Both have additive statistics, which give the
likelihood of each token with parameters at their posterior mean. Arrays of likelihoods have a
column for every word, or for every vector. Sums of vectors use `einsum`, because the rounding of
BLAS may depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.kernels.cpu import topic_moves as kernels
from mcsquared.kernels.cpu.matrices import add_weighted_statistics, complete_log_likelihoods
from mcsquared.observations import Observations
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import GroupFunction, Key, Labels, add_sums
from mcsquared.state import TopicLabels

ENTRIES_PER_BATCH = 1 << 20
TOKEN_COST = 30.0  # nanoseconds to divide one token

SumsByName = dict[str, Any]


class MovedLabels(NamedTuple):
    """Labels of a shard while its topics are split and merged."""

    cluster_of_group: Int32s
    topic_of_token: TopicLabels
    tokens: kernels.TopicTokens  # of the topics concerned
    chunk_start: Int64s  # (n_chunks + 1,): first of these tokens in every chunk of groups
    values: Floats  # (n_tokens, width): these tokens, if they are vectors
    share: Floats  # (n_tokens,): of each token in the first topic; see `refine_division`
    in_b: NDArray[np.uint8]  # (n_tokens,): 1 for the tokens of the second topic


class ChosenTopics(NamedTuple):
    """Argument of `find_tokens`: two topics, or twice the same one."""

    a: int
    b: int
    # Numbers of two random draws of a group with tokens of these topics, or none.
    seeds: tuple[int, ...]
    key: Key


class SeedCells(NamedTuple):
    """Tokens of random groups: result of `find_tokens` for one shard."""

    # (n_seeds,): of the groups chosen in several shards, that with the smallest time is the seed
    time: Floats
    size: Floats  # (n_seeds,): number of tokens
    statistics: Floats  # (n_seeds, n_stats)


def find_tokens(
    observations: Observations,
    labels: Labels | MovedLabels,
    argument: ChosenTopics,
    threads: ThreadPool,
) -> tuple[MovedLabels, SeedCells]:
    """Collect the tokens of the chosen topics."""
    (a, b, seeds, key), topics = argument, labels.topic_of_token
    first_of_chunk = observations.group_start[observations.layout.chunk_start]

    def find(first: int, last: int) -> Int64s:
        begin, end = first_of_chunk[[first, last]]
        chosen = topics[begin:end] == a
        if b != a:
            chosen |= topics[begin:end] == b
        return begin + np.flatnonzero(chosen)

    n_chunks, work = len(first_of_chunk) - 1, 0.5 * observations.n_tokens
    token = np.concatenate(threads.map(n_chunks, find, work=work, even=True))
    start, group = kernels.find_cells(token, observations.group_start)
    in_b = (topics[token] == b) & (a != b)
    cluster = labels.cluster_of_group[group].astype(np.int64)
    is_words = observations.n_words > 0
    column = observations.word[token] if is_words else np.arange(len(token), dtype=np.int32)
    cells = (start, group + observations.first_group, cluster)
    moved = MovedLabels(
        labels.cluster_of_group,
        topics,
        kernels.TopicTokens(token + observations.first_token, column, *cells),
        np.searchsorted(token, first_of_chunk),
        np.zeros((0, 0)) if is_words else observations.values[token],
        np.zeros(0),
        in_b.view(np.uint8),
    )
    return moved, _seed_cells(observations, moved, seeds, key)


def _seed_cells(
    observations: Observations, labels: MovedLabels, seeds: tuple[int, ...], key: Key
) -> SeedCells:
    """Choose the seeds of a launch among the groups of a shard."""
    family: Any = observations.content_family
    time, size = np.full(len(seeds), np.inf), np.zeros(len(seeds))
    statistics = np.zeros((len(seeds), observations.n_words or family.n_stats))
    for row, seed in enumerate(seeds):
        cell, time[row] = kernels.choose_cell(labels.tokens, key, seed)
        if cell < 0:
            continue
        part = slice(*labels.tokens.start[cell : cell + 2])
        size[row] = part.stop - part.start
        if observations.n_words:
            np.add.at(statistics[row], labels.tokens.column[part], 1.0)
        else:
            ones = np.ones((1, part.stop - part.start))
            statistics[row] = _sum_rows(family, labels.values[part], ones)[0]
    return SeedCells(time, size, statistics)


class Refinement(NamedTuple):
    """Argument of `refine_division`."""

    parameters: Floats  # result of `parameters_of` for two topics
    base: Floats  # λ τ of both topics (2, cluster slots)
    is_first: bool  # whether the previous shares are those of the likelihood alone


def refine_division(
    observations: Observations, labels: MovedLabels, argument: Refinement, threads: ThreadPool
) -> tuple[MovedLabels, SumsByName]:
    """Update the shares of all tokens in two topics once; sum tables and statistics."""
    tokens, base = labels.tokens, argument.base
    likelihood = _likelihood(observations, labels, argument.parameters)
    if argument.is_first:
        share = (likelihood[0] / likelihood.sum(axis=0))[tokens.column]
    else:
        share = labels.share.copy()

    def run(first: int, last: int) -> SumsByName:
        tables, words = np.zeros(base.shape, np.int64), np.zeros(observations.n_words, np.int64)
        arguments = (tokens, likelihood, base, share)
        changed = kernels.refine_shares(first, last, *arguments, tables, words)
        return {"tables": tables, "words": words, "changed": np.array([changed])}

    work = TOKEN_COST * len(share)
    sums = add_sums(threads.map(len(tokens.group), run, even=True, work=work))
    if not observations.n_words:
        sums["topic_statistics"] = _chunk_statistics(observations, labels, share[None])
    return labels._replace(share=share), sums


class TokenDivision(NamedTuple):
    """Argument of `divide_tokens_of_topic`."""

    parameters: Floats  # result of `parameters_of` for two topics
    base: Floats  # λ τ of both topics (2, cluster slots)
    segment: int  # tokens of a group that are divided jointly
    draws: bool  # whether sides are drawn; otherwise those of the current topics are scored
    trial: int
    key: Key


def divide_tokens_of_topic(
    observations: Observations, labels: MovedLabels, argument: TokenDivision, threads: ThreadPool
) -> tuple[MovedLabels, SumsByName]:
    """Divide the tokens between two topics, see `divide_tokens`.

    ``log_ratio`` is the first line of log R in `mcsquared.samplers.steps.topic_division`.
    """
    parameters, base, segment, draws, trial, key = argument
    tokens, in_b = labels.tokens, labels.in_b.copy()
    log_sums = np.empty(len(tokens.group))
    likelihood = _likelihood(observations, labels, parameters)

    def run(first: int, last: int) -> None:
        urn = (likelihood, base, segment, draws, key, trial)
        kernels.divide_tokens(first, last, tokens, *urn, in_b, log_sums)

    threads.map(len(tokens.group), run, work=TOKEN_COST * len(in_b))
    log_ratio, n_excluded = kernels.score_division(tokens, likelihood, in_b, log_sums)
    sums = {"log_ratio": np.array([log_ratio]), "n_excluded": np.array([n_excluded])}
    labels = labels._replace(in_b=in_b)
    return labels, sums | (_sums_of_sides(observations, labels) if draws else {})


class WordSides(NamedTuple):
    """Argument of `divide_tokens_by_word`."""

    probability: Floats  # (n_words,): of the second topic
    trial: int
    key: Key


def divide_tokens_by_word(
    observations: Observations, labels: MovedLabels, argument: WordSides, threads: ThreadPool
) -> tuple[MovedLabels, SumsByName]:
    """Draw the sides of all tokens by word."""
    in_b = np.empty_like(labels.in_b)
    probability, trial, key = argument
    kernels.draw_sides_of_words(labels.tokens, probability, key, trial, in_b)
    labels = labels._replace(in_b=in_b)
    return labels, _sums_of_sides(observations, labels)


def sum_tables_of_sides(
    observations: Observations, labels: MovedLabels, base: Floats, threads: ThreadPool
) -> tuple[MovedLabels, SumsByName]:
    """Sum the expected tables of both topics, given λ τ (2, cluster slots)."""
    tables = np.zeros(base.shape, np.int64)
    kernels.add_expected_tables(labels.tokens, labels.in_b, base, tables)
    return labels, {"tables": tables}


def score_sides_of_tokens(
    observations: Observations, labels: MovedLabels, base: Floats, threads: ThreadPool
) -> tuple[MovedLabels, SumsByName]:
    """Sum the log-probability of the sides in all groups, given λ τ (2, cluster slots)."""
    return labels, {"log_ratio": np.array([kernels.score_sides(labels.tokens, labels.in_b, base)])}


class AcceptedMove(NamedTuple):
    """Argument of `accept_move`."""

    a: int
    b: int
    is_split: bool
    base: Floats  # λ τ of both topics (2, cluster slots)
    trial: int
    key: Key


def accept_move(
    observations: Observations, labels: MovedLabels, argument: AcceptedMove, threads: ThreadPool
) -> tuple[MovedLabels, SumsByName]:
    """Change the topics of the tokens; draw tables; sum tokens and tables by cluster."""
    a, b, is_split, base, trial, key = argument
    tokens = labels.tokens
    topics: Any = np.array(labels.topic_of_token)  # the labels may be mapped from a file
    moved = tokens.token[labels.in_b == 1] - observations.first_token
    topics[moved] = b if is_split else a
    counts, tables = np.zeros(base.shape, np.int32), np.zeros(base.shape, np.int32)
    cells = (tokens, labels.in_b, base, is_split)
    change = kernels.draw_cell_tables(*cells, key, trial, counts, tables)
    sums = {"topics": counts, "tables": tables, "change": np.array([change])}
    return labels._replace(topic_of_token=topics), sums


def end_moves(
    observations: Observations, labels: MovedLabels, argument: None, threads: ThreadPool
) -> tuple[Labels, SumsByName]:
    """Return plain labels."""
    return Labels(labels.cluster_of_group, labels.topic_of_token), {}


# Functions that do not read the groups: those of a shard on disk need not be loaded for them.
READ_LABELS_ONLY: frozenset[GroupFunction] = frozenset(
    {
        refine_division,
        divide_tokens_of_topic,
        divide_tokens_by_word,
        sum_tables_of_sides,
        score_sides_of_tokens,
        end_moves,
    }
)


def parameters_of(observations: Observations, statistics: Floats) -> Floats:
    """Return parameters at their posterior means, given statistics (n_topics, n_stats).

    Probabilities of words, natural parameters of vectors, or mean and precision of wide ones.
    """
    family: Any = observations.content_family
    if observations.n_words:
        words = statistics + family.concentration
        return words / words.sum(axis=1, keepdims=True)
    means = family.mean_parameters(statistics)
    return means if observations.has_wide_vectors else family.natural_parameters(means)


def even_parameters(observations: Observations) -> Floats:
    """Return parameters of two topics with which all tokens have the likelihood 1."""
    if observations.n_words:
        return np.ones((2, observations.n_words))
    family: Any = observations.content_family
    return np.zeros((2, family.n_stats))


def _likelihood(observations: Observations, labels: MovedLabels, parameters: Floats) -> Floats:
    """Return the likelihoods in two topics: of vectors, relative to the larger one of each."""
    if observations.n_words:
        return parameters
    family: Any = observations.content_family
    if not parameters.any():  # those of `even_parameters`
        return np.ones((2, len(labels.values)))
    if observations.has_wide_vectors:
        whitened = family.whitened_parameters(parameters)
        log_likelihood = complete_log_likelihoods(labels.values, whitened).T
    else:
        parts = [np.einsum("kj,ij->ki", parameters, rows) for rows in _rows(family, labels.values)]
        log_likelihood = np.concatenate([np.zeros((2, 0)), *parts], axis=1)
    return np.exp(log_likelihood - log_likelihood.max(axis=0))


def _sums_of_sides(observations: Observations, labels: MovedLabels) -> SumsByName:
    """Count the tokens of the second topic, and sum the content of both."""
    in_b = labels.in_b
    sums: SumsByName = {"n_in_b": np.array([in_b.sum(dtype=np.int64)])}
    if observations.n_words:
        sums["words"] = np.zeros(observations.n_words, np.int64)
        kernels.count_words_in_b(labels.tokens, in_b, sums["words"])
    else:
        weights = np.stack([in_b == 0, in_b == 1]).astype(np.float64)
        sums["topic_statistics"] = _chunk_statistics(observations, labels, weights)
    return sums


def _chunk_statistics(observations: Observations, labels: MovedLabels, weights: Floats) -> Floats:
    """Return Σ_i weight_ri T(x_i) by non-empty chunk of groups: (n_parts, n_rows, n_stats)."""
    family: Any = observations.content_family
    parts = [part for part in pairwise(labels.chunk_start.tolist()) if part[0] < part[1]]
    total = np.zeros((max(len(parts), 1), len(weights), family.n_stats))  # zeros if all are empty
    for chunk, (first, last) in enumerate(parts):
        total[chunk] = _sum_rows(family, labels.values[first:last], weights[:, first:last])
    return total


def _sum_rows(family: Any, values: Floats, weights: Floats) -> Floats:
    """Return Σ_i weight_ri T(x_i): (n_rows, n_stats)."""
    total, first = np.zeros((len(weights), family.n_stats)), 0
    if family.is_wide:
        add_weighted_statistics(values, weights, total)
        return total
    for rows in _rows(family, values):
        total += np.einsum("ri,ij->rj", weights[:, first : first + len(rows)], rows)
        first += len(rows)
    return total


def _rows(family: Any, values: Floats) -> Iterator[Floats]:
    """Yield T(x) of some vectors at a time, because T(x) may be much larger than x."""
    step = max(ENTRIES_PER_BATCH // family.n_stats, 1)
    for first in range(0, len(values), step):
        yield family.centred_statistics(values[first : first + step])
