"""Can the draws be trusted? Traces of all chains, and which groups stay together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.errors import InputError
from mcsquared.plots.canvas import (
    COLOURS,
    GREY,
    SHARES,
    add_colour_bar,
    axes_for,
    label_ticks,
    line_style,
    plain,
    posterior_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mcsquared.posterior import Posterior

__all__ = ["coclustering", "trace"]

MOST_GROUPS = 200  # of a co-clustering matrix, unless the user names them
NAMED_GROUPS = 40  # up to so many have room for their names
LEAST_SHARE = 0.035  # of the rows, for a cluster to have room for lines and a number

LABELS = {
    "n_clusters": "clusters",
    "n_topics": "topics",
    "log_joint": "log joint density",
    "seconds": "seconds per sweep",
}


def trace(model: Any, scalar: str = "log_joint", *, ax: Axes | None = None) -> Axes:
    """Draw a scalar after every sweep, a line per chain, sweeps before the first draw shaded.

    Parameters
    ----------
    model : MC2 or Posterior
    scalar : {"log_joint", "n_clusters", "n_topics", "alpha", "v", "eta", "lam", "seconds"}
    ax : Axes, optional

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.trace(model, "n_clusters")
    """
    posterior = posterior_of(model)
    frame = posterior.trace
    known = [name for name in frame.columns if name not in ("sweep", "chain", "kept")]
    if scalar not in known:
        raise InputError(f"scalar is {scalar!r}, but one of {', '.join(known) or 'none'} is wanted")
    ax = axes_for(ax, 6.4, 3.0)
    first_kept = []
    for number, (chain, rows) in enumerate(frame.groupby("chain", sort=True)):
        sweep, value = rows["sweep"].to_numpy(), rows[scalar].to_numpy(dtype=np.float64)
        finite = np.where(np.isfinite(value), value, np.nan)
        ax.plot(sweep, finite, lw=1.1, label=f"chain {chain}", **line_style(number))
        kept = rows["kept"].to_numpy(dtype=bool)
        if kept.any():
            first_kept.append(int(sweep[kept.argmax()]))
    if first_kept and max(first_kept) > 1:
        ax.axvspan(0.5, max(first_kept) - 0.5, color=GREY, alpha=0.2, lw=0, label="burn-in")
    ax.set_xlim(0.5, max(frame["sweep"].max() + 0.5, 1.5))
    ax.set_xlabel("sweep")
    ax.set_ylabel(LABELS.get(scalar, scalar))
    ax.set_title(_agreement(posterior, scalar), fontsize=9, loc="right")
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="best")
    return ax


def _agreement(posterior: Posterior, scalar: str) -> str:
    table = posterior.diagnostics().set_index("scalar")
    if scalar not in table.index or np.isnan(table.loc[scalar, "rhat"]):
        return ""
    row = table.loc[scalar]
    return f"R-hat {row['rhat']:.2f}, effective sample size {row['ess_bulk']:.0f}"


def coclustering(model: Any, groups: ArrayLike | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw how often groups are in one cluster, as a matrix ordered by cluster.

    Lines part the clusters of the consensus, as far as there is room.

    Parameters
    ----------
    model : MC2 or Posterior
    groups : int or bool array, optional
        Which groups; by default all, or of many 200 spread evenly over the clusters.
    ax : Axes, optional

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.coclustering(model, groups=range(20))
    """
    posterior = posterior_of(model)
    shown = _by_cluster(posterior, groups)
    labels = posterior.labels[shown]
    together = posterior.coclustering().to_dense(shown)
    ax = axes_for(ax, 5.6, 4.8)
    image = ax.imshow(together, cmap=SHARES, vmin=0.0, vmax=1.0, interpolation="nearest")
    _part_clusters(ax, labels)
    if len(shown) <= NAMED_GROUPS:
        names = [plain(name, 18) for name in posterior.group_names[shown]]
        label_ticks(ax.yaxis, names, fontsize=7)
        label_ticks(ax.xaxis, names, fontsize=7, rotation=90)
    else:
        _name_clusters(ax, labels)
    add_colour_bar(ax, image, "probability of one cluster")
    return ax


def _by_cluster(posterior: Posterior, groups: ArrayLike | None) -> NDArray[np.int64]:
    """Return the groups to show, those of one cluster side by side."""
    labels = posterior.labels
    if groups is None:
        order = np.argsort(labels, kind="stable")
        places = np.linspace(0, len(order) - 1, min(len(order), MOST_GROUPS)).round().astype(int)
        return order[places]
    numbers = np.atleast_1d(np.asarray(groups))
    if numbers.dtype == bool and numbers.shape == labels.shape:
        numbers = np.flatnonzero(numbers)
    if not numbers.size or numbers.dtype.kind not in "iu":
        raise InputError("groups holds no numbers of groups, but at least one is wanted")
    if numbers.min() < 0 or numbers.max() >= len(labels):
        wrong = numbers[(numbers < 0) | (numbers >= len(labels))][0]
        raise InputError(f"groups holds {wrong}, but there are {len(labels)} groups")
    return numbers[np.argsort(labels[numbers], kind="stable")]


def _part_clusters(ax: Axes, labels: NDArray[np.int32]) -> None:
    """Draw a line after every cluster that has room; more lines would hide what they part."""
    _, first, count = np.unique(labels, return_index=True, return_counts=True)
    wide = count >= LEAST_SHARE * len(labels)
    edges = np.unique(np.concatenate([first[wide], (first + count)[wide]])) - 0.5
    for edge in edges[(edges > 0) & (edges < len(labels) - 1)]:
        ax.axhline(edge, color=COLOURS[1], lw=0.6)
        ax.axvline(edge, color=COLOURS[1], lw=0.6)


def _name_clusters(ax: Axes, labels: NDArray[np.int32]) -> None:
    """Write the number of each cluster that has room for it in the middle of its rows."""
    clusters, first, count = np.unique(labels, return_index=True, return_counts=True)
    room = count >= LEAST_SHARE * len(labels)
    middle = (first + (count - 1) / 2)[room]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(middle, [str(cluster) for cluster in clusters[room]], fontsize=8)
    ax.set_xlabel("cluster")
    ax.set_ylabel("cluster")
