"""Simulated groups in a folder of Parquet files larger than memory, written file by file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GROUPS_IN_FILE = 500_000
N_CLUSTERS, N_TOPICS, N_WORDS, N_PLACES = 20, 50, 5_000, 30
MEAN_TOKENS = 4.0  # plus one, so that no group is empty


def write_folder(path: Path, n_groups: int, seed: int) -> NDArray[np.int8]:
    """Write groups of a few words with a year and a place; return their true clusters.

    Each cluster has its own distributions of topics and places, and its own mean year.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    rng = np.random.default_rng(seed)
    topics = _cumulative(rng.dirichlet(np.full(N_TOPICS, 0.1), N_CLUSTERS))
    words = _cumulative(rng.dirichlet(np.full(N_WORDS, 0.02), N_TOPICS))
    places = _cumulative(rng.dirichlet(np.full(N_PLACES, 0.2), N_CLUSTERS))
    year_of_cluster = rng.uniform(1950, 2020, N_CLUSTERS)
    names = arrow.array([f"word{word}" for word in range(N_WORDS)])
    place_names = arrow.array([f"place{place}" for place in range(N_PLACES)])
    truth = np.empty(n_groups, np.int8)
    for first in range(0, n_groups, GROUPS_IN_FILE):
        cluster = rng.integers(N_CLUSTERS, size=min(GROUPS_IN_FILE, n_groups - first))
        truth[first : first + len(cluster)] = cluster
        lengths = 1 + rng.poisson(MEAN_TOKENS, len(cluster))
        topic = _draw(topics, np.repeat(cluster, lengths), rng)
        word = _draw(words, topic, rng).astype(np.int32)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        place = _draw(places, cluster, rng).astype(np.int32)
        table = arrow.table(
            {
                "tokens": arrow.ListArray.from_arrays(
                    start, arrow.DictionaryArray.from_arrays(word, names)
                ),
                "year": year_of_cluster[cluster] + rng.normal(0, 5, len(cluster)),
                "place": arrow.DictionaryArray.from_arrays(place, place_names),
            }
        )
        parquet.write_table(table, path / f"groups-{first:010}.parquet")
    return truth


def _cumulative(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cumulative sums of each row ``r``, scaled to the interval [r, r + 1]."""
    sums = np.cumsum(rows, axis=1)
    sums /= sums[:, -1:]
    return sums + np.arange(len(rows))[:, None]


def _draw(
    sums: NDArray[np.float64], row: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a column for each element of ``row`` with the probabilities of that row."""
    at = np.searchsorted(sums.ravel(), row + rng.random(len(row)), side="right")
    return np.minimum(at - row * sums.shape[1], sums.shape[1] - 1)
