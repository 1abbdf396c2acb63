"""A collapsed sweep between blocked ones, where data are small enough to afford it: λ = ∞.

The blocked sampler opens a cluster or a topic by a draw from its prior, which hardly ever suits
anything. The collapsed one opens them for a group or a token at hand, with their parameters
integrated out. Both leave the posterior as it is, and so does doing one after the other: given
counts, τ and ψ are drawn, given those a topic for every token, and the collapsed sampler goes on
from there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers import collapsed
from mcsquared.samplers.blocked.psi import Psi
from mcsquared.samplers.blocked.weights import Key, Weights, draw_weights, make_room
from mcsquared.samplers.workers import ONE
from mcsquared.state import Bounds, State, count

__all__ = ["is_due", "sweep_collapsed"]

MOST_TOKENS = 100_000
EVERY = 3  # sweeps: it costs as much as several blocked ones
YOUNG = 100  # sweeps of a chain that each have one: clusters that are alike merge sooner
OTHER_CHAIN = 2**30  # the collapsed sweep draws numbers that no blocked sweep of a chain draws
SMALLEST_WEIGHT = 1e-300
TOKENS_AT_ONCE = 4096


def is_due(state: State, observations: Observations) -> bool:
    """Say whether a fit does a collapsed sweep now: words, λ = ∞, and not too many of them."""
    few = observations.n_words > 0 and observations.n_tokens <= MOST_TOKENS
    now = state.sweep <= YOUNG or state.sweep % EVERY == 0
    return few and observations.sampled is None and math.isinf(state.lam) and now


def sweep_collapsed(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds,
) -> None:
    """Draw a topic for every token, then do one collapsed sweep."""
    key = Key(seed, OTHER_CHAIN + chain, state.sweep)
    make_room(state, bounds)
    weights = draw_weights(state, bounds, key)
    topics = draw_topics(state, observations, priors, weights, key)
    slots = (len(state.counts.groups_in_cluster), len(state.topic_weights))
    state.topic_of_token = topics
    state.counts = count(observations, state.cluster_of_group, topics, *slots)
    # A topic that was born has its weight; those that are empty share what is left.
    held = state.counts.tokens_in_topic > 0
    log_rest = math.log(max(float(weights.topics[~held].sum()), SMALLEST_WEIGHT))
    state.log_unused[0] = log_rest if (~held).any() else state.log_unused[0]
    state.topic_weights = np.where(held, weights.topics, 0.0)
    state.sweep -= 1  # it is the same sweep, seen through other numbers
    collapsed.sweep(state, observations, priors, *key[:2], bounds)
    state.topic_of_token = np.zeros(0, np.uint16)


def draw_topics(
    state: State, observations: Observations, priors: Priors, weights: Weights, key: Key
) -> NDArray[np.int32]:
    """Draw l_ji ∝ τ_km ψ_mw with ψ_m ~ Dir(β + n_m), empty topics included."""
    variates, sums = Psi(state, observations, priors, key, ONE).variates()
    word_given_topic = variates / sums
    share = np.exp(weights.log_shares)
    rng = key.generator(Step.TOPICS)
    cluster = np.repeat(state.cluster_of_group, np.diff(observations.group_start))
    topics = np.empty(observations.n_tokens, np.int32)
    for first in range(0, observations.n_tokens, TOKENS_AT_ONCE):
        part = slice(first, min(first + TOKENS_AT_ONCE, observations.n_tokens))
        chances = share[cluster[part]] * word_given_topic[observations.word[part]]
        sums_of_token = np.cumsum(chances, axis=1)
        threshold = rng.random(len(chances)) * sums_of_token[:, -1]
        topics[part] = (sums_of_token <= threshold[:, None]).sum(axis=1)
    return topics
