"""Which groups are alike? A map on which similar groups lie near each other."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.errors import InputError
from mcsquared.plots.canvas import COLOURS, GREY, axes_for, posterior_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy import sparse

    from mcsquared.posterior import Posterior

__all__ = ["cluster_map", "group_features", "place_groups"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

METHODS = ("auto", "tsne", "umap")
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST_DRAWS = 50  # for the features: more hardly move a point
N_COMPONENTS = 50
TREMOR = 0.1  # of the spread of all groups
LEAST_SPREAD = 0.01  # of features, whose rows have a length of about 1
NUMBERED = 30  # clusters whose number is written


def cluster_map(
    model: Any,
    shares: ArrayLike | None = None,
    *,
    method: str = "auto",
    max_groups: int = 2000,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the groups as points, coloured by cluster; groups that are alike lie near each other.

    Groups are alike when the draws put them together, and when their topics are; those that all
    draws put together lie beside each other in no order. Pale points are groups that do not
    belong to their cluster firmly. Clusters differ in colour and marker, those past the 36th are
    grey; the number of a cluster stands in its middle.

    Parameters
    ----------
    model : MC2 or Posterior
    shares : float (n_groups, n_topics), optional
        The groups' own topics, ``model.transform(corpus)``, in place of those of their clusters.
    method : {"auto", "tsne", "umap"}
        "auto" is UMAP where it is installed, else t-SNE of scikit-learn. Distances between far
        points say little in either.
    max_groups : int
        Of more groups, so many are drawn at random.
    random_state : int
    ax : Axes, optional

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.cluster_map(model, method="tsne")
    """
    from mcsquared.posterior.tables import membership

    posterior = posterior_of(model)
    if method not in METHODS:
        raise InputError(
            f"method is {method!r}, but one of {', '.join(map(repr, METHODS))} is wanted"
        )
    groups = _selection(posterior.n_groups, max_groups, random_state)
    features = group_features(posterior, shares)[groups]
    place = place_groups(features, method, random_state)
    ax = axes_for(ax, 6.4, 5.4)
    firmness = 0.25 + 0.75 * membership(posterior)[groups]
    labels = posterior.labels[groups]
    size = float(np.clip(9000 / len(groups), 8, 50))
    for cluster in np.unique(labels):
        inside = labels == cluster
        ax.scatter(
            place[inside, 0],
            place[inside, 1],
            s=size,
            alpha=firmness[inside],
            label=f"cluster {cluster}",
            linewidths=0,
            **_look(int(cluster)),
        )
        if cluster < NUMBERED:
            _number(ax, place[inside], int(cluster))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(_caption(posterior, groups), fontsize=9, loc="left")
    return ax


def group_features(posterior: Posterior, shares: ArrayLike | None = None) -> sparse.csr_matrix:
    """Return a row per group whose distances tell how unlike groups are: sparse.

    The squared distance of two rows is the share of draws that part them plus the squared
    Hellinger distance, twice over, of their topics.
    """
    from scipy import sparse

    from mcsquared.posterior.tables import topic_given_group

    labels = posterior.cluster_of_group
    used = np.linspace(0, len(labels) - 1, min(len(labels), MOST_DRAWS)).round().astype(int)
    weight = np.sqrt(0.5 / len(used))
    rows = np.arange(posterior.n_groups)
    parts = [sparse.csr_matrix((np.full(len(rows), weight), (rows, labels[draw]))) for draw in used]
    topics = topic_given_group(posterior) if shares is None else _checked(shares, posterior)
    return sparse.hstack([*parts, sparse.csr_matrix(np.sqrt(topics))], format="csr")


def _checked(shares: ArrayLike, posterior: Posterior) -> Floats:
    array = np.asarray(shares, dtype=np.float64)
    if array.ndim != 2 or len(array) != posterior.n_groups:
        raise InputError(
            f"shares has shape {array.shape}, but a row for each of the {posterior.n_groups} "
            "groups of training is wanted"
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError("shares holds numbers that are no shares: model.transform gives them")
    return array


def place_groups(features: sparse.csr_matrix, method: str, random_state: int) -> Floats:
    """Return a place in the plane for each row of features: float64 (n_groups, 2)."""
    from sklearn.utils.extmath import randomized_svd

    n_groups, n_features = features.shape
    n_components = min(N_COMPONENTS, n_features - 1, n_groups - 1)
    if n_components < 2 or n_groups < 5:
        # Too few points for a map: one after the other.
        return np.column_stack([np.arange(n_groups, dtype=np.float64), np.zeros(n_groups)])
    left, values, _ = randomized_svd(features, n_components, random_state=random_state)
    reduced = left * values
    reduced = reduced + _tremble(reduced, random_state)
    if method == "umap" or (method == "auto" and find_spec("umap") is not None):
        return _umap(reduced, random_state)
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (n_groups - 1) / 3)
    embedding = TSNE(perplexity=perplexity, init="pca", random_state=random_state)
    return np.asarray(embedding.fit_transform(reduced), np.float64)


def _tremble(reduced: Floats, random_state: int) -> Floats:
    """Return a little noise: groups that every draw puts together would share one point.

    There is always some: t-SNE of scikit-learn crashes on points that are all the same.
    """
    rng = np.random.default_rng(random_state)
    spread = max(np.sqrt(reduced.var(axis=0).mean()), LEAST_SPREAD)
    return TREMOR * spread * rng.normal(size=reduced.shape)


def _umap(reduced: Floats, random_state: int) -> Floats:
    try:
        from umap import UMAP
    except ImportError as error:
        raise ImportError(
            "umap is not installed; pip install umap-learn brings it, method='tsne' needs none"
        ) from error
    neighbours = min(15, len(reduced) - 1)
    embedding = UMAP(n_neighbors=neighbours, random_state=random_state)
    return np.asarray(embedding.fit_transform(reduced), np.float64)


def _selection(n_groups: int, max_groups: int, random_state: int) -> Integers:
    if isinstance(max_groups, bool) or not isinstance(max_groups, int | np.integer):
        raise InputError(f"max_groups is {max_groups!r}, but a whole number is wanted")
    if max_groups < 1:
        raise InputError(f"max_groups is {max_groups}, but at least 1 is wanted")
    if n_groups <= max_groups:
        return np.arange(n_groups)
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n_groups, max_groups, replace=False))


def _look(cluster: int) -> dict[str, Any]:
    """Return colour and marker of a cluster, different for the 36 largest."""
    if cluster >= len(COLOURS) * len(MARKERS):
        return {"color": GREY, "marker": "."}
    marker = MARKERS[cluster // len(COLOURS)]
    return {"color": COLOURS[cluster % len(COLOURS)], "marker": marker}


def _number(ax: Axes, points: Floats, cluster: int) -> None:
    """Write a cluster's number at the member nearest to the middle of its members."""
    middle = np.median(points, axis=0)
    nearest = points[np.square(points - middle).sum(axis=1).argmin()]
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
    ax.annotate(
        str(cluster),
        nearest,
        xytext=(0, 8),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=8,
        color="black",
        bbox=box,
    )


def _caption(posterior: Posterior, groups: Integers) -> str:
    shown = f"{len(groups)} of {posterior.n_groups} groups"
    if len(groups) == posterior.n_groups:
        shown = f"{posterior.n_groups} groups"
    return f"{shown}, {posterior.n_clusters} clusters"
