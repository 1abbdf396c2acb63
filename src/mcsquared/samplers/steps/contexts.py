"""φ, the parameters of the contexts in every cluster."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mcsquared.arrays import Float32s, Floats
from mcsquared.kernels.cpu.categories import draw_category_variates
from mcsquared.kernels.cpu.contexts import Background, sum_exponentials
from mcsquared.kernels.cpu.gammas import ROWS_PER_PASS, draw_gamma_rows
from mcsquared.kernels.rng import Step
from mcsquared.samplers.content.background import no_background
from mcsquared.samplers.content.python_families import is_integrated
from mcsquared.samplers.types import ContextDraw, Sweep

ROWS_PER_CHUNK = 8 * ROWS_PER_PASS  # categories whose probabilities are summed together
CATEGORY_COST = 20.0  # nanoseconds to draw the share of one category in one cluster
MIN_BAG_SHAPE = 1e-30  # the log of a variate with a much smaller shape overflows float32


def draw_contexts(sweep: Sweep, with_bags: bool = True) -> ContextDraw:
    """Draw φ_k of every context and cluster slot from its posterior; empty slots from the prior.

    Without bags, their φ stays empty until `draw_missing_bags`.
    """
    natural, python = draw_dense(sweep)
    no_bags = np.zeros((0, natural.shape[1]), np.float32)
    log_categories = draw_log_categories(sweep) if with_bags else no_bags
    return ContextDraw(natural, log_categories, python, draw_background(sweep))


def can_integrate_bags(sweep: Sweep) -> bool:
    """Return whether φ of bags can be integrated out in `move_groups_with_unique_categories`.

    This requires bags, a finite λ, and a backend that draws φ on the host. Models with levels,
    effects, or a context whose parameters `sweep_groups` integrates out are excluded.
    """
    state, observations = sweep.state, sweep.observations
    integrates_context = any(is_integrated(context) for context in observations.python_contexts)
    has_levels_or_effects = bool(state.levels) or state.effects is not None
    return (
        bool(observations.bag_families)
        and not (integrates_context or has_levels_or_effects)
        and math.isfinite(state.lam)
        and sweep.backend.draws_contexts_on_host
    )


def draw_missing_bags(sweep: Sweep) -> None:
    """Draw φ of bags, unless they were drawn."""
    contexts = sweep.globals.contexts
    if len(contexts.log_categories) < sweep.observations.n_categories:
        contexts = contexts._replace(log_categories=draw_log_categories(sweep))
        sweep.globals = replace(sweep.globals, contexts=contexts)


def draw_dense(sweep: Sweep) -> tuple[Floats, list[Any]]:
    """Draw φ_k of all contexts except bags: ``natural`` and ``python`` of `ContextDraw`."""
    observations, rng = sweep.observations, sweep.key.generator(Step.CONTEXTS)
    statistics = sweep.state.counts.context_statistics
    natural = np.zeros((int(observations.dense.stat_start[-1]), len(statistics)))
    python: list[Any] = []
    for family, columns in observations.context_columns:
        parameters: Any = None
        if family.can_sample:
            parameters = family.sample_parameters(statistics[:, columns].copy(), rng)
        if family.kernel is None:
            python.append(parameters)
        else:
            natural[columns] = family.natural_parameters(parameters).T
    return natural, python


def draw_background(sweep: Sweep) -> Background:
    """Draw ρ ~ Beta(1 + n_1, 1 + n_0) and φ_0 of every context with a background.

    n_1 values come from their clusters and n_0 from the background.
    """
    observations, rng = sweep.observations, sweep.key.generator(Step.BACKGROUND)
    statistics = sweep.state.counts.context_statistics.sum(axis=0)
    background = no_background(observations)
    for c, columns in observations.background_columns:
        family, foreground = observations.context_columns[c]
        drawn = rng.beta(1.0 + statistics[foreground.start], 1.0 + statistics[columns.start])
        # Within the smallest floats of 0 and 1, so that both logarithms are finite.
        probability = min(max(drawn, np.finfo(np.float64).tiny), 1.0 - np.finfo(np.float64).epsneg)
        background.log_probabilities[c] = math.log(probability), math.log1p(-probability)
        parameters = family.sample_parameters(statistics[None, columns], rng)
        background.natural[foreground] = family.natural_parameters(parameters)[0]
    return background


def draw_log_categories(sweep: Sweep) -> Float32s:
    """Draw the log-probabilities of the categories of all bags: (categories, cluster slots).

    The bags share one step: the random numbers of each follow those of the previous one, starting
    at a multiple of `ROWS_PER_PASS`.
    """
    observations, key = sweep.observations, sweep.key
    counts = np.ascontiguousarray(sweep.state.counts.category_counts.T)
    logs = np.empty(counts.shape, np.float32)
    sizes = [family.n_stats for family in observations.bag_families]
    first_row = _offsets(sizes)
    chunks = [-(-size // ROWS_PER_CHUNK) for size in sizes]
    first_chunk, first_pass = _offsets(chunks), _offsets([-(-n // ROWS_PER_PASS) for n in sizes])
    shapes = np.maximum(sweep.state.category_shapes, MIN_BAG_SHAPE)
    is_learned = [family.is_learned for family, _ in observations.bag_columns]
    largest, total = np.empty((2, first_chunk[-1], counts.shape[1]))

    def draw(first: int, last: int) -> None:
        for bag, part in _chunks_of_bags(first_chunk, first, last):
            rows = slice(first_row[bag], first_row[bag + 1])
            chunks_of_bag = slice(first_chunk[bag], first_chunk[bag + 1])
            cells = (part.start * ROWS_PER_CHUNK, min(part.stop * ROWS_PER_CHUNK, sizes[bag]))
            if is_learned[bag]:
                arguments = (counts[rows], shapes[rows], key, first_row[bag])
                draw_category_variates(*cells, *arguments, logs[rows])
            else:
                inputs = (counts.shape[1], counts[rows].reshape(-1), float(shapes[rows.start]))
                out = (logs[rows].reshape(-1), first_pass[bag] * ROWS_PER_PASS)
                draw_gamma_rows(*cells, *inputs, int(Step.CATEGORIES), key, True, *out)
            sums = (largest[chunks_of_bag], total[chunks_of_bag])
            sum_exponentials(part.start, part.stop, ROWS_PER_CHUNK, logs[rows], *sums)

    sweep.threads.map(first_chunk[-1], draw, work=CATEGORY_COST * counts.size)
    for bag in range(len(sizes)):
        chunks_of_bag = slice(first_chunk[bag], first_chunk[bag + 1])
        highest = largest[chunks_of_bag].max(axis=0)
        sums = (total[chunks_of_bag] * np.exp(largest[chunks_of_bag] - highest)).sum(axis=0)
        log_sum = highest + np.log(sums)
        rows = logs[first_row[bag] : first_row[bag + 1]]
        # In double precision: the difference of large logarithms may be small.
        np.subtract(rows, log_sum, out=rows, casting="same_kind")
    return logs


def _offsets(sizes: list[int]) -> list[int]:
    """Return the offset of each part, and the total."""
    return [0, *np.cumsum(sizes, dtype=np.int64).tolist()]


def _chunks_of_bags(start: list[int], first: int, last: int) -> Iterator[tuple[int, range]]:
    """Yield every bag with chunks in ``first:last``, and the range of these chunks in the bag."""
    for bag, (begin, end) in enumerate(pairwise(start)):
        if max(first, begin) < min(last, end):
            yield bag, range(max(first, begin) - begin, min(last, end) - begin)
