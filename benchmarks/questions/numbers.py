"""Numbers of clusters and topics found in simulated corpora with known numbers of both."""

from __future__ import annotations

import warnings
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks import engines
from benchmarks.measure import run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

N_WORDS, BETA = 500, 0.05
V, LAM, ROOT = 10.0, 10.0, 5.0  # concentrations of τ and θ, and of ε for each topic
TOLERANCE = 0.1  # of both numbers
DISTANCE = 0.2  # total variation between a true topic and one that is found


class Size(NamedTuple):
    """Size of a simulated corpus."""

    n_clusters: int
    n_topics: int
    n_groups: int
    tokens_per_group: int


SIZES = (Size(4, 5, 200, 60), Size(20, 25, 600, 80), Size(60, 100, 2_000, 100))


class Found(NamedTuple):
    """Means of the second half of a chain, NMI of ``labels_``, and true topics that are found."""

    clusters: float
    topics: float
    nmi: float
    recovered: int


def run(settings: Settings) -> Result:
    rows: list[tuple[Cell, ...]] = []
    targets = []
    for size in SIZES[: settings.n_number_sizes]:
        calls = [(size, seed, settings.number_sweeps) for seed in range(settings.number_starts)]
        fits = run_parallel(_fit, calls)
        right = sum(is_right(size, found) for found in fits)
        middle = [float(median(values)) for values in zip(*fits, strict=True)]
        rows.append((size.n_clusters, size.n_topics, size.n_groups, len(fits), right, *middle))
        name = f"{size.n_clusters} clusters, {size.n_topics} topics: starts with both numbers"
        targets.append(Target(name, float(right), 0.9 * len(fits), True, ""))
    return Result(
        title="Numbers of clusters and topics in simulated corpora",
        columns=(
            "clusters",
            "topics",
            "groups",
            "starts",
            "both within 10%",
            "clusters found",
            "topics found",
            "NMI of labels_",
            "true topics recovered",
        ),
        rows=rows,
        targets=targets,
        notes=[
            f"λ = {LAM:g}, {N_WORDS} words, equally likely clusters; one chain of "
            f"{settings.number_sweeps} sweeps from the default start for each seed. Numbers are "
            "medians over the starts of the mean over the second half of a chain. A true topic is "
            f"recovered if the total variation distance to a topic found is below {DISTANCE:g}.",
        ],
    )


def is_right(size: Size, found: Found) -> bool:
    """Return whether both numbers are within `TOLERANCE` of the truth."""
    pairs = ((found.clusters, size.n_clusters), (found.topics, size.n_topics))
    return all(abs(number - truth) <= TOLERANCE * truth for number, truth in pairs)


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


def _fit(size: Size, seed: int, sweeps: int) -> Found:
    from mcsquared import evaluation

    corpus, clusters, psi = simulate(size, seed)
    finite = engines.ENGINES[engines.FINITE]
    model = engines.estimator(finite, n_sweeps=sweeps, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(corpus)
    trace = model.posterior_.trace
    late = trace[trace["sweep"] > sweeps // 2]
    distances = np.abs(psi[:, None] - np.asarray(model.components_)[None]).sum(axis=2) / 2
    return Found(
        float(late["n_clusters"].mean()),
        float(late["n_topics"].mean()),
        float(evaluation.nmi(clusters, model.labels_)),
        int((distances.min(axis=1) < DISTANCE).sum()),
    )
