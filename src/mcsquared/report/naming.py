"""Names of clusters and topics: distinctive words or context values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.report.packing import shorten

if TYPE_CHECKING:
    from mcsquared.corpus import Column
    from mcsquared.posterior import Posterior
    from mcsquared.report.content import Words

Floats = NDArray[np.float64]

N_PHRASES = 2
_MAX_LENGTH = 40
# A value names a cluster if most of its groups have it, and clearly more than in other clusters.
_MIN_SHARE, _MIN_LIFT = 0.5, 1.2
_MIN_DEVIATION = 0.5  # from the overall mean, in standard deviations, to be low or high


def cluster_names(posterior: Posterior, words: Words | None, shares: Floats) -> list[str]:
    """Return a short name for each cluster; empty if nothing is distinctive."""
    if words is not None and words.readable:
        return [words.name(row @ words.topics) for row in shares]
    bag = _first_bag(posterior)
    if bag is not None:
        table = posterior.context_given_cluster(bag).to_numpy()
        return _names_by_items(posterior.contexts[bag], table, _sizes(posterior))
    phrases: list[list[str]] = [[] for _ in range(posterior.n_clusters)]
    for name, column in posterior.contexts.items():
        for found, phrase in zip(phrases, _phrases(posterior, name, column), strict=True):
            if phrase:
                found.append(phrase)
    return [", ".join(found[:N_PHRASES]) for found in phrases]


def topic_names(posterior: Posterior, words: Words | None) -> list[str]:
    """Return a few words for each topic: its words, or the items of a bag it occurs with."""
    if words is not None and words.readable:
        return [words.name(row) for row in words.topics]
    bag = _first_bag(posterior)
    if bag is None:
        return ["" for _ in range(posterior.n_topics)]
    table = posterior.context_given_topic(bag).to_numpy()
    names = _names_by_items(posterior.contexts[bag], table, posterior.tokens_of_topic)
    return [f"with {values}" if values else "" for values in names]


def _first_bag(posterior: Posterior) -> str | None:
    bags = (name for name, column in posterior.contexts.items() if column.kind == "bag")
    return next(bags, None)


def _sizes(posterior: Posterior) -> NDArray[np.int64]:
    return np.bincount(posterior.labels, minlength=posterior.n_clusters)


def _names_by_items(column: Column, table: Floats, weight: NDArray[np.int64]) -> list[str]:
    """Return the items that distinguish each column of a table from their mixture."""
    overall = np.maximum(table @ (weight / max(weight.sum(), 1)), 1e-300)
    gain = table * np.log(np.maximum(table, 1e-300) / overall[:, None])
    best = np.argsort(-gain, axis=0, kind="stable")[:N_PHRASES].T
    names: Any = column.categories
    lifted = table > _MIN_LIFT * overall[:, None]
    return [
        ", ".join(shorten(names[v], _MAX_LENGTH) for v in row if v < len(names) and lifted[v, k])
        for k, row in enumerate(best)
    ]


def _phrases(posterior: Posterior, name: str, column: Column) -> list[str]:
    """Return a phrase on a context for each cluster: a value, or low or high; often empty."""
    short = shorten(name, _MAX_LENGTH)
    if column.kind == "category":
        shares = posterior.context_given_cluster(name).to_numpy().T
        names: Any = column.categories
        values = [shorten(value, _MAX_LENGTH) for value in names]
        return _values_of_most(shares, _sizes(posterior), values)
    if column.kind == "boolean":
        shares = posterior.context_given_cluster(name).to_numpy().T
        return _values_of_most(shares, _sizes(posterior), [f"not {short}", short])
    if column.kind in ("number", "count", "date"):
        ends = ("early", "late") if column.kind == "date" else ("low", "high")
        return [
            f"{ends[int(side > 0)]} {short}" if side else "" for side in _sides(posterior, column)
        ]
    return ["" for _ in range(posterior.n_clusters)]


def _values_of_most(shares: Floats, sizes: NDArray[np.int64], values: list[str]) -> list[str]:
    """Return the value that most groups of each cluster have, but fewer of the others."""
    overall = (sizes / max(sizes.sum(), 1)) @ shares
    best = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), np.int64)
    return [
        values[v] if v < len(values) and row[v] >= max(_MIN_SHARE, _MIN_LIFT * overall[v]) else ""
        for v, row in zip(best, shares, strict=True)
    ]


def _sides(posterior: Posterior, column: Column) -> NDArray[np.int64]:
    """Return −1 if the mean of a cluster is clearly low, 1 if it is high, otherwise 0."""
    values = np.asarray(column.observations(), np.float64)
    labels = posterior.labels[column.observed]
    spread = float(values.std()) if len(values) else 0.0
    if not spread > 0:
        return np.zeros(posterior.n_clusters, np.int64)
    counts = np.bincount(labels, minlength=posterior.n_clusters)
    sums = np.bincount(labels, values - values.mean(), minlength=posterior.n_clusters)
    deviation = sums / np.maximum(counts, 1) / spread
    clear = np.abs(deviation) >= _MIN_DEVIATION
    return np.where(clear, np.sign(deviation), 0.0).astype(np.int64)
