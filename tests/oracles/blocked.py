"""The blocked sampler for words in plain Python, one function per conditional.

Written to be read beside the description of the model: counted anew from labels, in doubles,
nothing fast. It is the oracle of the compiled sampler: from the same state and the same numbers
both draw the same labels. Every random number goes through `Numbers`, so that what a sweep takes
can be listed.

    ε_1..ε_M, ε_new     from the last sweep, ε_new broken into sticks for the empty slots
    π ~ Dir(n_1, ..., n_K, α),  its last part broken into sticks likewise
    τ_k ~ Dir(v ε + O_k),  ψ_m ~ Dir(β + n_m),  φ_k from their posteriors
    λ = ∞     z with the topics summed out, then the topics of each (cluster, word) cell
    λ finite  every l_ji in turn, then z given l, then o_jm ~ CRT(n_jm, λ τ_km)
    λ from o, v from q_km ~ CRT(O_km, v ε_m), η from u_m = Σ_k q_km, ε ~ Dir(u, η), α from K
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from mcsquared.families import ConjugateFamily
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.cells import MANY_TOKENS, MANY_TOPICS
from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.samplers.steps.concentrations import (
    MAX_LOG,
    draw_dp_weights,
    resample_concentration,
    resample_given_lengths,
)
from tests.oracles.draws import (
    BLOCK,
    Numbers,
    break_stick,
    choose,
    draw_log_gamma,
    draw_log_gamma_table,
    draw_table_count,
)

__all__ = ["PlainData", "PlainState", "sweep"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROWS = 8  # the categories of each bag begin at a multiple of it in the table of all


@dataclass(frozen=True)
class PlainData:
    """Groups of words with contexts.

    Attributes
    ----------
    word, group_of_token : int64 (n_tokens,)
        Groups in their order.
    n_groups, n_words : int
    concentration : float
        β, of every word in a topic.
    contexts : list of (family, x, observed)
        Contexts that are no bags: what was observed, and bool (n_groups,) where.
    bags : list of (concentration, counts)
        Counts are (n_groups, n_categories), a row of zeros where a bag is missing.
    """

    word: Ints
    group_of_token: Ints
    n_groups: int
    n_words: int
    concentration: float
    contexts: Sequence[tuple[ConjugateFamily, Any, NDArray[np.bool_]]]
    bags: Sequence[tuple[float, Ints]]

    @property
    def words_of_group(self) -> Ints:
        """n_jw (n_groups, n_words)."""
        return cross(self.group_of_token, self.word, (self.n_groups, self.n_words))


@dataclass
class PlainState:
    """Labels in slots, some of which are empty, root weights and concentrations.

    Where λ = ∞ no topic of a token is kept, only counts: ``words_in_topic`` (n_words, topic slots);
    where it is finite these follow from ``topic_of_token``. ``tables`` is O_km (cluster slots,
    topic slots): c_km where λ = ∞.
    """

    cluster_of_group: Ints
    topic_of_token: Ints
    words_in_topic: Ints
    tables: Ints
    topic_weights: Floats
    log_unused: float
    alpha: float
    v: float
    eta: float
    lam: float
    sweep: int = 0


def sweep(
    state: PlainState,
    data: PlainData,
    priors: Priors,
    seed: int,
    chain: int,
    numbers_of: Callable[[int, int, int], Numbers] = Numbers,
) -> None:
    """Do one sweep: globals, then groups and tokens given them, then the concentrations."""
    state.sweep += 1
    numbers = numbers_of(seed, chain, state.sweep)
    weights = draw_root_weights(state, numbers)
    log_prior = draw_log_cluster_weights(state, numbers)
    log_tau = draw_log_shares(state, weights, numbers)
    log_prior = log_prior + draw_context_scores(state, data, numbers)
    psi = draw_words(state, data, numbers)
    if math.isinf(state.lam):
        draw_clusters_without_topics(state, data, log_prior, log_tau, psi, numbers)
        draw_topics_of_cells(state, data, log_tau, psi, numbers)
    else:
        draw_topics_of_tokens(state, data, log_tau, psi, numbers)
        draw_clusters_given_topics(state, data, log_prior, log_tau, numbers)
        tables = draw_tables_of_groups(state, data, log_tau, numbers)
        state.tables = sums(tables, state.cluster_of_group, len(state.tables))
        customers = np.bincount(data.group_of_token, minlength=data.n_groups)
        lengths, times = np.unique(customers[customers > 0], return_counts=True)
        rng = numbers.generator(Step.LAM)
        state.lam = resample_given_lengths(
            state.lam, priors.lam, lengths, times, int(tables.sum()), rng
        )
    resample_concentrations(state, weights, priors, numbers)


def draw_root_weights(state: PlainState, numbers: Numbers) -> Floats:
    """Return ε with ε_new shared among the empty slots."""
    weights, empty = state.topic_weights.copy(), state.words_in_topic.sum(axis=0) == 0
    rest = break_stick(int(empty.sum()), state.eta, numbers.generator(Step.TOPIC_TAIL))
    weights[empty] = math.exp(state.log_unused) * rest
    return weights


def draw_log_cluster_weights(state: PlainState, numbers: Numbers) -> Floats:
    """Draw log π ~ Dir(n_1, ..., n_K, α), the last part shared among the empty slots."""
    groups = np.bincount(state.cluster_of_group, minlength=len(state.tables))
    empty, weights = groups == 0, np.zeros(len(groups))
    weights[~empty], log_unused = draw_dp_weights(
        groups[~empty], state.alpha, numbers.generator(Step.CLUSTER_WEIGHTS)
    )
    rest = break_stick(int(empty.sum()), state.alpha, numbers.generator(Step.CLUSTER_TAIL))
    weights[empty] = math.exp(log_unused) * rest
    with np.errstate(divide="ignore"):
        return np.log(weights)


def draw_log_shares(state: PlainState, weights: Floats, numbers: Numbers) -> Floats:
    """Draw log τ_k with τ_k ~ Dir(v ε + O_k): (cluster slots, topic slots)."""
    log_tau = np.full(state.tables.shape, -np.inf)
    for k, m in np.ndindex(*state.tables.shape):
        shape = float(state.v * weights[m] + state.tables[k, m])
        if shape > 0.0:
            log_tau[k, m] = draw_log_gamma(shape, numbers, Step.TOPIC_SHARES, (k << 20) + m)
    return log_tau - logsumexp(log_tau, axis=1, keepdims=True)


def draw_words(state: PlainState, data: PlainData, numbers: Numbers) -> Floats:
    """Draw ψ_m ~ Dir(β + n_m): (n_words, topic slots)."""
    counts, beta = state.words_in_topic, data.concentration
    steps = Step.CONTENT, Step.CONTENT_NONZERO
    logs = draw_log_gamma_table(counts, beta, 0, steps, numbers)
    return np.exp(logs - logsumexp(logs, axis=0))


def draw_context_scores(state: PlainState, data: PlainData, numbers: Numbers) -> Floats:
    """Draw φ of every cluster slot; return Σ log F(x_j | φ_k): (n_groups, cluster slots)."""
    n_slots, clusters = len(state.tables), state.cluster_of_group
    total = np.zeros((data.n_groups, n_slots))
    rng = numbers.generator(Step.CONTEXTS)
    for family, x, observed in data.contexts:
        statistics = sums(family.statistics(x), clusters[observed], n_slots)
        parameters = family.sample_parameters(statistics, rng)
        total[observed] += family.log_likelihood(x, parameters)
    first, steps = 0, (Step.CATEGORIES, Step.CATEGORIES_NONZERO)
    for concentration, counts in data.bags:
        in_cluster = sums(counts, clusters, n_slots).T
        logs = draw_log_gamma_table(in_cluster, concentration, first, steps, numbers)
        total += counts @ (logs - logsumexp(logs, axis=0))
        first += -(-len(in_cluster) // ROWS) * ROWS
    return total


def draw_clusters_without_topics(
    state: PlainState,
    data: PlainData,
    log_prior: Floats,
    log_tau: Floats,
    psi: Floats,
    numbers: Numbers,
) -> None:
    """Draw z_j: log p(z_j = k) = log π_k + contexts + Σ_w n_jw log Σ_m τ_km ψ_mw."""
    scores = log_prior + data.words_of_group @ np.log(psi @ np.exp(log_tau).T)
    for j in range(data.n_groups):
        weights = np.exp(scores[j] - scores[j].max())
        state.cluster_of_group[j] = choose(weights, numbers.uniform(Step.CLUSTERS, j))


def draw_topics_of_cells(
    state: PlainState, data: PlainData, log_tau: Floats, psi: Floats, numbers: Numbers
) -> None:
    """Draw the topics of the C_kw tokens of each cluster and word: p(m) ∝ τ_km ψ_mw.

    Tokens of a word take their numbers one after another. Every word begins a block of its own.
    """
    n_slots, tau = len(log_tau), np.exp(log_tau)
    tokens = sums(data.words_of_group, state.cluster_of_group, n_slots)
    state.words_in_topic[:] = state.tables[:] = 0
    before = 0
    for w in range(data.n_words):
        block, position = before // BLOCK + w, 0
        for k in range(n_slots):
            by_lanes = psi.shape[1] <= MANY_TOPICS or tokens[k, w] < MANY_TOKENS
            for _ in range(tokens[k, w]):
                u = numbers.in_block(Step.TOPICS, block, position)
                m = choose(tau[k] * psi[w], u, by_lanes=by_lanes)
                state.words_in_topic[w, m] += 1
                state.tables[k, m] += 1
                position += 1
        before += position


def draw_topics_of_tokens(
    state: PlainState, data: PlainData, log_tau: Floats, psi: Floats, numbers: Numbers
) -> None:
    """Draw every l_ji in turn: p(m) ∝ (n_jm + λ τ_km) ψ_mw, n_jm without the token.

    Tokens of a group take their numbers one after another. Every group begins a block of its own.
    """
    for j in range(data.n_groups):
        tokens = np.flatnonzero(data.group_of_token == j)
        block = blocks_before(data, j)
        prior = state.lam * np.exp(log_tau[state.cluster_of_group[j]])
        for position, i in enumerate(tokens):
            others = tokens[tokens != i]
            topic_counts = np.bincount(state.topic_of_token[others], minlength=len(prior))
            u = numbers.in_block(Step.TOPICS, block, position)
            weights = (topic_counts + prior) * psi[data.word[i]]
            state.topic_of_token[i] = choose(weights, u, by_lanes=True)
    state.words_in_topic = cross(data.word, state.topic_of_token, state.words_in_topic.shape)


def draw_clusters_given_topics(
    state: PlainState, data: PlainData, log_prior: Floats, log_tau: Floats, numbers: Numbers
) -> None:
    """Draw z_j: log π_k + contexts + Σ_m ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km)."""
    topic_counts, prior = topics_of_group(state, data), state.lam * np.exp(log_tau)
    for j in range(data.n_groups):
        occupied = topic_counts[j] > 0
        gain = gammaln(prior[:, occupied] + topic_counts[j, occupied]) - gammaln(prior[:, occupied])
        scores = log_prior[j] + gain.sum(axis=1)
        weights = np.exp(scores - scores.max())
        state.cluster_of_group[j] = choose(weights, numbers.uniform(Step.CLUSTERS, j))


def draw_tables_of_groups(
    state: PlainState, data: PlainData, log_tau: Floats, numbers: Numbers
) -> Ints:
    """Draw o_jm ~ CRT(n_jm, λ τ_km), customer by customer: (n_groups, topic slots).

    Each customer has a number; the first ones of a topic do without.
    """
    topic_counts = topics_of_group(state, data)
    tables = np.minimum(topic_counts, 1)
    for j, k in enumerate(state.cluster_of_group):
        block, before = blocks_before(data, j), 0
        for m in np.flatnonzero(topic_counts[j]):
            prior = state.lam * math.exp(log_tau[k, m])
            for i in range(1, topic_counts[j, m]):
                u = numbers.in_block(Step.GROUP_TABLES, block, before + i)
                tables[j, m] += u * (prior + i) < prior
            before += topic_counts[j, m]
    return tables


def resample_concentrations(
    state: PlainState, weights: Floats, priors: Priors, numbers: Numbers
) -> None:
    """Draw q, v, η with ε integrated out, ε, and α with π integrated out."""
    customers, rng = state.tables, numbers.generator
    tables = np.zeros_like(customers)
    for k, m in zip(*np.nonzero(customers), strict=True):
        tables[k, m] = draw_table_count(
            int(customers[k, m]), state.v * weights[m], numbers, (int(k) << 20) + int(m)
        )
    rng_v = rng(Step.V)
    state.v = resample_concentration(
        state.v, priors.v, customers.sum(axis=1), tables.sum(axis=1), rng_v
    )
    active = state.words_in_topic.sum(axis=0) > 0
    topic_tables = tables.sum(axis=0)[active]
    state.eta = resample_concentration(
        state.eta, priors.eta, [topic_tables.sum()], [len(topic_tables)], rng(Step.ETA)
    )
    state.topic_weights = np.zeros(len(active))
    state.topic_weights[active], state.log_unused = draw_dp_weights(
        topic_tables, state.eta, rng(Step.TOPIC_WEIGHTS)
    )
    state.v = resample_v_given_weights(state, priors, rng_v)
    n_groups, n_clusters = len(state.cluster_of_group), len(np.unique(state.cluster_of_group))
    state.alpha = resample_concentration(
        state.alpha, priors.alpha, [n_groups], [n_clusters], rng(Step.ALPHA)
    )


def resample_v_given_weights(state: PlainState, priors: Priors, rng: np.random.Generator) -> float:
    """Draw v given ε, with the tables of clusters integrated out, by slice sampling of log v."""
    prior = priors.v
    if not isinstance(prior, Gamma):
        return float(prior)
    customers = state.tables
    totals, (cluster, topic) = customers.sum(axis=1), np.nonzero(customers)
    base, count = state.topic_weights[topic], customers[cluster, topic]

    def log_density(x: float) -> float:
        v = math.exp(x)
        terms = gammaln(v * base + count) - gammaln(v * base)
        found = float(terms.sum() - (gammaln(v + totals) - gammaln(v)).sum())
        return found + prior.shape * x - prior.rate * v

    x, low, high = math.log(state.v), -MAX_LOG, MAX_LOG
    level = log_density(x) + math.log(1.0 - rng.random())
    while True:
        candidate = low + (high - low) * rng.random()
        if log_density(candidate) >= level:
            return math.exp(candidate)
        low, high = (candidate, high) if candidate < x else (low, candidate)


def blocks_before(data: PlainData, j: int) -> int:
    """Return the block of 64 numbers at which group ``j`` begins: no two groups share one."""
    return int((data.group_of_token < j).sum()) // BLOCK + j


def topics_of_group(state: PlainState, data: PlainData) -> Ints:
    """Return n_jm (n_groups, topic slots)."""
    shape = (data.n_groups, len(state.topic_weights))
    return cross(data.group_of_token, state.topic_of_token, shape)


def cross(rows: Ints, columns: Ints, shape: tuple[int, ...]) -> Ints:
    """Return how often each pair occurs."""
    table = np.zeros(shape, np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def sums(rows: NDArray, labels: Ints, n: int) -> NDArray:
    """Return the sums of the rows of each label."""
    total = np.zeros((n, rows.shape[1]), rows.dtype)
    np.add.at(total, labels, rows)
    return total
