"""Fits to a corpus on disk: the sample in memory, the shards and the labels of all groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.arrays import Int32s, Int64s, Integers
from mcsquared.chain import ChainRun
from mcsquared.corpus import Corpus
from mcsquared.corpus.disk import SampledCorpus
from mcsquared.errors import InputError
from mcsquared.observations import MAX_TOKENS
from mcsquared.observations.disk import DiskObservations, bytes_of_groups
from mcsquared.posterior.consensus import share_of_consensus
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.samplers.backends.base import Backend
from mcsquared.samplers.backends.cuda import cuda_backend
from mcsquared.samplers.backends.sharded import (
    LABEL_DTYPES,
    ShardedBackend,
    draws_file,
    label_paths,
    read_draw,
)
from mcsquared.samplers.init.starts import topics_for
from mcsquared.samplers.threads import ThreadPool

if TYPE_CHECKING:
    from mcsquared.corpus import DiskCorpus, ParquetFolder
    from mcsquared.model.priors import Priors
    from mcsquared.posterior import Posterior

MAX_SAMPLED = 100_000
SAMPLE_SHARE = 0.25  # of the free memory
BYTES_PER_CELL = 24  # per word and topic: counts, ψ, counts of a shard and of all shards
BYTES_PER_LABEL = 12  # per group, when the fit ends
CELLS_PER_BATCH = 2_000_000
RESERVE = 100_000_000  # bytes for kernels, initial states and fragmentation


def load_or_sample(source: DiskCorpus, seed: int, saved: Int64s | None = None) -> Corpus:
    """Return the whole corpus if a fit to it needs less than its memory limit, else a sample.

    ``saved`` are the groups that an interrupted or earlier run had in memory, empty if all.
    """
    if saved is not None:
        return SampledCorpus(source, saved) if len(saved) else source[0 : source.n_groups]
    fits = bytes_of(source) < source.memory - memory_in_use()
    if fits and source.n_tokens <= MAX_TOKENS:
        return source[0 : source.n_groups]
    n_sampled, groups = max_in_memory(source), np.arange(source.n_groups)
    if n_sampled < source.n_groups:
        rng = np.random.default_rng(seed)
        groups = np.sort(rng.choice(source.n_groups, n_sampled, replace=False, shuffle=False))
    return SampledCorpus(source, groups)


def max_in_memory(source: DiskCorpus) -> int:
    """Return how many groups fit into a share of the free memory, at least 1."""
    free = max(source.memory - memory_in_use(), 0)
    n_fitting = int(SAMPLE_SHARE * free * source.n_groups / bytes_of(source))
    return min(max(n_fitting, 1), MAX_SAMPLED)


def check_no_contexts(contexts: Any) -> None:
    """Raise `InputError` unless contexts are None, because a folder contains its contexts."""
    if contexts is not None:
        raise InputError("contexts must be None if X is a folder of Parquet files")


def folder_batches(folder: ParquetFolder, vocabulary: Any) -> Iterator[Corpus]:
    """Yield the groups of a folder in batches that fit into memory, given a model's vocabulary."""
    with folder.counted_in(vocabulary).open() as corpus:
        step = max_in_memory(corpus)
        for first in range(0, corpus.n_groups, step):
            yield corpus[first : min(first + step, corpus.n_groups)]


def bytes_of(source: DiskCorpus) -> int:
    """Return the memory that the groups of a corpus need during a fit, in bytes."""
    sizes = (source.n_groups, source.n_tokens, len(source.contexts))
    return int(bytes_of_groups(*sizes, source.content.width))


