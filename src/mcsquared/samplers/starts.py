"""Where a chain begins: random assignments, or groups and tokens seated one after another."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.kernels.rng import Step, generator
from mcsquared.observations import Observations
from mcsquared.priors import Concentration, Gamma, Priors
from mcsquared.samplers.concentrations import draw_topic_weights
from mcsquared.state import Counts, State, count, slots_for

__all__ = ["STARTS", "start", "state_from_assignments"]

STARTS = ("auto", "random")
RANDOM_CLUSTERS, RANDOM_TOPICS = 10, 20


def start(
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    init: str = "auto",
    n_clusters: int | None = None,
    n_topics: int | None = None,
) -> State:
    """Return the state before the first sweep.

    Parameters
    ----------
    init : {"auto", "random"}
    n_clusters, n_topics : int, optional
        How many a random start spreads groups and tokens over.
    """
    if init not in STARTS:
        raise InputError(f"init is {init!r}, but one of {', '.join(map(repr, STARTS))} is wanted")
    rng = generator(seed, chain, 0, int(Step.START))
    clusters = n_clusters or RANDOM_CLUSTERS
    topics = n_topics or RANDOM_TOPICS
    return state_from_assignments(
        observations,
        priors,
        rng.integers(0, clusters, observations.n_groups),
        rng.integers(0, topics, observations.n_tokens),
        rng,
    )


def state_from_assignments(
    observations: Observations,
    priors: Priors,
    cluster_of_group: NDArray[np.integer],
    topic_of_token: NDArray[np.integer],
    rng: np.random.Generator,
) -> State:
    """Return a state with these labels; concentrations at their prior means, ε drawn from counts."""
    z = _compact(cluster_of_group)
    topic = _compact(topic_of_token)
    counts = count(
        observations,
        z,
        topic,
        slots_for(int(z.max(initial=-1)) + 1),
        slots_for(int(topic.max(initial=-1)) + 1),
    )
    state = State(
        cluster_of_group=z,
        topic_of_token=topic,
        topic_weights=np.zeros(len(counts.tokens_in_topic)),
        log_unused=np.zeros(1),
        alpha=_first_value(priors.alpha),
        v=_first_value(priors.v),
        eta=_first_value(priors.eta),
        lam=_first_value(priors.lam),
        sweep=0,
        counts=counts,
    )
    _draw_weights(state, counts, rng)
    return state


def _draw_weights(state: State, counts: Counts, rng: np.random.Generator) -> None:
    active = counts.tokens_in_topic > 0
    if not active.any():
        return
    tables = (counts.topics_in_cluster[:, active] > 0).sum(axis=0)
    weights, log_unused = draw_topic_weights(tables, state.eta, rng)
    state.topic_weights[active] = weights
    state.log_unused[0] = log_unused


def _first_value(prior: Concentration) -> float:
    return prior.mean if isinstance(prior, Gamma) else float(prior)


def _compact(labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels renumbered 0, 1, ... in order of their value."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32).reshape(-1)
