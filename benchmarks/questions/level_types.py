"""Whether the many types of UN countries are due to the start or to the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.questions.levels import speeches
from benchmarks.settings import Settings
from benchmarks.tables import Cell, Result

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus

N_SCANS = 400  # half of them are averaged
N_SLOTS = 60
BOUNDS = (6, 12, 20)
N_KMEANS = 12


class TypeChain:
    """Types of units given the clusters of their groups, with the weights of types summed out.

    Parameters
    ----------
    counts : int32 (n_units, n_clusters)
        Groups of every unit by cluster.
    types : int (n_units,)
        Initial types.
    n_slots : int
        Largest number of types.
    """

    def __init__(self, counts: Any, types: Any, n_slots: int, rng: np.random.Generator) -> None:
        from scipy import sparse

        from mcsquared.observations.layout import Entries

        self.counts, self.rng, self.n_slots = counts, rng, n_slots
        self.types = np.asarray(types, np.int32).copy()
        self.entries = Entries.from_matrix(sparse.csr_matrix(counts))
        self.alpha, self.v, self.below = 1.0, 10.0, 1.0
        self.weights = np.full(counts.shape[1], 1.0 / counts.shape[1])

    @property
    def children(self) -> Any:
        """Groups by type of their unit and by cluster."""
        children = np.zeros((self.n_slots, self.counts.shape[1]), np.int32)
        np.add.at(children, self.types, self.counts)
        return children

    def scan(self) -> None:
        """Draw tables, concentrations and weights, then the type of every unit in turn."""
        from mcsquared.kernels.cpu.types import resample_types
        from mcsquared.model.parameters import Gamma
        from mcsquared.samplers.steps.concentrations import resample_concentration
        from mcsquared.samplers.steps.levels import draw_crt

        rng, children, n_units = self.rng, self.children, len(self.types)
        tables = draw_crt(children, self.v * self.weights, rng)
        rows = (children.sum(axis=1).astype(np.int64), tables.sum(axis=1))
        self.v = resample_concentration(self.v, Gamma(1, 0.1), *rows, rng)
        total, one = int(tables.sum()), Gamma(1, 1)
        self.below = resample_concentration(self.below, one, [total], [tables.shape[1]], rng)
        self.weights = rng.dirichlet(np.append(tables.sum(axis=0), self.below))[:-1] + 1e-12
        sizes = np.bincount(self.types, minlength=self.n_slots)
        n_types = [int((sizes > 0).sum())]
        self.alpha = resample_concentration(self.alpha, one, [n_units], n_types, rng)
        n_empty = max(self.n_slots - n_types[0], 1)
        root = rng.gamma(np.where(sizes > 0, sizes, self.alpha / n_empty)) + 1e-300
        log_prior = np.tile(np.log(root / root.sum()), (n_units, 1))
        given = (self.entries, log_prior, self.v * self.weights, children)
        resample_types(*given, rng.random(n_units), self.types)

    def log_density(self) -> float:
        """Return log p(types | α) + log p(clusters | types, v, π)."""
        from scipy.special import gammaln

        sizes, prior, children = np.bincount(self.types), self.v * self.weights, self.children
        sizes, n = sizes[sizes > 0], len(self.types)
        total = len(sizes) * np.log(self.alpha) + gammaln(sizes).sum()
        total += gammaln(self.alpha) - gammaln(self.alpha + n)
        total += (gammaln(prior + children) - gammaln(prior)).sum()
        v = prior.sum()
        return float(total - (gammaln(v + children.sum(axis=1)) - gammaln(v)).sum())

    def run(self, agreement: Any) -> tuple[float, float, float]:
        """Return the mean number of types, agreement and log-density of the second half."""
        found = []
        for number in range(N_SCANS):
            self.scan()
            if number >= N_SCANS // 2:
                n_types = len(set(self.types.tolist()))
                found.append((n_types, agreement(self.types), self.log_density()))
        n_types, score, log_density = np.mean(found, axis=0)
        return float(n_types), float(score), float(log_density)


def run(settings: Settings) -> Result:
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_mutual_info_score

    plain, regions = speeches(settings)
    corpus = plain.with_levels("country")
    parents = corpus.levels[0].parent_of_child
    region = regions[np.unique(parents, return_index=True)[1]]
    inside = np.array([name is not None for name in region])

    def agreement(labels: np.ndarray) -> float:
        return float(adjusted_mutual_info_score(region[inside], labels[inside]))

    counts = _clusters_of_units(corpus, settings)
    n_units, rng = len(counts), np.random.default_rng(settings.seed)
    shares = counts / counts.sum(axis=1, keepdims=True)
    near = KMeans(min(N_KMEANS, n_units), n_init=10, random_state=0).fit_predict(shares)
    groups = np.unique([str(name) for name in region], return_inverse=True)[1]
    starts: dict[str, Any] = {
        "one type": np.zeros(n_units, int),
        "20 random types": rng.permutation(n_units) % 20,
        f"{N_SLOTS} random types": rng.permutation(n_units) % N_SLOTS,
        f"k-means, {N_KMEANS} clusters": near,
        "regional groups": groups,
    }
    chains = {name: TypeChain(counts, types, N_SLOTS, rng) for name, types in starts.items()}
    for bound in BOUNDS:
        few = rng.permutation(n_units) % bound
        chains[f"at most {bound} types"] = TypeChain(counts, few, bound, rng)
    rows: list[tuple[Cell, ...]] = [
        (name, agreement(chain.types), *chain.run(agreement)) for name, chain in chains.items()
    ]
    rows.append((f"k-means, {N_KMEANS} clusters, itself", agreement(near), None, None, None))
    return Result(
        f"Types of {n_units} countries given {counts.shape[1]} clusters of their speeches",
        ("start", "AMI of the start", "types", "AMI", "log-density"),
        rows,
        notes=[
            f"Clusters are those of the last of {settings.type_sweeps} sweeps of "
            f"{corpus.n_groups:,} UN speeches, at most {settings.un_topics} topics. Given them, "
            "types are drawn in turn with their weights over clusters summed out; concentrations "
            f"are resampled. Means of the second half of {N_SCANS} scans. AMI is that with the "
            "UN regional groups, which are not used. The log-density is log p(types, clusters), "
            "so that a difference of 10 is large.",
        ],
    )


def _clusters_of_units(corpus: Corpus, settings: Settings) -> np.ndarray:
    """Return the speeches of every country by cluster, after some sweeps."""
    from mcsquared.model.parameters import Gamma
    from mcsquared.model.priors import Priors
    from mcsquared.observations import observe
    from mcsquared.samplers.sweep import BLOCKED
    from mcsquared.state import Bounds

    priors, bounds = Priors.for_corpus(corpus, lam=Gamma(1, 0.1)), Bounds(None, settings.un_topics)
    observations, seed = observe(corpus, priors), settings.seed
    state = BLOCKED.start(observations, priors, seed, 0, "auto", None, None, bounds=bounds)
    for _ in range(settings.type_sweeps):
        BLOCKED.sweep(state, observations, priors, seed, 0, bounds)
    level = corpus.levels[0]
    counts = np.zeros((level.n_units, len(state.counts.groups_in_cluster)), np.int32)
    np.add.at(counts, (level.parent_of_child, state.cluster_of_group), 1)
    return np.ascontiguousarray(counts[:, counts.any(axis=0)])
