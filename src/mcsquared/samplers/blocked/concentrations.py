"""Tables, λ, v, η, ε and α after the groups have moved, in an order that changes no posterior.

Group tables were drawn with the λ and τ of the sweep, and serve λ and O_km. Cluster tables
q_km ~ CRT(O_km, v ε_m) serve v; η comes with ε integrated out, then ε; α with π integrated out.
π and τ are drawn anew when the next sweep begins.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.blocked.weights import Key
from mcsquared.samplers.concentrations import (
    draw_topic_weights,
    resample_concentration,
    resample_given_lengths,
)
from mcsquared.state import State

__all__ = ["resample_concentrations"]


def resample_concentrations(
    state: State,
    observations: Observations,
    priors: Priors,
    tables: NDArray[np.int32],
    key: Key,
) -> None:
    """Draw λ, v, η, ε and α, in this order.

    Parameters
    ----------
    tables : int32 (cluster slots, topic slots)
        q_km ~ CRT(O_km, v ε_m).
    """
    counts, held = state.counts, state.tables
    if not math.isinf(state.lam):
        state.lam = resample_given_lengths(
            state.lam,
            priors.lam,
            *observations.layout.lengths,
            int(held.sum(dtype=np.int64)),
            key.generator(Step.LAM),
        )
    state.v = resample_concentration(
        state.v,
        priors.v,
        held.sum(axis=1, dtype=np.int64),
        tables.sum(axis=1),
        key.generator(Step.V),
    )
    active = counts.tokens_in_topic > 0
    tables_of_topic = tables.sum(axis=0, dtype=np.int64)[active]
    state.eta = resample_concentration(
        state.eta,
        priors.eta,
        [int(tables_of_topic.sum())],
        [len(tables_of_topic)],
        key.generator(Step.ETA),
    )
    drawn, log_unused = draw_topic_weights(
        tables_of_topic, state.eta, key.generator(Step.TOPIC_WEIGHTS)
    )
    state.topic_weights = np.zeros(len(active))
    state.topic_weights[active] = drawn
    state.log_unused[0] = log_unused
    state.alpha = resample_concentration(
        state.alpha,
        priors.alpha,
        [observations.n_groups],
        [state.n_clusters],
        key.generator(Step.ALPHA),
    )
