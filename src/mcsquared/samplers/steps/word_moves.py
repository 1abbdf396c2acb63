"""Splits and merges of topics by word: λ = ∞, few tokens, τ and ψ integrated out.

Groups of a cluster share one mixture of topics, so that the data hardly determine which tokens of
a cluster belong together. Topics that occur in the same clusters can be merged, or a topic split,
if the sides of the tokens of a word are drawn from its own Pólya urn, which starts with β on both
sides: their density is then near that of the words in the two topics. A split of topic m into a and
b has the ratio

    log R  =  Σ_k [g(vε_a, c_ka) + g(vε_b, c_kb) − g(vε_m, c_km)] + DM(n_a) + DM(n_b) − DM(n_m)
            + log η − log [u (1 − u)] − log q(u) − Σ_w log [B(β + n_aw, β + n_bw) / B(β, β)]

where g(x, n) = ln Γ(x + n) − ln Γ(x), B is the beta function, u is the share of a in ε_m, proposed
from a Beta distribution given the sides, and DM is the log-density of the words of a topic. A merge
has the inverse. The choice of the topics adds − log M to log R, where M is the number of topics
after the split.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from mcsquared.arrays import Bools, Floats, Int32s, Int64s, Rng
from mcsquared.kernels.rng import Step
from mcsquared.samplers.steps.topic_division import MIN_POSITIVE, root_tables
from mcsquared.samplers.types import Sweep

N_TRIALS = 10  # for each collapsed sweep; it must not depend on the number of topics


def move_topics_by_word(sweep: Sweep) -> None:
    """Propose splits and merges, half of each, if there are tokens."""
    if not sweep.observations.n_tokens:
        return
    rng = sweep.key.generator(Step.TOPIC_MOVES)
    cluster = np.repeat(sweep.state.cluster_of_group, np.diff(sweep.observations.group_start))
    for _ in range(N_TRIALS):
        (_try_split if rng.random() < 0.5 else _try_merge)(sweep, cluster, rng)


def _try_split(sweep: Sweep, cluster: Int32s, rng: Rng) -> None:
    state, bound = sweep.state, sweep.bounds.topics
    sizes = state.counts.tokens_in_topic
    topics, empty = np.flatnonzero(sizes), np.flatnonzero(sizes == 0)
    m = int(rng.choice(topics))
    if not len(empty) or (bound is not None and len(topics) >= bound):
        return
    tokens = np.flatnonzero(state.topic_of_token == m)
    share = rng.beta(sweep.priors.beta, sweep.priors.beta, sweep.observations.n_words)
    in_b = rng.random(len(tokens)) < share[sweep.observations.word[tokens]]
    if in_b.all() or not in_b.any():
        return
    sides = _count_sides(sweep, cluster, tokens, in_b)
    shapes = _shapes(state.v * state.topic_weights[m], sides[1])
    u = float(rng.beta(*shapes))
    if not 0.0 < u < 1.0:
        return
    weights = state.topic_weights[m] * np.array([u, 1.0 - u])
    log_ratio = _log_ratio(sweep, *sides, weights, shapes) - math.log(len(topics) + 1)
    if math.log(1.0 - rng.random()) < log_ratio:
        _save(sweep, [m, int(empty[0])], tokens[in_b], int(empty[0]), *sides, weights)


def _try_merge(sweep: Sweep, cluster: Int32s, rng: Rng) -> None:
    state = sweep.state
    topics = np.flatnonzero(state.counts.tokens_in_topic)
    if len(topics) < 2:
        return
    a, b = map(int, rng.choice(topics, 2, replace=False))
    tokens = np.flatnonzero((state.topic_of_token == a) | (state.topic_of_token == b))
    in_b = state.topic_of_token[tokens] == b
    words, clusters = _count_sides(sweep, cluster, tokens, in_b)
    weights = state.topic_weights[[a, b]]
    shapes = _shapes(state.v * weights.sum(), clusters)
    log_ratio = _log_ratio(sweep, words, clusters, weights, shapes) - math.log(len(topics))
    if math.log(1.0 - rng.random()) < -log_ratio:
        words, clusters, weights = _in_first(words), _in_first(clusters), _in_first(weights)
        _save(sweep, [a, b], tokens[in_b], a, words, clusters, weights)


def _in_first(sides: NDArray[Any]) -> NDArray[Any]:
    """Return sums of both sides in the first row, and 0 in the second."""
    return np.stack([sides.sum(axis=0), np.zeros_like(sides[1])])


def _count_sides(
    sweep: Sweep, cluster: Int32s, tokens: Int64s, in_b: Bools
) -> tuple[Int64s, Int64s]:
    """Return the tokens of both sides by word, (2, n_words), and by cluster, (2, cluster slots)."""
    n_words, n_slots = sweep.observations.n_words, len(sweep.state.counts.groups_in_cluster)
    word, cluster_of_token = sweep.observations.word[tokens], cluster[tokens]
    words = np.bincount(in_b * n_words + word, minlength=2 * n_words).reshape(2, n_words)
    clusters = np.bincount(in_b * n_slots + cluster_of_token, minlength=2 * n_slots).reshape(
        2, n_slots
    )
    return words, clusters


def _shapes(v_weight: float, clusters: Int64s) -> Floats:
    """Return the shapes of the proposal of u given the tokens of both sides by cluster."""
    sizes = clusters.sum(axis=1)
    return root_tables(v_weight * (sizes + 1.0) / (sizes.sum() + 2.0), clusters.astype(np.float64))


def _log_ratio(
    sweep: Sweep, words: Int64s, clusters: Int64s, weights: Floats, shapes: Floats
) -> float:
    """Return log R; ``weights`` are ε_a and ε_b, ``shapes`` those of the proposal of u."""
    state, beta = sweep.state, sweep.priors.beta
    prior = np.maximum(state.v * np.append(weights, weights.sum()), MIN_POSITIVE)[:, None]
    customers = np.concatenate([clusters, clusters.sum(axis=0, keepdims=True)])
    cluster_terms = (gammaln(prior + customers) - gammaln(prior)).sum(axis=1)
    family = sweep.observations.content_family
    word_terms = family.log_marginal(np.concatenate([words, words.sum(axis=0, keepdims=True)]))
    used = words[:, words.any(axis=0)]
    log_sides = (betaln(beta + used[0], beta + used[1]) - betaln(beta, beta)).sum()
    log_u = np.log(weights) - math.log(weights.sum())
    # The factor 1 / [u (1 − u)] is part of both densities and cancels.
    log_root = math.log(state.eta) - (float((shapes * log_u).sum()) - betaln(*shapes))
    total = cluster_terms + word_terms
    return float(total[0] + total[1] - total[2] - log_sides) + log_root


def _save(
    sweep: Sweep,
    pair: list[int],
    moved: Int64s,
    topic: int,
    words: Int64s,
    clusters: Int64s,
    weights: Floats,
) -> None:
    """Write the labels of the moved tokens, and counts and weights of both topics."""
    state, counts = sweep.state, sweep.state.counts
    state.topic_of_token[moved] = topic
    state.topic_weights[pair] = weights
    counts.tokens_in_topic[pair] = words.sum(axis=1)
    counts.words_in_topic[:, pair] = words.T
    counts.topics_in_cluster[:, pair] = clusters.T
