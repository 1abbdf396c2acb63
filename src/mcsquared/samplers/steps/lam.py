"""λ with the tables of groups integrated out, and then new tables.

Given T tables, which depend on λ, log λ would move by about 1 / √T in a sweep. Given instead
τ ~ Dir(vε + O), steps of any size are possible: with k the cluster of group j,

    p(λ | n, τ)  ∝  p(λ) Π_j Γ(λ) / Γ(λ + N_j) Π_m Γ(λτ_km + n_jm) / Γ(λτ_km)

Candidates are points of a grid on log λ that contains the current value at a random position; the
spacing of the grid is random as well, and one pass over the groups evaluates all of them. The next
value is drawn from the candidates by their density, and the tables given this value.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mcsquared.arrays import Floats
from mcsquared.families.numerics import draw_index
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.counts import sum_log_rising_factorials
from mcsquared.kernels.cpu.split_merge import FIXED_POINT
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content import divisions
from mcsquared.samplers.content.divisions import LamCandidates
from mcsquared.samplers.steps.concentrations import MAX_LOG
from mcsquared.samplers.steps.effects import with_unused_weight
from mcsquared.samplers.steps.weights import draw_log_topic_shares
from mcsquared.samplers.types import Key, Sweep

N_CANDIDATES = 16
MIN_SPACING, MAX_SPACING = 0.01, 0.5  # of log λ
MIN_TOPIC_SHARE = 1e-300

SumGroups = Callable[[Any, Any], dict[str, Any]]


def resample_lam_and_tables(sweep: Sweep, key: Key, sum_groups: SumGroups) -> None:
    """Draw λ and the tables of all groups.

    ``sum_groups`` sums a function over groups whose topics were counted by `begin_division`.
    """
    state, prior = sweep.state, sweep.priors.lam
    if not isinstance(prior, Gamma) or state.effects is not None:
        return
    log_shares = draw_log_topic_shares(sweep, with_unused_weight(state), key)
    shares, rng = np.maximum(np.exp(log_shares), MIN_TOPIC_SHARE), key.generator(Step.LAM)
    spacing = math.exp(rng.uniform(math.log(MIN_SPACING), math.log(MAX_SPACING)))
    position = np.arange(N_CANDIDATES) - rng.integers(N_CANDIDATES)
    grid = math.log(state.lam) + spacing * position
    lams = np.exp(np.clip(grid, -MAX_LOG, MAX_LOG))
    found = sum_groups(divisions.sum_given_lams, LamCandidates(shares, lams, False, key))
    log_density = found["log_likelihood"] / FIXED_POINT
    log_density += log_terms_without_topics(sweep, prior, lams)
    log_density[np.abs(grid) > MAX_LOG] = -np.inf
    chosen = draw_index(np.exp(log_density - log_density.max()), rng)
    state.lam = float(lams[chosen])
    candidate = LamCandidates(shares, lams[chosen : chosen + 1], True, key)
    tables = sum_groups(divisions.sum_given_lams, candidate)["tables"]
    fits = tables.max(initial=0) <= np.iinfo(np.int32).max
    state.tables_in_cluster = tables.astype(np.int32) if fits else tables


def log_terms_without_topics(sweep: Sweep, prior: Gamma, lams: Floats) -> Floats:
    """Return log p(log λ) + Σ_j ln Γ(λ) − ln Γ(λ + N_j) of every λ, up to a constant."""
    lengths = sweep.observations.layout.lengths
    log_factorials = [sum_log_rising_factorials(float(lam), *lengths) for lam in lams]
    return prior.shape * np.log(lams) - prior.rate * lams - np.array(log_factorials)
