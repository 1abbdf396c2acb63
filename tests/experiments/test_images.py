"""Images: every method on the same groups, statistics over numbers of clusters, both figures."""

import numpy as np
import pytest

import mcsquared as mc2
from experiments import images
from experiments.drawing import MEASURES
from experiments.running import Setting, run_experiment


@pytest.fixture(scope="module")
def record():
    return run_experiment("images", Setting("tiny", chosen_sets=("labelme8",)), [0])


def test_every_method_of_the_paper_is_included(record):
    methods = {row["method"] for row in record["summary"]}
    assert methods == {"MC2", "HDP", "HDP + AP", "LDA + k-means", "AP", "k-means", "NMF"}
    found = {(row["contexts"], row["lam"]) for row in record["summary"] if row["method"] == "MC2"}
    assert found == {(used, lam) for used in ("none", "tags") for lam in ("inf", "learnt")}


def test_all_methods_except_hdp_are_compared_with_the_classes(record):
    for row in record["rows"]:
        assert (row.get("nmi") is None) == (row["method"] == "HDP")
        assert (row.get("completion") is None) == (row["method"] not in ("HDP", "MC2"))


def test_statistics_treat_each_measure_separately():
    scores = [{"purity": 0.2, "nmi": 0.9}, {"purity": 0.4, "nmi": 0.1}]
    found = images.statistics(scores)
    assert found["min"] == {"purity": 0.2, "nmi": 0.1}
    assert found["max"] == {"purity": 0.4, "nmi": 0.9}
    assert found["mean"] == pytest.approx({"purity": 0.3, "nmi": 0.5})
    assert found["sd"] == pytest.approx({"purity": 0.1, "nmi": 0.4})


def test_content_and_every_context_have_the_same_weight_in_features():
    corpus = mc2.Corpus(
        np.array([[3, 1], [0, 4], [2, 2]]),
        {"v": np.array([[0.0, 9.0], [5.0, np.nan], [1.0, 2.0]]), "c": ["a", "b", None]},
    )
    seen = images.features(corpus, ["v", "c"])
    assert np.isfinite(seen).all()
    variance = seen.var(axis=0)
    np.testing.assert_allclose([variance[:2].sum(), variance[2:4].sum(), variance[4:].sum()], 1.0)


def test_bars_are_the_means_of_all_methods_that_cluster(record):
    figure = images.figures(record)["measures-labelme8"]
    assert [panel.get_title() for panel in figure.axes] == list(MEASURES.values())
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    rows = [
        row["nmi"]["mean"]
        for row in record["summary"]
        if row["method"] != "HDP" and row["clusters"].split(", ")[-1] in ("found", "mean")
    ]
    np.testing.assert_allclose(heights, rows)


def test_the_map_contains_every_chosen_image_once(record):
    figure = images.figures(record)["tsne-labelme8"]
    for panel, lam in zip(figure.axes, ("inf", "learnt"), strict=True):
        points = sum(len(drawn.get_offsets()) for drawn in panel.collections)
        assert points == len(record["arrays"][f"labelme8 {lam}: plane"])
        assert len(panel.collections) <= images.N_PLOTTED
