"""Numbers of clusters and topics found in simulated corpora with known numbers of both.

Draws of a Dirichlet process mixture have a few tiny clusters and topics besides those of the truth
(Miller and Harrison, "Inconsistency of Pitman-Yor process mixtures for the number of components",
2014), also in chains that start with the true labels. Numbers are therefore those of the clusters
of ``labels_`` and of the topics that together hold 99% of the groups and of the tokens.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy import sparse

from benchmarks import engines
from benchmarks.measure import run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.samplers.sweep import Sampler
    from mcsquared.state import State

N_WORDS, BETA = 500, 0.05
LAM, ROOT = 10.0, 5.0  # concentrations of θ, and of ε for each topic
TOLERANCE = 0.1  # of both numbers
DISTANCE = 0.2  # total variation between a true topic and one that is found
COVERED = 0.99  # share of the groups or tokens in the clusters or topics that count
STARTS = ("default", "truth", "true topics")


class Size(NamedTuple):
    """Size of a simulated corpus."""

    n_clusters: int
    n_topics: int
    n_groups: int
    tokens_per_group: int
    v: float  # concentration of τ: few clusters must differ more, or the data do not identify them


SIZES = (Size(4, 5, 400, 120, 2.0), Size(20, 25, 600, 80, 10.0), Size(60, 100, 2_000, 100, 10.0))


class Found(NamedTuple):
    """Numbers of a fit, means over the second half of its draws, and how much of the truth it has.

    Attributes
    ----------
    clusters, topics : int
        Numbers that hold 99% of the groups and of the tokens.
    all_clusters, all_topics : float
        Mean numbers of draws.
    nmi : float
        Normalised mutual information of ``labels_`` with the true clusters.
    recovered : int
        True topics that are found.
    """

    clusters: int
    topics: int
    all_clusters: float
    all_topics: float
    nmi: float
    recovered: int


def run(settings: Settings) -> Result:
    rows: list[tuple[Cell, ...]] = []
    targets = []
    sizes = SIZES[: settings.n_number_sizes]
    seeds, sweeps = range(settings.number_starts), settings.number_sweeps
    calls = [(size, start, seed, sweeps) for size in sizes for start in STARTS for seed in seeds]
    fits = dict(zip(calls, run_parallel(_fit, calls), strict=True))
    for size in sizes:
        for start in STARTS:
            found = [fits[size, start, seed, sweeps] for seed in seeds]
            right = sum(is_right(size, fit) for fit in found)
            middle = [float(median(values)) for values in zip(*found, strict=True)]
            rows.append((size.n_clusters, size.n_topics, start, len(found), right, *middle))
            if start == "default":
                name = f"{size.n_clusters} clusters, {size.n_topics} topics: starts with both"
                targets.append(Target(name, float(right), 0.9 * len(found), True, ""))
    return Result(
        title="Numbers of clusters and topics in simulated corpora",
        columns=(
            "clusters",
            "topics",
            "start",
            "fits",
            "both within 10%",
            "clusters found",
            "topics found",
            "clusters of draws",
            "topics of draws",
            "NMI of labels_",
            "true topics recovered",
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"λ = {LAM:g}, v = {', '.join(f'{size.v:g}' for size in sizes)}, {N_WORDS} words, "
            "equally likely clusters; one chain of {sweeps} sweeps "
            "for each seed: from the default start, from the true labels, or with the true topics "
            "of all tokens and the true λ and v, which do not change. Numbers found are "
            f"those that hold {COVERED:.0%} of the groups (clusters of `labels_`) or of the "
            "tokens; all values are medians over the fits. A true topic is recovered if the total "
            f"variation distance to a topic found is below {DISTANCE:g}.",
        ],
    )


def is_right(size: Size, found: Found) -> bool:
    """Return whether both numbers are within `TOLERANCE` of the truth."""
    pairs = ((found.clusters, size.n_clusters), (found.topics, size.n_topics))
    return all(abs(number - truth) <= TOLERANCE * truth for number, truth in pairs)


def number_covering(shares: Any) -> int:
    """Return the smallest number of clusters or topics whose shares add up to `COVERED`."""
    largest = np.sort(np.asarray(shares, np.float64))[::-1]
    return int(np.searchsorted(np.cumsum(largest / largest.sum()), COVERED)) + 1


class Simulated(NamedTuple):
    """A corpus, the cluster and topic shares of every group, and ψ, (n_topics, n_words)."""

    corpus: Corpus
    clusters: Any
    shares: Any
    psi: Any


def simulate(size: Size, seed: int) -> Simulated:
    """Draw a corpus from the model."""
    from mcsquared import Corpus

    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(size.n_topics, ROOT))
    psi = rng.dirichlet(np.full(N_WORDS, BETA), size.n_topics)
    shares = rng.dirichlet(size.v * weights, size.n_clusters)
    clusters = rng.integers(0, size.n_clusters, size.n_groups)
    tiny = np.finfo(np.float64).tiny  # shares may underflow to 0
    group_weights, counts = np.zeros((size.n_groups, size.n_topics)), []
    for j, k in enumerate(clusters):
        group_weights[j] = rng.dirichlet(LAM * shares[k] + tiny)
        counts.append(rng.multinomial(size.tokens_per_group, group_weights[j] @ psi))
    return Simulated(Corpus(sparse.csr_matrix(np.array(counts))), clusters, group_weights, psi)


def start_from_truth(truth: Simulated) -> Callable[..., State]:
    """Return a function that starts a chain with the true clusters and draws of the true topics."""
    from mcsquared.samplers.init.assignments import blocked_state

    def start(observations, priors, seed, chain, init, bounds):  # type: ignore[no-untyped-def]
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(len(truth.clusters)), np.diff(observations.group_start))
        weights = truth.psi[:, observations.word] * truth.shares[group].T
        shares = np.cumsum(weights, axis=0)
        topics = (shares <= rng.random(observations.n_tokens) * shares[-1]).sum(axis=0)
        return blocked_state(observations, priors, truth.clusters, topics, rng)

    return start


def sampler_for(start: str, truth: Simulated) -> Sampler:
    """Return the sampler with a start; with "true topics" these do not change."""
    from mcsquared.samplers.init.candidates import sweep_clusters
    from mcsquared.samplers.steps.groups import sweep_groups
    from mcsquared.samplers.steps.topic_moves import move_topics
    from mcsquared.samplers.sweep import BLOCKED

    if start == "default":
        return BLOCKED
    sampler = replace(BLOCKED, start=start_from_truth(truth))
    if start == "truth":
        return sampler
    steps = [sweep_clusters if step is sweep_groups else step for step in sampler.steps]
    return replace(sampler, steps=tuple(steps)).without(move_topics)


def _fit(size: Size, start: str, seed: int, sweeps: int) -> Found:
    from mcsquared import evaluation
    from mcsquared.samplers.sweep import SAMPLERS

    truth = simulate(size, seed)
    finite, options = engines.ENGINES[engines.FINITE], {"n_sweeps": sweeps, "random_state": seed}
    if start == "true topics":
        options |= {"lam": LAM, "v": size.v}
    model = engines.estimator(finite, **options)
    samplers = {"blocked": sampler_for(start, truth)}
    with warnings.catch_warnings(), patch.dict(SAMPLERS, samplers):
        warnings.simplefilter("ignore", UserWarning)
        model.fit(truth.corpus)
    trace = model.posterior_.trace
    late = trace[trace["sweep"] > sweeps // 2]
    distances = np.abs(truth.psi[:, None] - np.asarray(model.components_)[None]).sum(axis=2) / 2
    return Found(
        number_covering(np.bincount(model.labels_)),
        number_covering(model.posterior_.topics()["weight"]),
        float(late["n_clusters"].mean()),
        float(late["n_topics"].mean()),
        float(evaluation.nmi(truth.clusters, model.labels_)),
        int((distances.min(axis=1) < DISTANCE).sum()),
    )
