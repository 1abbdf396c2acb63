"""The heat map holds the shares that the posterior has."""

import numpy as np

from mcsquared import plots


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
    wanted = posterior.topic_given_cluster.loc[[2, 0], [3, 1, 0]]
    np.testing.assert_array_equal(ax.images[0].get_array(), wanted)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["3", "1", "0"]


def test_of_many_rows_some_are_labelled_at_their_own_place():
    from matplotlib import pyplot

    from mcsquared.plots.canvas import label_ticks

    _, ax = pyplot.subplots()
    label_ticks(ax.yaxis, range(100, 190), most=40)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == 30
    assert [int(name) - 100 for name in names] == ax.get_yticks().tolist()
