"""The paper's collapsed Gibbs sampler in plain NumPy, one function per full conditional.

Written to be read beside section 3.2 and appendix A.2 of the paper, with its errors corrected:
every function counts from the assignments anew, nothing is cached, nothing is fast. It is the
oracle of the compiled sampler: from the same state and random numbers both draw the same labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from mcsquared.families import ConjugateFamily
from mcsquared.kernels.rng import Step, uniform

__all__ = ["PlainData", "PlainState", "cluster_conditional", "sweep", "topic_conditional"]


@dataclass(frozen=True)
class PlainData:
    """Groups, tokens and contexts, each seen through its family's statistics.

    ``content`` is (n_tokens, n_stats), ``contexts`` a list of (n_groups, n_stats) with a row of
    zeros where a context is missing. ``lanes`` is the number of interleaved running sums in which
    the compiled sampler adds topics; it changes the topic that a number selects, but not the
    probabilities.
    """

    group_of_token: NDArray[np.int64]
    content_family: ConjugateFamily
    content: NDArray[np.float64]
    context_families: Sequence[ConjugateFamily]
    contexts: Sequence[NDArray[np.float64]]
    lanes: int = 1


@dataclass
class PlainState:
    """Assignments z and l, root weights ε of the topics in use, ε_new, and the concentrations."""

    cluster_of_group: NDArray[np.int64]
    topic_of_token: NDArray[np.int64]
    topic_weights: dict[int, float]
    unused_weight: float
    alpha: float
    v: float
    eta: float
    sweep: int = 0


def cluster_conditional(
    j: int, state: PlainState, data: PlainData
) -> tuple[list[int], NDArray[np.float64]]:
    """Return the choices for z_j and their log-weights (appendix, "Sampling z").

        p(z_j = k | ·)  ∝  CRP(k)  ·  p(x_j | contexts of k)  ·  p(l_j* | topics of k)

    The last choice is a new cluster. Departures from the printed formula: the Γ ratio of the last
    factor has v + c_k, the whole prior, where the paper sums ε over the active topics only.
    """
    others = np.arange(len(state.cluster_of_group)) != j
    old = sorted(set(state.cluster_of_group[others].tolist()))
    choices = [*old, lowest_free(old)]
    tokens_of_group = data.group_of_token == j
    log_weights = np.zeros(len(choices))
    for c, k in enumerate(choices):
        in_cluster = others & (state.cluster_of_group == k)
        log_weights[c] = math.log(in_cluster.sum()) if in_cluster.any() else math.log(state.alpha)
        for family, statistics in zip(data.context_families, data.contexts, strict=True):
            statistics_of_others = statistics[in_cluster].sum(axis=0)
            joined = statistics_of_others + statistics[j]
            log_weights[c] += family.log_normaliser(joined) - family.log_normaliser(
                statistics_of_others
            )
        tokens = in_cluster[data.group_of_token]
        n_tokens = tokens.sum()
        log_weights[c] += gammaln(state.v + n_tokens)
        log_weights[c] -= gammaln(state.v + n_tokens + tokens_of_group.sum())
        for m, weight in state.topic_weights.items():
            in_topic = state.topic_of_token == m
            prior = state.v * weight + (in_topic & tokens).sum()
            log_weights[c] += gammaln(prior + (in_topic & tokens_of_group).sum()) - gammaln(prior)
    return choices, log_weights


def topic_conditional(
    i: int, state: PlainState, data: PlainData
) -> tuple[list[int], NDArray[np.float64]]:
    """Return the choices for l_ji and their log-weights (appendix, "Sampling l").

        p(l_ji = m | ·)  ∝  (c_km + v ε_m) p(w_ji | other content of m),   new: v ε_new p(w_ji)

    Token ``i`` is taken out of c_km and of the topic; its topic's weight must have been returned to
    ε_new already if that left the topic empty.
    """
    others = np.arange(len(state.topic_of_token)) != i
    k = state.cluster_of_group[data.group_of_token[i]]
    same_cluster = state.cluster_of_group[data.group_of_token] == k
    active = sorted(state.topic_weights, key=lambda m: (m % data.lanes, m))
    choices = [*active, lowest_free(active)]
    log_weights = np.zeros(len(choices))
    for c, m in enumerate(choices):
        in_topic = others & (state.topic_of_token == m)
        if m in state.topic_weights:
            prior = (in_topic & same_cluster).sum() + state.v * state.topic_weights[m]
        else:
            prior = state.v * state.unused_weight
        statistics_of_others = data.content[in_topic].sum(axis=0)
        family = data.content_family
        log_weights[c] = math.log(prior)
        log_weights[c] += family.log_normaliser(
            statistics_of_others + data.content[i]
        ) - family.log_normaliser(statistics_of_others)
    return choices, log_weights


def sweep(state: PlainState, data: PlainData, seed: int, chain: int) -> None:
    """Draw every z_j, then every l_ji. Tables and concentrations are not drawn."""
    state.sweep += 1
    for j in range(len(state.cluster_of_group)):
        choices, log_weights = cluster_conditional(j, state, data)
        u = uniform(seed, chain, state.sweep, int(Step.CLUSTERS), j, 0)
        state.cluster_of_group[j] = choose(choices, log_weights, u)
    for i in range(len(state.topic_of_token)):
        resample_topic(i, state, data, seed, chain)


def resample_topic(i: int, state: PlainState, data: PlainData, seed: int, chain: int) -> None:
    """Draw l_ji, with the death of a topic that it leaves empty and the birth of one it opens."""
    old = int(state.topic_of_token[i])
    state.topic_of_token[i] = -1
    if not (state.topic_of_token == old).any():
        state.unused_weight += state.topic_weights.pop(old)
    choices, log_weights = topic_conditional(i, state, data)
    u = uniform(seed, chain, state.sweep, int(Step.TOPICS), i, 0)
    m = choose(choices, log_weights, u)
    if m not in state.topic_weights:
        # Birth: b ~ Beta(1, η) of the unused weight goes to the new topic.
        b = 1.0 - uniform(seed, chain, state.sweep, int(Step.BIRTHS), i, 0) ** (1.0 / state.eta)
        state.topic_weights[m] = b * state.unused_weight
        state.unused_weight *= 1.0 - b
    state.topic_of_token[i] = m


def choose(choices: list[int], log_weights: NDArray[np.float64], u: float) -> int:
    """Return the choice on which ``u`` in (0, 1) falls when they share the unit interval."""
    cumulative = np.cumsum(np.exp(log_weights - logsumexp(log_weights)))
    return choices[int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))]


def lowest_free(taken: Sequence[int]) -> int:
    """Return the lowest label that is not taken."""
    return min(set(range(len(taken) + 1)) - set(taken))
