"""Convergence of the chains of a fit, summarised in one sentence.

Chains have converged if R-hat and the effective sample size are acceptable for every scalar that
does not depend on the numbering of clusters and topics (`diagnostics`), and the partitions of the
chains agree. Partitions are compared by R-hat of the co-clustering indicators: the draws of a half
chain are points in the space of all pairs of groups, in which the squared distance between two
partitions is the number of pairs that they disagree on (each unordered pair is counted twice).
Variances within and between half chains are those of these points, summed over all pairs, so that
labels do not matter and uncertain partitions are not mistaken for disagreement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mcsquared.arrays import Floats, Int32s
from mcsquared.markup import plural, range_of
from mcsquared.posterior.consensus import evenly_spaced
from mcsquared.posterior.diagnostics import MAX_RHAT, MIN_ESS, diagnostics

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

MIN_AGREEMENT = 0.95  # adjusted Rand index above which partitions agree regardless of R-hat
MAX_FACTOR = 20.0  # larger factors are reported as "more than"
SIMILAR = 0.8  # adjusted Rand index from which clusters of two halves of chains count as similar
CONVERGED, NOT_CONVERGED = "converged after", "not converged after"
TOO_FEW_DRAWS = "too few draws to assess convergence"

_MAX_DRAWS = 10  # per half chain
_MAX_GROUPS = 1000
_MAX_NAMED = 3


@dataclass(frozen=True)
class Problem:
    """A failed convergence check, and the factor by which the number of sweeps should grow."""

    description: str
    factor: float
    # True if chains or half chains disagree; False if there are only too few (effective) draws.
    disagree: bool = False


@dataclass(frozen=True)
class Assessment:
    """Convergence of the chains of a fit after some sweeps."""

    # Sweeps of the longest chain, burn-in included, and number of chains.
    n_sweeps: int
    n_chains: int
    n_after_burn_in: int  # sweeps of the shortest chain after its burn-in
    # The largest R-hat and the smallest effective sample size; NaN if unknown or if nothing varies.
    rhat: float
    ess: float
    # Mean adjusted Rand index between draws of different chains, or of the halves of one chain.
    agreement: float
    # Empty if the chains have converged; those that would take longest first.
    problems: tuple[Problem, ...]
    seconds: float  # mean time of one sweep of one chain; NaN if unknown
    n_sweeps_shortest: int  # of the shortest chain, burn-in included

    @property
    def converged(self) -> bool:
        """Whether the chains have converged."""
        return not self.problems

    @property
    def disagree(self) -> bool:
        """Whether chains, or the halves of a chain, differ."""
        return any(problem.disagree for problem in self.problems)

    @property
    def more_sweeps(self) -> int:
        """Approximate number of further sweeps per chain that are needed, if half are burn-in."""
        if self.converged:
            return 0
        factor = min(max(problem.factor for problem in self.problems), MAX_FACTOR)
        return max(round(2 * factor * max(self.n_after_burn_in, 1)) - self.n_sweeps, self.n_sweeps)

    def summary(self, n_parallel: int = 1) -> str:
        """Return the result in one sentence; ``n_parallel`` chains run at the same time."""
        n_sweeps = range_of(self.n_sweeps_shortest, self.n_sweeps)
        unit = "sweep" if self.n_sweeps == 1 else "sweeps"
        length = f"{n_sweeps} {unit} of {plural(self.n_chains, 'chain')}"
        if self.converged:
            return f"{CONVERGED} {length}: {self._figures()}"
        named = ", ".join(problem.description for problem in self.problems[:_MAX_NAMED])
        if len(self.problems) > _MAX_NAMED:
            named += f" and {len(self.problems) - _MAX_NAMED} more"
        beyond = max(problem.factor for problem in self.problems) > MAX_FACTOR
        too_few = any(problem.description == TOO_FEW_DRAWS for problem in self.problems)
        bound = "more than" if beyond else "at least" if too_few else "about"
        needed = f"{bound} {_format_count(self.more_sweeps)} more sweeps"
        needed += " per chain are needed" if self.n_chains > 1 else " are needed"
        seconds = self.seconds * self.more_sweeps * math.ceil(self.n_chains / n_parallel)
        if math.isfinite(seconds):
            needed += f" ({_format_duration(seconds)})"
        return f"{NOT_CONVERGED} {length}: {named}; {needed}"

    def _figures(self) -> str:
        parts = []
        if math.isfinite(self.rhat):
            parts.append(f"R-hat at most {self.rhat:.2f}")
        if math.isfinite(self.ess):
            parts.append(f"effective sample size at least {self.ess:,.0f}")
        if self.n_chains > 1 and math.isfinite(self.agreement):
            parts.append(f"adjusted Rand index between chains {self.agreement:.2f}")
        return ", ".join(parts) or "all draws are equal"


def assess(trace: pd.DataFrame, draws: Sequence[Int32s]) -> Assessment:
    """Assess the convergence of chains.

    ``trace`` has a row per sweep and chain; sweeps before a chain's first kept one are burn-in.
    ``draws`` are the clusters of groups in the kept draws of each chain: int32 (n_draws, n_groups).
    """
    table = diagnostics(trace)
    rhat, ess = table["rhat"].to_numpy(np.float64), table["ess_bulk"].to_numpy(np.float64)
    chains = [part for _, part in trace.groupby("chain", sort=True)]
    n_after_burn_in = min((len(part) - _burn_in(part) for part in chains), default=0)
    partition_rhat, agreement = compare_partitions(draws)
    problems = []
    if n_after_burn_in < 4 or math.isnan(agreement):
        problems.append(Problem(TOO_FEW_DRAWS, 4.0))
    for name, rhat_of_scalar, ess_of_scalar in zip(table["scalar"], rhat, ess, strict=True):
        problems += _problems_of_scalar(str(name), rhat_of_scalar, ess_of_scalar)
    # A comparison with NaN is false: partitions that do not vary agree.
    if partition_rhat > MAX_RHAT and agreement < MIN_AGREEMENT:
        between = "chains" if len(draws) > 1 else "halves of the chain"
        description = f"clusters (adjusted Rand index between {between} {agreement:.2f})"
        problems.append(Problem(description, _factor(partition_rhat), disagree=True))
    rhat, ess = rhat[~np.isnan(rhat)], ess[~np.isnan(ess)]
    seconds = (
        trace["seconds"].tail(max(n_after_burn_in, 1)).mean() if "seconds" in trace else math.nan
    )
    return Assessment(
        n_sweeps=int(trace["sweep"].max()) if len(trace) else 0,
        n_chains=max(len(draws), 1),
        n_after_burn_in=n_after_burn_in,
        rhat=float(rhat.max()) if rhat.size else math.nan,
        ess=float(ess.min()) if ess.size else math.nan,
        agreement=agreement,
        problems=tuple(sorted(problems, key=lambda problem: -problem.factor)),
        seconds=float(seconds),
        n_sweeps_shortest=min((int(part["sweep"].max()) for part in chains), default=0),
    )


def convergence_summary(posterior: Posterior) -> str:
    """Return the convergence note of a run with n_sweeps='auto'; assess any other run."""
    for note in posterior.notes:
        if note.startswith((CONVERGED, NOT_CONVERGED)):
            return note
    return assess_posterior(posterior).summary()


def agreement_summary(posterior: Posterior) -> str:
    """Return in one sentence how much the clusters depend on the chains; "" for a single chain."""
    agreement = posterior.split_half_agreement
    if math.isnan(agreement):
        return ""
    halves = f"one half of the chains and those of the other (adjusted Rand index {agreement:.2f})"
    if agreement >= SIMILAR:
        return f"the clusters of {halves} are similar, so another run should find similar clusters"
    return f"the clusters of {halves} differ; more chains (n_chains) make them more stable"


def assess_posterior(posterior: Posterior) -> Assessment:
    """Assess the convergence of the chains of a posterior."""
    chain = posterior.chain_of_draw
    draws = [posterior.cluster_of_group[chain == number] for number in np.unique(chain)]
    return assess(posterior.trace, draws)


def _burn_in(trace: pd.DataFrame) -> int:
    kept = trace["kept"].to_numpy(dtype=bool)
    return int(np.argmax(kept)) if kept.any() else len(kept)


def _problems_of_scalar(name: str, rhat: float, ess: float) -> list[Problem]:
    """Return the problem of a scalar, if it has one. A constant has none: both values are NaN."""
    # NaN is never the maximum unless it is the first argument.
    factor = max(1.0, _factor(rhat), MIN_ESS / max(1.0, ess))
    if rhat > MAX_RHAT:
        return [Problem(f"{name} (R-hat {rhat:.2f})", factor, disagree=True)]
    if ess < MIN_ESS:
        return [Problem(f"{name} (effective sample size {ess:.0f})", factor)]
    return []


def _factor(rhat: float) -> float:
    """Return the factor by which the number of sweeps must grow to reach `MAX_RHAT`.

    For chains that mix, R-hat² − 1 is inversely proportional to the number of sweeps, as is the
    variance of a half chain's mean.
    """
    return (rhat**2 - 1.0) / (MAX_RHAT**2 - 1.0)


def compare_partitions(draws: Sequence[Int32s]) -> tuple[float, float]:
    """Return R-hat of the partitions and their mean adjusted Rand index between chains.

    A single chain is compared with itself: the index is that between its halves. Up to ten draws of
    each half and a random sample of 1,000 groups are used. R-hat is NaN if all draws are equal;
    both are NaN with fewer than four draws of a chain. ``draws`` are those of `assess`.
    """
    shortest = min((len(chain) for chain in draws), default=0)
    n_per_half = min(shortest // 2, _MAX_DRAWS)
    if n_per_half < 2:
        return math.nan, math.nan
    halves = []
    for chain in draws:
        middle = len(chain) // 2
        for half in (chain[:middle], chain[-middle:]):
            halves.append(half[evenly_spaced(len(half), n_per_half)])
    points = np.concatenate(halves)
    if points.shape[1] > _MAX_GROUPS:
        chosen = np.random.default_rng(0).choice(points.shape[1], _MAX_GROUPS, replace=False)
        points = points[:, chosen]
    shared = _shared_pairs(points)
    chain_of_point = np.repeat(np.arange(len(halves)) // (2 if len(draws) > 1 else 1), n_per_half)
    apart = chain_of_point[:, None] != chain_of_point[None, :]
    agreement = _adjusted_rand(shared, points.shape[1])[apart].mean()
    return _rhat(shared, len(halves)), float(agreement)


def _shared_pairs(points: Int32s) -> Floats:
    """Return the number of ordered pairs of groups that share a cluster in two draws.

    Pairs of a group with itself count. float64 (n_draws, n_draws): inner products of co-clustering
    indicators.
    """
    n_draws = len(points)
    labels = [np.unique(draw, return_inverse=True)[1].astype(np.int64) for draw in points]
    sizes = [int(draw.max()) + 1 for draw in labels]
    shared = np.empty((n_draws, n_draws))
    for i in range(n_draws):
        for j in range(i + 1):
            both = np.bincount(labels[i] * sizes[j] + labels[j]).astype(np.float64)
            shared[i, j] = shared[j, i] = both @ both
    return shared


def _rhat(shared: Floats, n_halves: int) -> float:
    """Return R-hat of points, the same number per half chain, given their inner products."""
    n_draws = len(shared) // n_halves
    by_half = shared.reshape(n_halves, n_draws, n_halves, n_draws)
    means = by_half.mean(axis=(1, 3))  # inner products of the means of the half chains
    square = np.diagonal(shared).reshape(n_halves, n_draws).mean(axis=1)
    within = ((square - np.diagonal(means)) * n_draws / (n_draws - 1)).mean()
    between = (np.trace(means) - means.sum() / n_halves) / (n_halves - 1)
    scale = 1e-9 * square.mean()
    if within <= scale:
        return math.inf if between > scale else math.nan
    return float(math.sqrt((n_draws - 1) / n_draws + between / within))


def _adjusted_rand(shared: Floats, n_groups: int) -> Floats:
    """Return the adjusted Rand index of all pairs of draws: float64 (n_draws, n_draws)."""
    both = shared - n_groups
    single = np.diagonal(both)
    total = max(n_groups * (n_groups - 1), 1)
    expected = np.outer(single, single) / total
    largest = (single[:, None] + single[None, :]) / 2
    trivial = np.isclose(largest, expected)
    return np.where(trivial, 1.0, (both - expected) / np.where(trivial, 1.0, largest - expected))


def _format_count(number: int) -> str:
    """Return a number with two significant digits.

    >>> _format_count(1849), _format_count(52)
    ('1,800', '52')
    """
    return f"{float(f'{number:.2g}'):,.0f}"


def _format_duration(seconds: float) -> str:
    """Return a duration in words.

    >>> [_format_duration(seconds) for seconds in (1.0, 44.6, 1000.0, 9000.0)]
    ['1 second', '45 seconds', '17 minutes', '2.5 hours']
    """
    value, unit = max(seconds, 1.0), "second"
    if value >= 5400:
        return f"{value / 3600:.2g} hours"
    if value >= 90:
        value, unit = value / 60, "minute"
    return f"{value:.0f} {unit}" + ("" if round(value) == 1 else "s")
