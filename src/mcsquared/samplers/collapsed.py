"""The paper's collapsed Gibbs sampler, corrected: z, l, tables, concentrations and ε in turn.

The kernels do the work; this module calls them in order, gives them room when births fill the slots,
and takes the slow way for families that have no kernel. `mcsquared.samplers.reference` says the same
in plain NumPy, to be read beside the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcsquared.kernels.cpu.clusters import fill_log_gamma, resample_clusters
from mcsquared.kernels.cpu.contexts import rebuild_contexts
from mcsquared.kernels.cpu.predictive import add_observations, prepared_size
from mcsquared.kernels.cpu.tokens import resample_word_topics
from mcsquared.kernels.cpu.vectors import rebuild_topics, resample_vector_topics
from mcsquared.observations import Observations
from mcsquared.priors import Priors
from mcsquared.samplers.concentrations import resample_concentrations
from mcsquared.samplers.generic import GenericContexts, resample_generic_topics
from mcsquared.samplers.starts import start
from mcsquared.state import State, context_counts

__all__ = ["Bounds", "start", "sweep"]


@dataclass(frozen=True)
class Bounds:
    """Hard upper bounds that a user set; None where there is none."""

    clusters: int | None = None
    topics: int | None = None


def sweep(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds = Bounds(),
) -> None:
    """Do one sweep: every group's cluster, every token's topic, then ε and the concentrations."""
    state.sweep += 1
    sweep_clusters(state, observations, seed, chain, bounds)
    sweep_topics(state, observations, priors, seed, chain, bounds)
    resample_concentrations(state, priors, seed, chain)


def sweep_clusters(
    state: State, observations: Observations, seed: int, chain: int, bounds: Bounds
) -> None:
    """Draw z_j for every group in turn."""
    generic = GenericContexts.of(state, observations)
    first = 0
    while True:
        counts = state.counts
        contexts = context_counts(counts, observations)
        rebuild_contexts(
            state.cluster_of_group,
            counts.groups_in_cluster,
            observations.dense,
            observations.bags,
            contexts,
        )
        table = np.zeros(counts.topics_in_cluster.shape)
        fill_log_gamma(counts.topics_in_cluster, state.v * state.topic_weights, table)

        def draw(begin: int, end: int, extra: np.ndarray) -> int:
            return resample_clusters(
                begin,
                end,
                observations.group_start,
                state.topic_of_token,
                state.alpha,
                state.v,
                -1 if bounds.clusters is None else bounds.clusters,
                state.cluster_of_group,
                counts.groups_in_cluster,  # noqa: B023  called before the loop goes on
                counts.tokens_in_cluster,  # noqa: B023
                counts.topics_in_cluster,  # noqa: B023
                state.topic_weights,
                observations.dense,
                observations.bags,
                contexts,  # noqa: B023
                extra,
                table,  # noqa: B023
                seed,
                chain,
                state.sweep,
            )

        first = generic.walk(first, draw)
        if first == observations.n_groups:
            break
        state.grow_clusters()
        generic.grow()
    # What was moved in and out is summed anew, so that no digit is lost from sweep to sweep.
    rebuild_contexts(
        state.cluster_of_group,
        counts.groups_in_cluster,
        observations.dense,
        observations.bags,
        contexts,
    )


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
    if observations.generic_content is not None:
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
    add_observations(
        kind, observations.values, state.topic_of_token, counts.topic_statistics
    )
    return place
