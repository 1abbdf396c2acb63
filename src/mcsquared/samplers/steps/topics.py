"""Topics of tokens, one after another: a step of the collapsed sampler."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.predictive import add_observations, prepared_size
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.cpu.tokens import resample_word_topics
from mcsquared.kernels.cpu.vectors import rebuild_topics, resample_vector_topics
from mcsquared.kernels.rng import Step, uniform
from mcsquared.observations import Observations
from mcsquared.samplers.content.python_families import Slots
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import State


def resample_topics_in_turn(sweep: Sweep) -> None:
    """Draw l_ji token by token with parameters integrated out; add slots when they run out."""
    state, observations, key = sweep.state, sweep.observations, sweep.key
    if observations.n_tokens == 0:
        return
    max_topics = -1 if sweep.bounds.topics is None else sweep.bounds.topics
    if observations.python_content is not None:
        _resample_python_topics(state, observations, key, max_topics)
        return
    group = token = 0
    while True:
        counts = state.counts
        if observations.content_kind < 0:
            group, token = resample_word_topics(
                group,
                token,
                observations.group_start,
                observations.word,
                state.cluster_of_group,
                sweep.priors.content.concentration,  # type: ignore[attr-defined]
                state.v,
                state.eta,
                max_topics,
                state.topic_of_token,
                counts.topics_in_cluster,
                counts.words_in_topic,
                counts.tokens_in_topic,
                state.topic_weights,
                state.log_unused,
                key,
            )
        else:
            group, token = _resample_vector_topics(
                state, observations, group, token, max_topics, key
            )
        if token == observations.n_tokens:
            return
        state.grow_topics()


def _resample_vector_topics(
    state: State, observations: Observations, group: int, token: int, max_topics: int, key: Key
) -> tuple[int, int]:
    counts = state.counts
    kind, parameters = observations.content_kind, observations.content_parameters
    n_prepared = prepared_size(kind, parameters)
    prepared = np.zeros((len(counts.tokens_in_topic), n_prepared))
    rebuild_topics(
        kind,
        parameters,
        observations.values,
        state.topic_of_token,
        counts.topic_statistics,
        prepared,
    )
    stopped = resample_vector_topics(
        group,
        token,
        observations.group_start,
        observations.values,
        state.cluster_of_group,
        kind,
        parameters,
        state.v,
        state.eta,
        max_topics,
        state.topic_of_token,
        counts.topics_in_cluster,
        counts.topic_statistics,
        prepared,
        counts.tokens_in_topic,
        state.topic_weights,
        state.log_unused,
        key,
    )
    counts.topic_statistics[:] = 0.0
    add_observations(kind, observations.values, state.topic_of_token, counts.topic_statistics)
    return stopped


def _resample_python_topics(
    state: State, observations: Observations, key: Key, max_topics: int
) -> None:
    """Draw the topic of every token when the content family has no kernel."""
    assert observations.python_content is not None
    content, counts = observations.python_content, state.counts
    cluster_of_token = np.repeat(state.cluster_of_group, np.diff(observations.group_start))
    slots = Slots(content, state.topic_of_token, len(state.topic_weights))
    for i, k in enumerate(cluster_of_token.tolist()):
        if state.n_topics == len(state.topic_weights):
            state.grow_topics()
            slots.grow(len(state.topic_weights))
        old = int(state.topic_of_token[i])
        log_predictive = slots.log_predictive(i, old)
        _remove_token(state, k, old)
        candidates, log_prior = _candidates(state, k, max_topics)
        u = uniform(*key, int(Step.TOPICS), i, 0)
        log_weights = log_predictive[candidates] + log_prior
        m = int(candidates[pick(log_weights, len(candidates), u)])
        if counts.tokens_in_topic[m] == 0:
            log_rest = math.log(uniform(*key, int(Step.BIRTHS), i, 0)) / state.eta
            state.topic_weights[m] = -math.expm1(log_rest) * math.exp(state.log_unused[0])
            state.log_unused[0] += log_rest
        slots.move(i, old, m)
        state.topic_of_token[i] = m
        counts.topics_in_cluster[k, m] += 1
        counts.tokens_in_topic[m] += 1
    counts.topic_statistics[:] = 0.0
    np.add.at(counts.topic_statistics, state.topic_of_token, content.statistics)


def _remove_token(state: State, k: int, m: int) -> None:
    """Remove a token from the counts; the weight of an emptied topic becomes unused."""
    counts = state.counts
    counts.topics_in_cluster[k, m] -= 1
    counts.tokens_in_topic[m] -= 1
    if counts.tokens_in_topic[m] == 0:
        unused = math.exp(state.log_unused[0]) + state.topic_weights[m]
        state.log_unused[0] = math.log(unused)
        state.topic_weights[m] = 0.0


def _candidates(
    state: State, k: int, max_topics: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the occupied topics, plus an empty one below the bound, and their log prior."""
    counts = state.counts
    active = np.flatnonzero(counts.tokens_in_topic > 0)
    prior = counts.topics_in_cluster[k, active] + state.v * state.topic_weights[active]
    if active.size and 0 <= max_topics <= active.size:
        return active, np.log(prior)
    empty = np.flatnonzero(counts.tokens_in_topic == 0)[0]
    log_new = math.log(state.v) + state.log_unused[0]
    return np.append(active, empty), np.append(np.log(prior), log_new)
