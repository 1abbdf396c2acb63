"""Words: clusters and topics given ψ, for λ = ∞ and λ finite."""

from typing import Any

import numpy as np

from mcsquared.arrays import Float32s, Int32s
from mcsquared.kernels.cpu.lanes import N_LANES, aligned
from mcsquared.kernels.cpu.mixtures import (
    draw_clusters_of_words,
    tabulate_log_mixtures,
    tabulate_mixtures,
)
from mcsquared.kernels.cpu.varying_tokens import (
    count_words_in_topics,
    sweep_tokens,
    sweep_tokens_by_group_topics,
)
from mcsquared.samplers.content import effects
from mcsquared.samplers.content.python_families import GroupOrder
from mcsquared.samplers.steps.weights import as_float32
from mcsquared.samplers.types import GroupTask

MANY_SLOTS = 512  # above this number, weighing the topics of a group first is faster


def draw_clusters_and_topics(task: GroupTask) -> dict[str, Any]:
    """Draw clusters with topics summed out (λ = ∞). Topics are drawn by cell later."""
    observations, labels, globals_, _ = task
    layout, order = observations.layout, GroupOrder(task)
    log_mixtures = tabulate_words(task)
    weights = (log_mixtures.reshape(-1), globals_.weights.log_cluster_weights, order.contexts)
    scores, clusters = (layout.words_of_group, *weights), labels.cluster_of_group

    def assign(first: int, last: int) -> None:
        for part in order.parts(first, last):
            draw_clusters_of_words(*part, order.groups, *scores, globals_.key, clusters)

    work = (16.0 * observations.n_groups + 0.12 * len(scores[0].column)) * log_mixtures.shape[1]
    order.threads.map(len(layout.chunk_start) - 1, assign, work=work)
    return {}


def tabulate_words(task: GroupTask) -> Float32s:
    """Return log Σ_m τ_km ψ_mw minus its mean over clusters, float32 (n_words, cluster slots)."""
    variates, shares = task.globals.content, task.globals.scaled_shares
    rows = task.observations.layout.row_chunk_start
    log_mixtures, means = aligned(len(variates), len(shares)), np.empty(len(variates), np.float32)
    shares_by_topic = np.ascontiguousarray(shares.T).reshape(-1)
    mixtures = (variates.reshape(-1), shares_by_topic, log_mixtures, means)

    def tabulate(first: int, last: int) -> None:
        tabulate_log_mixtures(rows[first], rows[last], *mixtures)

    work = (11.0 + 0.03 * shares.shape[1]) * log_mixtures.size
    task.threads.map(len(rows) - 1, tabulate, work=work)
    return log_mixtures


def draw_topics(task: GroupTask, words_in_topic: Int32s | None = None) -> dict[str, Any]:
    """Draw the topic of every token and count its word (λ finite)."""
    observations, labels, globals_, threads = task
    layout, bounds = observations.layout, observations.layout.word_chunk_start
    base = as_float32(globals_.lam * np.exp(globals_.weights.log_shares))
    if words_in_topic is None:
        words_in_topic = aligned(observations.n_words, base.shape[1], dtype=np.int32)
    tokens = (layout.word_start, layout.token_by_word, labels.topic_of_token)

    def count(first: int, last: int) -> None:
        count_words_in_topics(bounds[first], bounds[last], *tokens, words_in_topic)

    if globals_.effects is not None:
        effects.draw_word_topics(task, MANY_SLOTS)
    elif base.shape[1] <= MANY_SLOTS:
        draw_from_all_topics(task, base)
    else:
        draw_group_topics_first(task, base)
    work = 2.0 * observations.n_tokens + 0.5 * words_in_topic.size
    threads.map(len(bounds) - 1, count, work=work)
    return {"words_in_topic": words_in_topic}


def draw_from_all_topics(task: GroupTask, base: Float32s) -> None:
    """Draw the topic of every token, weighing all topics at once."""
    observations, labels, globals_, threads = task
    layout, blocks = observations.layout, (0,) * (base.shape[1] // N_LANES)
    tokens = (layout.order_start, layout.order, observations.groups, observations.word)
    weights = (base, globals_.content.reshape(-1), blocks)

    def visit(first: int, last: int) -> None:
        sweep_tokens(first, last, *tokens, *weights, globals_.key, *labels)

    work = (20.0 + 0.1 * base.shape[1]) * observations.n_tokens
    threads.map(len(layout.order_start) - 1, visit, work=work)


def draw_group_topics_first(task: GroupTask, base: Float32s) -> None:
    """Draw the topic of every token, weighing the topics of its group first."""
    observations, labels, globals_, threads = task
    rows, psi = observations.layout.row_chunk_start, globals_.content.reshape(-1)
    mixtures = aligned(len(globals_.content), len(base))
    by_topic = np.ascontiguousarray(base.T).reshape(-1)
    tokens = (observations.groups, observations.word)
    weights = (base.shape[1], base.reshape(-1), psi, mixtures)

    def tabulate(first: int, last: int) -> None:
        tabulate_mixtures(rows[first], rows[last], psi, by_topic, mixtures)

    def visit(first: int, last: int) -> None:
        sweep_tokens_by_group_topics(first, last, *tokens, *weights, globals_.key, *labels)

    threads.map(len(rows) - 1, tabulate, work=0.03 * mixtures.size * base.shape[1])
    work = 100.0 * observations.n_tokens
    threads.map(len(observations.layout.chunk_start) - 1, visit, work=work)
