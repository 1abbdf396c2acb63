"""Traces contain every sweep of every chain."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared import plots


@pytest.mark.parametrize("scalar", ["log_joint", "n_topics", "alpha"])
def test_a_line_per_chain_has_every_sweep(posterior, scalar):
    ax = plots.trace(posterior, scalar)
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == ["chain 0", "chain 1"]
    for chain, line in enumerate(lines):
        rows = posterior.trace[posterior.trace["chain"] == chain]
        np.testing.assert_array_equal(line.get_xdata(), rows["sweep"])
        np.testing.assert_array_equal(line.get_ydata(), rows[scalar])
    assert lines[0].get_color() != lines[1].get_color()


def test_sweeps_before_the_first_draw_are_shaded(posterior):
    (shade,) = plots.trace(posterior).patches
    first = posterior.trace.loc[posterior.trace["kept"], "sweep"].min()
    box = shade.get_bbox()
    assert (box.x0, box.x1) == (0.5, first - 0.5)
    assert first == 25


def test_the_title_has_the_diagnostics_of_the_scalar(posterior):
    row = posterior.diagnostics().set_index("scalar").loc["v"]
    title = plots.trace(posterior, "v").get_title(loc="right")
    assert title == f"R-hat {row['rhat']:.2f}, effective sample size {row['ess_bulk']:.0f}"
    assert plots.trace(posterior, "eta").get_title(loc="right") == ""  # fixed


def test_an_infinite_lam_is_drawn_and_an_unknown_scalar_rejected(posterior):
    plots.trace(posterior, "lam").figure.canvas.draw()
    with pytest.raises(
        mc2.InputError, match=r"scalar must be one of n_clusters, n_topics, .*, got 'beta'"
    ):
        plots.trace(posterior, "beta")
