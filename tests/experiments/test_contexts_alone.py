"""Clusters by contexts alone: the same images and measures as for MC2, other columns."""

import numpy as np
import pytest

import mcsquared as mc2
from experiments import contexts_alone
from experiments.fits import agreement
from experiments.images import features, load_split
from experiments.running import Setting, run_experiment

TINY = Setting("tiny", chosen_sets=("labelme8",))


@pytest.fixture(scope="module")
def record():
    return run_experiment("contexts-alone", TINY, [0])


def test_contexts_are_clustered_with_words_and_without(record):
    found = {(row["method"], row["contexts"]) for row in record["summary"]}
    assert found == {
        ("DP mixture of contexts", "tags"),
        ("k-means of contexts", "tags"),
        ("k-means of words and contexts", "tags"),
    }
    assert contexts_alone.figures(record) == {}


def test_contexts_alone_uses_no_words(record):
    images = load_split("labelme8", 0, TINY)
    n_words = images.training.content.counts.shape[1]
    tags = features(images.training, ["tags"])[:, n_words:]
    assert tags.shape[1] == images.training.contexts["tags"].n_categories
    scores = [
        agreement(images.truth, mc2.baselines.KMeans(n, random_state=0).fit(tags).labels_)["nmi"]
        for n in (3, 4)
    ]
    row = next(
        row
        for row in record["rows"]
        if row["method"] == "k-means of contexts" and row["clusters"].endswith("mean")
    )
    assert row["nmi"] == pytest.approx(np.mean(scores))
