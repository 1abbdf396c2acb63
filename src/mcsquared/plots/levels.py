"""Figures of levels above groups: the clusters that each type of units mixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.plots.canvas import Ids, axes_for, heat_map, label_text, label_ticks, select
from mcsquared.posterior.posterior import posterior_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def type_clusters(
    model: Any, level: str, types: Ids = None, clusters: Ids = None, *, ax: Axes | None = None
) -> Axes:
    """Plot the share of each cluster in each type of units of a level as a heat map.

    Above other units, the columns are the types of the level below.

    Parameters
    ----------
    model : MC2 or Posterior
        Of a corpus with levels above groups.
    level : str
        Name of the level.
    types : int or list of int, optional
        By default the 40 largest.
    clusters : int or list of int, optional
        By default the 60 largest.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"text": ["ants", "bees", "ants"], "country": list("FFG")})
    >>> corpus = mc2.Corpus.from_frame(rows, "text", levels="country", max_df=1.0)
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.type_clusters(model, "country")
    >>> ax.get_ylabel()
    'type of country (units)'
    """
    posterior = posterior_of(model)
    units = posterior.level(level)
    table = posterior.cluster_given_type(level)
    rows = select("types", types, units.n_clusters, 40)
    columns = select("clusters", clusters, table.shape[1], 60)
    shares = table.to_numpy()[np.ix_(rows, columns)]
    ax = axes_for(ax, max(4.0, 2.6 + 0.2 * len(columns)), max(2.2, 1.2 + 0.25 * len(rows)))
    heat_map(ax, shares, f"share of the {table.columns.name}", aspect="auto")
    sizes, names = np.bincount(units.labels), units.clusters()["name"]
    labels = [f"{t} {label_text(names[t], 24)}".strip() + f" ({sizes[t]})" for t in rows]
    label_ticks(ax.yaxis, labels, fontsize=8)
    label_ticks(ax.xaxis, columns, limit=30, fontsize=8)
    ax.set(xlabel=str(table.columns.name), ylabel=f"type of {label_text(level, 30)} (units)")
    return ax
