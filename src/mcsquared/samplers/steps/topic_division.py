"""Division of one topic into two: its proposal, and the ratio of densities.

A division of topic m in a and b has a share u of a in ε_m, shares r_k of a in τ_km, and a side for
every token. It is proposed by a *launch*, which depends on the tokens of m alone:

    u ~ Beta(T*_a, T*_b),    r_k ~ Beta(v ε_a + O*_ka, v ε_b + O*_kb)

and the tokens of each group are divided jointly given parameters ψ* and r, see `divide_tokens`. The
density of the divided state, over that of the undivided state and of the proposal, is

    log R = Σ_j log p(w_j | ψ*, λ τ_m r) − Σ_i log ψ*(w_i)
          + DM(n_a) + DM(n_b) − DM(n_m)
          + Σ_k [log Beta(r_k; v ε_a, v ε_b) − log q(r_k)] + log η − log u (1 − u) − log q(u)

where w_j are the tokens of m in group j and DM is the log-density of a topic's tokens, its
parameters integrated out: for words, that of the Dirichlet-multinomial distribution.

A *fitted* launch has two topics fitted by mean field, from the tokens of two random groups, with
their expected tables O* and T*. A *flat* launch uses no data: u is uniform, r_k is drawn from its
prior, and the sides of tokens from Pólya urns. The first line of log R is then 0, and the last line
is log η − log u (1 − u).

A division *by word* draws the sides of the tokens first, from a Pólya urn for each word, and then u
and r_k given the divided tokens: T* and O* are their expected tables. The first line of log R is

    Σ_j log [B(λ τ_m r + n_ja, λ τ_m (1 − r) + n_jb) / B(λ τ_m r, λ τ_m (1 − r))]
  − Σ_w log [B(c + n_aw, c + n_bw) / B(c, c)]

where B is the beta function: the density of the sides in the groups, over that of the proposal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma

from mcsquared.arrays import Floats
from mcsquared.kernels.cpu.topic_moves import FIXED_POINT, TopicTokens, divide_tokens, refine_shares
from mcsquared.samplers.content.topic_tokens import TokenContent
from mcsquared.samplers.types import Sweep

MAX_PASSES = 15
TOLERANCE = 0.01  # mean change of a token's share at which a fit ends
SEGMENT = 512  # tokens of a group that are divided jointly
TOKEN_COST = 30.0  # nanoseconds to divide one token
SMALLEST = 1e-280
WORD_URN = 0.05  # c: the smaller it is, the more often all tokens of a word take the same side


class Topic(NamedTuple):
    """A topic, or two topics considered as one."""

    tokens: TopicTokens
    content: TokenContent
    log_weight: float  # log ε_m
    log_share: Floats  # log τ_km (cluster slots,)


class TopicLaunch(NamedTuple):
    """Parameters of the distribution from which a division is drawn."""

    likelihood: Floats  # of words or vectors, given ψ* (2, n_columns)
    tables: Floats  # O* (2, cluster slots)
    root: Floats  # T* (2,)
    segment: int  # tokens of a group that are divided jointly


class TopicDivision(NamedTuple):
    """A division of a topic."""

    log_root: Floats  # log u and log(1 − u) (2,)
    log_parts: Floats  # log r_k and log(1 − r_k) (2, cluster slots)
    in_b: NDArray[np.uint8]  # 1 for the tokens of the second topic (n_tokens,)


def flat_launch(n_columns: int, n_clusters: int) -> TopicLaunch:
    """Return a launch that does not depend on the data."""
    return TopicLaunch(np.ones((2, n_columns)), np.zeros((2, n_clusters)), np.ones(2), segment=1)


def fitted_launch(sweep: Sweep, topic: Topic, rng: np.random.Generator) -> TopicLaunch:
    """Fit two topics by mean field, from the tokens of two random groups."""
    tokens, content, log_weight, log_share = topic
    n_tokens, v_weight = len(tokens.token), sweep.state.v * math.exp(log_weight)
    total = content.statistics(np.ones(n_tokens))
    seeds = []
    for _ in range(2):
        cell = np.searchsorted(tokens.start, rng.integers(n_tokens), side="right") - 1
        part = slice(tokens.start[cell], tokens.start[cell + 1])
        size = part.stop - part.start
        in_cell = content.statistics(np.ones(size), part)
        seeds.append(in_cell + (0.5 * size + 1.0) / n_tokens * total)
    likelihood = content.likelihood(np.stack(seeds))
    share = (likelihood[0] / likelihood.sum(axis=0))[tokens.column]
    parts = np.full((2, len(log_share)), 0.5)
    for _ in range(MAX_PASSES):
        base = divided_base(sweep, log_share, parts)
        tables, changed = _refine(sweep, tokens, likelihood, base, share)
        in_a = content.statistics(share)
        likelihood = content.likelihood(np.stack([in_a, total - in_a]))
        weight = (tables.sum(axis=1) + 1.0) / (tables.sum() + 2.0)
        parts = tables + (v_weight + 0.1) * weight[:, None]
        parts /= parts.sum(axis=0)
        if changed < TOLERANCE * n_tokens:
            break
    return TopicLaunch(likelihood, tables, root_tables(v_weight * weight, tables), SEGMENT)


def root_tables(prior: Floats, tables: Floats) -> Floats:
    """Return T* given v ε of both topics (2,) and O* (2, cluster slots): approximately expected."""
    prior = np.maximum(prior, SMALLEST)[:, None]
    root = np.minimum(tables, np.maximum(prior * np.log1p(tables / prior), 1.0)).sum(axis=1)
    return np.maximum(root, 0.5)


def divide_by_word(topic: Topic, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw the side of every token from an urn for each word: 1 for the second topic."""
    column = topic.tokens.column
    share = rng.beta(WORD_URN, WORD_URN, int(column.max()) + 1)
    return (rng.random(len(column)) < share[column]).astype(np.uint8)


