"""Division of one topic into two: its proposal, and the ratio of densities.

A division of topic m into a and b has a share u of a in ε_m, shares r_k of a in τ_km, and a side
for every token. It is proposed by a *launch*, which depends on the tokens of m alone:

    u ~ Beta(T*_a, T*_b),    r_k ~ Beta(v ε_a + O*_ka, v ε_b + O*_kb)

and the tokens of each group are divided jointly given parameters ψ* and r, see `divide_tokens`. The
density of the divided state, over that of the undivided state and of the proposal, is

    log R = Σ_j log p(w_j | ψ*, λ τ_m r) − Σ_i log ψ*(w_i)
          + DM(n_a) + DM(n_b) − DM(n_m)
          + Σ_k [log Beta(r_k; v ε_a, v ε_b) − log q(r_k)] + log η − log [u (1 − u)] − log q(u)

where w_j are the tokens of m in group j and DM is the log-density of a topic's tokens, its
parameters integrated out: for words, that of the Dirichlet-multinomial distribution.

A *fitted* launch has two topics fitted by mean field, from the tokens of two random groups, with
their expected tables O* and T*. A *flat* launch uses no data: u is uniform, r_k is drawn from its
prior, and the sides of tokens from Pólya urns. The first line of log R is then 0, and the last line
is log η − log [u (1 − u)].

A division *by word* draws the sides of the tokens first, from a Pólya urn for each word that starts
with c (`WORD_URN`) on both sides, and then u and r_k given the divided tokens: T* and O* are their
expected tables. The first line of log R is

    Σ_j log [B(λ τ_m r + n_ja, λ τ_m (1 − r) + n_jb) / B(λ τ_m r, λ τ_m (1 − r))]
  − Σ_w log [B(c + n_aw, c + n_bw) / B(c, c)]

where B is the beta function: the density of the sides in the groups, over that of the proposal.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from mcsquared.arrays import Floats, Int64s, Rng
from mcsquared.kernels.cpu.topic_moves import FIXED_POINT
from mcsquared.samplers.content.topic_tokens import (
    Refinement,
    SeedCells,
    TokenDivision,
    divide_tokens_of_topic,
    even_parameters,
    parameters_of,
    refine_division,
    score_sides_of_tokens,
    sum_tables_of_sides,
)
from mcsquared.samplers.threads import add_in_order
from mcsquared.samplers.types import Sweep

MAX_PASSES = 15
TOLERANCE = 0.01  # mean change of a token's share at which a fit ends
TOKENS_PER_SEGMENT = 512  # tokens of a group that are divided jointly
MIN_POSITIVE = 1e-280
WORD_URN = 0.05  # c: the smaller it is, the more often all tokens of a word take the same side


class Topic(NamedTuple):
    """A topic, or two topics considered as one, whose tokens were found in all shards."""

    statistics: Floats  # of its tokens (n_stats,)
    n_tokens: int
    log_weight: float  # log ε_m
    log_share: Floats  # log τ_km (cluster slots,)


class TopicLaunch(NamedTuple):
    """Parameters of the distribution from which a division is drawn."""

    parameters: Floats  # ψ*, see `parameters_of`
    tables: Floats  # O* (2, cluster slots)
    root: Floats  # T* (2,)
    segment: int  # tokens of a group that are divided jointly


class TopicDivision(NamedTuple):
    """The weights of a division of a topic."""

    log_root: Floats  # log u and log(1 − u) (2,)
    log_parts: Floats  # log r_k and log(1 − r_k) (2, cluster slots)


class TopicSides(NamedTuple):
    """The content of two topics."""

    statistics: Floats  # (2, n_stats)
    n_tokens: Int64s  # (2,)


def flat_launch(sweep: Sweep, n_clusters: int) -> TopicLaunch:
    """Return a launch that does not depend on the data."""
    parameters = even_parameters(sweep.observations)
    return TopicLaunch(parameters, np.zeros((2, n_clusters)), np.ones(2), segment=1)


def fitted_launch(sweep: Sweep, topic: Topic, seeds: SeedCells) -> TopicLaunch:
    """Fit two topics by mean field, from the tokens of two random groups."""
    observations, backend, total = sweep.observations, sweep.backend, topic.statistics
    v_weight = sweep.state.v * math.exp(topic.log_weight)
    added = (0.5 * seeds.size + 1.0) / topic.n_tokens
    parameters = parameters_of(observations, seeds.statistics + added[:, None] * total)
    parts = np.full((2, len(topic.log_share)), 0.5)
    for n_passes in range(MAX_PASSES):
        base = divided_base(sweep, topic.log_share, parts)
        found = backend.sum_groups(refine_division, Refinement(parameters, base, n_passes == 0))
        if observations.n_words:
            in_a = found["words"] / FIXED_POINT
        else:
            in_a = add_in_order(found["topic_statistics"])[0]
        parameters = parameters_of(observations, np.stack([in_a, total - in_a]))
        tables = found["tables"] / FIXED_POINT
        weight = (tables.sum(axis=1) + 1.0) / (tables.sum() + 2.0)
        parts = tables + (v_weight + 0.1) * weight[:, None]
        parts /= parts.sum(axis=0)
        if found["changed"][0] < TOLERANCE * FIXED_POINT * topic.n_tokens:
            break
    return TopicLaunch(
        parameters, tables, root_tables(v_weight * weight, tables), TOKENS_PER_SEGMENT
    )


def root_tables(prior: Floats, tables: Floats) -> Floats:
    """Return T* given v ε of both topics (2,) and O* (2, cluster slots): approximately expected."""
    prior = np.maximum(prior, MIN_POSITIVE)[:, None]
    root = np.minimum(tables, np.maximum(prior * np.log1p(tables / prior), 1.0)).sum(axis=1)
    return np.maximum(root, 0.5)


def draw_shares_of_words(statistics: Floats, rng: Rng) -> Floats:
    """Draw the share of the second topic in the tokens of every word of a topic: (n_words,)."""
    share, used = np.zeros(len(statistics)), np.flatnonzero(statistics)
    share[used] = rng.beta(WORD_URN, WORD_URN, len(used))
    return share


def launch_for_division(sweep: Sweep, topic: Topic, n_tokens: Int64s) -> TopicLaunch:
    """Return the launch of u and r_k given divided tokens, and their numbers (2,)."""
    weight = (n_tokens.astype(np.float64) + 1.0) / (topic.n_tokens + 2.0)
    base = divided_base(sweep, topic.log_share, weight[:, None])
    tables = sweep.backend.sum_groups(sum_tables_of_sides, base)["tables"] / FIXED_POINT
    v_weight = sweep.state.v * math.exp(topic.log_weight)
    return TopicLaunch(np.ones((2, 0)), tables, root_tables(v_weight * weight, tables), segment=1)


def log_ratio_of_words(
    sweep: Sweep, topic: Topic, division: TopicDivision, statistics: Floats
) -> float:
    """Return the first line of log R of a division by word, given the words of both topics."""
    base = divided_base(sweep, topic.log_share, np.exp(division.log_parts))
    group_term = sweep.backend.sum_groups(score_sides_of_tokens, base)["log_ratio"][0] / FIXED_POINT
    words = statistics[:, statistics.any(axis=0)]
    word_terms = betaln(*(WORD_URN + words)) - betaln(WORD_URN, WORD_URN)
    return float(group_term - word_terms.sum())


def divided_base(sweep: Sweep, log_share: Floats, parts: Floats) -> Floats:
    """Return λ τ of both topics: (2, cluster slots)."""
    return np.maximum(sweep.state.lam * np.exp(log_share) * parts, MIN_POSITIVE)


def _prior_of_parts(sweep: Sweep, log_weight: float, log_root: Floats) -> Floats:
    """Return v ε of both topics: (2, 1)."""
    return np.maximum(sweep.state.v * np.exp(log_weight + log_root), MIN_POSITIVE)[:, None]


def draw_division(sweep: Sweep, topic: Topic, launch: TopicLaunch, rng: Rng) -> TopicDivision:
    """Draw u and r_k; no token is divided yet."""
    log_root = _draw_log_beta(launch.root, rng)
    prior = _prior_of_parts(sweep, topic.log_weight, log_root)
    return TopicDivision(log_root, _draw_log_beta(prior + launch.tables, rng))


def divide_topic(
    sweep: Sweep,
    topic: Topic,
    launch: TopicLaunch,
    division: TopicDivision,
    trial: int,
    draws: bool,
) -> dict[str, Any]:
    """Divide the tokens, or, unless ``draws``, score their current sides; return the sums."""
    base = divided_base(sweep, topic.log_share, np.exp(division.log_parts))
    urn = (launch.parameters, base, launch.segment)
    argument = TokenDivision(*urn, draws, trial, sweep.key)
    return sweep.backend.sum_groups(divide_tokens_of_topic, argument)


def log_ratio_of_tokens(found: dict[str, Any]) -> float:
    """Return the first line of log R; ∞ if the launch excludes these sides."""
    return math.inf if found["n_excluded"][0] else float(found["log_ratio"][0] / FIXED_POINT)


def sides_of(sweep: Sweep, topic: Topic, found: dict[str, Any]) -> TopicSides:
    """Return the content of both topics, given sums over divided tokens."""
    n_in_b = int(found["n_in_b"][0])
    sizes = np.array([topic.n_tokens - n_in_b, n_in_b])
    if not sweep.observations.n_words:
        return TopicSides(add_in_order(found["topic_statistics"]), sizes)
    in_b = found["words"].astype(np.float64)
    return TopicSides(np.stack([topic.statistics - in_b, in_b]), sizes)


def log_ratio_of_weights(
    sweep: Sweep, log_weight: float, launch: TopicLaunch, division: TopicDivision
) -> float:
    """Return the last line of log R."""
    prior = _prior_of_parts(sweep, log_weight, division.log_root)
    used = launch.tables.any(axis=0)  # in other clusters r_k is drawn from its prior
    parts, tables = division.log_parts[:, used], launch.tables[:, used]
    cluster_terms = _log_beta(parts, prior) - _log_beta(parts, prior + tables)
    # The factor u (1 − u) that `_log_beta` has in excess cancels in each difference.
    root_term = math.log(sweep.state.eta) - float(_log_beta(division.log_root, launch.root))
    return float(cluster_terms.sum()) + root_term


def _draw_log_beta(shapes: Floats, rng: Rng) -> Floats:
    """Draw from Beta distributions; return log r and log(1 − r) in the two rows."""
    log_gammas = np.log(rng.gamma(shapes + 1.0)) + np.log1p(-rng.random(shapes.shape)) / shapes
    return log_gammas - np.logaddexp(log_gammas[0], log_gammas[1])


def _log_beta(log_parts: Floats, shapes: Floats) -> Floats:
    """Return the log-density of Beta(shapes) times r (1 − r), given log r and log(1 − r)."""
    return (shapes * log_parts).sum(axis=0) - betaln(shapes[0], shapes[1])
