"""Where a hierarchical Dirichlet process begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step, generator
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.init import starts
from mcsquared.samplers.init.assignments import at_most, blocked_state
from mcsquared.samplers.types import Key
from mcsquared.state import State

__all__ = ["CHAIN", "first_topics", "start"]

CHAIN = 0


def start(
    observations: Observations,
    priors: Priors,
    seed: int,
    init: str = "auto",
    max_topics: int | None = None,
) -> State:
    """Return the state before the first sweep: all groups in one cluster.

    Parameters
    ----------
    priors : Priors
        Its ``lam`` is this model's v.
    init : {"auto", "random"}
        Topics as the words of groups chosen at random, or tokens spread at random.
    """
    rng = generator(seed, CHAIN, 0, int(Step.START))
    topics = first_topics(observations, priors, seed, init, max_topics, rng)
    nobody = np.zeros(observations.n_groups, np.int64)
    return blocked_state(observations, priors, nobody, topics, rng)


def first_topics(
    observations: Observations,
    priors: Priors,
    seed: int,
    init: str,
    max_topics: int | None,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Return the topics that a chain begins with, as the engine's own."""
    starts.check_init(init)
    n_topics = at_most(starts.topics_for(observations), max_topics)
    return starts.first_topics(observations, priors, n_topics, Key(seed, CHAIN, 0), init, rng)
