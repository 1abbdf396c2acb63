"""First topics for λ = ∞, from sweeps of a hierarchical Dirichlet process without clusters.

When all groups of a cluster share one mixture (λ = ∞), blends of topics fit a cluster as well as
the topics themselves, and moves of a few tokens do not separate them. Groups with individual topic
weights do, so a chain starts as a hierarchical Dirichlet process and continues with the topics
found after some sweeps. For identifiable letters, the cosine to the true ones rises from 0.75 to
0.94 (docs/engine.md).
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers import hdp
from mcsquared.samplers.init.assignments import blocked_state
from mcsquared.samplers.types import Key
from mcsquared.state import Bounds

MAX_SWEEPS = 400
TOKENS_VISITED = 20_000_000  # over all sweeps: seconds, not minutes
TOKENS_PER_SWEEP = 50  # small corpora need fewer sweeps
MIN_SWEEPS = 20  # of a large corpus
HDP_INIT_CHAIN = 2**29  # offset of the chain number: no sweep of a chain draws the same numbers


def topics_without_clusters(
    observations: Observations,
    priors: Priors,
    topics: NDArray[np.int32],
    seed: int,
    chain: int,
    bounds: Bounds,
) -> NDArray[np.int32]:
    """Return the topics of tokens after some sweeps without clusters, starting from ``topics``."""
    observations = observations.without_contexts()  # they matter only for clusters
    one_level = dataclasses.replace(priors, lam=priors.v)
    key = Key(seed, HDP_INIT_CHAIN + chain, 0)
    one_cluster = np.zeros(observations.n_groups, np.int64)
    rng = key.generator(Step.START)
    state = blocked_state(observations, one_level, one_cluster, topics, rng)
    arguments = (observations, one_level, *key[:2], Bounds(1, bounds.topics))
    for _ in range(sweeps_for(observations.n_tokens)):
        hdp.sweep(state, *arguments)
        if hdp.is_in_turn_sweep_due(state, observations):
            hdp.sweep_in_turn(state, *arguments)
    return state.topic_of_token.astype(np.int32)


def sweeps_for(n_tokens: int) -> int:
    """Return the number of sweeps for a corpus of ``n_tokens`` tokens."""
    many = max(TOKENS_VISITED // max(n_tokens, 1), MIN_SWEEPS)
    return min(many, n_tokens // TOKENS_PER_SWEEP, MAX_SWEEPS)
