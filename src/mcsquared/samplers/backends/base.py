"""The interface of all backends: sweep groups given globals, return sums, load and save labels."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from mcsquared.arrays import Bools, CountArray, Floats, Int32s
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.content.levels import TypeWeights, UnitCount, count_by_unit, sum_messages
from mcsquared.samplers.steps.effects import draw_effect_tables_on_host
from mcsquared.samplers.steps.globals import draw_on_host
from mcsquared.samplers.steps.log_joint import begin_log_density_on_host, log_effects_on_host
from mcsquared.samplers.steps.tables import draw_tables
from mcsquared.samplers.threads import SINGLE_THREAD, ThreadPool
from mcsquared.samplers.types import Globals, GroupFunction, Key, Sums, Sweep, add_sums
from mcsquared.state import State


class Backend(ABC):
    """The groups of one chain and their labels.

    A backend must implement `load_labels`, `save_labels`, `sweep_groups` and `map_groups`. The
    other steps draw on the host, from the counts of the state; a backend that keeps counts on a
    device overrides them and draws on the device. ``threads`` are those of this process.
    """

    # Whether topics and clusters are split and merged: `map_groups` must do so at acceptable cost.
    moves_topics = True
    moves_clusters = True
    draws_contexts_on_host = True  # whether `draw_globals` returns φ in host arrays

    def __init__(
        self, observations: Observations, priors: Priors, threads: ThreadPool = SINGLE_THREAD
    ) -> None:
        self.observations = observations
        self.priors = priors
        self.threads = threads

    @abstractmethod
    def load_labels(self, state: State, key: Key) -> None:
        """Load labels, and counts if the backend keeps them, from a state."""

    @abstractmethod
    def save_labels(self, state: State, clusters_only: bool = False) -> None:
        """Write labels, and counts that the backend keeps, to a state."""

    @abstractmethod
    def sweep_groups(self, globals_: Globals) -> Sums:
        """Draw the topics and clusters of all groups; return their sums."""

    @abstractmethod
    def map_groups(self, function: GroupFunction, argument: Any) -> list[Any]:
        """Apply a function to the groups of every shard; return its results in shard order."""

    def sum_groups(self, function: GroupFunction, argument: Any) -> dict[str, Any]:
        """Apply a function to the groups of every shard; return the total of its sums."""
        return add_sums(self.map_groups(function, argument))

    def sum_messages(self, weights: TypeWeights) -> dict[str, Any]:
        """Return the messages of groups by unit above them, see `content.levels.sum_messages`."""
        return self.sum_groups(sum_messages, weights)

    def count_by_unit(self, sizes: UnitCount) -> Int32s:
        """Count groups by parent and cluster: (n_units + 1, cluster slots)."""
        return self.sum_groups(count_by_unit, sizes)["children"]

    def save_counts(self, state: State) -> None:  # noqa: B027
        """Write counts to a state, if the backend keeps counts."""

    def load_topics(self, sweep: Sweep) -> None:  # noqa: B027
        """Load labels, counts and weights that changed with topics, if the backend keeps them."""

    def load_clusters(self, state: State) -> None:  # noqa: B027
        """Load labels and counts that changed with clusters, if the backend keeps them."""

    def store_draw(self, cluster_of_slot: Int32s) -> None:  # noqa: B027
        """Store the clusters of a kept draw, if the state does not contain those of all groups.

        ``cluster_of_slot`` is the cluster of each slot in the draw: (cluster slots,).
        """

    def label_files(self) -> dict[str, NDArray[Any]]:
        """Return labels and stored draws of all groups if the state does not contain them."""
        return {}

    def draw_globals(self, sweep: Sweep) -> Globals:
        """Draw ψ, the weights and φ, given the counts."""
        return draw_on_host(sweep)

    def log_shares(self, globals_: Globals) -> Floats:
        """Return log τ on the host."""
        return globals_.weights.log_shares

    def draw_tables(self, sweep: Sweep) -> CountArray:
        """Draw q_km ~ CRT(O_km, v ε_m), with the v and ε of the sweep."""
        prior = sweep.state.v * sweep.globals.weights.topic_weights
        return draw_tables(sweep.state.tables, prior, sweep.key, self.threads)

    def draw_effect_tables(self, sweep: Sweep) -> CountArray:
        """Draw q_sm ~ CRT(O_sm, v_c ε_m) for the values s of effects."""
        return draw_effect_tables_on_host(sweep)

    def log_effects(self, sweep: Sweep, active: Bools, weights: Floats) -> float:
        """Return the terms of effects in the log joint, see `log_effects_on_host`."""
        return log_effects_on_host(sweep, active, weights)

    def begin_log_density(self, state: State) -> Callable[[], float]:
        """Start computing the log-density of content and bags; return a function that finishes."""
        return begin_log_density_on_host(state, self.observations, self.priors, self.threads)
