"""Bytes and seconds of a sweep on a cluster, by component; constants are measured on UN speeches.

The measurements are those of ``python -m benchmarks.network speeches``: workers with one thread,
30 clusters and 100 topics after 20 sweeps. Nothing is measured in this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.cost import Costs, Sizes, n_chunks, predict_steps
from benchmarks.engines import FINITE, INFINITE
from mcsquared.distributed.backend import FAN_OUT

EFFICIENCY = 0.85  # of each of several cores; for two cores see the benchmark "threads"
NETWORK_BANDWIDTH = 1.25e9  # bytes/s: 10 Gbit/s
WORKER_SECONDS = 0.1  # CPU time of a worker per sweep for Dask and for exchanging counts
CLIENT_SECONDS, CLIENT_SECONDS_PER_WORKER = 0.1, 0.008  # of the client, for its tasks
# Share of cells with tokens, 1 − exp(−a x^b), where x is the number of tokens per cell: of words
# and topics, of words and clusters.
WORD_TOPICS, WORD_CLUSTERS = (0.118, 0.34), (0.75, 0.2)
LARGE_MEAN = 1_700.0  # tokens per cell with tokens at which half of these cells have more than 254

# Data set, engine, sizes, workers, MB over all network interfaces, and seconds: CPU time of the
# slowest worker and of the client. Seconds of NIPS were not recorded.
NIPS = Sizes(1_740, 2_301_375, 933_295, 13_649, 32, 112, 2_037)
SPEECHES = Sizes(10_952, 13_646_599, 8_034_873, 16_776, 32, 112, 200)
MEASURED = (
    ("NIPS", INFINITE, NIPS, 2, 4.3, None, None),
    ("NIPS", INFINITE, NIPS, 4, 6.7, None, None),
    ("NIPS", INFINITE, NIPS, 8, 13.6, None, None),
    ("NIPS", FINITE, NIPS, 2, 2.2, None, None),
    ("NIPS", FINITE, NIPS, 4, 4.1, None, None),
    ("NIPS", FINITE, NIPS, 8, 9.0, None, None),
    ("UN speeches", INFINITE, SPEECHES, 2, 4.22, 0.224, 0.118),
    ("UN speeches", INFINITE, SPEECHES, 4, 7.22, 0.196, 0.143),
    ("UN speeches", INFINITE, SPEECHES, 8, 13.23, 0.261, 0.319),
    ("UN speeches", FINITE, SPEECHES, 2, 2.85, 0.547, 0.190),
    ("UN speeches", FINITE, SPEECHES, 4, 5.15, 0.316, 0.136),
    ("UN speeches", FINITE, SPEECHES, 8, 9.84, 0.248, 0.192),
)


def packed_bytes(cells: float, tokens: float, curve: tuple[float, float]) -> float:
    """Return the bytes of packed counts: a bit per cell, 1 or 5 bytes if it has tokens.

    ``curve`` has the coefficients a and b of the share of cells with tokens.
    """
    scale, power = curve
    per_cell = tokens / cells
    share = -math.expm1(-scale * per_cell**power)
    mean = per_cell / share
    return cells * (1 / 8 + share * (1 + 4 * mean / (mean + LARGE_MEAN)))


@dataclass(frozen=True)
class Traffic:
    """Bytes that one worker receives and sends per sweep, and those of chunks for all workers."""

    received: float
    sent: float
    chunk_bytes: float

    def total(self, workers: int) -> float:
        """Return the bytes of all workers."""
        return workers * (self.received + self.sent) + self.chunk_bytes


def traffic(engine: str, sizes: Sizes, workers: int, statistics: int = 0) -> Traffic:
    """Return the traffic of a sweep.

    Parameters
    ----------
    statistics : int
        Number of statistics of contexts other than categories: 3 for a number.
    """
    cluster_topics, tokens = sizes.clusters * sizes.topics, sizes.tokens
    word_topics, word_clusters = sizes.words * sizes.topics, sizes.words * sizes.clusters
    context_cells = sizes.categories * sizes.clusters
    received = packed_bytes(word_topics, tokens, WORD_TOPICS) + 8 * cluster_topics
    received += 4 * context_cells + 8 * statistics * sizes.clusters
    sent = 2.0 * context_cells
    if engine == INFINITE:
        received += 4 * cluster_topics + packed_bytes(word_clusters, tokens, WORD_CLUSTERS)
        sent += packed_bytes(word_clusters, tokens / workers, WORD_CLUSTERS)
        # Each worker sends the topics of a part of the words.
        sent += packed_bytes(word_topics, tokens, WORD_TOPICS) / workers
    else:
        sent += packed_bytes(word_topics, tokens / workers, WORD_TOPICS) + 8 * cluster_topics
    return Traffic(received, sent, 8.0 * statistics * sizes.clusters * n_chunks(sizes))


def n_sequential_messages(workers: int) -> int:
    """Return the number of successive messages from the client to the last worker of the tree."""
    if workers <= 1:
        return 1
    n_parts = min(FAN_OUT, workers - 1)
    return n_parts + n_sequential_messages(-(-(workers - 1) // n_parts))


def seconds_on_cluster(
    engine: str,
    costs: Costs,
    sizes: Sizes,
    workers: int,
    cores: int = 1,
    bandwidth: float = NETWORK_BANDWIDTH,
) -> dict[str, float]:
    """Return the wall seconds of a sweep on a cluster, by component.

    Parameters
    ----------
    workers : int
    cores : int
        Cores of each worker.
    """
    busy = min(workers, n_chunks(sizes))
    steps = predict_steps(costs, sizes)
    shard = steps["ψ"]  # every worker draws ψ and visits all words, clusters and topics
    for step in ("clusters", "topics", "counts"):
        for term, cost in costs[step].items():
            is_shared = bool({"J", "N", "E"} & set(term.split("·")))
            is_shared |= engine == INFINITE and step == "topics"  # each draws a part of the words
            shard += cost * sizes.product(term) / (busy if is_shared else 1)
    exchanged = traffic(engine, sizes, busy, statistics=3)
    sequential = (exchanged.received + exchanged.sent) * n_sequential_messages(busy)
    sequential += exchanged.chunk_bytes
    return {
        "workers": shard / (1.0 if cores == 1 else EFFICIENCY * cores) + WORKER_SECONDS,
        "client": steps["rest"] + CLIENT_SECONDS + busy * CLIENT_SECONDS_PER_WORKER,
        "network": sequential / bandwidth,
    }
