"""Clusters are named after values that most of their groups have."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.report.content import cluster_names, topic_names
from tests.plots.test_clusters import bare_posterior

SIZES = (20, 12, 8)
TRUTH = np.repeat([0, 1, 2], SIZES)


def named(**contexts):
    """Return the names of three known clusters of vectors with these contexts."""
    rng = np.random.default_rng(0)
    corpus = mc2.Corpus([rng.normal(size=(3, 2)) for _ in TRUTH], contexts)
    posterior = bare_posterior(corpus, TRUTH[None, :].repeat(4, axis=0).astype(np.int32))
    columns = posterior.priors.columns(corpus)
    posterior = mc2.Posterior(**{**vars_of(posterior), "contexts": columns})
    return cluster_names(posterior, None, np.ones((3, 1)))


def vars_of(posterior):
    names = (
        "priors group_names vocabulary tokens_per_group cluster_of_group chain_of_draw "
        "sweep_of_draw trace parameters"
    )
    return {name: getattr(posterior, name) for name in names.split()}


def test_a_rare_value_does_not_name_a_cluster():
    gender = ["mixed"] * 14 + ["boys"] * 6 + ["mixed"] * 10 + ["boys"] * 2 + ["girls"] * 8
    assert named(gender=gender) == ["", "mixed", "girls"]


def test_numbers_and_dates_name_clusters_with_low_or_high_means():
    day = np.datetime64("2020-01-01") + np.array([200, 100, 0])[TRUTH].astype("timedelta64[D]")
    assert named(intake=np.array([-1.0, 0.9, 0.2])[TRUTH]) == ["low intake", "high intake", ""]
    assert named(day=day) == ["late day", "", "early day"]


def test_booleans_name_clusters_and_a_name_has_at_most_two_phrases():
    names = named(
        public=[True] * 20 + [False] * 20,
        size=np.array([5.0, 1.0, 1.0])[TRUTH],
        age=np.array([5.0, 1.0, 1.0])[TRUTH],
    )
    assert names[0] == "public, high size"
    assert names[1] == "not public, low size"


def test_items_of_a_bag_take_precedence_in_names():
    tags = [["sky", f"tag{k}"] for k in TRUTH]
    assert named(x=TRUTH * 1.0, tags=tags) == ["tag0", "tag1", "tag2"]


@pytest.mark.parametrize(
    "contexts",
    [{}, {"x": np.full(40, 3.0)}, {"x": np.full(40, np.nan)}, {"place": np.zeros((40, 2))}],
)
def test_clusters_that_do_not_differ_have_no_names(contexts):
    assert named(**contexts) == ["", "", ""]


def test_topics_of_vectors_without_a_bag_have_no_names():
    from tests.posterior.models import make_posterior

    posterior, _, _ = make_posterior(vectors=True, contexts=False)
    assert topic_names(posterior, None) == [""] * posterior.n_topics
