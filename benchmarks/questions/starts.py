"""Clusters of UN speeches after starts with one cluster, one per country, and many random ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.corpora import speeches_for
from benchmarks.measure import cpu_seconds, run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcsquared.corpus import Corpus
    from mcsquared.state import State

N_TOPICS = 150  # the same for all starts: log joints with other numbers are not comparable
MAX_CLUSTER_RANGE, MAX_LOG_JOINT_RANGE, MIN_AGREEMENT = 0.15, 0.0002, 0.7

STARTS = ("one cluster", "one per country", "300 random")


class Outcome(NamedTuple):
    """Labels and scalars of a fit; scalars are means over the kept part of the trace."""

    labels: NDArray[np.int64]
    n_clusters: float
    log_joint: float
    seconds: float


def run(settings: Settings) -> Result:
    if speeches_for(settings) is None:
        raise Unavailable("the UN speeches were not found")
    outcomes = run_parallel(_fit, [(start, settings) for start in STARTS])
    rows: list[tuple[Cell, ...]] = []
    for start, found in zip(STARTS, outcomes, strict=True):
        agreement = mean(_rand_index(found, other) for other in outcomes if other is not found)
        n_clusters = int(found.labels.max()) + 1
        rows.append(
            (start, found.n_clusters, n_clusters, found.log_joint, agreement, found.seconds)
        )
    clusters = [found.n_clusters for found in outcomes]
    log_joints = [found.log_joint for found in outcomes]
    lowest = min(_rand_index(*pair) for pair in combinations(outcomes, 2))
    spread = (max(log_joints) - min(log_joints)) / abs(mean(log_joints))
    corpus = _speeches(settings)
    return Result(
        title="Clusters after different starts",
        columns=(
            "start",
            "clusters of a draw",
            "clusters",
            "log joint",
            "mean ARI with other starts",
            "CPU-s",
        ),
        rows=rows,
        targets=[
            Target(
                "range of clusters of a draw / largest",
                1 - min(clusters) / max(clusters),
                MAX_CLUSTER_RANGE,
                False,
                "",
            ),
            Target("relative range of the log joint", spread, MAX_LOG_JOINT_RANGE, False, ""),
            Target("lowest ARI between starts", lowest, MIN_AGREEMENT, True, ""),
        ],
        notes=[
            f"{corpus.n_groups:,} random UN speeches ({corpus.n_tokens:,} words) with year and "
            f"country, at most {N_TOPICS} topics, {settings.start_chains} chains of "
            f"{settings.start_sweeps} sweeps per start, other parameters at their defaults. The "
            "topics at the start are the same; clusters are replaced. Means over all chains and "
            "the second half of the sweeps.",
        ],
    )


def _speeches(settings: Settings) -> Corpus:
    corpus = speeches_for(settings)
    assert corpus is not None
    n_groups = min(settings.start_groups, corpus.n_groups)
    chosen = np.random.default_rng(settings.seed).choice(corpus.n_groups, n_groups, replace=False)
    return corpus[np.sort(chosen)]


def _fit(start: str, settings: Settings) -> Outcome:
    from mcsquared import MC2
    from mcsquared.samplers.sweep import BLOCKED, SAMPLERS

    corpus = _speeches(settings)
    length = settings.start_sweeps  # by default that of n_sweeps="auto" for as many words
    schedule = {"n_chains": settings.start_chains, "n_sweeps": length, "burn_in": length // 2}
    model = MC2(**schedule, max_topics=N_TOPICS, random_state=0, progress=False)
    sampler = replace(BLOCKED, start=start_from(_initial_clusters(start, corpus)))
    with warnings.catch_warnings(), patch.dict(SAMPLERS, {"blocked": sampler}):
        warnings.simplefilter("ignore", UserWarning)
        seconds = cpu_seconds(lambda: model.fit(corpus))
    trace = model.posterior_.trace
    after = trace[trace["sweep"] > length // 2]
    scalars = (float(after[name].mean()) for name in ("n_clusters", "log_joint"))
    return Outcome(model.labels_, *scalars, seconds)


def _initial_clusters(start: str, corpus: Corpus) -> NDArray[np.int64]:
    if start == "one cluster":
        return np.zeros(corpus.n_groups, np.int64)
    if start == "one per country":
        return np.unique(corpus.contexts["country"].values, return_inverse=True)[1].astype(np.int64)
    return np.random.default_rng(0).integers(0, 300, corpus.n_groups)


def start_from(clusters: NDArray[np.int64]) -> Callable[..., State]:
    """Return a function that starts a chain with these clusters and the default topics."""
    from mcsquared.samplers.init import starts

    def start(observations, priors, seed, chain, init, bounds):  # type: ignore[no-untyped-def]
        state = starts.start_blocked(observations, priors, seed, chain, init, bounds=bounds)
        rng = np.random.default_rng(chain)
        given = (observations, priors, seed, chain, bounds, rng)
        return starts.start_from(clusters, state.topic_of_token, *given)

    return start


def _rand_index(one: Outcome, other: Outcome) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one.labels, other.labels))
