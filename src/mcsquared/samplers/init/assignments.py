"""States from given clusters of groups and topics of tokens."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.cpu.counts import open_first_tables
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.steps.concentrations import draw_dp_weights
from mcsquared.state import State, count, slots_for


def blocked_state(
    observations: Observations,
    priors: Priors,
    cluster_of_group: NDArray[np.integer],
    topic_of_token: NDArray[np.integer],
    rng: np.random.Generator,
) -> State:
    """Return a state in the form that the blocked sampler uses, with tables if λ is finite.

    For words and λ = ∞, it has counts but no topics of tokens.
    """
    state = state_from_assignments(
        observations, priors, cluster_of_group, topic_of_token, rng, round_up_to_lanes
    )
    if math.isinf(state.lam):
        if observations.n_words:
            state.topic_of_token = np.zeros(0, np.uint16)
        else:
            state.topic_of_token = state.topic_of_token.astype(np.uint16)
        return state
    # Every topic of a group starts with one table.
    tables = np.zeros(state.counts.topics_in_cluster.shape, np.int32)
    state.topic_of_token = state.topic_of_token.astype(np.uint16)
    open_first_tables(
        observations.group_start, state.topic_of_token, state.cluster_of_group, tables
    )
    state.tables_in_cluster = tables
    return state


def state_from_assignments(
    observations: Observations,
    priors: Priors,
    cluster_of_group: NDArray[np.integer],
    topic_of_token: NDArray[np.integer],
    rng: np.random.Generator,
    slots: Callable[[int], int] = slots_for,
) -> State:
    """Return a state with these labels, concentrations at their prior means, and ε given counts.

    Parameters
    ----------
    slots : callable
        Returns the number of slots for a number of clusters or topics.
    """
    clusters, topics = _compact(cluster_of_group), _compact(topic_of_token)
    counts = count(
        observations,
        clusters,
        topics,
        slots(int(clusters.max(initial=-1)) + 1),
        slots(int(topics.max(initial=-1)) + 1),
    )
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


def _compact(labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels renumbered 0, 1, ... in order of their value."""
    present = np.bincount(labels) > 0
    number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return number[labels]
