"""Figures of clusters: topics, co-clustering, a map of the groups, comparison of clusterings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.checks import check_choice, check_integer
from mcsquared.errors import InputError, import_optional
from mcsquared.palette import COLOURS, GREY
from mcsquared.plots.canvas import (
    SERIES_PER_STYLE,
    Ids,
    axes_for,
    heat_map,
    label_text,
    label_ticks,
    select,
)
from mcsquared.posterior import Posterior
from mcsquared.posterior.consensus import contingency, evenly_spaced
from mcsquared.posterior.membership import group_confidence
from mcsquared.posterior.posterior import posterior_of
from mcsquared.posterior.tables import topic_given_group

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_MATRIX_GROUPS = 200  # in a co-clustering matrix by default
MAX_NAMED_GROUPS = 40
MIN_CLUSTER_SHARE = 0.035  # clusters with a smaller share of the rows have no lines or number
MAX_SIZE_WITH_COUNTS = 15  # larger contingency tables show no counts

# Constants of `cluster_map`.
EMBEDDINGS = ("auto", "tsne", "umap")
MARKERS = ("o", "s", "^", "D", "v", "P")
MAX_DRAWS = 50  # for the features; more draws hardly change the map
N_COMPONENTS = 50
JITTER = 0.1  # relative to the standard deviation over all groups
MIN_DEVIATION = 0.01  # for the jitter; the norm of a row of features is about 1
MAX_NUMBERED = 30  # clusters with a number on the map


def cluster_topics(
    model: Any, clusters: Ids = None, topics: Ids = None, *, ax: Axes | None = None
) -> Axes:
    """Plot the share of each topic in each cluster as a heat map.

    Parameters
    ----------
    model : MC2 or Posterior
    clusters : int or list of int, optional
        By default the 40 largest.
    topics : int or list of int, optional
        By default the 60 largest.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.cluster_topics(model)
    """
    posterior = posterior_of(model)
    rows = select("clusters", clusters, posterior.n_clusters, 40)
    columns = select("topics", topics, posterior.n_topics, 60)
    shares = posterior.topic_given_cluster.to_numpy()[np.ix_(rows, columns)]
    width, height = 2.2 + 0.17 * len(columns), 1.2 + 0.2 * len(rows)
    ax = axes_for(ax, max(4.0, width), max(2.2, height))
    heat_map(ax, shares, "share of the topic", aspect="auto")
    sizes = np.bincount(posterior.labels)
    label_ticks(ax.yaxis, [f"{cluster} ({sizes[cluster]})" for cluster in rows], fontsize=8)
    label_ticks(ax.xaxis, columns, limit=30, fontsize=8)
    ax.set(xlabel="topic", ylabel="cluster (groups)")
    return ax


def coclustering(model: Any, groups: ArrayLike | None = None, *, ax: Axes | None = None) -> Axes:
    """Plot how often groups share a cluster, as a matrix ordered by cluster.

    Lines separate the clusters of the consensus that are large enough.

    Parameters
    ----------
    model : MC2 or Posterior
    groups : int or bool array, optional
        By default all groups, or 200 spread evenly over the clusters if there are more.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.coclustering(model, groups=range(20))
    """
    posterior = posterior_of(model)
    labels = posterior.labels
    chosen = select("groups", groups, len(labels), len(labels))
    chosen = chosen[np.argsort(labels[chosen], kind="stable")]
    if groups is None:
        chosen = chosen[evenly_spaced(len(chosen), MAX_MATRIX_GROUPS)]
    ax = axes_for(ax, 5.6, 4.8)
    probability = posterior.coclustering().to_dense(chosen)
    heat_map(ax, probability, "probability of the same cluster", vmax=1.0)
    _mark_clusters(ax, labels[chosen], numbered=len(chosen) > MAX_NAMED_GROUPS)
    if len(chosen) <= MAX_NAMED_GROUPS:
        names = [label_text(name, 18) for name in posterior.group_names[chosen]]
        label_ticks(ax.yaxis, names, fontsize=7)
        label_ticks(ax.xaxis, names, fontsize=7, rotation=90)
    return ax


def _mark_clusters(ax: Axes, labels: Int32s, numbered: bool) -> None:
    """Separate large clusters by lines, and number them."""
    cluster, first, count = np.unique(labels, return_index=True, return_counts=True)
    large = count >= MIN_CLUSTER_SHARE * len(labels)
    cluster, first, count = cluster[large], first[large], count[large]
    edges = np.unique(np.concatenate([first, first + count])) - 0.5
    for edge in edges[(edges > 0) & (edges < len(labels) - 1)]:
        ax.axhline(edge, color=COLOURS[1], lw=0.6)
        ax.axvline(edge, color=COLOURS[1], lw=0.6)
    if numbered:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(first + (count - 1) / 2, [str(k) for k in cluster], fontsize=8)
        ax.set(xlabel="cluster", ylabel="cluster")


def compare(first: Any, second: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the contingency table of two clusterings of the same groups.

    Rows are the clusters of ``first``, columns those of ``second``, ordered so that most groups
    are on the diagonal. Colours are shares of the row, numbers count groups. The title shows the
    variation of information and the normalised mutual information (0 and 1 for equal partitions).

    Parameters
    ----------
    first, second : MC2, Posterior or labels
        Labels, one per group, may have any type, such as known classes.

    Examples
    --------
    >>> ax = mc2.plots.compare(["sea", "sea", "wood", "wood"], [1, 1, 0, 2])
    >>> ax.get_title(loc="left")
    'VI 0.35, NMI 0.80'
    """
    from mcsquared.evaluation import nmi, variation_of_information

    one, one_names = _encode(_labels("first", first))
    other, other_names = _encode(_labels("second", second))
    if len(one) != len(other):
        raise InputError(
            f"first and second must have the same groups, got {len(one)} and {len(other)}"
        )
    counts = contingency(one, other).toarray().astype(np.int64)
    order = _diagonal_order(counts)
    counts, other_names = counts[:, order], [other_names[column] for column in order]
    n_rows, n_columns = counts.shape
    width, height = 2.6 + 0.32 * min(n_columns, 30), 1.4 + 0.28 * min(n_rows, 30)
    ax = axes_for(ax, max(4.2, width), max(2.6, height))
    shares = counts / counts.sum(axis=1, keepdims=True)
    heat_map(ax, shares, "share of the row", vmax=1.0, aspect="auto")
    if max(counts.shape) <= MAX_SIZE_WITH_COUNTS:
        for row, column in np.argwhere(counts > 0):
            colour = "white" if shares[row, column] > 0.55 else "black"
            text = str(counts[row, column])
            ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    rotate = max(map(len, other_names)) > 3 and n_columns > 4
    label_ticks(ax.yaxis, one_names, limit=30, fontsize=8)
    label_ticks(ax.xaxis, other_names, limit=30, fontsize=8, rotation=90 if rotate else 0)
    ax.set(xlabel="second", ylabel="first")
    distance, information = variation_of_information(one, other), nmi(one, other)
    ax.set_title(f"VI {distance:.2f}, NMI {information:.2f}", fontsize=9, loc="left")
    return ax


