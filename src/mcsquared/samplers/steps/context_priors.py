"""Base measures and concentrations of contexts that are learned.

The probabilities of the categories of a context in cluster k are φ_k ~ Dir(g b), where b ~ Dir(1,
..., 1) and log g is uniform, or g has a gamma prior. Given the clusters, with φ integrated out,

    p(g | b)  ∝  p(g) Π_k Γ(g) / Γ(g + n_k) Π_v Γ(g b_v + n_kv) / Γ(g b_v)
    t_kv ~ CRT(n_kv, g b_v),   b ~ Dir(1 + Σ_k t_kv)

g is drawn before the tables t, because they all but determine it: given them, log g would move by
about 1 / √n in a sweep, with n the number of observations that open no table, i.e. by a hundredth.
The larger g, the less the context differs between clusters: one that is unrelated to them does not
affect them.
"""

import math

import numpy as np

from mcsquared.arrays import CountArray, Floats, Int64s, Rng
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.gamma import Gamma
from mcsquared.kernels.cpu.categories import draw_category_tables
from mcsquared.kernels.rng import Step
from mcsquared.samplers.steps.concentrations import MAX_LOG, resample_given_base
from mcsquared.samplers.types import Sweep

MIN_G, MAX_G = 0.1, 1e6


def resample_context_priors(sweep: Sweep) -> None:
    """Draw g and b of every context with a learned prior, given the categories in the clusters."""
    state, observations = sweep.state, sweep.observations
    if not observations.has_learned_bags:
        return
    counts = np.ascontiguousarray(state.counts.category_counts.T)
    tables, shapes = np.zeros(len(counts), np.int64), state.category_shapes.copy()
    rng = sweep.key.generator(Step.CATEGORY_SHAPES)
    learned = [(f, columns) for f, columns in observations.bag_columns if f.is_learned]
    for family, columns in learned:
        shapes[columns] = draw_concentration(family, shapes[columns], counts[columns], rng)

    def draw(first: int, last: int) -> None:
        draw_category_tables(first, last, counts, shapes, sweep.key, tables)

    sweep.threads.map(len(counts), draw, work=20.0 * counts.size)
    for _, columns in learned:
        shapes[columns] = draw_base_measure(shapes[columns], tables[columns], rng)
    state.category_shapes = shapes


def draw_concentration(family: Dirichlet, shapes: Floats, counts: CountArray, rng: Rng) -> Floats:
    """Draw g of one context given b, with tables integrated out; return g b.

    ``shapes`` is the current g b (categories,), and ``counts`` is (categories, clusters).
    """
    prior = family.concentration if isinstance(family.concentration, Gamma) else None
    bounds = (math.log(MIN_G), math.log(MAX_G)) if prior is None else (-MAX_LOG, MAX_LOG)
    category, cluster = np.nonzero(counts)
    count, totals = counts[category, cluster], counts.sum(axis=0, dtype=np.int64)
    g = float(shapes.sum())
    base = shapes[category] / g
    return shapes * (resample_given_base(g, prior, base, count, totals, bounds, rng) / g)


def draw_base_measure(shapes: Floats, tables: Int64s, rng: Rng) -> Floats:
    """Draw b of one context given the tables (categories,); return g b, where g is given."""
    variates = rng.standard_gamma(1.0 + tables)
    return float(shapes.sum()) * (variates / variates.sum())
