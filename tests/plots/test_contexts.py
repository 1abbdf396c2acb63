"""Contexts are drawn according to their kind: curves, bars, or means with error bars."""

import itertools

import matplotlib.colors
import matplotlib.dates
import numpy as np
import pytest

import mcsquared as mc2
from mcsquared import plots
from mcsquared.palette import COLOURS, GREY, N_COLOURS
from mcsquared.plots.canvas import line_style


def lines_of(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def bars_of(ax):
    return {bars.get_label(): np.array([bar.get_width() for bar in bars]) for bars in ax.containers}


def colours_of(ax):
    """Return the colours of lines and bars."""
    bars = (matplotlib.colors.to_hex(bars[0].get_facecolor()) for bars in ax.containers)
    return [*(line.get_color() for line in ax.get_lines()), *bars]


def key(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("name", ["year", "visits"])
def test_numbers_and_counts_are_curves_of_each_topic(posterior, name):
    ax = plots.topic_over_context(posterior, name)
    table = posterior.context_given_topic(name)
    assert len(ax.get_lines()) == posterior.n_topics
    for topic, line in enumerate(ax.get_lines()):
        np.testing.assert_array_equal(line.get_xdata(), table.index)
        np.testing.assert_array_equal(line.get_ydata(), table[topic])
    assert ax.get_xlabel() == name
    assert ax.get_ylim()[0] == 0.0


def test_the_legend_names_topics_by_their_words_and_lines_differ(posterior, vectors):
    ax = plots.topic_over_context(posterior, "year", topics=[2, 0])
    words = posterior.topics(n_words=3)["words"]
    assert key(ax) == [f"2: {words[2]}", f"0: {words[0]}"]
    assert len({line.get_color() for line in ax.get_lines()}) == 2
    assert key(plots.topic_over_context(vectors, "year", topics=1)) == ["topic 1"]


def test_lines_differ_in_colour_and_those_of_similar_colours_in_style():
    styles = [line_style(number) for number in range(N_COLOURS)]
    assert len({style["color"] for style in styles}) == N_COLOURS
    assert len({style["linestyle"] for style in styles[:24]}) == 4


@pytest.mark.parametrize("name", ["year", "place"])
def test_topics_and_clusters_have_the_colours_of_the_report(posterior, name):
    ax = plots.topic_over_context(posterior, name, topics=[2, 0])
    assert colours_of(ax) == [COLOURS[2], COLOURS[0]]
    ax = plots.context_of_cluster(posterior, name, clusters=[1])
    assert colours_of(ax) == [COLOURS[1], GREY]


def test_vectors_have_the_colours_of_the_report(posterior):
    ax = plots.context_of_cluster(posterior, "where", clusters=[2, 1])
    colours = [container.lines[0].get_color() for container in ax.containers]
    assert colours == [COLOURS[2], COLOURS[1]]


def test_dates_are_drawn_as_dates(posterior):
    ax = plots.topic_over_context(posterior, "day")
    assert isinstance(ax.xaxis.get_major_locator(), matplotlib.dates.AutoDateLocator)
    table = posterior.context_given_topic("day")
    np.testing.assert_array_equal(ax.get_lines()[1].get_xdata(), table.index.to_numpy())


def test_categories_and_bags_are_bars_the_most_probable_first(posterior):
    for name, n_values in (("place", 2), ("tags", 3)):
        ax = plots.topic_over_context(posterior, name, n_values=n_values)
        table = posterior.context_given_topic(name)
        order = table.max(axis=1).sort_values(ascending=False, kind="stable").index[:n_values]
        assert [label.get_text() for label in ax.get_yticklabels()] == list(order)
        assert ax.yaxis_inverted()  # the first on top
        for topic, widths in enumerate(bars_of(ax).values()):
            np.testing.assert_array_equal(widths, table.loc[order, topic])
        boxes = [bar.get_bbox() for bars in ax.containers for bar in bars]
        heights = sorted((box.y0, box.y1) for box in boxes)
        assert all(one[1] <= other[0] + 1e-9 for one, other in itertools.pairwise(heights))


def test_booleans_keep_their_order(posterior):
    ax = plots.context_of_cluster(posterior, "flag", clusters=1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["False", "True"]
    table = posterior.context_given_cluster("flag")
    np.testing.assert_array_equal(next(iter(bars_of(ax).values())), table[1])


def test_vectors_are_means_with_standard_deviations(posterior):
    ax = plots.context_of_cluster(posterior, "where")
    table = posterior.context_given_cluster("where")
    assert len(ax.containers) == posterior.n_clusters
    for cluster, container in enumerate(ax.containers):
        points, _, (bars,) = container.lines
        np.testing.assert_array_equal(points.get_ydata(), table[(cluster, "mean")])
        half = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
        np.testing.assert_allclose(half, table[(cluster, "sd")])


def test_a_cluster_is_compared_with_all_groups(posterior):
    ax = plots.context_of_cluster(posterior, "year", clusters=[1])
    size = int((posterior.labels == 1).sum())
    assert key(ax) == [f"1 ({size} groups)", "all groups"]
    table = posterior.context_given_cluster("year")
    observed = posterior.contexts["year"].observed
    share = np.bincount(posterior.labels[observed]) / observed.sum()
    drawn = lines_of(ax)
    np.testing.assert_array_equal(drawn[f"1 ({size} groups)"].get_ydata(), table[1])
    np.testing.assert_allclose(drawn["all groups"].get_ydata(), table.to_numpy() @ share)


def test_given_axes_are_used(posterior):
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    assert plots.topic_over_context(posterior, "year", ax=ax) is ax
    assert plots.context_of_cluster(posterior, "tags", ax=ax) is ax
    assert len(pyplot.get_fignums()) == 1


def test_the_error_names_an_unknown_context_or_cluster(posterior):
    with pytest.raises(mc2.InputError, match=r"context of this model \('year'"):
        plots.topic_over_context(posterior, "month")
    with pytest.raises(mc2.InputError, match=r"clusters must be in 0\.\.2, got 3"):
        plots.context_of_cluster(posterior, "year", clusters=3)