def memory_in_use() -> int:
    """Return the memory of this process in bytes; 0 where the system does not report it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def disk_backend(
    observations: DiskObservations, priors: Priors, device: str
) -> Callable[[ThreadPool], Backend]:
    """Return a function that creates a backend with one shard at a time in memory.

    A GPU sweeps one shard while the next one is read.
    """
    if device == "cuda":
        return cuda_backend(observations, priors, shards_for(observations, n_in_memory=2))
    return partial(ShardedBackend, observations, priors, shards_for(observations))


def shards_for(observations: DiskObservations, n_in_memory: int = 1) -> int:
    """Return the smallest number of shards such that each fits into memory and has 32-bit counts.

    ``n_in_memory`` shards are in memory at the same time.
    """
    shared = RESERVE + BYTES_PER_CELL * observations.n_words * topics_for(observations)
    n_statistics = observations.n_content_statistics  # of vectors, summed by chunk
    n_chunks = len(observations.layout.chunk_start) - 1
    shared += 8 * n_chunks * n_statistics * topics_for(observations)
    shared += BYTES_PER_LABEL * observations.n_groups
    per_chunk = n_in_memory * observations.bytes_of_chunk()
    in_use, limit = memory_in_use(), observations.source.memory
    chunks_per_shard = (limit - in_use - shared) // per_chunk
    if chunks_per_shard < 1:
        needed = in_use + shared + per_chunk
        raise InputError(
            f"memory must be at least {needed / 1e6:,.0f} MB, got {limit / 1e6:,.0f} MB: the "
            f"process uses {in_use / 1e6:,.0f}, parameters need {shared / 1e6:,.0f} and a shard "
            f"{per_chunk / 1e6:,.0f}"
        )
    longest_chunk = int(np.diff(observations.summary.token_start).max())
    chunks_per_shard = max(min(chunks_per_shard, MAX_TOKENS // max(longest_chunk, 1)), 1)
    return -(-(len(observations.layout.chunk_start) - 1) // chunks_per_shard)


def drop_unsampled_clusters(run: ChainRun) -> ChainRun:
    """Return a chain without the clusters that have no sampled groups; renumber the others."""
    labels, parameters = [], {draw.index: draw for draw in run.parameters}
    for i, draw in enumerate(run.cluster_of_group):
        clusters, renumbered = np.unique(draw, return_inverse=True)
        labels.append(renumbered.astype(np.int32))
        if i in parameters:
            parameters[i] = _select_clusters(parameters[i], clusters)
    return replace(run, cluster_of_group=labels, parameters=list(parameters.values()))


def _select_clusters(draw: ParameterDraw, clusters: Integers) -> ParameterDraw:
    """Return a draw with only some of its clusters and their topics."""
    topics_in_cluster = draw.topics_in_cluster[clusters]
    topics = np.unique(topics_in_cluster.indices)
    tables, dropped = draw.tables_in_cluster, np.delete(draw.topic_weights, topics)
    levels = list(draw.levels)
    if levels:
        children, draws_below = levels[0].children[:, clusters], levels[0].draws_below[clusters]
        levels[0] = replace(levels[0], children=children, draws_below=draws_below)
    return replace(
        draw,
        topics_in_cluster=topics_in_cluster[:, topics],
        tables_in_cluster=None if tables is None else tables[clusters][:, topics],
        content_statistics=draw.content_statistics[topics],
        topic_weights=draw.topic_weights[topics],
        unused_weight=draw.unused_weight + float(dropped.sum()),
        background=None if (rows := draw.background) is None else rows[[*clusters, -1]],
        levels=tuple(levels),
    )


def labels_on_disk(corpus: Corpus, n_chains: int) -> list[dict[str, Integers]]:
    """Return the labels of all groups after a fit, by chain; empty if the corpus is in memory."""
    if not isinstance(corpus, SampledCorpus):
        return []
    return [
        {
            name: np.fromfile(path, LABEL_DTYPES[name])
            for name, path in label_paths(corpus.source.folder, chain).items()
            if name != "draws"
        }
        for chain in range(n_chains)
    ]


def labels_of_all(sample: SampledCorpus, runs: Sequence[ChainRun], posterior: Posterior) -> Int32s:
    """Return the consensus cluster of every group: int32 (n_groups,).

    For sampled groups, it is that of the posterior. Any other group gets the most frequent
    consensus cluster, over all draws, of the sampled groups in its cluster. ``runs`` must contain
    all clusters.
    """
    source, n_groups = sample.source, sample.source.n_groups
    stored = [
        (draws_file(source.folder, run.chain), row, share_of_consensus(draw, posterior.labels))
        for run in runs
        for row, draw in zip(run.row_of_draw, run.cluster_of_group, strict=True)
    ]
    weights = posterior.draw_weights
    labels = np.empty(n_groups, np.int32)
    sizes = np.bincount(posterior.labels) / len(posterior.labels)
    step = max(CELLS_PER_BATCH // len(sizes), 1)
    for first in range(0, n_groups, step):
        last = min(first + step, n_groups)
        # Groups that never share a cluster with a sampled one get the largest cluster.
        score = np.tile(1e-9 * sizes, (last - first, 1))
        for weight, (path, row, share) in zip(weights, stored, strict=True):
            cluster = read_draw(path, n_groups, row, first, last)
            has_share = cluster < len(share)
            score[has_share] += weight * share[cluster[has_share]]
        labels[first:last] = score.argmax(axis=1)
    labels[sample.groups] = posterior.labels
    return labels
