"""Two clusterings against each other: counts, aligned, with the scores of the evaluation."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared import plots
from mcsquared.evaluation import nmi, variation_of_information


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_equal_partitions_are_a_diagonal_whatever_their_names():
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


def test_a_column_left_over_stands_beside_the_row_it_belongs_to():
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


def test_many_clusters_are_coloured_but_not_written():
    labels = np.arange(40)
    ax = plots.compare(labels, labels)
    assert not ax.texts
    assert ax.images[0].get_array().shape == (40, 40)


def test_what_cannot_be_compared_is_said(posterior):
    with pytest.raises(mc2.InputError, match="second has 2 groups, but first has 30"):
        plots.compare(posterior, [0, 1])
    with pytest.raises(mc2.InputError, match="a dict was given to compare"):
        plots.compare(posterior, {})
