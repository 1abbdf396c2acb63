"""Traces of scalars over the sweeps of all chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.errors import InputError
from mcsquared.palette import GREY
from mcsquared.plots.canvas import axes_for, line_style
from mcsquared.posterior.posterior import posterior_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXIS_LABELS = {
    "n_clusters": "clusters",
    "n_topics": "topics",
    "log_joint": "log joint density",
    "seconds": "seconds per sweep",
}


def trace(model: Any, scalar: str = "log_joint", *, ax: Axes | None = None) -> Axes:
    """Plot a scalar against the number of the sweep, one line per chain, with burn-in shaded.

    Parameters
    ----------
    model : MC2 or Posterior
    scalar : {"log_joint", "n_clusters", "n_topics", "alpha", "v", "eta", "lam", "seconds"}

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=20, burn_in=10, random_state=0).fit(corpus)
    >>> ax = mc2.plots.trace(model, "n_clusters")
    """
    posterior = posterior_of(model)
    frame = posterior.trace
    scalars = [name for name in frame.columns if name not in ("sweep", "chain", "kept")]
    if scalar not in scalars:
        raise InputError(f"scalar must be one of {', '.join(scalars) or 'none'}, got {scalar!r}")
    ax = axes_for(ax, 6.4, 3.0)
    first_kept: list[int] = []
    for number, (chain, rows) in enumerate(frame.groupby("chain", sort=True)):
        sweep, value = rows["sweep"].to_numpy(), rows[scalar].to_numpy(dtype=np.float64)
        finite = np.where(np.isfinite(value), value, np.nan)
        ax.plot(sweep, finite, lw=1.1, label=f"chain {chain}", **line_style(number))
        first_kept += sweep[rows["kept"].to_numpy(dtype=bool)][:1].tolist()
    if max(first_kept, default=0) > 1:
        ax.axvspan(0.5, max(first_kept) - 0.5, color=GREY, alpha=0.2, lw=0, label="burn-in")
    ax.set_xlim(0.5, max(frame["sweep"].max() + 0.5, 1.5))
    ax.set(xlabel="sweep", ylabel=AXIS_LABELS.get(scalar, scalar))
    table = posterior.diagnostics().set_index("scalar")
    if scalar in table.index and not np.isnan(table.loc[scalar, "rhat"]):
        row = table.loc[scalar]
        title = f"R-hat {row['rhat']:.2f}, effective sample size {row['ess_bulk']:.0f}"
        ax.set_title(title, fontsize=9, loc="right")
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="best")
    return ax
