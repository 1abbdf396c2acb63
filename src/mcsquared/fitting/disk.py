"""Fits to a corpus on disk: what of it is in memory, and what becomes of the groups that are not.

Chains move all groups. A posterior, which has a row for every group, is of some of them; the labels
of the others follow from how the draws put them beside these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.chain import ChainRun
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.observations.disk import DiskObservations, bytes_of_groups
from mcsquared.posterior.consensus import share_of_consensus
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.samplers.backends.disk import read_draw
from mcsquared.samplers.backends.sharded import ShardedBackend
from mcsquared.samplers.init.starts import topics_for
from mcsquared.samplers.threads import ThreadPool

if TYPE_CHECKING:
    from mcsquared.corpus import DiskCorpus, ParquetFolder
    from mcsquared.model.priors import Priors
    from mcsquared.posterior import Posterior

__all__ = [
    "SampledCorpus",
    "check_absent",
    "disk_backend",
    "drop_unsampled_clusters",
    "folder_batches",
    "labels_of_all",
    "shards_for",
]

MAX_SAMPLED = 100_000
SAMPLE_SHARE = 0.25  # of the memory that is free
BYTES_PER_CELL = 24  # of words and topics: counts, ψ, and those of a shard and of all shards
BYTES_PER_LABEL = 12  # of all groups, when the fit ends
VOTES_AT_ONCE = 2_000_000
RESERVE = 100_000_000  # bytes for kernels, for the start of a chain, and for what is never reused


@dataclass(frozen=True)
class SampledCorpus:
    """A corpus on disk, and some of its groups in memory.

    Attributes
    ----------
    source : DiskCorpus
    groups : int64
        Which ones, in increasing order.
    corpus : Corpus
        Those.
    """

    source: DiskCorpus
    groups: NDArray[np.int64]
    corpus: Corpus

    @classmethod
    def of(cls, source: DiskCorpus, seed: int) -> SampledCorpus:
        """Choose groups at random: as many as a posterior can show and memory can hold."""
        most = min(MAX_SAMPLED, cls.most_that_fit(source))
        groups = np.arange(source.n_groups)
        if most < source.n_groups:
            rng = np.random.default_rng(seed)
            groups = np.sort(rng.choice(source.n_groups, most, replace=False, shuffle=False))
        return cls(source, groups, source[groups])

    @staticmethod
    def most_that_fit(source: DiskCorpus) -> int:
        """Return how many groups a share of the free memory holds, 1 at the least."""
        free = max(source.memory - memory_in_use(), 0)
        return max(int(SAMPLE_SHARE * free * source.n_groups / bytes_of(source)), 1)


def load_or_sample(source: DiskCorpus, seed: int) -> Corpus | SampledCorpus:
    """Return the whole corpus where a fit to it stays below the limit, else some of its groups."""
    if bytes_of(source) < source.memory - memory_in_use():
        return source[0 : source.n_groups]
    return SampledCorpus.of(source, seed)


def check_absent(**given: Any) -> None:
    """Refuse what makes no sense beside a folder, unless it is None."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} is given, but X is a folder of Parquet files, which takes none"
            )


def folder_batches(folder: ParquetFolder, vocabulary: Any) -> Iterator[Corpus]:
    """Yield the groups of a folder in the words of a model, as many at a time as fit."""
    with folder.counted_in(vocabulary).open() as stored:
        step = min(SampledCorpus.most_that_fit(stored), MAX_SAMPLED)
        for first in range(0, stored.n_groups, step):
            yield stored[first : min(first + step, stored.n_groups)]


def bytes_of(source: DiskCorpus) -> int:
    """Return the memory that a fit to all of a corpus takes, apart from what all groups share."""
    return int(bytes_of_groups(source.n_groups, source.n_tokens, len(source.contexts)))


def memory_in_use() -> int:
    """Return the bytes of memory that this process has now; 0 where nobody tells."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of all its life
    return most if sys.platform == "darwin" else most * 1024


def disk_backend(
    observations: DiskObservations, priors: Priors
) -> Callable[[ThreadPool], ShardedBackend]:
    """Return a function that makes the backend of a chain, with one shard at a time in memory."""
    return partial(ShardedBackend, observations, priors, shards_for(observations))


def shards_for(observations: DiskObservations) -> int:
    """Return into how many shards a corpus is cut, so that one of them fits."""
    shared = RESERVE + BYTES_PER_CELL * observations.n_words * topics_for(observations)
    shared += BYTES_PER_LABEL * observations.n_groups
    of_chunk = observations.bytes_of_chunk()
    in_use, limit = memory_in_use(), observations.source.memory
    at_once = (limit - in_use - shared) // of_chunk
    if at_once < 1:
        needed = in_use + shared + of_chunk
        raise InputError(
            f"memory is {limit / 1e6:,.0f} MB, but {needed / 1e6:,.0f} MB at the least are wanted: "
            f"{in_use / 1e6:,.0f} that this process has now, {shared / 1e6:,.0f} for what all "
            f"groups share, {of_chunk / 1e6:,.0f} for a shard"
        )
    return -(-(len(observations.layout.chunk_start) - 1) // at_once)


def drop_unsampled_clusters(run: ChainRun) -> ChainRun:
    """Return a chain without the clusters of which no group is shown, numbered anew."""
    labels, parameters = [], {draw.draw: draw for draw in run.parameters}
    for number, draw in enumerate(run.cluster_of_group):
        shown, anew = np.unique(draw, return_inverse=True)
        labels.append(anew.astype(np.int32))
        if number in parameters:
            parameters[number] = _of_clusters(parameters[number], shown)
    return replace(run, cluster_of_group=labels, parameters=list(parameters.values()))


def _of_clusters(draw: ParameterDraw, clusters: NDArray[np.integer]) -> ParameterDraw:
    """Return a draw with some of its clusters, and the topics that these have."""
    topics_in_cluster = draw.topics_in_cluster[clusters]
    topics = np.unique(topics_in_cluster.indices)
    tables, gone = draw.tables_in_cluster, np.delete(draw.topic_weights, topics)
    return replace(
        draw,
        topics_in_cluster=topics_in_cluster[:, topics],
        tables_in_cluster=None if tables is None else tables[clusters][:, topics],
        content_statistics=draw.content_statistics[topics],
        topic_weights=draw.topic_weights[topics],
        unused_weight=draw.unused_weight + float(gone.sum()),
    )


def labels_of_all(
    shown: SampledCorpus, runs: Sequence[ChainRun], posterior: Posterior
) -> NDArray[np.int32]:
    """Return the consensus cluster of every group.

    Of the groups that are shown it is known. Any other group has, in each draw, a cluster of
    shown groups for company; these vote by their consensus clusters.

    Parameters
    ----------
    runs : list of ChainRun
        With the clusters as they were kept on disk.
    """
    source, n_groups = shown.source, shown.source.n_groups
    draws = [draw for run in runs for draw in run.cluster_of_group]
    shares = [share_of_consensus(draw, posterior.labels) for draw in draws]
    labels = np.empty(n_groups, np.int32)
    sizes = np.bincount(posterior.labels) / len(posterior.labels)
    step = max(VOTES_AT_ONCE // len(sizes), 1)
    for first in range(0, n_groups, step):
        last = min(first + step, n_groups)
        votes = np.tile(1e-9 * sizes, (last - first, 1))  # for those who never had company
        for number, share in enumerate(shares):
            cluster = read_draw(source.folder, n_groups, number, first, last)
            known = cluster < len(share)
            votes[known] += share[cluster[known]]
        labels[first:last] = votes.argmax(axis=1)
    labels[shown.groups] = posterior.labels
    return labels
