"""The state of a chain: assignments, weights and counts."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import CountArray, Floats, Int32s, Int64s
from mcsquared.kernels.cpu.contexts import ContextCounts, rebuild_contexts
from mcsquared.kernels.cpu.counts import count_pairs, count_topics_by_cluster
from mcsquared.kernels.cpu.lanes import zeros
from mcsquared.observations import Observations
from mcsquared.observations.units import Units

TopicLabels = Int32s | NDArray[np.uint16]

SLOT_STEP = 8  # slots are allocated in multiples of this


@dataclass(frozen=True)
class Bounds:
    """Hard upper bounds set by the user; None: no bound."""

    clusters: int | None = None
    topics: int | None = None


NO_BOUNDS = Bounds()


@dataclass
class Counts:
    """Counts derived from assignments. A cache: `count` computes them from scratch.

    Clusters and topics occupy slots, and some slots are empty. A cluster or topic keeps its slot
    when others appear or disappear. Counts of tokens are int32, or int64 if one of them exceeds
    2³¹ − 1.
    """

    groups_in_cluster: Int32s  # n_k (cluster slots,)
    tokens_in_cluster: Int64s  # c_k (cluster slots,)
    topics_in_cluster: CountArray  # c_km (cluster slots, topic slots)
    tokens_in_topic: Int64s  # n_m (topic slots,)
    words_in_topic: CountArray  # n_mw (n_words, topic slots): a word's row is contiguous
    topic_statistics: Floats  # (topic slots, n_stats): content other than words
    context_statistics: Floats  # (cluster slots, statistics of all contexts except bags)
    category_counts: CountArray  # (cluster slots, categories of all bags)
    category_totals: Int64s  # (cluster slots, bags)


# Axes of cluster slots and of topic slots in each array; None: the array has none.
_SLOT_AXES: dict[str, tuple[int | None, int | None]] = {
    "groups_in_cluster": (0, None),
    "tokens_in_cluster": (0, None),
    "topics_in_cluster": (0, 1),
    "tables_in_cluster": (0, 1),
    "context_statistics": (0, None),
    "category_counts": (0, None),
    "category_totals": (0, None),
    "tokens_in_topic": (None, 0),
    "words_in_topic": (None, 1),
    "topic_statistics": (None, 0),
    "topic_weights": (None, 0),
}


@dataclass
class EffectState:
    """Tables and parameters of the contexts that act on topics."""

    tables: CountArray  # tables of every value and topic (values of all effects, topic slots)
    weights: Floats  # ω (n_effects + 1,): of the cluster, then of each effect
    v: Floats  # v_c (n_effects,): concentrations of the topic shares of values


@dataclass
class LevelState:
    """Types of the units of a level above groups.

    Types occupy slots, like clusters. A type is a mixture over the types one level below (the
    clusters, at the lowest level): its children draw theirs from it.
    """

    type_of_unit: Int32s  # (n_units,): type slots
    alpha: float  # concentration of types
    v: float  # concentration of the types below in a type
    children: Int32s  # (type slots, slots below): by type of the parent and of the child
    orphans: Int32s  # (slots below,): children without a parent
    draws_below: Int64s  # (slots below,): draws from the weights at the root of the level below
    shapes: list[Floats]  # g b of every context, (0,) unless they are learned

    @property
    def n_slots(self) -> int:
        """Number of type slots."""
        return len(self.children)

    @property
    def units_in_type(self) -> Int64s:
        """Number of units of every type slot."""
        return np.bincount(self.type_of_unit, minlength=self.n_slots)

    def count_children(self, parent: Int32s, slot: Int32s, n_slots_below: int) -> None:
        """Count the children, given the unit (-1: none) and the slot of each."""
        row = np.append(self.type_of_unit, self.n_slots)[parent]
        children = np.zeros((self.n_slots + 1, n_slots_below), np.int32)
        np.add.at(children, (row, slot), 1)
        self.children, self.orphans = children[:-1], children[-1]

    def add_type_slots(self, extra: int) -> None:
        """Add empty type slots."""
        self.children = np.pad(self.children, ((0, extra), (0, 0)))

    def add_slots_below(self, extra: int) -> None:
        """Add empty slots one level below."""
        self.children = np.pad(self.children, ((0, 0), (0, extra)))
        self.orphans = np.pad(self.orphans, (0, extra))
        self.draws_below = np.pad(self.draws_below, (0, extra))


@dataclass
class State:
    """The assignments and weights of a chain. Only samplers write to it.

    ``topic_of_token`` is empty if topics are drawn per cluster and word instead, and
    ``tables_in_cluster`` is None if λ = ∞, because every token then has its own table.
    """

    cluster_of_group: Int32s  # z_j (n_groups,): cluster slots
    topic_of_token: TopicLabels  # l_ji (n_tokens,): topic slots
    topic_weights: Floats  # ε_m (topic slots,); 0 in an empty slot
    log_unused: Floats  # log ε_new (1,), because ε_new may be smaller than any float
    alpha: float
    v: float
    eta: float
    lam: float
    sweep: int  # completed sweeps
    category_shapes: Floats  # g b_v (categories of all bags,): Dirichlet parameters
    counts: Counts = field(repr=False)
    tables_in_cluster: CountArray | None = None  # O_km (cluster slots, topic slots)
    effects: EffectState | None = None  # None if no context acts on topics
    log_joint: float = 0.0  # of the last sweep; if λ is finite, before concentrations are resampled
    levels: list[LevelState] = field(default_factory=list)  # above groups, the lowest first

    @property
    def tables(self) -> CountArray:
        """Tables O_km, or tokens if λ = ∞: (cluster slots, topic slots)."""
        tables = self.tables_in_cluster
        return self.counts.topics_in_cluster if tables is None else tables

    @property
    def root_counts(self) -> Int64s:
        """Draws of each cluster from π: int64 (cluster slots,). Without levels, n_k."""
        if self.levels:
            return self.levels[0].draws_below
        return self.counts.groups_in_cluster.astype(np.int64)

    @property
    def n_clusters(self) -> int:
        """Number of occupied clusters."""
        return int((self.counts.groups_in_cluster > 0).sum())

    @property
    def n_topics(self) -> int:
        """Number of occupied topics."""
        return int((self.counts.tokens_in_topic > 0).sum())

    @property
    def n_group_tables(self) -> int:
        """Number of tables of all groups, Σ_jm o_jm: those of clusters and of effects."""
        n_tables = int(self.tables.sum(dtype=np.int64))
        if self.effects is not None:
            n_tables += int(self.effects.tables.sum(dtype=np.int64))
        return n_tables

    def set_topics_in_cluster(self, topics_in_cluster: CountArray) -> None:
        """Set the counts c_km and their sums."""
        counts = self.counts
        counts.topics_in_cluster = topics_in_cluster
        counts.tokens_in_cluster = topics_in_cluster.sum(axis=1, dtype=np.int64)
        counts.tokens_in_topic = topics_in_cluster.sum(axis=0, dtype=np.int64)

    def grow_clusters(self) -> None:
        """Double the cluster slots; existing clusters keep theirs."""
        self.add_cluster_slots(len(self.counts.groups_in_cluster))

    def grow_topics(self) -> None:
        """Double the topic slots; existing topics keep theirs."""
        self.add_topic_slots(len(self.topic_weights))

    def add_cluster_slots(self, extra: int) -> None:
        """Add empty cluster slots."""
        self._add_slots(0, extra)
        if self.levels:
            self.levels[0].add_slots_below(extra)

    def add_topic_slots(self, extra: int) -> None:
        """Add empty topic slots."""
        self._add_slots(1, extra)
        if self.effects is not None:
            self.effects.tables = np.pad(self.effects.tables, ((0, 0), (0, extra)))

    def _add_slots(self, kind: int, extra: int) -> None:
        """Add empty slots of clusters (``kind`` is 0) or of topics (1) to all arrays."""
        for name, axes in _SLOT_AXES.items():
            owner = self.counts if hasattr(self.counts, name) else self
            array, axis = getattr(owner, name), axes[kind]
            if array is not None and axis is not None:
                shape = [n + extra * (i == axis) for i, n in enumerate(array.shape)]
                wider = zeros(*shape, dtype=array.dtype)
                wider[tuple(map(slice, array.shape))] = array
                setattr(owner, name, wider)


def slots_for(n: int) -> int:
    """Return the number of slots to allocate for ``n`` occupied ones, including spare slots."""
    return max(2 * SLOT_STEP, (n + n // 4 + SLOT_STEP) // SLOT_STEP * SLOT_STEP)


def count(
    observations: Observations,
    cluster_of_group: Int32s,
    topic_of_token: TopicLabels,
    n_cluster_slots: int,
    n_topic_slots: int,
) -> Counts:
    """Count groups, tokens, words and contexts per cluster and topic slot.

    If ``topic_of_token`` is empty, the counts of topics are 0.
    """
    topics_in_cluster = np.zeros((n_cluster_slots, n_topic_slots), np.int32)
    if len(topic_of_token):
        start = observations.group_start
        count_topics_by_cluster(start, cluster_of_group, topic_of_token, topics_in_cluster)
    counts = Counts(
        groups_in_cluster=np.bincount(cluster_of_group, minlength=n_cluster_slots).astype(np.int32),
        tokens_in_cluster=topics_in_cluster.sum(axis=1, dtype=np.int64),
        topics_in_cluster=topics_in_cluster,
        tokens_in_topic=topics_in_cluster.sum(axis=0, dtype=np.int64),
        words_in_topic=count_words(observations, topic_of_token, n_topic_slots),
        topic_statistics=_topic_statistics(observations, topic_of_token, n_topic_slots),
        context_statistics=np.zeros((n_cluster_slots, observations.n_context_statistics)),
        category_counts=np.zeros((n_cluster_slots, observations.n_categories), np.int32),
        category_totals=np.zeros((n_cluster_slots, len(observations.bag_families)), np.int64),
    )
    recount_contexts(counts, cluster_of_group, observations)
    return counts


def count_words(
    observations: Observations, topic_of_token: TopicLabels, n_topic_slots: int
) -> CountArray:
    """Count the words in topics: int32 (n_words, topic slots)."""
    counts = zeros(observations.n_words, n_topic_slots, dtype=np.int32)
    if observations.n_words:
        count_pairs(observations.word[: len(topic_of_token)], topic_of_token, counts)
    return counts


def recount_contexts(
    counts: Counts, cluster_of_group: Int32s, observations: Observations
) -> ContextCounts:
    """Sum the contexts of every cluster from scratch; return the sums as kernels need them."""
    n_prepared = int(observations.dense.prepared_start[-1])
    contexts = ContextCounts(
        statistics=counts.context_statistics,
        prepared=np.zeros((len(counts.groups_in_cluster), n_prepared)),
        categories=counts.category_counts,
        totals=counts.category_totals,
    )
    rebuild_contexts(cluster_of_group, observations.dense, observations.bags, contexts)
    for rows, columns in observations.statistics_in_rows:
        np.add.at(counts.context_statistics[:, columns], cluster_of_group, rows)
    return contexts


def _topic_statistics(
    observations: Observations, topic_of_token: TopicLabels, n_slots: int
) -> Floats:
    statistics = np.zeros((n_slots, observations.n_content_statistics))
    if observations.python_content is not None:
        np.add.at(statistics, topic_of_token, observations.python_content.statistics)
    elif observations.content_kernel >= 0:
        from mcsquared.kernels.cpu.predictive import add_observations

        add_observations(
            observations.content_kernel, observations.values, topic_of_token, statistics
        )
    return statistics


def count_units(state: State, levels: tuple[Units, ...]) -> None:
    """Count the units of every level as children of the level above."""
    for number, units in enumerate(levels[:-1]):
        below, level = state.levels[number], state.levels[number + 1]
        level.count_children(units.parent, below.type_of_unit, below.n_slots)


def recount_levels(
    state: State, observations: Observations, cluster_of_group: Int32s | None = None
) -> None:
    """Count the groups and units of every level as children of the level above.

    ``cluster_of_group`` are the clusters of all groups, by default those of the state.
    """
    if not state.levels:
        return
    clusters = state.cluster_of_group if cluster_of_group is None else cluster_of_group
    n_cluster_slots = len(state.counts.groups_in_cluster)
    state.levels[0].count_children(observations.parents_of_all, clusters, n_cluster_slots)
    count_units(state, observations.levels)
