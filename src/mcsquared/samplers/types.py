"""Types exchanged by steps and backends: Key, Globals, Labels, Sums, and Sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import CountArray, Floats, Int32s, Integers
from mcsquared.kernels.rng import Step, generator
from mcsquared.observations.layout import Entries
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool

if TYPE_CHECKING:
    from mcsquared.model.priors import Priors
    from mcsquared.observations import Observations
    from mcsquared.samplers.backends.base import Backend
    from mcsquared.state import Bounds, State


class Key(NamedTuple):
    """Seed, chain and sweep, which determine the random numbers of every step."""

    seed: int
    chain: int
    sweep: int

    def generator(self, step: Step) -> np.random.Generator:
        """Return the generator of a step that draws only a few numbers."""
        return generator(self.seed, self.chain, self.sweep, int(step))


class Labels(NamedTuple):
    """Labels of some groups and their tokens, as in `State`."""

    cluster_of_group: Int32s
    topic_of_token: NDArray[Any]


@dataclass(frozen=True)
class Weights:
    """Mixture weights of a sweep.

    Attributes
    ----------
    topic_weights : float64 (topic slots,)
        ε, with its tail divided among the empty slots; 0 in slots that a bound excludes.
    log_cluster_weights : float64 (cluster slots,)
        log π; −∞ in slots that a bound excludes.
    log_shares : float64 (cluster slots, topic slots)
        log τ.
    """

    topic_weights: Floats
    log_cluster_weights: Floats
    log_shares: Floats


class ContextDraw(NamedTuple):
    """A draw of φ: parameters of the contexts in every cluster slot.

    Attributes
    ----------
    natural : float64 (statistics of dense contexts, cluster slots)
    log_categories : float32 (categories of all bags, cluster slots)
    python : list
        Parameters of each Python family, None where they are integrated out.
    """

    natural: Floats
    log_categories: NDArray[np.float32]
    python: list[Any]


class EffectDraw(NamedTuple):
    """Parameters of the contexts that act on topics.

    Attributes
    ----------
    log_shares : float64 (values of all effects, topic slots)
        log τ_s of every value.
    weights : float64 (n_effects + 1,)
        ω, of the cluster and of each effect.
    """

    log_shares: Floats
    weights: Floats


class ParentWeights(NamedTuple):
    """Weights of clusters for the groups of every unit above them.

    Attributes
    ----------
    log_rows : float64 (type slots + 1, cluster slots)
        log Π of every type and, in the last row, log π for groups without a parent.
    row_of_unit : int32 (n_units + 1,)
        The type of every unit and, at the end, the last row.
    """

    log_rows: Floats
    row_of_unit: Int32s


@dataclass(frozen=True)
class Globals:
    """Parameters that all groups share in a sweep. Their size does not depend on n_groups.

    Attributes
    ----------
    content : float32 (n_words, topic slots), float64 (topic slots, n_parameters) or None
        ψ: for words, scaled by n_words or, where λ = ∞, unnormalised; otherwise the parameters
        of every topic, or None for a family that integrates them out.
    scaled_shares : float32 (cluster slots, topic slots) or None
        Words with λ = ∞ only: τ divided by the normaliser of each topic in ``content``.
    effects : EffectDraw or None
    above : ParentWeights or None
        With levels above groups, once the types of units were drawn: weights of clusters, in place
        of π.
    """

    key: Key
    lam: float
    weights: Weights
    contexts: ContextDraw
    content: Any
    scaled_shares: Any = None
    effects: EffectDraw | None = None
    above: ParentWeights | None = None

    @property
    def groups_vary(self) -> bool:
        """Whether groups vary within their cluster (finite λ)."""
        return not math.isinf(self.lam)

    @property
    def slots(self) -> tuple[int, ...]:
        """Number of cluster slots and of topic slots."""
        return self.weights.log_shares.shape


class GroupTask(NamedTuple):
    """Groups to sweep: their observations and labels, the globals, and threads to use."""

    observations: Observations
    labels: Labels
    globals: Globals
    threads: ThreadPool = SINGLE_THREAD


# Takes observations and labels of a shard, an argument and threads; returns the labels, which it
# must not change in place, and a result, which must not be None.
GroupFunction = Callable[["Observations", Any, Any, ThreadPool], tuple[Any, Any]]


class Cells(NamedTuple):
    """Token counts by word and column (a group or a cluster), and the cluster of each column."""

    entries: Entries
    cluster_of_column: Int32s

    @classmethod
    def from_counts(cls, counts: CountArray) -> Cells:
        """Return the cells of dense counts (n_words, cluster slots)."""
        columns = np.arange(counts.shape[1], dtype=np.int32)
        return cls(Entries.from_matrix(sparse.csr_matrix(counts)), columns)


@dataclass(frozen=True)
class Sums:
    """Sums over groups after they have been resampled. Their size does not depend on n_groups.

    Integers can be added in any order; floats are summed by chunk of groups, and chunk sums are
    added in chunk order. Counts of tokens and tables are int32, or int64 where the sum of several
    shards exceeds 2³¹ − 1. Fields that do not apply, or that a backend keeps on a device, are None.

    Attributes
    ----------
    groups : int32 (cluster slots,)
        Number of groups in every cluster.
    totals : int64 (cluster slots, bags)
        Number of entries of every bag context, over the groups of every cluster.
    context_statistics : float64 (n_chunks, cluster slots, statistics of all contexts except bags)
    categories : (categories of all bags, cluster slots) or None
    topics_in_cluster, tables_in_cluster : (cluster slots, topic slots) or None
        Tokens and, where λ is finite, tables of every cluster and topic.
    words_in_topic : (n_words, topic slots) or None
    cell_counts : (n_words, cluster slots) or None
        Words with λ = ∞: tokens by word and cluster, whose topics are drawn afterwards.
    topic_statistics : float64 (n_chunks, topic slots, n_stats) or None
        Content other than words.
    topic_log_likelihood : float64 (n_chunks,) or None
        λ finite: Σ_j Σ_m ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km) in the clusters k = z_j.
    cells : Cells or None
        ``cell_counts`` in sparse form, by cluster or by group.
    tables_of_values : (values of all effects, topic slots) or None
        Tables of every value and topic; those of clusters are in ``tables_in_cluster``.
    tables_by_pattern : int64 (2^n_effects,) or None
        Tables of all groups that have the same effects.
    children : int32 (type slots + 1, cluster slots) or None
        Groups by type of their parent and by cluster; the last row: groups without a parent.
    """

    groups: Int32s
    totals: NDArray[np.int64]
    context_statistics: Floats
    categories: CountArray | None = None
    topics_in_cluster: CountArray | None = None
    tables_in_cluster: CountArray | None = None
    words_in_topic: CountArray | None = None
    cell_counts: CountArray | None = None
    topic_statistics: Floats | None = None
    topic_log_likelihood: Floats | None = None
    cells: Cells | None = None
    tables_of_values: CountArray | None = None
    tables_by_pattern: NDArray[np.int64] | None = None
    children: Int32s | None = None


CHUNK_SUMS = ("context_statistics", "topic_statistics", "topic_log_likelihood")


def fields_of(sums: Sums | dict[str, Any]) -> dict[str, Any]:
    """Return sums by name."""
    return vars(sums) if isinstance(sums, Sums) else sums


def add_sums(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Add the integer sums of parts of the groups, and concatenate chunk sums; None is left out."""
    totals: dict[str, Any] = {}
    chunks: dict[str, list[Floats]] = {}
    for part in parts:
        for name, value in part.items():
            if value is None:
                continue
            if name in CHUNK_SUMS:
                chunks.setdefault(name, []).append(value)
            else:
                # Not in place: arrays received from a worker are read-only.
                totals[name] = add_counts(totals[name], value) if name in totals else value
    return totals | {name: np.concatenate(found) for name, found in chunks.items()}


