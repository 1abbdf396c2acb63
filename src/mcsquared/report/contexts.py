"""Contexts on the page: their distribution in every cluster and topic, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError
from mcsquared.families.registry import display_of
from mcsquared.posterior.contexts import context_of, context_statistics
from mcsquared.report.packing import clipped, pack

if TYPE_CHECKING:
    import pandas as pd

    from mcsquared.corpus import Column
    from mcsquared.posterior import Posterior

__all__ = ["context_data"]

Floats = NDArray[np.float64]

_SHOWN_VALUES = 12  # of a category or a bag, by probability and again by distinctness
_MOST_ITEMS = 1_500_000  # of a bag over all groups: above it the groups' own are left out
_LONGEST_VALUE = 80
_MOST_INTERVALS, _N_INTERVALS = 60, 16  # of whole numbers; of others


def context_data(
    posterior: Posterior,
    name: str,
    shown: NDArray[np.int64],
    shares: NDArray[np.floating[Any]],
) -> dict[str, Any]:
    """Return a context's part of the page.

    Parameters
    ----------
    shown : int64 (n_shown,)
        The groups that the page holds.
    shares : float (n_groups, n_topics)
        Topic shares of all groups.
    """
    column = posterior.contexts[name]
    missing = ~column.observed
    sizes = np.bincount(posterior.labels, minlength=posterior.n_clusters)
    without = np.bincount(posterior.labels[missing], minlength=posterior.n_clusters)
    data: dict[str, Any] = {
        "name": clipped(name, _LONGEST_VALUE),
        "kind": column.kind,
        "family": type(posterior.priors.contexts[name]).__name__,
        "note": column.note,
        "missing": float(missing.mean()),
        "missing_in_cluster": pack(without / np.maximum(sizes, 1)),
        "categories": None,
        **_values(column, shown),
    }
    if column.categories is not None:
        data["categories"] = [clipped(value, _LONGEST_VALUE) for value in column.categories]
    try:
        by_cluster = posterior.context_given_cluster(name)
        by_topic = posterior.context_given_topic(name)
    except InputError as error:
        # A user's own family may have no table; the groups' values are shown all the same.
        return {**data, "table": None, "why": str(error)}
    weight = sizes / sizes.sum()
    display = display_of(posterior.priors.contexts[name], column.kind)
    if display == "categories":
        data |= _categories(column, by_cluster, by_topic, weight)
    elif display == "vector":
        data |= _vectors(by_cluster, by_topic, weight)
    else:
        data |= {"table": display, **_curves(column, by_cluster, by_topic, weight)}
        data |= _own_means(posterior, name)
        data["over"] = _over(column, posterior.tokens_per_group, shares)
    return data


def _values(column: Column, shown: NDArray[np.int64]) -> dict[str, Any]:
    """Return what each group has: a number, a code from 1 on (0: missing), or a list of codes."""
    if column.kind == "bag":
        chosen = column.values[shown]
        if chosen.nnz > _MOST_ITEMS:
            return {"values": None, "left_out": int(chosen.nnz)}
        lengths = np.diff(chosen.indptr)
        return {"values": {"lengths": pack(lengths), "items": pack(chosen.indices)}}
    if column.kind == "category":
        return {"values": pack(column.values[shown].astype(np.int64) + 1)}
    if column.kind == "boolean":
        return {"values": pack(np.nan_to_num(column.values[shown] + 1.0).astype(np.int64))}
    return {"values": pack(column.values[shown])}


def _curves(
    column: Column, by_cluster: pd.DataFrame, by_topic: pd.DataFrame, weight: Floats
) -> dict[str, Any]:
    """Return densities over a grid, or probabilities of counts, and their means."""
    points = by_cluster.index.to_numpy()
    if column.kind == "date":
        points = (points - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    points = np.asarray(points, np.float64)
    clusters, topics = by_cluster.to_numpy().T, by_topic.to_numpy().T
    seen = column.observations()
    return {
        "points": pack(points),
        "by_cluster": pack(clusters),
        "by_topic": pack(topics),
        "overall": pack(weight @ clusters),
        "cluster_mean": pack(_means(points, clusters)),
        "topic_mean": pack(_means(points, topics)),
        "range": [float(seen.min()), float(seen.max())] if len(seen) else None,
        "whole": bool(len(seen) and (seen == np.round(seen)).all()),
    }


def _over(
    column: Column, tokens: NDArray[np.int64], shares: NDArray[np.floating[Any]]
) -> dict[str, Any] | None:
    """Return how large each topic is along a number: share of the tokens in every interval."""
    rows = np.flatnonzero(column.observed & (tokens > 0))
    values = np.asarray(column.values, np.float64)[rows]
    if len(np.unique(values[:100_000])) < 3:
        return None
    low, high = values.min(), values.max()
    whole = bool((values == np.round(values)).all()) and high - low < _MOST_INTERVALS
    if whole:
        edges = np.arange(low - 0.5, high + 1.0)
    else:
        # Intervals of the same number of groups where values crowd, so that none is a handful.
        edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _N_INTERVALS + 1)))
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    n_intervals = len(edges) - 1
    weight = np.bincount(place, weights=tokens[rows], minlength=n_intervals)
    member = sparse.csr_matrix(
        (tokens[rows].astype(np.float64), (place, rows)), shape=(n_intervals, len(shares))
    )
    share = (member @ shares) / np.maximum(weight, 1.0)[:, None]
    middle = np.bincount(place, weights=values, minlength=n_intervals)
    counts = np.bincount(place, minlength=n_intervals)
    used = counts > 0
    return {
        "points": pack((middle / np.maximum(counts, 1))[used]),
        "groups": pack(counts[used]),
        "by_topic": pack(share[used].T),
    }


def _means(points: Floats, densities: Floats) -> Floats:
    totals = np.maximum(densities.sum(axis=1), np.finfo(np.float64).tiny)
    return densities @ points / totals


def _own_means(posterior: Posterior, name: str) -> dict[str, Any]:
    """Return the means that the family itself has: a grid knows nothing of what lies beyond it."""
    _, family = context_of(posterior, name)
    means = family.mean_observation(context_statistics(posterior, name))
    if means is None or means.shape[1] != 1:
        return {}
    tokens = posterior.tokens_of_cluster[:, None] * posterior.topic_of_tokens
    totals = tokens.sum(axis=0)
    even = np.full_like(tokens, 1.0 / max(len(tokens), 1))
    part = np.divide(tokens, totals, out=even, where=totals > 0)
    return {"cluster_mean": pack(means[:, 0]), "topic_mean": pack(part.T @ means[:, 0])}


def _vectors(by_cluster: pd.DataFrame, by_topic: pd.DataFrame, weight: Floats) -> dict[str, Any]:
    """Return mean and sd of every dimension."""

    def parts(table: pd.DataFrame) -> tuple[Floats, Floats]:
        both = table.to_numpy().T.reshape(-1, 2, len(table))
        return both[:, 0], both[:, 1]

    means, sds = parts(by_cluster)
    topic_means, topic_sds = parts(by_topic)
    overall = weight @ means
    spread = np.sqrt(weight @ (np.square(sds) + np.square(means - overall)))
    return {
        "table": "vector",
        "width": int(means.shape[1]),
        "by_cluster": pack(np.stack([means, sds], axis=1)),
        "by_topic": pack(np.stack([topic_means, topic_sds], axis=1)),
        "overall": pack(np.stack([overall, spread])),
    }


def _categories(
    column: Column, by_cluster: pd.DataFrame, by_topic: pd.DataFrame, weight: Floats
) -> dict[str, Any]:
    """Return the values that matter in each cluster and topic, with their probabilities."""
    clusters, topics = by_cluster.to_numpy().T, by_topic.to_numpy().T
    overall = weight @ clusters
    data: dict[str, Any] = {
        "table": "categories",
        "overall": pack(overall),
        "groups_with": pack(_groups_with(column, len(overall))),
        "by_cluster": _shortlist(clusters, overall),
        "by_topic": _shortlist(topics, overall),
    }
    if column.kind == "boolean":
        data["categories"] = ["no", "yes"]
    return data


def _groups_with(column: Column, n_values: int) -> NDArray[np.int64]:
    if column.kind == "bag":
        return np.bincount(column.values.indices, minlength=n_values)
    observed = np.asarray(column.observations()).astype(np.int64)
    return np.bincount(observed, minlength=n_values)


def _shortlist(probability: Floats, overall: Floats) -> dict[str, Any]:
    """Return for each row the most probable values and the most characteristic ones, together.

    How characteristic a value is, is what it adds to the divergence from the overall distribution:
    frequent here and rarer elsewhere.
    """
    ratio = np.log(np.maximum(probability, 1e-300) / np.maximum(overall, 1e-300))
    gain = probability * ratio
    values, shares, lengths = [], [], []
    for row, own_gain in zip(probability, gain, strict=True):
        most = min(_SHOWN_VALUES, len(row))
        frequent = np.argsort(-row, kind="stable")[:most]
        distinct = np.argsort(-own_gain, kind="stable")[:most]
        chosen = np.union1d(frequent, distinct)
        values.append(chosen)
        shares.append(row[chosen])
        lengths.append(len(chosen))
    return {
        "lengths": pack(np.array(lengths, np.int64)),
        "values": pack(np.concatenate(values) if values else np.zeros(0, np.int64)),
        "shares": pack(np.concatenate(shares) if shares else np.zeros(0)),
    }
