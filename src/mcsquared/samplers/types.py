"""Types exchanged by steps and backends: Key, Globals, Labels, Sums, and Sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import CountArray, Float32s, Floats, Int32s, Int64s, Integers, Rng
from mcsquared.kernels.cpu.contexts import Background
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

    def generator(self, step: Step) -> Rng:
        """Return the generator of a step that draws only a few numbers."""
        return generator(self.seed, self.chain, self.sweep, int(step))


class Labels(NamedTuple):
    """Labels of some groups and their tokens, as in `State`."""

    cluster_of_group: Int32s
    topic_of_token: NDArray[Any]


@dataclass(frozen=True)
class Weights:
    """Mixture weights of a sweep."""

    # (topic slots,): ε, its tail divided among the empty slots; 0 in slots that a bound excludes
    topic_weights: Floats
    log_cluster_weights: Floats  # (cluster slots,): log π; −∞ in slots that a bound excludes
    log_shares: Floats  # (cluster slots, topic slots): log τ


class ContextDraw(NamedTuple):
    """A draw of φ: parameters of the contexts in every cluster slot."""

    natural: Floats  # (statistics of dense contexts, cluster slots)
    log_categories: Float32s  # (categories of all bags, cluster slots)
    python: list[Any]  # parameters of each Python family, None where they are integrated out
    background: Background  # of the contexts in ``natural``


class EffectDraw(NamedTuple):
    """Parameters of the contexts that act on topics."""

    log_shares: Floats  # (values of all effects, topic slots): log τ_s of every value
    weights: Floats  # (n_effects + 1,): ω, of the cluster and of each effect


class ParentWeights(NamedTuple):
    """Weights of clusters for the groups of every unit above them."""

    # (type slots + 1, cluster slots): log Π of every type; last, log π of groups without a parent
    log_rows: Floats
    row_of_unit: Int32s  # (n_units + 1,): the type of every unit and, at the end, the last row


@dataclass(frozen=True)
class Globals:
    """Parameters that all groups share in a sweep. Their size does not depend on n_groups."""

    key: Key
    lam: float
    weights: Weights
    contexts: ContextDraw
    # ψ of words, float32 (n_words, topic slots): times n_words or, where λ = ∞, unnormalised. Of
    # other content the parameters, float64 (topic slots, n_parameters), None if integrated out.
    content: Any
    # Words with λ = ∞: τ divided by the normalisers of ψ, float32 (cluster slots, topic slots).
    scaled_shares: Any = None
    effects: EffectDraw | None = None
    # Weights of clusters in place of π, once the types of the units above groups were drawn.
    parent_weights: ParentWeights | None = None

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


# Takes observations and labels of a shard, an argument and threads; returns labels and a result.
# The labels it takes must not be changed in place.
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
    """

    groups: Int32s  # (cluster slots,): number of groups in every cluster
    totals: Int64s  # (cluster slots, bags): number of entries of every bag context
    context_statistics: Floats  # (n_chunks, cluster slots, statistics of all contexts except bags)
    categories: CountArray | None = None  # (categories of all bags, cluster slots)
    # (cluster slots, topic slots): tokens and, where λ is finite, tables of every cluster and topic
    topics_in_cluster: CountArray | None = None
    tables_in_cluster: CountArray | None = None
    words_in_topic: CountArray | None = None  # (n_words, topic slots)
    # (n_words, cluster slots), for words with λ = ∞: tokens whose topics are drawn afterwards
    cell_counts: CountArray | None = None
    # (n_chunks, topic slots, n_stats): content other than words
    topic_statistics: Floats | None = None
    # (n_chunks,), for λ finite: Σ_j Σ_m ln Γ(λ τ_km + n_jm) − ln Γ(λ τ_km) in the clusters k = z_j
    topic_log_likelihood: Floats | None = None
    cells: Cells | None = None  # ``cell_counts`` in sparse form, by cluster or by group
    # (values of all effects, topic slots); tables of clusters are in ``tables_in_cluster``
    tables_of_values: CountArray | None = None
    # (2^n_effects,): tables of all groups that have the same effects
    tables_by_pattern: Int64s | None = None
    # (type slots + 1, cluster slots): groups by type of their parent; last, those without a parent
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
    """One sweep of a chain: the data that its steps share."""

    state: State
    observations: Observations
    priors: Priors
    bounds: Bounds
    key: Key
    # Holds the groups; not needed by steps that only use the counts of the state.
    backend: Backend = field(default=None)  # type: ignore[assignment]
    threads: ThreadPool = SINGLE_THREAD  # for steps that run in this process
    # Drawn at the start of a blocked sweep; counted after its groups have been resampled.
    globals: Globals = field(init=False)
    sums: Sums = field(init=False)
    # (cluster slots, topic slots): q_km ~ CRT(O_km, v ε_m)
    cluster_tables: CountArray = field(init=False)
    # (values of all effects, topic slots): the same for the values of effects
    effect_tables: CountArray | None = None
    # Returns the log-density of content and bags, which other threads may already have computed.
    log_density: Callable[[], float] | None = None
    # Weights of types and parameters of their contexts, for every level above groups.
    level_draws: list[Any] = field(default_factory=list)
    # (cluster slots,): log π, if there are levels above groups
    log_root_of_clusters: Floats = field(init=False)
    # Fields of ``sums`` that were computed before the types of units were drawn.
    topic_sums: dict[str, Any] = field(default_factory=dict)
    # Log-density of the clusters and of the units above groups, if there are any.
    log_levels: float | None = None