def add_counts(left: Integers, right: Integers) -> Integers:
    """Add integers. Counts in int32 become int64 if a sum exceeds 2³¹ − 1."""
    total = left + right
    if total.dtype == np.int32 and total.min(initial=0) < 0:  # counts are never negative
        return np.add(left, right, dtype=np.int64)
    return total


@dataclass
class Sweep:
    """One sweep of a chain: the data that its steps share.

    Attributes
    ----------
    backend : Backend
        Holds the groups; not needed by steps that only use the counts of the state.
    threads : ThreadPool
        For steps that run in this process.
    globals, sums : Globals, Sums
        Drawn at the start of a blocked sweep; counted after its groups have been resampled.
    cluster_tables : (cluster slots, topic slots)
        q_km ~ CRT(O_km, v ε_m).
    effect_tables : (values of all effects, topic slots) or None
        The same for the values of effects.
    log_density : callable
        Returns the log-density of content given topics and of bags given clusters, which may
        already be computed in other threads.
    level_draws : list of LevelDraw
        Weights of types and parameters of their contexts, for every level above groups.
    log_root_of_clusters : float64 (cluster slots,)
        log π, if there are levels above groups.
    topic_sums : dict
        Fields of ``sums`` that were computed before the types of units were drawn.
    log_levels : float
        Log-density of the clusters and of the units above groups, if there are any.
    """

    state: State
    observations: Observations
    priors: Priors
    bounds: Bounds
    key: Key
    backend: Backend = field(default=None)  # type: ignore[assignment]
    threads: ThreadPool = SINGLE_THREAD
    globals: Globals = field(init=False)
    sums: Sums = field(init=False)
    cluster_tables: CountArray = field(init=False)
    effect_tables: CountArray | None = None
    log_density: Callable[[], float] | None = None
    level_draws: list[Any] = field(default_factory=list)
    log_root_of_clusters: Floats = field(init=False)
    topic_sums: dict[str, Any] = field(default_factory=dict)
    log_levels: float | None = None
