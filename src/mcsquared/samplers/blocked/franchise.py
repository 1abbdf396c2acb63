"""The hierarchical Dirichlet process in the parts of the engine: topics without clusters.

    ε ~ GEM(η),   θ_j ~ DP(v, ε),   l_ji ~ θ_j,   w_ji ~ ψ_{l_ji}

That is the engine's model with one cluster whose groups vary around it, τ = ε and λ = v, and its
token step is theirs: p(l_ji = m) ∝ (n_jm + v ε_m) ψ_mw, a group's weights integrated out. In the
state ``lam`` is therefore this model's v, and row 0 of the tables is all there is.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked import vectors, words
from mcsquared.samplers.blocked.contexts import draw_contexts
from mcsquared.samplers.blocked.mixing import EVERY, MOST_TOKENS, OTHER_CHAIN
from mcsquared.samplers.blocked.psi import Psi
from mcsquared.samplers.blocked.weights import Key, Weights, make_room, topic_weights_with_tail
from mcsquared.samplers.concentrations import (
    draw_tables,
    draw_topic_weights,
    resample_concentration,
    resample_given_lengths,
)
from mcsquared.samplers.topics import sweep_topics
from mcsquared.samplers.workers import ONE, Workers
from mcsquared.state import Bounds, State, count

__all__ = ["draw_root", "in_turn_is_due", "sweep", "sweep_in_turn"]


def sweep(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds,
    workers: Workers = ONE,
) -> None:
    """Draw ψ, then the topics of all groups side by side, then tables, v, η and ε."""
    state.sweep += 1
    key = Key(seed, chain, state.sweep)
    make_room(state, bounds)
    topics = topic_weights_with_tail(state, bounds, key)
    n_clusters = len(state.counts.groups_in_cluster)
    log_clusters = np.full(n_clusters, -np.inf)
    log_clusters[0] = 0.0
    with np.errstate(divide="ignore"):
        weights = Weights(topics, log_clusters, np.tile(np.log(topics), (n_clusters, 1)))
    contexts = draw_contexts(state, observations, key, workers)
    if observations.n_words:
        psi = Psi(state, observations, priors, key, workers)
        words.move_members(state, observations, psi, weights, contexts, key, workers)
    else:
        vectors.move_members(state, observations, weights, contexts, key, workers)
    _resample(state, observations, priors, key)


def in_turn_is_due(state: State, observations: Observations) -> bool:
    """Say whether `sweep_in_turn` follows now: few tokens, of a family that has a kernel."""
    few = 0 < observations.n_tokens <= MOST_TOKENS and observations.python_content is None
    return few and state.sweep % EVERY == 0


def sweep_in_turn(
    state: State, observations: Observations, priors: Priors, seed: int, chain: int, bounds: Bounds
) -> None:
    """Draw the topic of one token after another, ψ integrated out, then tables, v, η and ε.

    Slower, but topics are born for a token at hand, while `sweep` draws new ones from their prior.
    Both leave the posterior as it is. To the collapsed kernel every group is a cluster of its own.
    """
    key = Key(seed, OTHER_CHAIN + chain, state.sweep)
    groups, n_slots = np.arange(observations.n_groups, dtype=np.int32), len(state.topic_weights)
    topics = state.topic_of_token.astype(np.int32)
    each = dataclasses.replace(
        state,
        cluster_of_group=groups,
        topic_of_token=topics,
        v=state.lam,
        lam=math.inf,
        counts=count(observations, groups, topics, len(groups), n_slots),
        tables_in_cluster=None,
    )
    sweep_topics(each, observations, priors, *key[:2], bounds)
    n_clusters, n_slots = len(state.counts.groups_in_cluster), len(each.topic_weights)
    state.topic_of_token = topics.astype(np.uint16)
    state.topic_weights, state.log_unused = each.topic_weights, each.log_unused
    state.counts = count(observations, state.cluster_of_group, topics, n_clusters, n_slots)
    tables = draw_tables(each.counts.topics_in_cluster, state.lam * state.topic_weights, *key)
    state.tables_in_cluster = np.zeros((n_clusters, n_slots), np.int32)
    state.tables_in_cluster[0] = tables.sum(axis=0)
    _resample(state, observations, priors, key)


def _resample(state: State, observations: Observations, priors: Priors, key: Key) -> None:
    """Draw v, η and ε, given the groups' tables."""
    tables = state.tables[0].astype(np.int64)
    state.lam = resample_given_lengths(
        state.lam,
        priors.lam,
        *observations.layout.lengths,
        int(tables.sum()),
        key.generator(Step.LAM),
    )
    draw_root(state, tables, priors, key)


def draw_root(state: State, tables_of_topic: NDArray[np.int64], priors: Priors, key: Key) -> None:
    """Draw η with ε integrated out, then ε ~ Dir(tables, η)."""
    active = state.counts.tokens_in_topic > 0
    tables = tables_of_topic[active]
    state.eta = resample_concentration(
        state.eta, priors.eta, [int(tables.sum())], [len(tables)], key.generator(Step.ETA)
    )
    drawn, log_unused = draw_topic_weights(tables, state.eta, key.generator(Step.TOPIC_WEIGHTS))
    state.topic_weights = np.zeros(len(active))
    state.topic_weights[active] = drawn
    state.log_unused = np.array([log_unused])
