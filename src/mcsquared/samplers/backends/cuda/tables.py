"""Tables on the GPU whose size follows the slots; those that go home lie in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.observations import Observations
from mcsquared.samplers.backends.cuda.corpus import DeviceCorpus
from mcsquared.samplers.content.groups import TABLE_SIZE, TABULATED

__all__ = ["Home", "Sizes", "Tables", "grown"]

Sizes = dict[str, tuple[tuple[int, ...], Any]]


class Home:
    """Tables that lie one after another in an array on the GPU, so that one copy brings all home.

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
        self.n_numbers = max(first, 1)
        self.there: dict[str, Any] = {}
        self.here: dict[str, NDArray[Any]] = {}

    def lie_in(self, array: Any) -> None:
        """Take an array, int64 (n_numbers,), for the tables; ``there`` has them."""
        self._array = array
        for name, (shape, dtype) in self._sizes.items():
            size = int(np.prod(shape))
            part = array[self._places[name]].view(dtype)[:size] if size else None
            self.there[name] = self._memory.empty(0, dtype) if part is None else part

    def clear(self) -> None:
        """Fill all tables with zeros."""
        self._memory.zero(self._array)

    def unpack(self, array: NDArray[np.int64]) -> None:
        """Take over a copy of the array; ``here`` has the tables."""
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
        self._memory = memory
        self._array = memory.empty(self.counts.n_numbers + self.drawn.n_numbers, np.int64)
        self.counts.lie_in(self._array[: self.counts.n_numbers])
        self.drawn.lie_in(self._array[self.counts.n_numbers :])
        self.log_categories = memory.empty(corpus.n_category_rows * n_clusters, np.float32)
        self.of_topic = memory.empty(n_topics, np.float64)
        # Two that come together: copies of a few numbers take as long as a small step.
        self._given = memory.empty((1 + len(corpus.scales)) * n_clusters, np.float64)
        self.log_clusters, self.naturals = self._given[:n_clusters], self._given[n_clusters:]
        self.no_scores = memory.empty((0, 0), np.float64)
        self.no_sums = memory.empty(0, np.float64)
        self.no_shares = memory.empty(0, np.float32)
        if corpus.varies:
            most = min(TABULATED, TABLE_SIZE // n_cells - 1, observations.layout.longest)
            self.n_tabulated = max(most, 8)  # from there on the kernel's series holds
            self.base = memory.empty(n_cells, np.float32)
            self.rising = memory.empty(n_cells * (self.n_tabulated + 1), np.float32)
            self.log_likelihood = memory.empty(observations.n_groups, np.float32)

    def give(self, log_clusters: NDArray[np.float64], naturals: NDArray[np.float64]) -> None:
        """Copy log π and the parameters of dense contexts there."""
        self._memory.put(np.concatenate([log_clusters, naturals.reshape(-1)]), self._given)

    def bring(self) -> None:
        """Copy home what was counted and drawn."""
        array = self._memory.take(self._array)
        self.counts.unpack(array[: self.counts.n_numbers])
        self.drawn.unpack(array[self.counts.n_numbers :])

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
