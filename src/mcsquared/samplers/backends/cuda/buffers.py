"""Device arrays whose size depends on the slots; those copied to the host are contiguous."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int32s
from mcsquared.kernels.cuda.arrays import N_PARTIAL_SUMS
from mcsquared.kernels.cuda.memory import copy_to_device, copy_to_host, empty, fill_zeros
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus, Shard
from mcsquared.samplers.content.groups import MAX_TABULATED, MAX_TABULATED_CELLS
from mcsquared.samplers.types import Key
from mcsquared.state import State

Shapes = dict[str, tuple[tuple[int, ...], Any]]


class PackedArrays:
    """Arrays that are stored one after another in one device array, to be copied together.

    ``counts`` and ``others`` map names to (shape, dtype); `clear` fills the counts with zeros.
    ``device`` has flat device arrays by name, ``host`` the arrays that `copy_to_host` has copied.
    """

    def __init__(self, counts: Shapes, others: Shapes) -> None:
        self._shapes = counts | others
        self._slices, end, n_counts = {}, 0, 0
        for name, (shape, dtype) in self._shapes.items():
            first = end
            end += -(-math.prod(shape) * np.dtype(dtype).itemsize // 8)
            self._slices[name] = slice(first, end)
            n_counts = end if name in counts else n_counts
        self._array = empty(end, np.int64)
        self._counts = self._array[:n_counts]
        self.device = {
            name: self._view(self._array, name) if math.prod(shape) else empty(0, dtype)
            for name, (shape, dtype) in self._shapes.items()
        }
        self.host: dict[str, NDArray[Any]] = {}

    def _view(self, array: Any, name: str) -> Any:
        shape, dtype = self._shapes[name]
        return array[self._slices[name]].view(dtype)[: math.prod(shape)]

    def clear(self) -> None:
        """Fill the counts with zeros."""
        fill_zeros(self._counts)

    def copy_to_host(self) -> None:
        """Copy all arrays to the host."""
        array = copy_to_host(self._array)
        for name, (shape, _) in self._shapes.items():
            self.host[name] = self._view(array, name).reshape(shape)


class Buffers(PackedArrays):
    """Counts and globals of a sweep, for every kind of content.

    ``slots`` are the cluster slots and topic slots, ``content`` the arrays of the content that are
    copied to the host after a sweep, ``effects`` the counts of effects, which are copied as well.
    """

    def __init__(
        self,
        observations: Observations,
        corpus: DeviceCorpus,
        slots: tuple[int, ...],
        content: Shapes,
        effects: Shapes,
    ) -> None:
        n_cluster_slots, n_slots = slots
        n_cells, n_bags = n_cluster_slots * n_slots, len(observations.bag_families)
        self.slots, self.groups_vary = (n_cluster_slots, n_slots), corpus.groups_vary
        self.n_cluster_slots, self.n_slots = n_cluster_slots, n_slots
        self.clusters_per_thread = -(-n_cluster_slots // 32)
        counts: Shapes = {
            "topics_in_cluster": (slots, np.int32),
            "tables_in_cluster": (slots if corpus.groups_vary else (0,), np.int32),
            "groups": ((n_cluster_slots,), np.int32),
            "statistics": ((n_cluster_slots, len(corpus.scales)), np.int64),
            "totals": ((n_cluster_slots, n_bags), np.int64),
        }
        others: Shapes = {
            "cluster_tables": (slots, np.int32),
            "log_shares": (slots, np.float64),
            "topic_log_likelihood": ((N_PARTIAL_SUMS,), np.float64),
            **{f"log_counts {c}": ((N_PARTIAL_SUMS,), np.float64) for c in range(n_bags)},
        }
        super().__init__(counts | effects, others | content)
        self.log_categories = empty(corpus.n_category_rows * n_cluster_slots, np.float32)
        self.prior = empty(n_slots, np.float64)
        # In one array, because copying a few numbers takes as long as a small step.
        self._weights = empty((1 + corpus.n_statistics) * n_cluster_slots, np.float64)
        self.log_cluster_weights = self._weights[:n_cluster_slots]
        self.natural = self._weights[n_cluster_slots:]
        self.no_scores = empty((0, 0), np.float64)
        self.no_rows = empty(0, np.int32)
        self.no_sums = empty(0, np.float64)
        self.no_shares = empty(0, np.float32)
        if corpus.groups_vary:
            longest = observations.layout.longest
            n_tabulated = min(MAX_TABULATED, MAX_TABULATED_CELLS // n_cells - 1, longest)
            self.n_tabulated = max(n_tabulated, 8)  # the kernel's series requires larger counts
            self.base = empty(n_cells, np.float32)
            n_rows = 0 if effects else self.n_tabulated + 1  # effects have no common rows
            self.tabulated = empty(n_cells * n_rows, np.float32)
            self.log_likelihood_of_group = empty(observations.n_groups, np.float32)

    def load_weights(self, log_cluster_weights: NDArray[Any], natural: NDArray[Any]) -> None:
        """Copy log π and the parameters of dense contexts to the device."""
        weights = np.concatenate([log_cluster_weights, natural.reshape(-1)])
        copy_to_device(weights, self._weights)

    @property
    def tables(self) -> Any:
        """O_km on the device: tables, or tokens where λ = ∞."""
        return self.device["tables_in_cluster" if self.groups_vary else "topics_in_cluster"]


def resized(counts: Any, n_old: int, n_new: int) -> Any:
    """Return counts on the device, int32 with ``n_old`` columns, extended to ``n_new`` columns."""
    old = copy_to_host(counts).reshape(-1, n_old)
    new = np.zeros((len(old), n_new), np.int32)
    new[:, :n_old] = old
    return copy_to_device(new.reshape(-1))


class DeviceContent:
    """The content of a corpus on the GPU. Methods without a body are optional."""

    buffers: Buffers

    def __init__(self, observations: Observations, priors: Priors, corpus: DeviceCorpus) -> None:
        self.observations, self.priors, self.corpus = observations, priors, corpus

    def load_counts(self, words_in_topic: Int32s) -> None:
        """Copy counts to the GPU."""

    def save_counts(self, state: State) -> None:
        """Copy counts to a state."""

    def resize(self, n_old: int, n_new: int) -> None:
        """Add topic slots to the counts."""

    def finish_sums(self) -> None:
        """Add the sums of the chunks."""

    def add_messages(self, shard: Shard, arguments: tuple[Any, ...]) -> None:
        """Add the messages of a shard's groups to their parents (λ = ∞)."""

    def draw_cell_topics(self, key: Key) -> None:
        """Draw topics by (cluster, word) cell (λ = ∞)."""

    def add_log_counts(self) -> None:
        """Add the log-densities of the counts."""