def _labels(argument: str, value: Any) -> NDArray[Any]:
    if isinstance(value, Posterior):
        return value.labels
    labels = np.asarray(getattr(value, "labels_", value))
    if labels.ndim != 1 or not labels.size:
        raise InputError(
            f"{argument} must be a fitted model, a Posterior or one label per group, "
            f"got {type(value).__name__}"
        )
    return labels


def _encode(labels: NDArray[Any]) -> tuple[Int64s, list[str]]:
    """Return labels as codes 0, 1, ... with their names: numbers in order, others by size."""
    numeric = labels.dtype.kind in "iub"
    labels = labels if numeric else labels.astype(str)
    names, code, count = np.unique(labels, return_inverse=True, return_counts=True)
    if not numeric:
        order = np.argsort(-count, kind="stable")
        names, code = names[order], np.argsort(order)[code]
    return code.astype(np.int64), [label_text(name, 18) for name in names]


def _diagonal_order(counts: Int64s) -> Int64s:
    """Return the order of columns with most groups on the diagonal.

    Rows and columns are matched one to one; an unmatched column follows the row that it shares
    most groups with.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(counts, maximize=True)
    position = counts.argmax(axis=0) + 0.5
    overlapping = counts[rows, columns] > 0
    position[columns[overlapping]] = rows[overlapping]
    return np.argsort(position, kind="stable")


def cluster_map(
    model: Any,
    shares: ArrayLike | None = None,
    *,
    method: str = "auto",
    max_groups: int = 2000,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot the groups as points, coloured by cluster; similar groups are close to each other.

    Groups are similar if they share a cluster in many draws and have similar topics. The position
    among groups that share a cluster in all draws is arbitrary. Pale points belong to their
    cluster in few draws. The 48 largest clusters differ in colour and marker, the others are grey;
    the 30 largest are numbered at their centres.

    Parameters
    ----------
    model : MC2 or Posterior
    shares : float (n_groups, n_topics), optional
        Topic shares of the groups, from ``model.transform(corpus)``; by default those of their
        clusters.
    method : {"auto", "tsne", "umap"}
        "auto" is UMAP if it is installed, otherwise scikit-learn's t-SNE. Large distances carry
        little information in either.
    max_groups : int
        Plot a random sample if there are more groups.
    random_state : int
        Seed of the sample and of the embedding.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.cluster_map(model, method="tsne")
    """
    posterior = posterior_of(model)
    check_choice("method", method, EMBEDDINGS)
    n_groups, max_groups = posterior.n_groups, check_integer("max_groups", max_groups, 1)
    groups = np.arange(n_groups)
    if n_groups > max_groups:
        rng = np.random.default_rng(random_state)
        groups = np.sort(rng.choice(n_groups, max_groups, replace=False))
    points = embed(group_features(posterior, shares)[groups], method, random_state)
    ax = axes_for(ax, 6.4, 5.4)
    opacity = 0.25 + 0.75 * group_confidence(posterior)[groups]
    labels = posterior.labels[groups]
    size = float(np.clip(9000 / len(groups), 8, 50))
    for cluster in np.unique(labels):
        inside = labels == cluster
        style = {"s": size, "alpha": opacity[inside], "linewidths": 0, **_marker(int(cluster))}
        ax.scatter(*points[inside].T, label=f"cluster {cluster}", **style)
        if cluster < MAX_NUMBERED:
            _annotate(ax, points[inside], str(cluster))
    ax.set(xticks=[], yticks=[])
    sampled = f"{len(groups)} of " if len(groups) < n_groups else ""
    title = f"{sampled}{n_groups} groups, {posterior.n_clusters} clusters"
    ax.set_title(title, fontsize=9, loc="left")
    return ax


