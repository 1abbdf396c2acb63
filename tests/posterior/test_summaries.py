"""Hierarchies, prevalence of topics by context, and names that users give."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.errors import InputError
from tests.posterior.models import make_posterior


@pytest.fixture(scope="module")
def posterior():
    return make_posterior(n_groups=60, lam=5.0)[0]


@pytest.mark.parametrize("of", ["clusters", "topics"])
def test_cuts_of_a_hierarchy_are_nested(posterior, of):
    hierarchy = posterior.hierarchy(of)
    n = len(hierarchy.weights)
    assert hierarchy.to_frame().shape == (n - 1, 5)
    assert (np.diff(hierarchy.linkage[:, 2]) >= 0).all()
    for size in range(1, n):
        coarse, fine = hierarchy.cut(size), hierarchy.cut(size + 1)
        assert len(set(coarse)) == size
        assert len(set(zip(coarse, fine, strict=True))) == size + 1
        weights = np.bincount(coarse, hierarchy.weights)
        assert (np.diff(weights) <= 0).all()


def test_clusters_that_share_groups_are_merged_first():
    posterior, _, _ = make_posterior(n_groups=60, contexts=False)
    draws = np.repeat(np.arange(3), 20)[None].repeat(12, axis=0).astype(np.int32)
    draws[:5, 40:] = 1  # the last two clusters are one in five draws
    posterior.cluster_of_group[:] = draws
    for name in ("labels", "cluster_probability", "representative", "topic_order", "components"):
        vars(posterior).pop(name, None)
    posterior.cluster_content = None
    labels = posterior.hierarchy().cut(2)[posterior.labels]
    assert labels[20] == labels[59] != labels[0]


@pytest.mark.parametrize("name", ["year", "day", "place", "tags", "flag", "visits"])
def test_shares_of_topics_sum_to_one_for_each_value_and_are_in_their_intervals(posterior, name):
    table = posterior.prevalence(name)
    totals = table.groupby("value")["share"].sum()
    np.testing.assert_allclose(totals, 1.0, atol=1e-6)
    assert (table["low"] <= table["share"] + 1e-9).all()
    assert (table["share"] <= table["high"] + 1e-9).all()


def test_prevalence_and_differences_find_the_topics_of_a_place(posterior):
    """Groups of place k are in cluster k, most tokens of which are of topic k."""
    table = posterior.prevalence("place").set_index(["value", "topic"])["share"].unstack()
    assert len(set(table.to_numpy().argmax(axis=1))) == 3
    difference = posterior.prevalence_difference("place", "place0", "place1")
    largest = table.loc["place0"].argmax()
    row = difference.set_index("topic").loc[largest]
    assert row["low"] > 0
    assert row["low"] <= row["difference"] <= row["high"]
    np.testing.assert_allclose(difference["difference"].sum(), 0.0, atol=1e-6)
    with pytest.raises(InputError, match="first must be a value of the context"):
        posterior.prevalence_difference("place", "nowhere", "place1")


def test_a_draw_without_a_topic_does_not_lower_its_share():
    posterior, _, _ = make_posterior(lam=5.0)
    before = posterior.prevalence("place")
    counterparts = [alignment.copy() for alignment in posterior.counterparts]
    for number, alignment in enumerate(counterparts):
        if number != posterior.representative:
            alignment[alignment == 0] = -1
    with patch.object(type(posterior), "counterparts", counterparts):
        after = posterior.prevalence("place")
    first = before["topic"] == 0
    np.testing.assert_allclose(after["share"][~first], before["share"][~first])
    assert after["share"][first].max() > 0.9 * before["share"][first].max()


def test_shares_of_many_values_are_computed_in_blocks(posterior):
    expected = posterior.prevalence("tags")
    with patch("mcsquared.posterior.prevalence.BLOCK_SIZE", 1):
        pd.testing.assert_frame_equal(posterior.prevalence("tags"), expected)


def test_given_names_replace_those_of_the_data_and_are_saved(tmp_path):
    corpus = mc2.datasets.letters(n_groups_per_cluster=5, random_state=0).corpus
    model = mc2.MC2(n_sweeps=6, burn_in=2, random_state=0, progress=False).fit(corpus)
    assert model.set_labels(clusters={0: " First "}, topics={1: "bars"}) is model
    model.save(tmp_path / "m.mc2")
    posterior = mc2.MC2.load(tmp_path / "m.mc2").posterior_
    assert posterior.clusters()["name"][0] == "First"
    assert posterior.topics(include_small=True)["name"][1] == "bars"
    model.set_labels(clusters={0: ""})
    assert model.posterior_.given_names["clusters"] == {}
    with pytest.raises(InputError, match="clusters must map numbers"):
        model.set_labels(clusters={99: "x"})
