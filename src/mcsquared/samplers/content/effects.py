"""Groups with their own base measures λ b_j: contexts act on topics, λ finite.

The kernels of tokens take a row of topic weights per cluster. Here they are called for few groups
at a time, with the rows of these groups in place of those of their clusters.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Float32s, Floats, Int64s
from mcsquared.kernels.cpu import effects as kernels
from mcsquared.kernels.cpu.contexts import ContextParameters, GivenContexts
from mcsquared.kernels.cpu.groups import Groups
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.kernels.cpu.varying_tokens import sweep_tokens
from mcsquared.kernels.cpu.vector_tokens import VectorTokens, draw_vector_topics
from mcsquared.observations import Observations
from mcsquared.samplers.content.background import no_background
from mcsquared.samplers.content.python_families import GroupOrder
from mcsquared.samplers.steps.effects import scales_of_patterns
from mcsquared.samplers.steps.weights import as_float32
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import EffectDraw, Globals, GroupTask, Key, Labels

MAX_GROUPS = 2048  # whose base measures are in memory at a time, per thread


def effect_values_of(task: GroupTask) -> kernels.EffectValues:
    """Return the values of the effects of every group."""
    assert task.observations.effect_values is not None
    return task.observations.effect_values


def float32_rows(globals_: Globals) -> kernels.SourceRows:
    """Return `source_rows` of the globals."""
    assert globals_.effects is not None
    return source_rows(globals_.lam, globals_.weights.log_shares, globals_.effects)


def source_rows(lam: float, log_shares: Floats, effects: EffectDraw) -> kernels.SourceRows:
    """Return λ τ of clusters and values, and the weights of effects, as float32."""
    weights = effects.weights
    return kernels.SourceRows(
        base=as_float32(lam * np.exp(log_shares)),
        rows=as_float32(lam * np.exp(effects.log_shares)),
        weights=weights.astype(np.float32),
        scales=scales_of_patterns(weights).astype(np.float32),
    )


def float64_rows(globals_: Globals) -> kernels.SourceRows:
    """Return τ of clusters and values, without λ, and the weights of effects, as float64."""
    assert globals_.effects is not None
    sources = rows_of_values(globals_.effects)
    return sources._replace(base=np.exp(globals_.weights.log_shares))


def rows_of_values(effects: EffectDraw) -> kernels.SourceRows:
    """Return τ of the values of effects, without λ and without clusters, as float64."""
    weights = effects.weights
    rows = np.exp(effects.log_shares)
    return kernels.SourceRows(np.zeros((0, 0)), rows, weights, scales_of_patterns(weights))


def draw_word_topics(task: GroupTask, max_slots: int) -> None:
    """Draw the topics of all words; the fast kernel takes at most ``max_slots`` topic slots."""
    observations, labels, globals_, threads = task
    layout, values, sources = observations.layout, effect_values_of(task), float32_rows(globals_)
    n_slots, psi = sources.base.shape[1], globals_.content.reshape(-1)
    blocks, rows = (0,) * (n_slots // N_LANES), np.zeros(observations.n_groups, np.int32)
    tokens = (observations.groups, observations.word)

    def sweep(chosen: Int64s, base: Float32s) -> None:
        kernels.fill_bases(chosen, labels.cluster_of_group, values, sources, base)
        if n_slots > max_slots:
            arguments = (base, psi, globals_.key, labels.topic_of_token)
            kernels.sweep_tokens_of_many_topics(chosen, *tokens, *arguments)
            return
        rows[chosen] = np.arange(len(chosen))
        part, weights = np.array([0, len(chosen)]), (base, psi, blocks)
        sweep_tokens(
            0, 1, part, chosen, *tokens, *weights, globals_.key, rows, labels.topic_of_token
        )

    def visit(first: int, last: int) -> None:
        begin, end = layout.order_start[first], layout.order_start[last]
        size = min(MAX_GROUPS, end - begin)
        base = np.empty((size, n_slots), np.float32)
        for start in range(begin, end, size or 1):
            chosen = layout.order[start : min(start + size, end)]
            sweep(chosen, base[: len(chosen)])

    work = (20.0 + 0.1 * n_slots) * observations.n_tokens
    threads.map(len(layout.order_start) - 1, visit, work=work)


def draw_vector_topics_by_chunk(
    task: GroupTask, tokens: VectorTokens, first: int, last: int
) -> Floats:
    """Draw the topics of vectors; return their statistics by chunk and topic, see `Sums`."""
    observations, labels, globals_, _ = task
    values, sources, n_slots = effect_values_of(task), float64_rows(globals_), globals_.slots[1]
    statistics = np.zeros((last - first, n_slots, observations.n_content_statistics))
    rows = np.zeros(observations.n_groups, np.int32)
    for chunk in range(first, last):
        begin, end = observations.layout.chunk_start[chunk : chunk + 2]
        chosen = np.arange(begin, end)
        shares = np.empty((len(chosen), n_slots))
        kernels.fill_bases(chosen, labels.cluster_of_group, values, sources, shares)
        with np.errstate(divide="ignore"):
            log_shares = np.log(shares)
        rows[chosen] = np.arange(len(chosen))
        topics, out = np.zeros(shares.shape, np.int32), statistics[chunk - first :][:1]
        weights = (log_shares, globals_.lam, rows, labels.topic_of_token)
        draw_vector_topics(
            chunk, chunk + 1, observations.groups, tokens, *weights, topics, out, globals_.key
        )
    return statistics


def resample_groups(task: GroupTask) -> dict[str, Any]:
    """Draw z_j and the tables of every group given its topics; return fields of `Sums`."""
    globals_, order = task.globals, GroupOrder(task)
    likelihood = np.zeros(len(order.groups.chunk_start) - 1)
    cluster_terms = (globals_.weights.log_cluster_weights, order.contexts)
    sources, parameters = float32_rows(globals_), (globals_.lam, globals_.key)
    sums = draw_clusters_and_tables(
        task, order, True, sources, *parameters, cluster_terms, likelihood
    )
    return {**sums, "topic_log_likelihood": likelihood}


class TableParameters(NamedTuple):
    """Parameters given which tables are drawn: λ, log τ of clusters and values, and a key."""

    lam: float
    log_shares: Floats
    effects: EffectDraw
    key: Key


class GivenClusters(NamedTuple):
    """The counterpart of `GroupOrder` for groups whose clusters are given: all chunks at once."""

    groups: Groups
    threads: ThreadPool

    def parts(self, first_chunk: int, last_chunk: int) -> Iterator[tuple[int, int]]:
        """Yield one part."""
        yield first_chunk, last_chunk


def redraw_tables(
    observations: Observations, labels: Labels, argument: TableParameters, threads: ThreadPool
) -> tuple[Labels, dict[str, Any]]:
    """Draw the tables of all groups given their clusters and topics; return sums over groups."""
    order, natural = GivenClusters(observations.groups, threads), np.zeros((0, 0))
    no_categories, background = np.zeros((0, 0), np.float32), no_background(observations)
    no_parameters = ContextParameters(natural, no_categories, natural, background)
    contexts = GivenContexts(observations.dense, observations.bags, no_parameters)
    cluster_terms = (np.zeros(len(argument.log_shares)), contexts)
    rows = source_rows(argument.lam, argument.log_shares, argument.effects)
    task = GroupTask(observations, labels, None, threads)  # type: ignore[arg-type]
    likelihood = np.zeros(len(observations.layout.chunk_start) - 1)
    parameters = (argument.lam, argument.key)
    return labels, draw_clusters_and_tables(
        task, order, False, rows, *parameters, cluster_terms, likelihood
    )


def draw_clusters_and_tables(
    task: GroupTask,
    order: GroupOrder | GivenClusters,
    draws_clusters: bool,
    sources: kernels.SourceRows,
    lam: float,
    key: Key,
    cluster_terms: tuple[Any, ...],
    likelihood: Floats,
) -> dict[str, Any]:
    """Draw clusters, unless they are given, and tables; return their sums over groups.

    ``cluster_terms`` are the log-weights of the clusters and the contexts of the groups.
    """
    labels, values = task.labels, effect_values_of(task)
    tokens = (order.groups, labels.topic_of_token, lam, np.ascontiguousarray(sources.base.T))
    rows = (values, sources, draws_clusters)

    def assign(first: int, last: int) -> tuple[NDArray[Any], ...]:
        topics, in_cluster = np.zeros((2, *sources.base.shape), np.int32)
        value_tables, by_pattern = (
            np.zeros(sources.rows.shape, np.int32),
            np.zeros(len(sources.scales), np.int64),
        )
        tables = (in_cluster, value_tables, by_pattern)
        out = (labels.cluster_of_group, topics, tables, likelihood)
        for part in order.parts(first, last):
            kernels.resample_groups_with_effects(*part, *tokens, *rows, *cluster_terms, key, *out)
        return topics, *tables

    # One part per thread: the tables of values may be large.
    n_chunks = len(task.observations.layout.chunk_start) - 1
    work = 10.0 * task.observations.n_tokens
    parts = order.threads.map(n_chunks, assign, even=True, work=work)
    names = ("topics_in_cluster", "tables_in_cluster", "tables_of_values", "tables_by_pattern")
    return dict(zip(names, map(sum, zip(*parts, strict=True)), strict=True))
