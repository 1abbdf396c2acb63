"""Every plot accepts axes, a model or its posterior, and text with mathematical markup."""

import sys

import pytest

from mcsquared import plots
from mcsquared.plots.canvas import label_text

CALLS = {
    "cluster_map": (),
    "cluster_topics": (),
    "coclustering": (),
    "compare": ([0, 1, 2] * 10,),
    "context_of_cluster": ("place",),
    "topic_images": ((3, 4),),
    "topic_over_context": ("day",),
    "topic_words": (),
    "trace": (),
}


class Fitted:
    def __init__(self, posterior):
        self.posterior_ = posterior
        self.labels_ = posterior.labels


def test_the_list_of_plots_is_complete():
    level_plots = ["type_clusters"]  # see test_levels.py
    assert sorted([*CALLS, *level_plots]) == sorted(plots.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_a_plot_draws_on_the_axes_it_is_given_and_returns_them(posterior, name):
    from matplotlib import pyplot

    pyplot.close("all")  # what others have left open is not of this plot
    _, (left, right) = pyplot.subplots(1, 2)
    assert getattr(plots, name)(Fitted(posterior), *CALLS[name], ax=right) is right
    assert right.has_data() or right.texts
    assert not left.has_data()
    assert len(pyplot.get_fignums()) == 1
    right.figure.canvas.draw()


@pytest.mark.parametrize("name", CALLS)
def test_without_matplotlib_the_error_names_the_extra(posterior, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mcsquared\[plot\]'"):
        getattr(plots, name)(posterior, *CALLS[name])


@pytest.mark.parametrize("text", ["$", "$x$", "$$", r"\$", r"$\frac$ and $", "a_b^c {", "%", "\\"])
def test_text_from_data_is_drawn_literally(text):
    from matplotlib import pyplot

    ax = pyplot.figure().add_subplot()
    label = ax.text(0, 0, label_text(text))
    label.figure.canvas.draw()
    letters, mathematics = label._preprocess_math(label.get_text())
    assert (letters, mathematics) == (text, False)


def test_long_text_is_truncated_and_lines_are_joined():
    assert label_text("a\nb\t c") == "a b c"
    assert label_text("x" * 40, 10) == "x" * 9 + "…"
