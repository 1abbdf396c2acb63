"""Tables on the GPU whose size follows the slots; those that go home lie in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.observations import Observations
from mcsquared.samplers.blocked.device.corpus import DeviceCorpus
from mcsquared.samplers.blocked.members import TABLE_NUMBERS, TABULATED

__all__ = ["Home", "Sizes", "Tables", "grown"]

Sizes = dict[str, tuple[tuple[int, ...], Any]]


class Home:
    """One array on the GPU that several tables share, so that one copy brings all of them home.

    Parameters
    ----------
    sizes : dict from name to (shape, dtype)
    """

    def __init__(self, memory: Any, sizes: Sizes) -> None:
        self._memory, self._sizes = memory, sizes
        self._places, first = {}, 0
        for name, (shape, dtype) in sizes.items():
            n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
            self._places[name] = slice(first, first + -(-n_bytes // 8))
            first = self._places[name].stop
        self._array = memory.empty(max(first, 1), np.int64)
        self.there = {name: self._view(name) for name in sizes}
        self.here: dict[str, NDArray[Any]] = {}

    def _view(self, name: str) -> Any:
        shape, dtype = self._sizes[name]
        size = int(np.prod(shape))
        if not size:
            return self._memory.empty(0, dtype)
        return self._array[self._places[name]].view(dtype)[:size]

    def clear(self) -> None:
        """Fill all tables with zeros."""
        self._memory.zero(self._array)

    def bring(self) -> None:
        """Copy all tables home; ``here`` has them."""
        array = self._memory.take(self._array)
        for name, (shape, dtype) in self._sizes.items():
            size = int(np.prod(shape))
            self.here[name] = array[self._places[name]].view(dtype)[:size].reshape(shape)


class Tables:
    """Room for the counts and the globals of a sweep, whatever the content.

    Parameters
    ----------
    slots : (int, int)
        Of clusters and topics.
    of_content : dict from name to (shape, dtype)
        What the content wants at home after groups have moved.

    Attributes
    ----------
    counts : Home
        What groups are counted into, filled with zeros before they move.
    drawn : Home
        What else is wanted at home after they have moved.
    """

    def __init__(
        self,
        observations: Observations,
        corpus: DeviceCorpus,
        slots: tuple[int, ...],
        of_content: Sizes,
    ) -> None:
        from mcsquared.kernels.cuda import memory, sums

        n_clusters, n_topics = slots
        n_cells, n_bags = n_clusters * n_topics, len(observations.bag_families)
        self.slots, self.varies = (n_clusters, n_topics), corpus.varies
        self.counts = Home(
            memory,
            {
                "topics": (slots, np.int32),
                "tables": (slots if corpus.varies else (0,), np.int32),
                "groups": ((n_clusters,), np.int32),
                "statistics": ((n_clusters, len(corpus.scales)), np.int64),
                "totals": ((n_clusters, n_bags), np.int64),
            },
        )
        self.drawn = Home(
            memory,
            {
                "tables": (slots, np.int32),
                "log_shares": (slots, np.float64),
                "log_likelihood": ((sums.N_PARTS,), np.float64),
                **{f"log_counts {c}": ((sums.N_PARTS,), np.float64) for c in range(n_bags)},
                **of_content,
            },
        )
        self.log_categories = memory.empty(corpus.n_category_rows * n_clusters, np.float32)
        self.of_topic = memory.empty(n_topics, np.float64)
        self.log_clusters = memory.empty(n_clusters, np.float64)
        self.naturals = memory.empty(len(corpus.scales) * n_clusters, np.float64)
        self.no_scores = memory.empty((0, 0), np.float64)
        self.no_sums = memory.empty(0, np.float64)
        self.no_shares = memory.empty(0, np.float32)
        if corpus.varies:
            most = min(TABULATED, TABLE_NUMBERS // n_cells - 1, observations.layout.longest)
            self.n_tabulated = max(most, 8)  # from there on the kernel's series holds
            self.base = memory.empty(n_cells, np.float32)
            self.rising = memory.empty(n_cells * (self.n_tabulated + 1), np.float32)
            self.log_likelihood = memory.empty(observations.n_groups, np.float32)

    @property
    def held(self) -> Any:
        """O_km, on the GPU: tables, or tokens where λ = ∞."""
        return self.counts.there["tables" if self.varies else "topics"]


def grown(memory: Any, table: Any, held: int, wanted: int) -> Any:
    """Return a table of counts with more columns."""
    old = memory.take(table).reshape(-1, held)
    new = np.zeros((len(old), wanted), np.int32)
    new[:, :held] = old
    return memory.put(new.reshape(-1))
