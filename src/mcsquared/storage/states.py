"""Where a chain stands, as arrays and back: labels, weights, and the counts they do not tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.families import ConjugateFamily
from mcsquared.kernels.cpu.lanes import N_LANES
from mcsquared.model.parameters import CONCENTRATIONS, NAMES, values_of
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.state import LANES, State, count
from mcsquared.storage.arrays import Reader, Tensors, pack_csr

__all__ = ["pack_state", "unpack_state"]

LARGEST = np.finfo(np.float64).max
ROUNDING = 1e-6  # by which sums of the same numbers may differ, far more than they ever do

Floats = NDArray[np.float64]


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
        "concentrations": np.array(list(values_of(state).values())),
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
    tensors: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
    observations: Observations,
    priors: Priors,
    sampler: str,
) -> State:
    """Return the state that `pack_state` took apart.

    Nothing that a file says reaches a kernel unchecked: a ValueError, of which `ModelFileError` is
    one, says what cannot be.

    Parameters
    ----------
    priors : Priors
    sampler : {"blocked", "collapsed"}
        What the chain was run with, and will be.
    """
    reader = Reader(tensors)
    concentrations = _concentrations(reader, priors)
    weights = reader.array("topic_weights", np.float64, (None,), 0.0, 1.0 + ROUNDING)
    log_unused = reader.array("log_unused", np.float64, (1,), -LARGEST, 0.0)
    n_clusters, n_topics = int(meta["cluster_slots"]), len(weights)
    lanes = LANES if sampler == "collapsed" else N_LANES
    _check_slots(n_clusters, lanes, observations.n_groups)
    _check_slots(n_topics, lanes, observations.n_tokens)
    varies = not math.isinf(concentrations["lam"])
    by_cell = bool(sampler == "blocked" and not varies and observations.n_words)
    labels: type = np.int32 if sampler == "collapsed" else np.uint16
    n_labels = 0 if by_cell else observations.n_tokens
    cluster = reader.array(
        "cluster_of_group", np.int32, (observations.n_groups,), 0, n_clusters - 1
    )
    topic = reader.array("topic_of_token", labels, (n_labels,), 0, n_topics - 1)
    state = State(
        cluster_of_group=cluster.copy(),
        topic_of_token=topic.copy(),
        topic_weights=weights.copy(),
        log_unused=log_unused.copy(),
        **concentrations,
        sweep=int(meta["sweep"]),
        counts=count(observations, cluster, topic, n_clusters, n_topics),
    )
    if by_cell and observations.n_tokens:
        _take_cells(state, reader, observations)
    if varies:
        _take_tables(state, reader)
    _check_weights(state)
    _take_sums(state, reader, observations)
    return state


def _concentrations(reader: Reader, priors: Priors) -> dict[str, Any]:
    """Return the concentrations by name, if these priors allow them."""
    values = reader.array("concentrations", np.float64, (len(CONCENTRATIONS),), 0.0).tolist()
    for declared, value in zip(CONCENTRATIONS, values, strict=True):
        if not declared.allows(value, getattr(priors, declared.name)):
            raise ValueError(f"{declared.name}={value!r} is impossible under these priors")
    return dict(zip(NAMES, values, strict=True))


def _check_slots(n_slots: int, lanes: int, n_labels: int) -> None:
    """Refuse numbers of slots that no run of this size would have."""
    if not 0 < n_slots <= 1024 + 4 * n_labels or n_slots % lanes:
        raise ValueError("its number of slots cannot be right")


def _check_weights(state: State) -> None:
    """Refuse weights of topics that are not shares of one whole, or of topics that are not."""
    total = state.topic_weights.sum() + math.exp(float(state.log_unused[0]))
    if abs(total - 1.0) > ROUNDING:
        raise ValueError("the weights of its topics do not add up to 1")
    if state.topic_weights[state.counts.tokens_in_topic == 0].any():
        raise ValueError("a topic without tokens has a weight")


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


def _take_tables(state: State, reader: Reader) -> None:
    held = state.counts.topics_in_cluster
    tables = reader.csr("tables_in_cluster", *held.shape).toarray()
    if (tables > held).any() or ((tables == 0) != (held == 0)).any():
        raise ValueError("its tables are not those of its tokens")
    state.tables_in_cluster = tables


def _take_sums(state: State, reader: Reader, observations: Observations) -> None:
    """Take sums of floats as they were rounded, if they are otherwise those of the labels."""
    counts = state.counts
    found = {}
    for name in ("context_statistics", "topic_statistics"):
        shape = getattr(counts, name).shape
        found[name] = reader.array(name, np.float64, shape, -LARGEST, LARGEST).copy()
    start = observations.dense.stat_start
    for c, family in enumerate(observations.dense_families):
        part = slice(int(start[c]), int(start[c + 1]))
        sums = found["context_statistics"][:, part]
        _check_sums(sums, counts.context_statistics[:, part], family)
    if observations.n_content_statistics:
        _check_sums(found["topic_statistics"], counts.topic_statistics, observations.content_family)
    counts.context_statistics = found["context_statistics"]
    counts.topic_statistics = found["topic_statistics"]


def _check_sums(found: Floats, wanted: Floats, family: ConjugateFamily) -> None:
    """Refuse statistics that are not those of the labels, or that the family cannot work with."""
    # Sums in another order differ in their last digits, by the largest of what was added.
    near = np.abs(found - wanted) <= ROUNDING * max(np.abs(wanted).max(initial=0.0), 1.0)
    # The first statistic of our own families counts observations, which no order changes.
    counted = family.kernel is None or np.array_equal(found[:, 0], wanted[:, 0])
    with np.errstate(all="ignore"):
        normaliser = family.log_normaliser(found)
    if not (near.all() and counted and np.isfinite(normaliser).all()):
        raise ValueError("its statistics are not those of this corpus")
