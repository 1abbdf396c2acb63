"""Whether the clusters of default chains are worth keeping: each is dissolved into all others."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder
from benchmarks.measure import run_parallel
from benchmarks.questions.agreement import SETS
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Unavailable

if TYPE_CHECKING:
    from mcsquared.samplers.types import Sweep

N_SWEEPS = 40  # the first stage of a fit
GROUPS = {"labelme8": 800, "NIPS": 600, "poliblog5k": 1_500}
MIN_SIZE = 5  # smaller clusters are counted apart


class Losses(NamedTuple):
    """Log-probability that is lost when a cluster is dissolved, by the cluster's size."""

    sizes: list[int]
    losses: list[float]


def run(settings: Settings) -> Result:
    names = [name for name in GROUPS if data_folder(SETS[name].file) is not None]
    if not names:
        raise Unavailable("no data were found")
    calls = [(name, seed) for name in names for seed in range(min(settings.seeds, 2))]
    rows: list[tuple[Cell, ...]] = []
    for (name, seed), found in zip(calls, run_parallel(_losses, calls), strict=True):
        large = [x for n, x in zip(found.sizes, found.losses, strict=True) if n >= MIN_SIZE]
        small = [x for n, x in zip(found.sizes, found.losses, strict=True) if n < MIN_SIZE]
        large_figures = (len(large), min(large), median(large))
        rows.append((name, seed, *large_figures, len(small), min(small, default=None)))
    return Result(
        title="Loss when a cluster is dissolved into all others",
        columns=(
            "data",
            "seed",
            f"clusters of {MIN_SIZE} groups and more",
            "smallest loss (nats)",
            "median loss (nats)",
            "smaller clusters",
            "smallest loss of these (nats)",
        ),
        rows=rows,
        notes=[
            f"Random groups ({', '.join(f'{n:,} of {name}' for name, n in GROUPS.items())}), one "
            f"chain of {N_SWEEPS} sweeps from the default start. Each cluster is removed in turn: "
            "its groups move to other clusters, drawn given the parameters of these. The loss is "
            "the difference of the log-probability given the topics of all tokens, with the topic "
            "weights of clusters integrated out; concentrations are unchanged.",
        ],
    )


def _losses(name: str, seed: int) -> Losses:
    from mcsquared import MC2, datasets
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe
    from mcsquared.samplers.backends.local import LocalBackend
    from mcsquared.samplers.init.candidates import log_probability
    from mcsquared.samplers.sweep import BLOCKED
    from mcsquared.samplers.types import Key, Sweep
    from mcsquared.state import NO_BOUNDS

    corpus = getattr(datasets, SETS[name].loader)(data_folder(SETS[name].file)).corpus
    rng = np.random.default_rng(0)
    corpus = corpus[np.sort(rng.choice(corpus.n_groups, GROUPS[name], replace=False))]
    priors = Priors.for_corpus(corpus, lam=MC2().lam)
    observations = observe(corpus, priors)
    state = BLOCKED.start(observations, priors, seed, 0, "auto")
    backend = LocalBackend(observations, priors)
    backend.load_labels(state, Key(seed, 0, 0))
    for _ in range(N_SWEEPS):
        BLOCKED.sweep(state, observations, priors, seed, 0, backend=backend)
    sweep = Sweep(state, observations, priors, NO_BOUNDS, Key(seed, 1, N_SWEEPS), backend)
    value, sizes = log_probability(sweep), state.counts.groups_in_cluster
    occupied = np.flatnonzero(sizes).tolist()
    losses = [value - log_probability(_without(sweep, k)) for k in occupied]
    return Losses([int(sizes[k]) for k in occupied], losses)


def _without(sweep: Sweep, cluster: int) -> Sweep:
    """Return a sweep of the same state, with the groups of a cluster in the other clusters."""
    from mcsquared.samplers.backends.local import LocalBackend
    from mcsquared.samplers.init.assignments import blocked_state
    from mcsquared.samplers.init.candidates import draw_globals_of_clusters, sweep_clusters

    state, observations = sweep.state, sweep.observations
    rng, clusters = np.random.default_rng(cluster), state.cluster_of_group
    given = (observations, sweep.priors)
    copies = [blocked_state(*given, clusters, state.topic_of_token, rng) for _ in range(2)]
    active = state.counts.tokens_in_topic > 0
    for copy in copies:
        copy.topic_weights[: active.sum()] = state.topic_weights[active]
        copy.log_unused, copy.category_shapes = state.log_unused, state.category_shapes
        for name in ("alpha", "v", "eta", "lam"):
            setattr(copy, name, getattr(state, name))
    number = int(np.searchsorted(np.unique(clusters), cluster))
    drawn = replace(sweep, state=copies[0], backend=LocalBackend(*given))
    drawn.backend.load_labels(copies[0], sweep.key)
    is_member = copies[0].cluster_of_group == number
    draw_globals_of_clusters(drawn)
    log_weights = drawn.globals.weights.log_cluster_weights
    log_weights[copies[0].counts.groups_in_cluster == 0] = log_weights[number] = -np.inf
    sweep_clusters(drawn)
    moved = np.where(is_member, copies[0].cluster_of_group, copies[1].cluster_of_group)
    dissolved = blocked_state(*given, moved, copies[1].topic_of_token, rng)
    for name in ("topic_weights", "log_unused", "category_shapes", "alpha", "v", "eta", "lam"):
        setattr(dissolved, name, getattr(copies[1], name))
    backend = LocalBackend(*given)
    backend.load_labels(dissolved, sweep.key)
    return replace(sweep, state=dissolved, backend=backend)