def _cell_counts(tokens: TopicTokens, in_b: NDArray[np.uint8]) -> Floats:
    """Return the tokens of both topics in each group that has some: (2, n_cells)."""
    second = np.add.reduceat(in_b, tokens.start[:-1], dtype=np.float64)
    return np.stack([np.diff(tokens.start) - second, second])


def launch_for_division(sweep: Sweep, topic: Topic, in_b: NDArray[np.uint8]) -> TopicLaunch:
    """Return the launch of u and r_k given divided tokens."""
    cells = _cell_counts(topic.tokens, in_b)
    weight = (cells.sum(axis=1) + 1.0) / (cells.sum() + 2.0)
    base = divided_base(sweep, topic.log_share, weight[:, None])[:, topic.tokens.cluster]
    expected = np.clip(base * (digamma(base + cells) - digamma(base)), cells > 0, cells)
    tables = np.zeros((2, len(topic.log_share)))
    for side in range(2):
        np.add.at(tables[side], topic.tokens.cluster, expected[side])
    v_weight = sweep.state.v * math.exp(topic.log_weight)
    return TopicLaunch(np.ones((2, 1)), tables, root_tables(v_weight * weight, tables), segment=1)


def log_ratio_of_words(
    sweep: Sweep, topic: Topic, division: TopicDivision, statistics: Floats
) -> float:
    """Return the first line of log R of a division by word, given the words of both topics."""
    base = divided_base(sweep, topic.log_share, np.exp(division.log_parts))
    base, cells = base[:, topic.tokens.cluster], _cell_counts(topic.tokens, division.in_b)
    of_groups = betaln(*(base + cells)) - betaln(*base)
    words = statistics[:, statistics.any(axis=0)]
    of_words = betaln(*(WORD_URN + words)) - betaln(WORD_URN, WORD_URN)
    return float(of_groups.sum() - of_words.sum())


