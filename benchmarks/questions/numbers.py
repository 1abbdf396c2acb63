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
    from mcsquared.state import State

N_WORDS, BETA = 500, 0.05
V, LAM, ROOT = 10.0, 10.0, 5.0  # concentrations of τ and θ, and of ε for each topic
TOLERANCE = 0.1  # of both numbers
DISTANCE = 0.2  # total variation between a true topic and one that is found
COVERED = 0.99  # share of the groups or tokens in the clusters or topics that count
STARTS = ("default", "truth")


class Size(NamedTuple):
    """Size of a simulated corpus."""

    n_clusters: int
    n_topics: int
    n_groups: int
    tokens_per_group: int


SIZES = (Size(4, 5, 200, 60), Size(20, 25, 600, 80), Size(60, 100, 2_000, 100))


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
            f"λ = {LAM:g}, {N_WORDS} words, equally likely clusters; one chain of {sweeps} sweeps "
            "for each seed, from the default start or from the true labels. Numbers found are "
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


def simulate(size: Size, seed: int) -> tuple[Corpus, Any, Any]:
    """Return a corpus, the cluster of every group and ψ, (n_topics, n_words)."""
    from mcsquared import Corpus

    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(size.n_topics, ROOT))
    psi = rng.dirichlet(np.full(N_WORDS, BETA), size.n_topics)
    shares = rng.dirichlet(V * weights, size.n_clusters)
    clusters = rng.integers(0, size.n_clusters, size.n_groups)
    tiny = np.finfo(np.float64).tiny  # shares may underflow to 0
    counts = [
        rng.multinomial(size.tokens_per_group, rng.dirichlet(LAM * shares[k] + tiny) @ psi)
        for k in clusters
    ]
    return Corpus(sparse.csr_matrix(np.array(counts))), clusters, psi


def start_from_truth(clusters: Any, psi: Any) -> Callable[..., State]:
    """Return a function that starts a chain with the true clusters, and topics drawn given ψ."""
    from mcsquared.samplers.init.assignments import blocked_state

    def start(observations, priors, seed, chain, init, bounds):  # type: ignore[no-untyped-def]
        rng = np.random.default_rng(seed)
        shares = np.cumsum(psi[:, observations.word], axis=0)
        topics = (shares <= rng.random(observations.n_tokens) * shares[-1]).sum(axis=0)
        return blocked_state(observations, priors, clusters, topics, rng)

    return start


def _fit(size: Size, start: str, seed: int, sweeps: int) -> Found:
    from mcsquared import evaluation
    from mcsquared.samplers.sweep import BLOCKED, SAMPLERS

    corpus, clusters, psi = simulate(size, seed)
    finite = engines.ENGINES[engines.FINITE]
    model = engines.estimator(finite, n_sweeps=sweeps, random_state=seed)
    sampler = replace(BLOCKED, start=start_from_truth(clusters, psi))
    samplers = {"blocked": sampler} if start == "truth" else {}
    with warnings.catch_warnings(), patch.dict(SAMPLERS, samplers):
        warnings.simplefilter("ignore", UserWarning)
        model.fit(corpus)
    trace = model.posterior_.trace
    late = trace[trace["sweep"] > sweeps // 2]
    distances = np.abs(psi[:, None] - np.asarray(model.components_)[None]).sum(axis=2) / 2
    return Found(
        number_covering(np.bincount(model.labels_)),
        number_covering(model.posterior_.topics()["weight"]),
        float(late["n_clusters"].mean()),
        float(late["n_topics"].mean()),
        float(evaluation.nmi(clusters, model.labels_)),
        int((distances.min(axis=1) < DISTANCE).sum()),
    )
