"""The l step over all tokens: the kernel of the content's family, given room for new topics."""

from __future__ import annotations

import numpy as np

from mcsquared.kernels.cpu.predictive import add_observations, prepared_size
from mcsquared.kernels.cpu.tokens import resample_word_topics
from mcsquared.kernels.cpu.vectors import rebuild_topics, resample_vector_topics
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.generic import resample_generic_topics
from mcsquared.state import Bounds, State

__all__ = ["sweep_topics"]


def sweep_topics(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds,
) -> None:
    """Draw l_ji for every token in turn."""
    if observations.n_tokens == 0:
        return
    max_topics = -1 if bounds.topics is None else bounds.topics
    if observations.python_content is not None:
        resample_generic_topics(state, observations, seed, chain, max_topics)
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
                priors.content.concentration,  # type: ignore[attr-defined]
                state.v,
                state.eta,
                max_topics,
                state.topic_of_token,
                counts.topics_in_cluster,
                counts.words_in_topic,
                counts.tokens_in_topic,
                state.topic_weights,
                state.log_unused,
                seed,
                chain,
                state.sweep,
            )
        else:
            group, token = _vector_topics(
                state, observations, group, token, max_topics, seed, chain
            )
        if token == observations.n_tokens:
            return
        state.grow_topics()


def _vector_topics(
    state: State,
    observations: Observations,
    group: int,
    token: int,
    max_topics: int,
    seed: int,
    chain: int,
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
    place = resample_vector_topics(
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
        seed,
        chain,
        state.sweep,
    )
    counts.topic_statistics[:] = 0.0
    add_observations(kind, observations.values, state.topic_of_token, counts.topic_statistics)
    return place