def group_features(posterior: Posterior, shares: ArrayLike | None = None) -> sparse.csr_matrix:
    """Return sparse features of the groups: one row per group.

    The squared distance of two rows is the share of draws that separate the groups, plus twice the
    squared Hellinger distance of their topic shares.
    """
    labels = posterior.cluster_of_group
    used = evenly_spaced(len(labels), MAX_DRAWS)
    weights = posterior.draw_weights[used] / max(posterior.draw_weights[used].mean(), 1e-9)
    rows = np.arange(posterior.n_groups)
    indicators = [
        sparse.csr_matrix((np.full(len(rows), np.sqrt(0.5 * weight / len(used))), (rows, draw)))
        for weight, draw in zip(weights, labels[used], strict=True)
    ]
    topics = topic_given_group(posterior) if shares is None else np.asarray(shares, np.float64)
    if topics.ndim != 2 or len(topics) != posterior.n_groups:
        raise InputError(
            f"shares must have one row per group ({posterior.n_groups}), got shape {topics.shape}"
        )
    if not np.isfinite(topics).all() or (topics < 0).any():
        raise InputError("shares must be finite numbers >= 0, as returned by model.transform")
    return sparse.hstack([*indicators, sparse.csr_matrix(np.sqrt(topics))], format="csr")


def embed(features: sparse.csr_matrix, method: str, random_state: int) -> Floats:
    """Return the position of each row of features in the plane: float64 (n_groups, 2)."""
    from sklearn.utils.extmath import randomized_svd

    n_groups, n_features = features.shape
    n_components = min(N_COMPONENTS, n_features - 1, n_groups - 1)
    if n_components < 2 or n_groups < 5:  # too few for an embedding
        return np.column_stack([np.arange(n_groups, dtype=np.float64), np.zeros(n_groups)])
    left, values, _ = randomized_svd(features, n_components, random_state=random_state)
    reduced = left * values
    # Jitter separates groups that share a cluster in every draw. It is never zero, because
    # scikit-learn's t-SNE crashes if all points are equal.
    scale = max(np.sqrt(reduced.var(axis=0).mean()), MIN_DEVIATION)
    noise = np.random.default_rng(random_state).normal(size=reduced.shape)
    reduced = reduced + JITTER * scale * noise
    embedding: Any
    if method == "umap" or (method == "auto" and find_spec("umap") is not None):
        umap = import_optional("umap", "umap-learn", "method 'umap'")
        embedding = umap.UMAP(n_neighbors=min(15, n_groups - 1), random_state=random_state)
    else:
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (n_groups - 1) / 3)
        embedding = TSNE(perplexity=perplexity, init="pca", random_state=random_state)
    return np.asarray(embedding.fit_transform(reduced), np.float64)


def _marker(cluster: int) -> dict[str, Any]:
    """Return the colour and marker of a cluster; those of the 48 largest differ."""
    if cluster >= len(COLOURS):
        return {"color": GREY, "marker": "."}
    marker = MARKERS[cluster // SERIES_PER_STYLE % len(MARKERS)]
    return {"color": COLOURS[cluster], "marker": marker}


def _annotate(ax: Axes, points: Floats, text: str) -> None:
    """Write text above the point closest to the median of the points."""
    median = np.median(points, axis=0)
    closest = points[np.square(points - median).sum(axis=1).argmin()]
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": "black"}
    ax.annotate(text, closest, xytext=(0, 8), textcoords="offset points", bbox=box, **style)
