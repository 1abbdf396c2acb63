"""Topics of tokens, resampled one after another: a step of the collapsed sampler."""

import math

import numpy as np

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.kernels.cpu.collapsed import (
    TopicState,
    VectorTopics,
    rebuild_topics,
    resample_vector_topics,
    resample_word_topics,
)
from mcsquared.kernels.cpu.predictive import add_observations, prepared_size
from mcsquared.kernels.cpu.special import pick
from mcsquared.kernels.rng import Step, uniform
from mcsquared.observations import Observations
from mcsquared.samplers.content.python_families import SlotStatistics
from mcsquared.samplers.types import Sweep
from mcsquared.state import State


def resample_topics_in_turn(sweep: Sweep) -> None:
    """Draw l_ji token by token with parameters integrated out."""
    draw_topics_in_turn(sweep, sweep.state.cluster_of_group, sweep.state.v)


def draw_topics_in_turn(sweep: Sweep, cluster_of_group: Int32s, v: float) -> None:
    """Draw l_ji ∝ (c_km + v ε_m) p(w_ji | m) token by token; add slots when they run out.

    ``cluster_of_group`` is the row of ``topics_in_cluster`` for each group.
    """
    observations = sweep.observations
    if observations.n_tokens == 0:
        return
    max_topics = -1 if sweep.bounds.topics is None else sweep.bounds.topics
    if observations.python_content is not None:
        _draw_python_topics(sweep, cluster_of_group, v, max_topics)
        return
    group = token = 0
    while True:
        topics = topic_state(sweep.state, observations, cluster_of_group, v, max_topics)
        draw = _draw_word_topics if observations.content_kernel < 0 else _draw_vector_topics
        group, token = draw(sweep, group, token, topics)
        if token == observations.n_tokens:
            return
        sweep.state.grow_topics()


def topic_state(
    state: State, observations: Observations, cluster_of_group: Int32s, v: float, max_topics: int
) -> TopicState:
    """Return the topics of a state in the form that kernels update."""
    return TopicState(
        observations.group_start,
        cluster_of_group,
        state.topic_of_token,
        state.counts.topics_in_cluster,
        state.counts.tokens_in_topic,
        state.topic_weights,
        state.log_unused,
        v,
        state.eta,
        max_topics,
    )


def _draw_word_topics(sweep: Sweep, group: int, token: int, topics: TopicState) -> tuple[int, int]:
    beta = sweep.priors.beta
    words = (sweep.observations.word, sweep.state.counts.words_in_topic, beta)
    return resample_word_topics(group, token, topics, *words, sweep.key)


def _draw_vector_topics(
    sweep: Sweep, group: int, token: int, topics: TopicState
) -> tuple[int, int]:
    observations, statistics = sweep.observations, sweep.state.counts.topic_statistics
    kind, parameters = observations.content_kernel, observations.content_parameters
    prepared = np.zeros((len(statistics), prepared_size(kind, parameters)))
    content = VectorTopics(kind, parameters, observations.values, statistics, prepared)
    rebuild_topics(topics.topic_of_token, content)
    stopped = resample_vector_topics(group, token, topics, content, sweep.key)
    statistics[:] = 0.0
    add_observations(kind, observations.values, topics.topic_of_token, statistics)
    return stopped


def _draw_python_topics(sweep: Sweep, cluster_of_group: Int32s, v: float, max_topics: int) -> None:
    """Draw the topic of every token for a content family without a kernel."""
    state, counts, key = sweep.state, sweep.state.counts, sweep.key
    content = sweep.observations.python_content
    assert content is not None
    cluster_of_token = np.repeat(cluster_of_group, np.diff(sweep.observations.group_start))
    slots = SlotStatistics(content, state.topic_of_token, len(state.topic_weights))
    for i, k in enumerate(cluster_of_token.tolist()):
        if state.n_topics == len(state.topic_weights):
            state.grow_topics()
            slots.grow(len(state.topic_weights))
        old = int(state.topic_of_token[i])
        gain = slots.log_predictive(i, old)
        _remove_token(state, k, old)
        candidates, log_prior = _candidates(state, k, v, max_topics)
        u = uniform(*key, int(Step.TOPICS), i, 0)
        m = int(candidates[pick(gain[candidates] + log_prior, len(candidates), u)])
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


def _candidates(state: State, k: int, v: float, max_topics: int) -> tuple[Int64s, Floats]:
    """Return the occupied topics, plus an empty one if the bound allows, and their log prior."""
    counts = state.counts
    active = np.flatnonzero(counts.tokens_in_topic > 0)
    prior = counts.topics_in_cluster[k, active] + v * state.topic_weights[active]
    if active.size and 0 <= max_topics <= active.size:
        return active, np.log(prior)
    empty = np.flatnonzero(counts.tokens_in_topic == 0)[0]
    log_new = math.log(v) + state.log_unused[0]
    return np.append(active, empty), np.append(np.log(prior), log_new)