def _refine(
    sweep: Sweep, tokens: TopicTokens, likelihood: Floats, base: Floats, share: Floats
) -> tuple[Floats, float]:
    """Update the shares once; return the expected tables, and the sum of the changes."""

    def run(first: int, last: int) -> tuple[NDArray[np.int64], int]:
        tables = np.zeros(base.shape, np.int64)
        changed = refine_shares(first, last, tokens, likelihood, base, share, tables)
        return tables, changed

    work = TOKEN_COST * len(share)
    found = sweep.threads.map(len(tokens.group), run, even=True, work=work)
    tables, changed = (sum(part) for part in zip(*found, strict=True))
    return tables / FIXED_POINT, changed / FIXED_POINT


def divided_base(sweep: Sweep, log_share: Floats, parts: Floats) -> Floats:
    """Return λ τ of both topics: (2, cluster slots)."""
    base: Floats = np.maximum(sweep.state.lam * np.exp(log_share) * parts, SMALLEST)
    return base


def _prior_of_parts(sweep: Sweep, log_weight: float, log_root: Floats) -> Floats:
    """Return v ε of both topics: (2, 1)."""
    return np.maximum(sweep.state.v * np.exp(log_weight + log_root), SMALLEST)[:, None]


def draw_division(
    sweep: Sweep, topic: Topic, launch: TopicLaunch, rng: np.random.Generator
) -> TopicDivision:
    """Draw u and r_k; no token is divided yet."""
    log_root = _draw_log_beta(launch.root, rng)
    prior = _prior_of_parts(sweep, topic.log_weight, log_root)
    in_b = np.zeros(len(topic.tokens.token), np.uint8)
    return TopicDivision(log_root, _draw_log_beta(prior + launch.tables, rng), in_b)


def divide_topic(
    sweep: Sweep, topic: Topic, launch: TopicLaunch, division: TopicDivision, trial: int, draw: bool
) -> float:
    """Return the first line of log R; if ``draw``, draw ``division.in_b`` first."""
    tokens, in_b = topic.tokens, division.in_b
    base = divided_base(sweep, topic.log_share, np.exp(division.log_parts))
    log_sums = np.empty(len(tokens.group))

    def run(first: int, last: int) -> None:
        urn = (launch.likelihood, base, launch.segment, draw, sweep.key, trial)
        divide_tokens(first, last, tokens, *urn, in_b, log_sums)

    sweep.threads.map(len(tokens.group), run, work=TOKEN_COST * len(in_b))
    with np.errstate(divide="ignore"):  # a launch may exclude the given sides
        log_likelihood = np.log(launch.likelihood[in_b, tokens.column])
    return float(log_sums.sum() - log_likelihood.sum())


def log_ratio_of_weights(
    sweep: Sweep, log_weight: float, launch: TopicLaunch, division: TopicDivision
) -> float:
    """Return the last line of log R."""
    prior = _prior_of_parts(sweep, log_weight, division.log_root)
    used = launch.tables.any(axis=0)  # in other clusters r_k is drawn from its prior
    parts, tables = division.log_parts[:, used], launch.tables[:, used]
    of_parts = _log_beta(parts, prior) - _log_beta(parts, prior + tables)
    # The factor u (1 − u) that `_log_beta` has in excess cancels in each difference.
    of_root = math.log(sweep.state.eta) - float(_log_beta(division.log_root, launch.root))
    return float(of_parts.sum()) + of_root


def _draw_log_beta(shapes: Floats, rng: np.random.Generator) -> Floats:
    """Draw from Beta distributions; return log r and log(1 − r) in the two rows."""
    log_gammas = np.log(rng.gamma(shapes + 1.0)) + np.log1p(-rng.random(shapes.shape)) / shapes
    drawn: Floats = log_gammas - np.logaddexp(log_gammas[0], log_gammas[1])
    return drawn


def _log_beta(log_parts: Floats, shapes: Floats) -> Floats:
    """Return the log-density of Beta(shapes) times r (1 − r), given log r and log(1 − r)."""
    value: Floats = (shapes * log_parts).sum(axis=0) - betaln(shapes[0], shapes[1])
    return value
