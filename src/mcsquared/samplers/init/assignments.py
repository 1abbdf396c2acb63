"""States from given clusters of groups and topics of tokens."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mcsquared.arrays import Integers, Rng
from mcsquared.kernels.cpu.counts import count_labels, open_first_tables, renumber
from mcsquared.kernels.cpu.lanes import N_LANES, aligned
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.steps.concentrations import draw_dp_weights
from mcsquared.state import State, count, slots_for


def blocked_state(
    observations: Observations,
    priors: Priors,
    cluster_of_group: Integers,
    topic_of_token: Integers,
    rng: Rng,
) -> State:
    """Return a state in the form that the blocked sampler uses, with tables if λ is finite.

    For words and λ = ∞, it has counts but no topics of tokens.
    """
    labels = (cluster_of_group, topic_of_token)
    slots = round_up_to_lanes
    state = state_from_assignments(observations, priors, *labels, rng, slots, np.uint16)
    if math.isinf(state.lam):
        if observations.n_words:
            state.topic_of_token = np.zeros(0, np.uint16)
        return state
    # Every topic of a group starts with one table.
    tables = np.zeros(state.counts.topics_in_cluster.shape, np.int32)
    open_first_tables(
        observations.group_start, state.topic_of_token, state.cluster_of_group, tables
    )
    state.tables_in_cluster = tables
    return state


def state_from_assignments(
    observations: Observations,
    priors: Priors,
    cluster_of_group: Integers,
    topic_of_token: Integers,
    rng: Rng,
    slots: Callable[[int], int] = slots_for,
    topic_dtype: DTypeLike = np.int32,
) -> State:
    """Return a state with these labels, concentrations at their prior means, and ε given counts.

    ``slots`` returns the number of slots for a number of clusters or topics. Topics of tokens are
    int32, or uint16 for the blocked sampler.
    """
    clusters, n_clusters = _compact(cluster_of_group, np.int32)
    topics, n_topics = _compact(topic_of_token, topic_dtype)
    counts = count(observations, clusters, topics, slots(n_clusters), slots(n_topics))
    concentrations = priors.initial_values()
    active = counts.tokens_in_topic > 0
    tables = (counts.topics_in_cluster[:, active] > 0).sum(axis=0)
    weights = np.zeros(len(active))
    log_unused = 0.0
    if active.any():
        weights[active], log_unused = draw_dp_weights(tables, concentrations["eta"], rng)
    return State(
        cluster_of_group=clusters,
        topic_of_token=topics,
        topic_weights=weights,
        log_unused=np.array([log_unused]),
        **concentrations,
        sweep=0,
        category_shapes=observations.bags.shapes.copy(),
        counts=counts,
    )


def at_most(number: int, bound: int | None) -> int:
    """Return the smaller of a number and a bound; None means no bound."""
    return number if bound is None else min(number, bound)


def round_up_to_lanes(n: int) -> int:
    """Return the smallest number of slots for ``n``, a multiple of the vector length."""
    return max(N_LANES, -(-n // N_LANES) * N_LANES)


def _compact(labels: Integers, dtype: DTypeLike) -> tuple[NDArray[Any], int]:
    """Return labels renumbered 0, 1, ... in order of their value, and how many there are."""
    counts = np.zeros(int(labels.max(initial=0)) + 1, np.int64)
    count_labels(labels, counts)
    compact = aligned(len(labels), dtype=dtype)
    renumber(labels, np.cumsum(counts > 0) - 1, compact)
    return compact, int((counts > 0).sum())
