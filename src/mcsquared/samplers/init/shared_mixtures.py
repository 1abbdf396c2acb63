"""A start for small corpora whose groups share the mixture of their cluster, as if λ = ∞.

If λ is learned, a chain begins with groups that vary. Their topics explain each group by itself,
and clusters that share one mixture are then not found: λ remains small. A short chain with λ = ∞ is
therefore tried first, and its labels are then sampled with λ finite. If λ exceeds half of the mean
length of a group, a second chain with λ = ∞ begins with these clusters and topics of `even_topics`.
Its labels, sampled with λ finite as well, are the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mcsquared.arrays import Int32s, Integers
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.local import LocalBackend
from mcsquared.samplers.init.assignments import blocked_state
from mcsquared.samplers.init.even_topics import even_topics
from mcsquared.samplers.steps.collapsed import (
    MAX_COLLAPSED_TOKENS,
    collapsed_step,
    draw_token_topics,
)
from mcsquared.samplers.steps.concentrations import resample_concentrations
from mcsquared.samplers.steps.context_priors import resample_context_priors
from mcsquared.samplers.steps.globals import draw_globals
from mcsquared.samplers.steps.groups import draw_cell_topics, sweep_groups
from mcsquared.samplers.steps.slots import add_empty_slots
from mcsquared.samplers.steps.split_merge import split_and_merge_clusters
from mcsquared.samplers.steps.tables import draw_cluster_tables
from mcsquared.samplers.steps.weights import draw_weights
from mcsquared.samplers.types import Key, Sweep
from mcsquared.state import Bounds, State

SHARED_CHAIN = 2**28 + 2**24  # offset of the chain number, for other random numbers
MAX_VOCABULARY = 1000  # distinct words of the corpora that are tried; text has more, and varies
MIN_TOKENS, MIN_GROUPS = 10_000, 100  # fewer do not determine topics beyond the clusters
GROUPS_PER_CLUSTER = 4  # on average; if clusters are smaller, groups do not share mixtures
MIN_LAM = 0.5  # times the mean length; merged clusters of the short chain make λ too small
SWEEPS = 20  # of the short chains that decide
FINAL_SWEEPS = 30  # of the chain with λ = ∞ that the start is taken from
SWEEP_OFFSET = 100  # between the sweep numbers of successive chains, which are shorter

SHARED_STEPS: tuple[Callable[[Sweep], None], ...] = (
    add_empty_slots,
    draw_globals,
    sweep_groups,
    draw_cell_topics,
    draw_cluster_tables,
    resample_concentrations,
    resample_context_priors,
    collapsed_step,
)
VARYING_STEPS: tuple[Callable[[Sweep], None], ...] = (
    add_empty_slots,
    draw_globals,
    sweep_groups,
    draw_cluster_tables,
    resample_concentrations,
    resample_context_priors,
    split_and_merge_clusters,
)


def is_eligible(observations: Observations, priors: Priors) -> bool:
    """Return whether a corpus is neither tiny nor large, of few distinct words, and plain.

    A plain corpus has no levels or effects and is not a sample of one on disk.
    """
    few = MIN_TOKENS <= observations.n_tokens <= MAX_COLLAPSED_TOKENS
    few = few and 0 < observations.n_words < MAX_VOCABULARY
    is_plain = not observations.levels and not priors.effects and observations.sampled is None
    return few and is_plain and observations.n_groups >= MIN_GROUPS


def with_shared_mixtures(
    clusters: Integers,
    topics: Integers,
    n_topics: int,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds,
) -> State | None:
    """Return a state in which the groups of a cluster share a mixture, or None if they do not.

    ``clusters`` and ``topics`` are the initial ones; `even_topics` begins with ``n_topics``.
    """
    shared = replace(priors, lam=math.inf)
    key = Key(seed, SHARED_CHAIN + chain, 0)
    found = sample_shared(clusters, topics, observations, shared, key, SWEEPS, bounds)
    n_clusters = len(np.unique(found[0]))
    if n_clusters * GROUPS_PER_CLUSTER > observations.n_groups:
        return None
    if not math.isinf(initial_value(priors.lam)):
        varying = sample_varying(found, observations, priors, key, bounds)
        if varying.lam <= MIN_LAM * observations.n_tokens / observations.n_groups:
            return None
    topics = even_topics(observations, n_topics, found[0], priors.beta, seed, chain)
    key = key._replace(sweep=2 * SWEEP_OFFSET)
    found = sample_shared(found[0], topics, observations, shared, key, FINAL_SWEEPS, bounds)
    if math.isinf(initial_value(priors.lam)):
        rng = key.generator(Step.START)
        return blocked_state(observations, priors, *found, rng)
    return sample_varying(found, observations, priors, key, bounds)


def sample_shared(
    clusters: Integers,
    topics: Integers,
    observations: Observations,
    priors: Priors,
    key: Key,
    n_sweeps: int,
    bounds: Bounds,
) -> tuple[Int32s, Int32s]:
    """Return clusters and topics after some sweeps with λ = ∞."""
    rng = key.generator(Step.START)
    state = blocked_state(observations, priors, clusters, topics, rng)
    sweep = run_sweeps(SHARED_STEPS, state, observations, priors, key, n_sweeps, bounds)
    drawn = draw_token_topics(sweep, draw_weights(sweep))
    return state.cluster_of_group, drawn


def sample_varying(
    labels: tuple[Int32s, Int32s],
    observations: Observations,
    priors: Priors,
    key: Key,
    bounds: Bounds,
) -> State:
    """Return a state with its own λ, v, η and α after `SWEEPS` sweeps from these labels."""
    state = blocked_state(observations, priors, *labels, key.generator(Step.CLUSTER_PAIRS))
    key = key._replace(sweep=key.sweep + SWEEP_OFFSET)
    run_sweeps(VARYING_STEPS, state, observations, priors, key, SWEEPS, bounds)
    state.sweep = 0
    return state


def run_sweeps(
    steps: Sequence[Callable[[Sweep], None]],
    state: State,
    observations: Observations,
    priors: Priors,
    key: Key,
    n_sweeps: int,
    bounds: Bounds,
) -> Sweep:
    """Run some sweeps; return the last one. Numbers of their keys follow that of ``key``."""
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, key)
    for number in range(1, n_sweeps + 1):
        state.sweep = number
        key_of_sweep = key._replace(sweep=key.sweep + number)
        sweep = Sweep(state, observations, priors, bounds, key_of_sweep, backend, backend.threads)
        for step in steps:
            step(sweep)
    return sweep
