"""All globals of a sweep given counts: ψ, the weights ε, π and τ, and φ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.kernels.rng import Step
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.content.python_families import is_integrated
from mcsquared.samplers.content.shares import divided_shares
from mcsquared.samplers.steps.contexts import draw_contexts
from mcsquared.samplers.steps.psi import begin_psi, scale_psi
from mcsquared.samplers.steps.weights import draw_weights
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Globals, Key, Sweep, Weights
from mcsquared.state import Bounds, State


def draw_globals(sweep: Sweep) -> None:
    """Draw the globals, where the backend keeps the counts."""
    sweep.globals = sweep.backend.draw_globals(sweep.state, sweep.bounds, sweep.key)


def draw_on_host(
    state: State,
    observations: Observations,
    priors: Priors,
    bounds: Bounds,
    key: Key,
    threads: ThreadPool,
) -> Globals:
    """Draw the globals from counts in the memory of this process."""
    finish_content = begin_content(state, observations, priors, key, threads)
    weights = draw_weights(state, bounds, key, threads)
    contexts = draw_contexts(state, observations, key, threads)
    content, shares = finish_content(weights, state.lam)
    return Globals(key, state.lam, weights, contexts, content, shares)


def begin_content(
    state: State,
    observations: Observations,
    priors: Priors,
    key: Key,
    threads: ThreadPool = SINGLE_THREAD,
) -> Callable[[Weights, float], tuple[Any, Any]]:
    """Start drawing the parameters of topics; return a function that finishes.

    That function takes the weights and λ and returns ``content`` and ``shares`` of the `Globals`.
    """
    if not observations.n_words:
        parameters = draw_parameters(state, observations, key)
        return lambda weights, lam: (parameters, None)
    finish_psi = begin_psi(state, observations, priors, key, threads)

    def finish(weights: Weights, lam: float) -> tuple[Any, Any]:
        variates, sums = finish_psi()
        if math.isinf(lam):
            return variates, divided_shares(weights, sums)
        return scale_psi(variates, sums, observations, threads), None

    return finish


def draw_parameters(
    state: State, observations: Observations, key: Key
) -> NDArray[np.float64] | None:
    """Draw the parameters of every topic slot; None if the family keeps them integrated out."""
    if is_integrated(observations.python_content):
        return None
    rng = key.generator(Step.CONTENT)
    return observations.content_family.sample_parameters(state.counts.topic_statistics, rng)
