"""Clusters given the topics of one chain, after different starts."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder, share_of
from benchmarks.measure import cpu_seconds
from benchmarks.questions.agreement import SETS
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Unavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcsquared.observations import Observations
    from mcsquared.state import State

DATA = "poliblog5k"
N_SWEEPS, N_ROUNDS = 60, 50  # of the chain, and of clusters given its topics
N_RANDOM = 30


class Outcome(NamedTuple):
    """The last state, and the mean log joint of the last ten sweeps."""

    state: State
    log_joint: float


def run(settings: Settings) -> Result:
    source = SETS[DATA]
    if data_folder(source.file) is None:
        raise Unavailable(f"{source.file} was not found")
    from sklearn.metrics import adjusted_rand_score

    from mcsquared import MC2, datasets
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe

    data = getattr(datasets, source.loader)(data_folder(source.file))
    corpus = share_of(data.corpus, settings.scale, settings.seed)
    model = MC2(n_sweeps=N_SWEEPS, n_chains=1, random_state=0, progress=False, warm_start=True)
    seconds = cpu_seconds(lambda: model.fit(corpus))
    priors: Priors = model.posterior_.priors
    observations = observe(corpus, priors)
    state = model._earlier._states[0]
    clusters, n_groups = state.cluster_of_group, corpus.n_groups
    random = np.random.default_rng(0).integers(0, N_RANDOM, n_groups)
    one = np.zeros(n_groups, np.int32)
    starts = {"those of the chain": (clusters, 0), "one cluster": (one, 0)}
    starts |= {"one cluster, another seed": (one, 1), f"{N_RANDOM} random": (random, 0)}
    found = {
        name: resample(observations, priors, state, clusters, seed)
        for name, (clusters, seed) in starts.items()
    }
    best = max(outcome.log_joint for outcome in found.values())
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            outcome.state.n_clusters,
            outcome.log_joint - best,
            float(adjusted_rand_score(clusters, outcome.state.cluster_of_group)),
        )
        for name, outcome in found.items()
    ]
    return Result(
        title="Clusters given the topics of one chain",
        columns=("initial clusters", "clusters", "log joint minus the highest", "ARI"),
        rows=rows,
        notes=[
            f"{DATA}, one chain of {N_SWEEPS} sweeps (seed 0, {seconds:.0f} CPU-s). The topics of "
            f"its tokens are then fixed, and clusters are sampled for {N_ROUNDS} sweeps from "
            "different starts. Adjusted Rand index with the clusters of the chain. Between the "
            "clusters of two chains it is much lower (see `chains`): they differ in their topics.",
        ],
    )


def resample(
    observations: Observations,
    priors: Any,
    given: State,
    clusters: NDArray[np.integer],
    seed: int,
    n_sweeps: int = N_ROUNDS,
) -> Outcome:
    """Sample clusters and concentrations given the topics of a state."""
    from mcsquared.samplers.backends.local import LocalBackend
    from mcsquared.samplers.init.assignments import blocked_state
    from mcsquared.samplers.init.candidates import sweep_clusters
    from mcsquared.samplers.steps.groups import sweep_groups
    from mcsquared.samplers.steps.topic_moves import move_topics
    from mcsquared.samplers.sweep import BLOCKED
    from mcsquared.samplers.threads import SINGLE_THREAD
    from mcsquared.samplers.types import Key

    steps = tuple(
        sweep_clusters if step is sweep_groups else step
        for step in BLOCKED.steps
        if step is not move_topics
    )
    sampler = replace(BLOCKED, steps=steps)
    rng = np.random.default_rng(seed)
    state = blocked_state(observations, priors, clusters, given.topic_of_token, rng)
    for name in ("alpha", "v", "eta", "lam"):
        setattr(state, name, getattr(given, name))
    state.category_shapes = given.category_shapes.copy()
    backend = LocalBackend(observations, priors, SINGLE_THREAD)
    backend.load_labels(state, Key(seed, 1, 0))
    log_joints = []
    for _ in range(n_sweeps):
        sampler.sweep(state, observations, priors, seed, 1, backend=backend)
        log_joints.append(state.log_joint)
    backend.save_labels(state)
    return Outcome(state, mean(log_joints[-10:]))
