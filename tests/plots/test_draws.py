"""Traces show every sweep of every chain, and the matrix shows who is together."""

import numpy as np
import pandas as pd
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


def test_an_infinite_lam_or_an_unknown_scalar_harms_nothing(posterior):
    plots.trace(posterior, "lam").figure.canvas.draw()
    with pytest.raises(mc2.InputError, match="scalar is 'beta', but one of n_clusters, n_topics"):
        plots.trace(posterior, "beta")


def test_the_matrix_is_ordered_by_cluster_and_named(posterior):
    groups = [29, 4, 15, 0, 22]
    ax = plots.coclustering(posterior, groups)
    order = np.array(groups)[np.argsort(posterior.labels[groups], kind="stable")]
    matrix = ax.images[0].get_array()
    np.testing.assert_allclose(matrix, posterior.coclustering().to_dense(order))
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    names = list(posterior.group_names[order])
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    assert [label.get_text() for label in ax.get_xticklabels()] == names


def test_lines_part_the_clusters(posterior):
    ax = plots.coclustering(posterior)
    labels = np.sort(posterior.labels)
    wanted = np.flatnonzero(np.diff(labels)) + 0.5
    across = sorted(line.get_ydata()[0] for line in ax.get_lines() if line.get_xdata()[0] == 0)
    np.testing.assert_array_equal(across, wanted)


def test_a_mask_chooses_groups_too(posterior):
    mask = posterior.labels == 1
    assert plots.coclustering(posterior, mask).images[0].get_array().shape == (mask.sum(),) * 2


def test_of_many_groups_some_of_every_large_cluster_are_shown():
    rng = np.random.default_rng(0)
    draws = np.repeat([0, 1, 2], [600, 300, 100])[None, :].repeat(3, axis=0).astype(np.int32)
    few = mc2.Corpus(rng.poisson(1.0, (1000, 3)) + 1)
    posterior = bare_posterior(few, draws)
    ax = plots.coclustering(posterior)
    assert ax.images[0].get_array().shape == (200, 200)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    together = np.asarray(ax.images[0].get_array())
    assert together[:, 0].sum() == pytest.approx(120, abs=1)


def bare_posterior(corpus, draws):
    return mc2.Posterior(
        priors=mc2.Priors.for_corpus(corpus),
        group_names=corpus.group_names,
        vocabulary=corpus.vocabulary,
        contexts={},
        tokens_per_group=corpus.tokens_per_group,
        cluster_of_group=draws,
        chain_of_draw=np.zeros(len(draws), np.int32),
        sweep_of_draw=np.arange(len(draws), dtype=np.int32),
        trace=pd.DataFrame(),
        parameters=[],
    )


@pytest.mark.parametrize("groups", [[30], [-1], [], ["a"]])
def test_groups_that_are_not_there_are_refused(posterior, groups):
    with pytest.raises(mc2.InputError, match="groups holds"):
        plots.coclustering(posterior, groups)
