"""Report data of contexts: their distributions in clusters and topics, and missing values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.arrays import Floats, Int64s
from mcsquared.corpus import Column
from mcsquared.errors import InputError
from mcsquared.markup import shorten
from mcsquared.posterior import Posterior
from mcsquared.posterior.contexts import context_display, context_of, context_statistics
from mcsquared.posterior.prevalence import bin_of_values
from mcsquared.posterior.tables import cluster_given_topic
from mcsquared.report.packing import as_numbers, pack, pack_lists

_N_VALUES = 12  # most probable values of a category or a bag, and as many characteristic ones
_MAX_ITEMS = 1_500_000  # the bags of the groups are omitted if they have more items in total
_MAX_VALUE_LENGTH = 80  # characters


def context_data(
    posterior: Posterior, name: str, groups: Int64s, shares: NDArray[np.floating[Any]]
) -> dict[str, Any]:
    """Return a context's part of the report.

    ``groups`` are the groups in the report, ``shares`` the topic shares of all groups.
    """
    column = posterior.contexts[name]
    missing = ~column.observed
    sizes = np.bincount(posterior.labels)
    n_missing = np.bincount(posterior.labels[missing], minlength=posterior.n_clusters)
    data: dict[str, Any] = {
        "name": shorten(name, _MAX_VALUE_LENGTH),
        "kind": column.kind,
        "family": type(posterior.priors.contexts[name]).__name__,
        "note": column.note,
        "missing": float(missing.mean()),
        "missing_in_cluster": pack(n_missing / np.maximum(sizes, 1)),
        "categories": None,
        **_values(column, groups),
    }
    if column.categories is not None:
        data["categories"] = [shorten(value, _MAX_VALUE_LENGTH) for value in column.categories]
    try:
        table = posterior.context_given_cluster(name)
        by_cluster = table.to_numpy().T
        by_topic = posterior.context_given_topic(name).to_numpy().T
    except InputError as error:
        # A user-defined family need not define `predictive`; the groups' values are still listed.
        return {**data, "table": None, "reason": str(error)}
    weight = sizes / sizes.sum()
    display = context_display(posterior, name)
    data["table"] = display
    if display == "categories":
        return data | _categories(column, by_cluster, by_topic, weight @ by_cluster)
    data |= {"by_cluster": pack(by_cluster), "by_topic": pack(by_topic)}
    if display == "vector":
        return data | _vector_moments(by_cluster, weight)
    data |= _curves(posterior, name, table.index.to_numpy(), by_cluster, by_topic)
    by_value = _shares_by_value(column, posterior.tokens_per_group, shares)
    return data | {"overall": pack(weight @ by_cluster), "by_value": by_value}


def _values(column: Column, groups: Int64s) -> dict[str, Any]:
    """Return each group's value: a number, a code from 1 (0 if missing), or a list of codes."""
    if column.kind == "bag":
        chosen = column.values[groups]
        if chosen.nnz > _MAX_ITEMS:
            return {"values": None}
        lengths = np.diff(chosen.indptr)
        return {"values": {"lengths": pack(lengths), "items": pack(chosen.indices)}}
    values = column.values[groups]
    if column.kind in ("category", "boolean"):
        values = np.nan_to_num(values + 1.0).astype(np.int64)
    return {"values": pack(values)}


def _curves(
    posterior: Posterior, name: str, index: NDArray[Any], by_cluster: Floats, by_topic: Floats
) -> dict[str, Any]:
    """Return the grid of densities or probabilities, the means and the range of the values.

    Means are exact if the family has them; otherwise they are those of the curves.
    """
    column, family = context_of(posterior, name)
    points = as_numbers(index)
    exact = family.mean_observation(context_statistics(posterior, name))
    if exact is not None and exact.shape[1] == 1:
        means = [exact[:, 0], cluster_given_topic(posterior).T @ exact[:, 0]]
    else:
        tiny = np.finfo(np.float64).tiny
        means = [x @ points / np.maximum(x.sum(axis=1), tiny) for x in (by_cluster, by_topic)]
    observed = column.observations()
    return {
        "points": pack(points),
        "cluster_mean": pack(means[0]),
        "topic_mean": pack(means[1]),
        "range": [float(observed.min()), float(observed.max())] if len(observed) else None,
        "integers": bool(len(observed) and (observed == np.round(observed)).all()),
    }


def _shares_by_value(
    column: Column, tokens_per_group: Int64s, shares: NDArray[np.floating[Any]]
) -> dict[str, Any] | None:
    """Return each topic's share of the tokens of the groups in each bin of a numeric context.

    None if the context has fewer than three distinct values.
    """
    rows = np.flatnonzero(column.observed & (tokens_per_group > 0))
    values = np.asarray(column.values, np.float64)[rows]
    if len(np.unique(values[:100_000])) < 3:
        return None
    bin_of_row, weights = bin_of_values(values), tokens_per_group[rows].astype(np.float64)
    counts = np.bincount(bin_of_row)
    by_bin = sparse.csr_matrix((weights, (bin_of_row, rows)), (len(counts), len(shares)))
    share = (by_bin @ shares) / np.bincount(bin_of_row, weights=weights)[:, None]
    return {
        "points": pack(np.bincount(bin_of_row, weights=values) / counts),
        "groups": pack(counts),
        "by_topic": pack(share.T),
    }


def _vector_moments(by_cluster: Floats, weight: Floats) -> dict[str, Any]:
    """Return the number of dimensions, and the overall mean and standard deviation of each."""
    means, sds = by_cluster[0::2], by_cluster[1::2]
    overall = weight @ means
    overall_sd = np.sqrt(weight @ (np.square(sds) + np.square(means - overall)))
    return {"width": int(means.shape[1]), "overall": pack(np.stack([overall, overall_sd]))}


def _categories(
    column: Column, by_cluster: Floats, by_topic: Floats, overall: Floats
) -> dict[str, Any]:
    """Return the main values of each cluster and topic with their probabilities."""
    is_bag = column.kind == "bag"
    codes = column.values.indices if is_bag else np.asarray(column.observations(), np.int64)
    data: dict[str, Any] = {
        "overall": pack(overall),
        "groups_with": pack(np.bincount(codes, minlength=len(overall))),
        "by_cluster": _shortlist(by_cluster, overall),
        "by_topic": _shortlist(by_topic, overall),
    }
    return data | ({"categories": ["no", "yes"]} if column.kind == "boolean" else {})


def _shortlist(probability: Floats, overall: Floats) -> dict[str, Any]:
    """Return the most probable and the most characteristic values of each row.

    A value is characteristic if it contributes much to the divergence from the overall
    distribution.
    """
    ratio = np.log(np.maximum(probability, 1e-300) / np.maximum(overall, 1e-300))
    gain = probability * ratio
    best = (np.argsort(-x, axis=1, kind="stable")[:, :_N_VALUES] for x in (probability, gain))
    values = [np.unique(row) for row in np.hstack(list(best))]
    return pack_lists(values, [row[v] for row, v in zip(probability, values, strict=True)])
