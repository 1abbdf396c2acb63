"""Base measures and concentrations of contexts that are learned.

The probabilities of the categories of a context in cluster k are φ_k ~ Dir(g b), where b ~ Dir(1,
..., 1) and log g is uniform, or g has a gamma prior. Given the clusters, with φ integrated out,

    t_kv ~ CRT(n_kv, g b_v),   p(g | t) ∝ p(g) g^T Π_k Γ(g) / Γ(g + n_k),   b ~ Dir(1 + Σ_k t_kv)

where T = Σ t. The larger g, the less the context differs between clusters: one that is unrelated to
them, such as a column of unique names, does not affect them.
"""

import math

import numpy as np

from mcsquared.arrays import Floats, Int64s
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.categories import draw_category_tables
from mcsquared.kernels.cpu.counts import sum_log_rising_factorials
from mcsquared.kernels.rng import Step
from mcsquared.samplers.steps.concentrations import resample_given_lengths, shrink_slice
from mcsquared.samplers.types import Sweep

MIN_G, MAX_G = 0.1, 1e6


def resample_context_priors(sweep: Sweep) -> None:
    """Draw g and b of every context that learns them, given the categories in the clusters."""
    state, observations = sweep.state, sweep.observations
    if not observations.has_learned_bags:
        return
    counts = np.ascontiguousarray(state.counts.category_counts.T)
    tables = np.zeros(len(counts), np.int64)

    def draw(first: int, last: int) -> None:
        draw_category_tables(first, last, counts, state.category_shapes, sweep.key, tables)

    sweep.threads.map(len(counts), draw, work=20.0 * counts.size)
    rng = sweep.key.generator(Step.CATEGORY_SHAPES)
    shapes = state.category_shapes.copy()
    for (family, columns), totals in zip(
        observations.bag_columns, state.counts.category_totals.T, strict=True
    ):
        if family.is_learned:
            g = float(shapes[columns].sum())
            shapes[columns] = draw_shapes(family, g, totals, tables[columns], rng)
    state.category_shapes = shapes


def draw_shapes(
    family: Dirichlet, g: float, totals: Int64s, tables: Int64s, rng: np.random.Generator
) -> Floats:
    """Draw g and b of one context; return g b.

    Parameters
    ----------
    g : float
        The current value.
    totals : int64 (cluster slots,)
        Entries in each cluster.
    tables : int64 (categories,)
    """
    lengths, multiplicity = np.unique(totals[totals > 0], return_counts=True)
    n_tables = int(tables.sum())
    if isinstance(family.concentration, Gamma):
        prior = family.concentration
        g = resample_given_lengths(g, prior, lengths, multiplicity, n_tables, rng)
    else:
        g = resample_log_uniform(g, lengths, multiplicity, n_tables, rng)
    variates = rng.standard_gamma(1.0 + tables)
    return g * (variates / variates.sum())


def resample_log_uniform(
    g: float, lengths: Int64s, multiplicity: Int64s, n_tables: int, rng: np.random.Generator
) -> float:
    """Draw g from p(g | T) ∝ g^(T − 1) Π_k Γ(g) / Γ(g + n_k) between `MIN_G` and `MAX_G`.

    A slice sampler on log g, whose first interval is the whole range.
    """
    low, high = math.log(MIN_G), math.log(MAX_G)

    def log_density(x: float) -> float:
        return n_tables * x - sum_log_rising_factorials(math.exp(x), lengths, multiplicity)

    x = min(max(math.log(g), low), high)
    level = log_density(x) + math.log(1.0 - rng.random())
    return math.exp(shrink_slice(log_density, level, x, low, high, rng))
