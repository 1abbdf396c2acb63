"""Heat maps of topic shares, co-clustering and two clusterings."""

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared import plots
from mcsquared.evaluation import nmi, variation_of_information


def test_cells_are_the_shares_of_topics_in_clusters(posterior):
    ax = plots.cluster_topics(posterior)
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), posterior.topic_given_cluster)
    sizes = np.bincount(posterior.labels)
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows == [f"{cluster} ({size})" for cluster, size in enumerate(sizes)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2", "3"]
    assert image.norm.vmin == 0.0


def test_rows_and_columns_can_be_chosen(posterior):
    ax = plots.cluster_topics(posterior, clusters=[2, 0], topics=[3, 1, 0])
    expected = posterior.topic_given_cluster.loc[[2, 0], [3, 1, 0]]
    np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["3", "1", "0"]


def test_many_rows_have_some_labels_at_the_right_positions():
    from matplotlib import pyplot

    from mcsquared.plots.canvas import label_ticks

    _, ax = pyplot.subplots()
    label_ticks(ax.yaxis, range(100, 190), limit=40)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == 30
    assert [int(name) - 100 for name in names] == ax.get_yticks().tolist()


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


def test_lines_separate_the_clusters(posterior):
    ax = plots.coclustering(posterior)
    labels = np.sort(posterior.labels)
    expected = np.flatnonzero(np.diff(labels)) + 0.5
    across = sorted(line.get_ydata()[0] for line in ax.get_lines() if line.get_xdata()[0] == 0)
    np.testing.assert_array_equal(across, expected)


def test_groups_can_be_selected_by_a_mask(posterior):
    mask = posterior.labels == 1
    assert plots.coclustering(posterior, mask).images[0].get_array().shape == (mask.sum(),) * 2


def test_a_sample_of_many_groups_contains_every_large_cluster():
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
def test_groups_out_of_range_are_rejected(posterior, groups):
    with pytest.raises(mc2.InputError, match="groups must be"):
        plots.coclustering(posterior, groups)


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_equal_partitions_are_diagonal_for_any_labels():
    first = np.array([0, 0, 0, 1, 1, 2])
    ax = plots.compare(first, np.array([2, 0, 1])[first])
    np.testing.assert_array_equal(ax.images[0].get_array(), np.eye(3))
    assert ticks(ax.xaxis) == ["2", "0", "1"]
    assert ax.get_title(loc="left") == "VI 0.00, NMI 1.00"


def test_cells_are_shares_of_the_row_and_their_numbers_are_groups():
    first = ["sea"] * 4 + ["wood"] * 2
    second = [5, 5, 5, 7, 7, 7]
    ax = plots.compare(first, second)
    np.testing.assert_array_equal(ax.images[0].get_array(), [[0.75, 0.25], [0.0, 1.0]])
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written == {(0, 0): "3", (1, 0): "1", (1, 1): "2"}
    assert ticks(ax.yaxis) == ["sea", "wood"]
    assert ticks(ax.xaxis) == ["5", "7"]
    scores = variation_of_information(first, second), nmi(first, second)
    assert ax.get_title(loc="left") == "VI {:.2f}, NMI {:.2f}".format(*scores)


def test_an_unmatched_column_is_next_to_its_row():
    first = np.repeat([0, 1, 2], [6, 3, 3])
    second = np.repeat([0, 9, 1, 2], [4, 2, 3, 3])
    assert ticks(plots.compare(first, second).xaxis) == ["0", "9", "1", "2"]


def test_rows_and_columns_are_paired_one_to_one():
    # Most of column 0 is in row 0, but so is all of column 1, and row 1 has nothing else.
    first = np.repeat([0, 0, 1], [5, 4, 3])
    second = np.repeat([1, 0, 0], [5, 4, 3])
    assert ticks(plots.compare(first, second).xaxis) == ["1", "0"]


def test_models_and_posteriors_are_compared_by_their_labels(posterior):
    class Fitted:
        labels_ = posterior.labels

    ax = plots.compare(Fitted(), posterior)
    np.testing.assert_array_equal(ax.images[0].get_array(), np.eye(posterior.n_clusters))
    sizes = np.bincount(posterior.labels)
    assert [int(text.get_text()) for text in ax.texts] == sizes.tolist()


def test_large_tables_have_colours_but_no_counts():
    labels = np.arange(40)
    ax = plots.compare(labels, labels)
    assert not ax.texts
    assert ax.images[0].get_array().shape == (40, 40)


def test_invalid_clusterings_are_rejected(posterior):
    with pytest.raises(mc2.InputError, match="same groups, got 30 and 2"):
        plots.compare(posterior, [0, 1])
    with pytest.raises(
        mc2.InputError,
        match="second must be a fitted model, a Posterior or one label per group, got dict",
    ):
        plots.compare(posterior, {})
