"""Where a chain stands, as arrays and back: labels, weights, and the counts they do not tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.observations import Observations
from mcsquared.state import LANES, State, count
from mcsquared.storage.arrays import Reader, Tensors, pack_csr

__all__ = ["pack_state", "unpack_state"]

LARGEST = np.finfo(np.float64).max


def pack_state(state: State) -> tuple[Tensors, dict[str, Any]]:
    """Return a state as tensors and JSON.

    Whole counts follow from the labels where every token has one. Sums of floats are written as
    they are, because a sum in another order would be rounded in another way.
    """
    counts = state.counts
    tensors: Tensors = {
        "cluster_of_group": state.cluster_of_group.copy(),
        "topic_of_token": state.topic_of_token.copy(),
        "topic_weights": state.topic_weights.copy(),
        "log_unused": state.log_unused.copy(),
        "concentrations": np.array([state.alpha, state.v, state.eta, state.lam]),
        "context_statistics": counts.context_statistics.copy(),
        "topic_statistics": counts.topic_statistics.copy(),
    }
    if state.tables_in_cluster is not None:
        tensors |= pack_csr("tables_in_cluster", sparse.csr_matrix(state.tables_in_cluster))
    if len(state.topic_of_token) != counts.tokens_in_topic.sum():
        tensors |= pack_csr("topics_in_cluster", sparse.csr_matrix(counts.topics_in_cluster))
        tensors |= pack_csr("words_in_topic", sparse.csr_matrix(counts.words_in_topic))
    meta = {"sweep": state.sweep, "cluster_slots": len(counts.groups_in_cluster)}
    return tensors, meta


def unpack_state(
    tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], observations: Observations
) -> State:
    """Return the state that `pack_state` took apart; a ValueError says what cannot be."""
    reader = Reader(tensors)
    cluster, topic = tensors["cluster_of_group"], tensors["topic_of_token"]
    weights = tensors["topic_weights"].astype(np.float64)
    n_clusters, n_topics = int(meta["cluster_slots"]), len(weights)
    by_cell = "topics_in_cluster.data" in reader
    n_labels = 0 if by_cell else observations.n_tokens
    if cluster.shape != (observations.n_groups,) or topic.shape != (n_labels,):
        raise ValueError("its labels are not those of this corpus")
    if cluster.dtype != np.int32 or topic.dtype not in (np.int32, np.uint16):
        raise ValueError("its labels are not whole numbers of 32 or 16 bits")
    _check_slots(cluster, n_clusters, observations.n_groups)
    _check_slots(topic, n_topics, observations.n_tokens)
    if n_topics % LANES:
        raise ValueError("its number of slots cannot be right")
    concentrations = tensors["concentrations"].astype(np.float64)
    alpha, v, eta, lam = concentrations.tolist()
    if not (concentrations > 0).all() or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("a weight or a concentration is not positive")
    log_unused = tensors["log_unused"].astype(np.float64).reshape(1)
    if not log_unused[0] <= 0:
        raise ValueError("the weight of topics unseen is not a share")
    state = State(
        cluster_of_group=cluster.copy(),
        topic_of_token=topic.copy(),
        topic_weights=weights,
        log_unused=log_unused,
        alpha=alpha,
        v=v,
        eta=eta,
        lam=lam,
        sweep=int(meta["sweep"]),
        counts=count(observations, cluster, topic, n_clusters, n_topics),
    )
    if by_cell:
        _take_cells(state, reader, observations)
    _take_sums(state, reader)
    if "tables_in_cluster.data" in reader:
        _take_tables(state, reader)
    return state


def _take_cells(state: State, reader: Reader, observations: Observations) -> None:
    """Take the counts of a state that keeps no topic of each token, if they fit the corpus."""
    n_clusters, n_topics = state.counts.topics_in_cluster.shape
    topics = reader.csr("topics_in_cluster", n_clusters, n_topics).toarray()
    words = reader.csr("words_in_topic", observations.n_words, n_topics).toarray()
    tokens = np.bincount(
        state.cluster_of_group, np.diff(observations.group_start), minlength=n_clusters
    )
    frequency = np.bincount(observations.word, minlength=observations.n_words)
    fits = (
        np.array_equal(topics.sum(axis=1, dtype=np.int64), tokens)
        and np.array_equal(words.sum(axis=1, dtype=np.int64), frequency)
        and np.array_equal(topics.sum(axis=0, dtype=np.int64), words.sum(axis=0, dtype=np.int64))
    )
    if not fits:
        raise ValueError("its counts are not those of this corpus")
    state.take_topics(topics)
    state.counts.words_in_topic = words


def _take_sums(state: State, reader: Reader) -> None:
    counts = state.counts
    for name in ("context_statistics", "topic_statistics"):
        shape = getattr(counts, name).shape
        setattr(counts, name, reader.array(name, np.float64, shape, -LARGEST, LARGEST).copy())


def _take_tables(state: State, reader: Reader) -> None:
    held = state.counts.topics_in_cluster
    tables = reader.csr("tables_in_cluster", *held.shape).toarray()
    if (tables > held).any() or ((tables == 0) != (held == 0)).any():
        raise ValueError("its tables are not those of its tokens")
    state.tables_in_cluster = tables


def _check_slots(labels: NDArray[Any], n_slots: int, n_labels: int) -> None:
    """Refuse labels outside their slots, and slots that no run of this size would have."""
    if not 0 < n_slots <= 1024 + 4 * n_labels:
        raise ValueError("its number of slots cannot be right")
    if labels.size and not 0 <= labels.min() <= labels.max() < n_slots:
        raise ValueError("a label lies outside its slots")
