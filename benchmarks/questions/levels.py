"""Levels above groups: recovery of simulated types, countries of UN speeches, and the cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from statistics import mean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.corpora import data_folder, share_of
from benchmarks.measure import Timing, cpu_seconds, run_parallel
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result, Target, Unavailable

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

LEVEL = "parent"
N_PARENTS, N_TYPES, N_GROUPS, N_CLUSTERS, N_TOKENS = 200, 4, 5_000, 12, 60
N_TOPICS, N_WORDS, LAM = 30, 400, 20.0
RECOVERED = 0.9  # adjusted Rand index at both levels
N_KMEANS = 5  # runs of k-means
NUMBERS = (5, 10, 12)  # of clusters of countries, besides that of the types; 5 regional groups
MATCHED = "as many as types"
TYPES, RAW, ROOTS = "types of countries", "k-means", "k-means on square roots"
METHODS = (TYPES, RAW, ROOTS)


class Tree(NamedTuple):
    """Simulated groups in parents, with the true types and clusters."""

    corpus: Corpus
    types: np.ndarray
    clusters: np.ndarray


def simulate(settings: Settings) -> Tree:
    """Return groups of words whose parents have known types."""
    import mcsquared as mc2

    rng = np.random.default_rng(settings.seed)
    n_parents, n_groups = round(settings.scale * N_PARENTS), round(settings.scale * N_GROUPS)
    words = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
    shares = rng.dirichlet(np.full(N_TOPICS, 0.15), N_CLUSTERS)
    rows = rng.dirichlet(np.full(N_CLUSTERS, 0.5), N_TYPES)
    types = rng.integers(0, N_TYPES, n_parents)
    parent = rng.permutation(np.arange(n_groups) % n_parents)
    clusters = np.array([rng.choice(N_CLUSTERS, p=rows[types[u]]) for u in parent])
    topics = [rng.dirichlet(LAM * shares[k] + 1e-9) for k in clusters]
    counts = np.array([rng.multinomial(N_TOKENS, weights @ words) for weights in topics])
    corpus = mc2.Corpus(counts, {LEVEL: [f"{u:03d}" for u in parent]}).with_levels(LEVEL)
    found = np.array([types[int(name)] for name in corpus.levels[0].unit_names])
    return Tree(corpus, found, clusters)


def run(settings: Settings) -> Result:
    tree = simulate(settings)
    rows: list[tuple[Cell, ...]] = []
    for seed in range(settings.level_starts):
        rows.append((seed, *_recover(tree, seed, settings)))
    n_good = sum(min(row[1], row[3]) >= RECOVERED for row in rows)  # type: ignore[type-var]
    return Result(
        f"Types of {len(tree.types):,} simulated parents of {tree.corpus.n_groups:,} groups",
        ("start", "ARI of types", "types", "ARI of clusters", "clusters", "CPU-s"),
        rows,
        targets=[
            Target(
                f"starts of {settings.level_starts} with an ARI of at least {RECOVERED} at both",
                float(n_good),
                float(-(-9 * settings.level_starts // 10)),
                True,
                "",
            )
        ],
        notes=[
            f"{N_TYPES} types of parents, {N_CLUSTERS} clusters of groups, {N_TOPICS} topics, "
            f"{N_TOKENS} words per group, λ = {LAM:g}; no contexts. {settings.level_sweeps} sweeps "
            "with defaults; each start has its own seed."
        ],
    )


def _recover(tree: Tree, seed: int, settings: Settings) -> tuple[float, int, float, int, float]:
    """Return ARI and number of types, the same of clusters, and CPU-seconds."""
    from mcsquared import evaluation

    model = _estimator(settings.level_sweeps, seed)
    seconds = _fit(model, tree.corpus)
    level = model.posterior_.level(LEVEL)
    return (
        float(evaluation.adjusted_rand_index(tree.types, level.labels)),
        level.n_clusters,
        float(evaluation.adjusted_rand_index(tree.clusters, model.labels_)),
        model.n_clusters_,
        seconds,
    )


def _estimator(n_sweeps: int, seed: int) -> Any:
    import mcsquared as mc2

    return mc2.MC2(
        n_sweeps=n_sweeps, burn_in=n_sweeps // 2, random_state=seed, n_jobs=1, progress=False
    )


def _fit(model: Any, corpus: Corpus) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return cpu_seconds(lambda: model.fit(corpus))


def run_un(settings: Settings) -> Result:
    """Return the agreement of types of countries with UN regional groups."""
    plain, _ = speeches(settings)
    corpus = plain.with_levels("country")
    calls = [(seed, settings) for seed in range(settings.un_seeds)]
    fits = run_parallel(_fit_un, calls)
    rows: list[tuple[Cell, ...]] = [
        (f"{row.method}, seed {seed}", row.n_clusters, row.score, row.seconds)
        for seed, fit in enumerate(fits)
        for row in fit
    ]
    means = {
        asked: {
            method: mean(
                row.score
                for fit in fits
                for row in fit
                if (row.asked, row.method) == (asked, method)
            )
            for method in METHODS
        }
        for asked in (*NUMBERS, None)
    }
    for asked, scores in means.items():
        rows += [
            (f"{name}, {_number(asked)}, mean", None, score, None) for name, score in scores.items()
        ]
    return Result(
        f"{corpus.n_groups:,} UN speeches in {corpus.levels[0].n_units} countries",
        ("", "clusters of countries", "AMI with regional groups", "CPU-s"),
        rows,
        targets=[
            Target(
                f"AMI of types minus that of {name}, {_number(asked)}",
                scores[TYPES] - scores[name],
                0.0,
                True,
                "",
            )
            for asked, scores in means.items()
            for name in (RAW, ROOTS)
        ],
        notes=[
            "A random share of the speeches, with the year as a context; regional groups are not "
            f"used for fitting. {settings.un_chains} chains of {settings.un_sweeps} sweeps, half "
            "of them burn-in, with defaults otherwise. Types are those of the consensus; "
            "`posterior_.level('country').hierarchy().cut(n)` merges them into n. k-means clusters "
            "the mean topic weights of the countries, or their square roots, in one draw of every "
            f"chain, side by side, with 10 initialisations; means of {N_KMEANS} runs. '{MATCHED}': "
            "as many clusters as there are types.",
        ],
    )


def _number(asked: int | None) -> str:
    return MATCHED if asked is None else f"{asked} clusters"


class Agreement(NamedTuple):
    """The agreement of clusters of countries with the regional groups."""

    method: str
    asked: int | None  # number of clusters; None: that of the types
    n_clusters: int
    score: float
    seconds: float | None = None


def _fit_un(seed: int, settings: Settings) -> list[Agreement]:
    """Return the agreement of types and of k-means, for several numbers of clusters."""
    plain, regions = speeches(settings)
    corpus, n_chains = plain.with_levels("country"), settings.un_chains
    model = _estimator(settings.un_sweeps, seed)
    model.set_params(n_chains=n_chains, thin=2, keep_parameters=n_chains)
    seconds = _fit(model, corpus)
    return agreements(model, corpus, regions, seconds)


def agreements(
    model: Any, corpus: Corpus, regions: np.ndarray, seconds: float | None
) -> list[Agreement]:
    """Return the agreement with regional groups, ``regions`` of the speeches, given a fit."""
    from sklearn.metrics import adjusted_mutual_info_score

    parents = corpus.levels[0].parent_of_child
    region = regions[np.unique(parents, return_index=True)[1]]
    inside = np.array([name is not None for name in region])

    def agreement(labels: np.ndarray) -> float:
        return float(adjusted_mutual_info_score(region[inside], labels[inside]))

    types = model.posterior_.level("country")
    units = np.arange(len(region))
    weights = [
        np.array([drawn[parents == u].mean(axis=0) for u in units])
        for drawn in topic_weights(model.posterior_, corpus)
    ]
    points, roots = np.hstack(weights), np.hstack([np.sqrt(x) for x in weights])
    merged, found = types.hierarchy(), []
    for asked in (*NUMBERS, None):
        n = types.n_clusters if asked is None else min(asked, len(points))
        cut = types.labels if asked is None else merged.cut(n)[types.labels]
        n_types = len(np.unique(cut))
        time = seconds if asked is None else None
        found.append(Agreement(TYPES, asked, n_types, agreement(cut), time))
        for name, x in ((RAW, points), (ROOTS, roots)):
            found.append(Agreement(name, asked, n, mean(map(agreement, _kmeans(x, n)))))
    return found


def topic_weights(posterior: Any, corpus: Corpus) -> Iterator[np.ndarray]:
    """Yield the topic weights of all groups for every stored draw: (n_groups, n_topics)."""
    from mcsquared.prediction.groups import topic_proportions

    for draw in posterior.parameters:
        single = replace(posterior, parameters=[draw])
        vars(single)["labels"] = posterior.labels  # the same draws: no second search
        yield topic_proportions(single, corpus)


def speeches(settings: Settings) -> tuple[Corpus, np.ndarray]:
    """Return a share of the UN speeches, with the regional group of each."""
    from mcsquared import datasets

    folder = None if settings.simulated else data_folder("ungdc.npz")
    if folder is None:
        raise Unavailable("ungdc.npz was not found")
    speeches = datasets.load_un(folder)
    corpus = share_of(speeches.corpus, settings.un_share * settings.scale, settings.seed)
    names = {name: j for j, name in enumerate(speeches.corpus.group_names)}
    chosen = np.array([names[name] for name in corpus.group_names])
    return corpus, speeches.labels["region"][chosen]


def _kmeans(points: np.ndarray, n_clusters: int) -> list[np.ndarray]:
    from sklearn.cluster import KMeans

    starts = range(N_KMEANS)
    return [KMeans(n_clusters, n_init=10, random_state=s).fit_predict(points) for s in starts]


def run_cost(settings: Settings) -> Result:
    """Return the CPU-seconds of sweeps with countries as a level and without."""
    plain, _ = speeches(settings)
    corpus = plain.with_levels("country")
    leveled, same, own, states = _cost(plain, corpus, settings)
    n_types = len(np.unique(states[0].levels[0].type_of_unit))
    target = "CPU-s of a sweep with the level, relative to one without from the same state"
    return Result(
        f"Countries as a level above {corpus.n_groups:,} UN speeches",
        ("", "CPU-s of a sweep", "ratio"),
        [
            ("with the level", leveled, 1.0),
            ("without, from the same state", same, leveled / same),
            ("without, in a chain of its own", own, leveled / own),
        ],
        targets=[Target(target, leveled / same, 1.1, False, "×")],
        notes=[
            f"Medians of {settings.sweeps} interleaved sweeps after {settings.un_warm_up}, with at "
            f"most {settings.un_topics} topics. Every sweep of the second row begins with the "
            "clusters, topics and concentrations of the chain with the level. The third row is a "
            "chain that began with the same clusters and topics. The last draws of these chains "
            f"have {states[0].n_clusters} and {states[1].n_clusters} clusters; there are {n_types} "
            "types of countries.",
        ],
    )


def _cost(
    plain: Corpus, corpus: Corpus, settings: Settings
) -> tuple[float, float, float, tuple[Any, Any]]:
    """Return CPU-seconds of sweeps, see `run_cost`, and the last states with and without levels."""
    from mcsquared.model.parameters import Gamma
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe
    from mcsquared.samplers.init.assignments import blocked_state
    from mcsquared.samplers.sweep import BLOCKED
    from mcsquared.state import Bounds

    chains, bounds, start = [], Bounds(None, settings.un_topics), None
    for given in (corpus, plain.with_contexts({"year": plain.contexts["year"]})):
        priors = Priors.for_corpus(given, lam=Gamma(1, 0.1))
        observations = observe(given, priors)
        if start is None:
            start = BLOCKED.start(observations, priors, 0, 0, "auto", None, None, bounds=bounds)
            labels, state = (start.cluster_of_group.copy(), start.topic_of_token.copy()), start
        else:
            state = blocked_state(observations, priors, *labels, np.random.default_rng(0))
        chains.append((state, observations, priors, Timing()))
    same = Timing()
    for number in range(settings.un_warm_up + settings.sweeps):
        copied = deepcopy(chains[0][0])
        copied.levels = []
        timed = [*chains, (copied, *chains[1][1:3], same)]
        for state, observations, priors, timing in timed:
            seconds = cpu_seconds(
                lambda given=(state, observations, priors): BLOCKED.sweep(*given, 0, 0, bounds)
            )
            if number >= settings.un_warm_up:
                timing.add(seconds)
    leveled, own = (median(timing.seconds) for *_, timing in chains)
    return leveled, median(same.seconds), own, (chains[0][0], chains[1][0])
