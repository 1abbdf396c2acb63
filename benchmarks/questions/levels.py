"""Levels above groups: recovery of simulated types, countries of UN speeches, and the cost."""

from __future__ import annotations

import warnings
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
N_KMEANS, MAX_KMEANS = 5, 40
TYPES = "types of countries"


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
    """Return the agreement of types of countries with UN regional groups, and the cost."""
    plain, _ = speeches(settings)
    corpus = plain.with_levels("country")
    calls = [(seed, settings) for seed in range(settings.un_seeds)]
    fits = run_parallel(_fit_un, calls)
    ratio = _cost(plain, corpus, settings)
    means = {name: mean(fit[name][0] for fit in fits) for name in fits[0]}
    rows: list[tuple[Cell, ...]] = [
        (f"{name}, seed {seed}", *found)
        for seed, fit in enumerate(fits)
        for name, found in fit.items()
    ]
    rows += [(f"{name}, mean", score, None, None) for name, score in means.items()]
    rows.append(("sweep with the level, relative to one without", ratio, None, None))
    gained = {name: means[TYPES] - score for name, score in means.items() if name != TYPES}
    return Result(
        f"{corpus.n_groups:,} UN speeches in {corpus.levels[0].n_units} countries",
        ("", "AMI with regional groups, or ratio", "types", "CPU-s"),
        rows,
        targets=[
            *(
                Target(f"AMI of types, minus {n}", gain, 0.0, True, "")
                for n, gain in gained.items()
            ),
            Target(
                "CPU-s of a sweep with the level, relative to one without", ratio, 1.1, False, "×"
            ),
        ],
        notes=[
            f"A random share of the speeches; {settings.un_sweeps} sweeps, at most "
            f"{settings.un_topics} topics. The year is a context of the speeches; regional groups "
            "are not used for fitting. k-means clusters the mean topic weights of the countries, "
            f"from the same fits; means of {N_KMEANS} starts. More clusters than regional groups "
            "lower the agreement of any method, so k-means has as many clusters as there are types "
            f"or regional groups, or the number from 2 to {MAX_KMEANS} with the highest "
            "silhouette. The ratio is that of the median of "
            f"{settings.sweeps} interleaved sweeps after {settings.un_warm_up}, with default "
            "settings.",
        ],
    )


def _fit_un(seed: int, settings: Settings) -> dict[str, tuple[float, int, float | None]]:
    """Return AMI, number of clusters and CPU-seconds of the types, and those of k-means."""
    from sklearn.metrics import adjusted_mutual_info_score

    plain, regions = speeches(settings)
    corpus = plain.with_levels("country")
    parents = corpus.levels[0].parent_of_child
    region = regions[np.unique(parents, return_index=True)[1]]
    inside = np.array([name is not None for name in region])

    def agreement(labels: np.ndarray) -> float:
        return float(adjusted_mutual_info_score(region[inside], labels[inside]))

    model = _estimator(settings.un_sweeps, seed).set_params(max_topics=settings.un_topics)
    seconds = _fit(model, corpus)
    types = model.posterior_.level("country")
    weights = model.transform(corpus)
    points = np.array([weights[parents == u].mean(axis=0) for u in range(len(region))])
    found: dict[str, tuple[float, int, float | None]] = {
        TYPES: (agreement(types.labels), types.n_clusters, seconds)
    }
    numbers = {
        "of types": types.n_clusters,
        "of regional groups": len(set(region[inside])),
        "by silhouette": _by_silhouette(points),
    }
    for name, number in numbers.items():
        score = mean(map(agreement, _kmeans(points, number)))
        found[f"k-means, number {name}"] = score, number, None
    return found


def _by_silhouette(points: np.ndarray) -> int:
    """Return the number of clusters for which k-means has the highest silhouette."""
    from sklearn.metrics import silhouette_score

    numbers = range(2, min(MAX_KMEANS, len(points) - 1) + 1)
    scores = [mean(silhouette_score(points, x) for x in _kmeans(points, n)) for n in numbers]
    return numbers[int(np.argmax(scores))]


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


def _cost(plain: Corpus, corpus: Corpus, settings: Settings) -> float:
    """Return the CPU-seconds of a sweep with the level, relative to one without, interleaved."""
    from mcsquared.model.parameters import Gamma
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe
    from mcsquared.samplers.sweep import BLOCKED

    chains = []
    for given in (plain.with_contexts({"year": plain.contexts["year"]}), corpus):
        priors = Priors.for_corpus(given, lam=Gamma(1, 0.1))
        observations = observe(given, priors)
        state = BLOCKED.start(observations, priors, 0, 0, "auto", None, None)
        chains.append((state, observations, priors, Timing()))
    for number in range(settings.un_warm_up + settings.sweeps):
        for state, observations, priors, timing in chains:
            seconds = cpu_seconds(
                lambda given=(state, observations, priors): BLOCKED.sweep(*given, 0, 0)
            )
            if number >= settings.un_warm_up:
                timing.add(seconds)
    without, leveled = (median(timing.seconds) for *_, timing in chains)
    return leveled / without
