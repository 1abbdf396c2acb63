"""A map of the groups by UMAP or t-SNE: similar groups are close to each other."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mcsquared.checks import check_whole
from mcsquared.errors import InputError
from mcsquared.plots.canvas import COLOURS, GREY, axes_for, posterior_of
from mcsquared.posterior.tables import membership, topic_given_group

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mcsquared.posterior import Posterior

Floats = NDArray[np.float64]

METHODS = ("auto", "tsne", "umap")
MARKERS = ("o", "s", "^", "D", "v", "P")
MAX_DRAWS = 50  # for the features; more draws hardly change the map
N_COMPONENTS = 50
JITTER = 0.1  # relative to the standard deviation over all groups
MIN_SCALE = 0.01  # of features, whose rows have a length of about 1
MAX_NUMBERED = 30  # clusters


def cluster_map(
    model: Any,
    shares: ArrayLike | None = None,
    *,
    method: str = "auto",
    max_groups: int = 2000,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the groups as points, coloured by cluster; similar groups are close to each other.

    Groups are similar if they share a cluster in many draws and have similar topics. The position
    among groups that share a cluster in all draws is arbitrary. Pale points belong to their
    cluster in few draws. Clusters differ in colour and marker, grey from the 37th on, and are
    numbered at their centre.

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
        Draw a random sample if there are more groups.
    random_state : int
    ax : Axes, optional

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.cluster_map(model, method="tsne")
    """
    posterior = posterior_of(model)
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    n_groups, max_groups = posterior.n_groups, check_whole("max_groups", max_groups, 1)
    groups = np.arange(n_groups)
    if n_groups > max_groups:
        rng = np.random.default_rng(random_state)
        groups = np.sort(rng.choice(n_groups, max_groups, replace=False))
    points = embed(group_features(posterior, shares)[groups], method, random_state)
    ax = axes_for(ax, 6.4, 5.4)
    opacity = 0.25 + 0.75 * membership(posterior)[groups]
    labels = posterior.labels[groups]
    size = float(np.clip(9000 / len(groups), 8, 50))
    for cluster in np.unique(labels):
        inside = labels == cluster
        ax.scatter(
            points[inside, 0],
            points[inside, 1],
            s=size,
            alpha=opacity[inside],
            label=f"cluster {cluster}",
            linewidths=0,
            **_marker(int(cluster)),
        )
        if cluster < MAX_NUMBERED:
            _annotate(ax, points[inside], str(cluster))
    ax.set_xticks([])
    ax.set_yticks([])
    drawn = (
        f"{n_groups} groups" if len(groups) == n_groups else f"{len(groups)} of {n_groups} groups"
    )
    ax.set_title(f"{drawn}, {posterior.n_clusters} clusters", fontsize=9, loc="left")
    return ax


def group_features(posterior: Posterior, shares: ArrayLike | None = None) -> sparse.csr_matrix:
    """Return sparse features of the groups: one row per group.

    The squared distance of two rows is the share of draws that separate the groups, plus twice the
    squared Hellinger distance of their topic shares.
    """
    labels = posterior.cluster_of_group
    used = np.linspace(0, len(labels) - 1, min(len(labels), MAX_DRAWS)).round().astype(int)
    rows = np.arange(posterior.n_groups)
    weight = np.full(len(rows), np.sqrt(0.5 / len(used)))
    indicators = [sparse.csr_matrix((weight, (rows, labels[draw]))) for draw in used]
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
    scale = max(np.sqrt(reduced.var(axis=0).mean()), MIN_SCALE)
    noise = np.random.default_rng(random_state).normal(size=reduced.shape)
    reduced = reduced + JITTER * scale * noise
    embedding: Any
    if method == "umap" or (method == "auto" and find_spec("umap") is not None):
        try:
            from umap import UMAP
        except ImportError as error:
            raise ImportError(
                "umap is not installed; pip install umap-learn provides it, or use method='tsne'"
            ) from error
        embedding = UMAP(n_neighbors=min(15, n_groups - 1), random_state=random_state)
    else:
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (n_groups - 1) / 3)
        embedding = TSNE(perplexity=perplexity, init="pca", random_state=random_state)
    return np.asarray(embedding.fit_transform(reduced), np.float64)


def _marker(cluster: int) -> dict[str, Any]:
    """Return the colour and marker of a cluster; those of the 36 largest differ."""
    if cluster >= len(COLOURS) * len(MARKERS):
        return {"color": GREY, "marker": "."}
    marker = MARKERS[cluster // len(COLOURS)]
    return {"color": COLOURS[cluster % len(COLOURS)], "marker": marker}


def _annotate(ax: Axes, points: Floats, text: str) -> None:
    """Write a text above the point closest to the median of the points."""
    median = np.median(points, axis=0)
    closest = points[np.square(points - median).sum(axis=1).argmin()]
    ax.annotate(
        text,
        closest,
        xytext=(0, 8),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=8,
        color="black",
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
    )
