"""Empty slots for clusters and topics that may appear in the sweep."""

import math
from dataclasses import replace

from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.samplers.types import Sweep
from mcsquared.state import Bounds, State

# Numbers of topic slots: the token kernel of varying groups is compiled for each of the first few.
TOPIC_SLOTS = (32, 64, 112, 160, 208, 256, 304, 352, 400, 448, 512)
MIN_EMPTY = 16
MAX_EMPTY = 256
# Empty topics, clusters and types of larger corpora if λ is finite. In a sweep few tokens open a
# topic (0 to 5, of 95,000 words or of 1.9 million), few groups a cluster and few units a type; they
# hardly ever share the last slot, which has more weight.
MAX_EMPTY_IF_MANY, MANY_TOKENS = 32, 50_000
MIN_EMPTY_TYPES = TYPE_STEP = 4  # of units above groups: every type costs time for every group
# Empty topics of wide vectors: their parameters, drawn from the prior, hardly ever fit a vector.
EMPTY_IF_WIDE = 4
MAX_TAIL_WEIGHT = 1e-4  # largest expected weight of the truncated tail


def add_empty_slots(sweep: Sweep) -> None:
    """Add slots until the truncated tail is negligible."""
    sizes = () if sweep.observations.has_wide_vectors else TOPIC_SLOTS
    grow_slots(sweep.state, replace(sweep.bounds, topics=topic_bound(sweep)), sizes)


def grow_slots(state: State, bounds: Bounds, sizes: tuple[int, ...] = TOPIC_SLOTS) -> None:
    """Add cluster and topic slots to a state until enough of them are empty.

    Numbers of topic slots are rounded up to one of ``sizes``.
    """
    unused = math.exp(float(state.log_unused[0]))
    is_large = int(state.counts.tokens_in_topic.sum()) > MANY_TOKENS
    most = MAX_EMPTY_IF_MANY if is_large and not math.isinf(state.lam) else MAX_EMPTY
    n_slots = _n_slots(state.n_topics, unused, state.eta, bounds.topics, most)
    n_slots = next((size for size in sizes if size >= n_slots), n_slots)
    if len(state.topic_weights) < n_slots:
        state.add_topic_slots(n_slots - len(state.topic_weights))
    unused = state.alpha / (state.alpha + int(state.root_counts.sum()))
    n_slots = _n_slots(state.n_clusters, unused, state.alpha, bounds.clusters, most)
    if len(state.counts.groups_in_cluster) < n_slots:
        state.add_cluster_slots(n_slots - len(state.counts.groups_in_cluster))
    for number in range(len(state.levels)):
        _grow_types(state, number, most)


def topic_bound(sweep: Sweep) -> int | None:
    """Return the largest number of topics at the end of this sweep; None if there is no bound."""
    bound = sweep.bounds.topics
    if not sweep.observations.has_wide_vectors:
        return bound
    most = sweep.state.n_topics + EMPTY_IF_WIDE
    return most if bound is None else max(min(most, bound), sweep.state.n_topics)


def _grow_types(state: State, number: int, most: int) -> None:
    """Add type slots to a level until enough of them are empty."""
    level, above = state.levels[number], state.levels[number + 1 : number + 2]
    draws = above[0].draws_below if above else level.units_in_type
    unused = level.alpha / (level.alpha + int(draws.sum()))
    occupied = int((level.units_in_type > 0).sum())
    n_slots = occupied + _n_empty(unused, level.alpha, MIN_EMPTY_TYPES, most)
    if level.n_slots < n_slots:
        extra = -(-(n_slots - level.n_slots) // TYPE_STEP) * TYPE_STEP
        level.add_type_slots(extra)
        if above:
            above[0].add_slots_below(extra)


def _n_slots(
    occupied: int, unused: float, concentration: float, bound: int | None, most: int = MAX_EMPTY
) -> int:
    slots = occupied + _n_empty(unused, concentration, MIN_EMPTY, most)
    if bound is not None:
        slots = max(min(slots, bound), occupied)
    return -(-slots // N_LANES) * N_LANES


def _n_empty(unused: float, concentration: float, minimum: int, most: int = MAX_EMPTY) -> int:
    """Return the number of empty slots that share the unused weight."""
    empty = float(minimum)
    if unused > MAX_TAIL_WEIGHT:
        # On average, each stick leaves c / (1 + c) of the rest.
        empty = math.log(MAX_TAIL_WEIGHT / unused) / -math.log1p(1.0 / concentration)
    return math.ceil(min(max(empty, minimum), most))
