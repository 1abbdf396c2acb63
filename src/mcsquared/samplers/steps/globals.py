"""All globals of a sweep given counts: ψ, the weights ε, π and τ, and φ."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mcsquared.arrays import CountArray, Floats
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.python_families import is_integrated
from mcsquared.samplers.steps.contexts import can_integrate_bags, draw_contexts
from mcsquared.samplers.steps.effects import draw_effects
from mcsquared.samplers.steps.psi import begin_psi, scale_psi
from mcsquared.samplers.steps.slots import topic_bound
from mcsquared.samplers.steps.weights import draw_weights, scale_shares, usable_slots
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import Globals, Key, Sweep, Weights


def draw_globals(sweep: Sweep) -> None:
    """Draw the globals on the backend."""
    sweep.globals = sweep.backend.draw_globals(sweep)


def draw_on_host(sweep: Sweep) -> Globals:
    """Draw the globals from the counts of the state."""
    finish_content = begin_content(sweep)
    globals_ = draw_without_content(sweep)
    content, scaled_shares = finish_content(globals_.weights, globals_.lam)
    return replace(globals_, content=content, scaled_shares=scaled_shares)


def draw_without_content(sweep: Sweep) -> Globals:
    """Draw the globals except for the parameters of topics.

    φ of bags is drawn after `move_groups_with_unique_categories`, which integrates it out.
    """
    state, key = sweep.state, sweep.key
    weights, with_bags = draw_weights(sweep), not can_integrate_bags(sweep)
    contexts = draw_contexts(sweep, with_bags)
    topic_weights = weights.topic_weights
    effects = draw_effects(state.effects, sweep.priors, topic_weights, key, sweep.threads)
    return Globals(key, state.lam, weights, contexts, None, effects=effects)


def begin_content(sweep: Sweep) -> Callable[[Weights, float], tuple[Any, Any]]:
    """Start drawing the parameters of topics; return a function that finishes.

    It takes the weights and λ, and returns ``content`` and ``scaled_shares`` of the `Globals`.
    """
    if not sweep.observations.n_words:
        parameters = draw_topic_parameters(sweep)
        return lambda weights, lam: (parameters, None)
    words = sweep.state.counts.words_in_topic
    return begin_word_content(words, sweep.priors.beta, sweep.key, sweep.threads)


def begin_word_content(
    words: CountArray, beta: float, key: Key, threads: ThreadPool
) -> Callable[[Weights, float], tuple[Any, Any]]:
    """Start drawing ψ given the counts of words (n_words, topic slots), as `begin_content` does."""
    finish_psi = begin_psi(words, beta, key, threads)

    def finish(weights: Weights, lam: float) -> tuple[Any, Any]:
        variates, sums = finish_psi()
        if math.isinf(lam):
            return variates, scale_shares(weights, sums)
        return scale_psi(variates, sums, threads), None

    return finish


def draw_topic_parameters(sweep: Sweep) -> Floats | None:
    """Draw the parameters of every topic slot; None if they are integrated out.

    Those of wide vectors are 0 in slots that cannot be used.
    """
    observations, counts = sweep.observations, sweep.state.counts
    if is_integrated(observations.python_content):
        return None
    family, rng = observations.content_family, sweep.key.generator(Step.CONTENT)
    if not observations.has_wide_vectors:
        return family.sample_parameters(counts.topic_statistics, rng)
    occupied = counts.tokens_in_topic > 0
    used = np.union1d(np.flatnonzero(occupied), usable_slots(occupied, topic_bound(sweep)))
    drawn = family.sample_parameters(counts.topic_statistics[used], rng)
    parameters = np.zeros((len(occupied), drawn.shape[1]))
    parameters[used] = drawn
    return parameters
