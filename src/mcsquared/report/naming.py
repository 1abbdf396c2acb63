"""Names of clusters and topics: a few words, or what tells their contexts from the others'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.report.packing import clipped

if TYPE_CHECKING:
    from mcsquared.corpus import Column
    from mcsquared.posterior import Posterior
    from mcsquared.report.content import Words

__all__ = ["cluster_names", "topic_names"]

Floats = NDArray[np.float64]

N_PHRASES = 2
_LONGEST = 40
# A value names a cluster if most of its groups have it, and clearly more than those of others: a
# cluster with one boys' school more than its due is not "boys".
_MOST, _MORE = 0.5, 1.2
_APART = 0.5  # standard deviations of all groups, from which a mean is low or high


def cluster_names(posterior: Posterior, words: Words | None, shares: Floats) -> list[str]:
    """Return what tells each cluster from the others in a few words; empty where nothing does."""
    if words is not None and words.readable:
        return [words.name(row @ words.topics) for row in shares]
    bag = _first_bag(posterior)
    if bag is not None:
        table = posterior.context_given_cluster(bag).to_numpy()
        return _names_by_members(posterior.contexts[bag], table, _sizes(posterior))
    phrases: list[list[str]] = [[] for _ in range(posterior.n_clusters)]
    for name, column in posterior.contexts.items():
        for own, phrase in zip(phrases, _phrases(posterior, name, column), strict=True):
            if phrase:
                own.append(phrase)
    return [", ".join(own[:N_PHRASES]) for own in phrases]


def topic_names(posterior: Posterior, words: Words | None) -> list[str]:
    """Return a few words for each topic: its own, or the members of a bag that it goes with."""
    if words is not None and words.readable:
        return [words.name(row) for row in words.topics]
    bag = _first_bag(posterior)
    if bag is None:
        return ["" for _ in range(posterior.n_topics)]
    table = posterior.context_given_topic(bag).to_numpy()
    names = _names_by_members(posterior.contexts[bag], table, posterior.tokens_of_topic)
    return [f"with {values}" if values else "" for values in names]


def _first_bag(posterior: Posterior) -> str | None:
    bags = (name for name, column in posterior.contexts.items() if column.kind == "bag")
    return next(bags, None)


def _sizes(posterior: Posterior) -> NDArray[np.int64]:
    return np.bincount(posterior.labels, minlength=posterior.n_clusters)


def _names_by_members(column: Column, table: Floats, weight: NDArray[np.int64]) -> list[str]:
    """Return the members that tell each column of a table from all of them together."""
    overall = np.maximum(table @ (weight / max(weight.sum(), 1)), 1e-300)
    gain = table * np.log(np.maximum(table, 1e-300) / overall[:, None])
    best = np.argsort(-gain, axis=0, kind="stable")[:N_PHRASES].T
    names: Any = column.categories
    own = table > _MORE * overall[:, None]
    return [
        ", ".join(clipped(names[v], _LONGEST) for v in row if v < len(names) and own[v, k])
        for k, row in enumerate(best)
    ]


def _phrases(posterior: Posterior, name: str, column: Column) -> list[str]:
    """Return what a context says of each cluster: a value, or low or high; often nothing."""
    short = clipped(name, _LONGEST)
    if column.kind == "category":
        shares = posterior.context_given_cluster(name).to_numpy().T
        names: Any = column.categories
        values = [clipped(value, _LONGEST) for value in names]
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
    """Return the value that most groups of each cluster have and fewer of the others."""
    overall = (sizes / max(sizes.sum(), 1)) @ shares
    best = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), np.int64)
    return [
        values[v] if v < len(values) and row[v] >= max(_MOST, _MORE * overall[v]) else ""
        for v, row in zip(best, shares, strict=True)
    ]


def _sides(posterior: Posterior, column: Column) -> NDArray[np.int64]:
    """Return −1 where the mean of a cluster is clearly low, 1 where high, else 0."""
    values = np.asarray(column.observations(), np.float64)
    labels = posterior.labels[column.observed]
    spread = float(values.std()) if len(values) else 0.0
    if not spread > 0:
        return np.zeros(posterior.n_clusters, np.int64)
    counts = np.bincount(labels, minlength=posterior.n_clusters)
    sums = np.bincount(labels, values - values.mean(), minlength=posterior.n_clusters)
    apart = sums / np.maximum(counts, 1) / spread
    return np.where(np.abs(apart) >= _APART, np.sign(apart), 0.0).astype(np.int64)
