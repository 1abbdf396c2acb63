"""What is a cluster made of? Its shares of the topics, beside those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.plots.canvas import (
    SHARES,
    add_colour_bar,
    axes_for,
    chosen,
    label_ticks,
    posterior_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cluster_topics"]


def cluster_topics(
    model: Any,
    clusters: int | Sequence[int] | None = None,
    topics: int | Sequence[int] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of each topic in each cluster as a heat map: rows clusters, columns topics.

    Parameters
    ----------
    model : MC2 or Posterior
    clusters : int or list of int, optional
        By default the 40 largest.
    topics : int or list of int, optional
        By default the 60 heaviest.
    ax : Axes, optional

    Examples
    --------
    >>> import mcsquared as mc2
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.cluster_topics(model)
    """
    posterior = posterior_of(model)
    rows = chosen("clusters", clusters, posterior.n_clusters, 40)
    columns = chosen("topics", topics, posterior.n_topics, 60)
    shares = posterior.topic_given_cluster.to_numpy()[np.ix_(rows, columns)]
    width, height = 2.2 + 0.17 * len(columns), 1.2 + 0.2 * len(rows)
    ax = axes_for(ax, max(4.0, width), max(2.2, height))
    image = ax.imshow(shares, cmap=SHARES, vmin=0.0, aspect="auto", interpolation="nearest")
    sizes = np.bincount(posterior.labels, minlength=posterior.n_clusters)
    label_ticks(ax.yaxis, [f"{cluster} ({sizes[cluster]})" for cluster in rows], fontsize=8)
    label_ticks(ax.xaxis, columns, most=30, fontsize=8)
    ax.set_xlabel("topic")
    ax.set_ylabel("cluster (groups)")
    add_colour_bar(ax, image, "share of the topic")
    return ax
