"""The map has a point for each group, close to similar groups."""

import sys
import types

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import sparse

import mcsquared as mc2
from mcsquared import plots
from mcsquared.palette import COLOURS, GREY, N_COLOURS
from mcsquared.plots.clusters import _marker, embed, group_features
from mcsquared.posterior.membership import group_confidence
from mcsquared.report.layout import cluster_discs, disc_colours
from tests.posterior.models import make_posterior


@pytest.fixture(scope="module")
def clear():
    """A posterior whose draws agree."""
    return make_posterior(noise=0.02, n_groups=60)[0]


@pytest.fixture(scope="module")
def drawn(clear):
    return plots.cluster_map(clear, method="tsne")


def test_every_group_is_a_point_of_its_cluster(clear, drawn):
    sizes = np.bincount(clear.labels)
    assert [points.get_label() for points in drawn.collections] == [
        f"cluster {cluster}" for cluster in range(clear.n_clusters)
    ]
    assert [len(points.get_offsets()) for points in drawn.collections] == sizes.tolist()
    assert len({tuple(points.get_facecolor()[0, :3]) for points in drawn.collections}) == 3


def test_clusters_have_the_colours_of_the_report(clear, drawn):
    discs = cluster_discs(np.eye(clear.n_clusters), np.bincount(clear.labels))
    found = [to_hex(points.get_facecolor()[0, :3]) for points in drawn.collections]
    assert found == [COLOURS[number] for number in disc_colours(discs)]


def test_the_colours_of_48_clusters_differ_and_later_ones_are_grey():
    styles = [_marker(cluster)["color"] for cluster in range(N_COLOURS + 2)]
    assert styles == [*COLOURS, GREY, GREY]


def test_groups_of_a_cluster_are_closer_than_others(clear, drawn):
    place = np.empty((clear.n_groups, 2))
    for cluster, points in enumerate(drawn.collections):
        place[clear.labels == cluster] = points.get_offsets()
    distance = np.linalg.norm(place[:, None] - place[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    same = clear.labels[distance.argmin(axis=1)] == clear.labels
    assert same.mean() > 0.9


def test_uncertain_groups_are_pale(clear, drawn):
    firmness = group_confidence(clear)
    for cluster, points in enumerate(drawn.collections):
        alpha = points.get_alpha()
        np.testing.assert_allclose(alpha, 0.25 + 0.75 * firmness[clear.labels == cluster])


def test_each_cluster_has_its_number_at_one_of_its_groups(clear, drawn):
    for cluster, note in enumerate(drawn.texts):
        assert note.get_text() == str(cluster)
        offsets = np.asarray(drawn.collections[cluster].get_offsets())
        assert (np.abs(offsets - note.xy).sum(axis=1) < 1e-9).any()


def test_distances_depend_on_draws_and_topics(posterior):
    features = group_features(posterior).toarray()
    apart = posterior.coclustering().between(3, 20)
    topics = features[:, -posterior.n_topics :]
    squared = np.square(features[3] - features[20]).sum()
    assert squared == pytest.approx(1 - apart + np.square(topics[3] - topics[20]).sum())
    np.testing.assert_allclose(np.square(topics).sum(axis=1), 1.0)
    shares = np.eye(4)[np.arange(30) % 4]
    given = group_features(posterior, shares).toarray()[:, -4:]
    np.testing.assert_array_equal(given, shares)


def test_many_groups_are_sampled_and_the_title_says_so(clear):
    ax = plots.cluster_map(clear, method="tsne", max_groups=20)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 20
    assert ax.get_title(loc="left") == "20 of 60 groups, 3 clusters"


def test_the_same_seed_gives_the_same_map(clear, drawn):
    again = plots.cluster_map(clear, method="tsne")
    for one, other in zip(drawn.collections, again.collections, strict=True):
        np.testing.assert_array_equal(one.get_offsets(), other.get_offsets())


def test_umap_is_used_if_it_is_installed(clear, monkeypatch):
    class UMAP:
        def __init__(self, n_neighbors, random_state):
            assert (n_neighbors, random_state) == (15, 3)

        def fit_transform(self, features):
            return np.column_stack([np.arange(len(features)), np.zeros(len(features))])

    module = types.ModuleType("umap")
    module.UMAP = UMAP
    module.__spec__ = types.SimpleNamespace(name="umap")
    monkeypatch.setitem(sys.modules, "umap", module)
    ax = plots.cluster_map(clear, random_state=3)
    x = np.concatenate([points.get_offsets()[:, 0] for points in ax.collections])
    assert sorted(x) == list(range(60))


def test_without_umap_the_error_names_the_package(clear, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"requires umap, .*: pip install 'umap-learn'"):
        plots.cluster_map(clear, method="umap")


def test_a_few_groups_have_a_map():
    ax = plots.cluster_map(make_posterior(n_groups=4)[0])
    assert sum(len(points.get_offsets()) for points in ax.collections) == 4


@pytest.mark.parametrize("n_groups", [5, 40])
def test_identical_groups_have_different_positions(n_groups):
    features = sparse.csr_matrix(np.ones((n_groups, 6)))
    place = embed(features, "tsne", 0)
    assert np.isfinite(place).all()
    assert len(np.unique(place, axis=0)) == n_groups


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pca"}, "method must be one of 'auto', 'tsne', 'umap', got 'pca'"),
        ({"max_groups": 0}, "max_groups must be an integer >= 1, got 0"),
        (
            {"shares": np.ones((3, 4))},
            r"shares must have one row per group \(60\), got shape \(3, 4\)",
        ),
        ({"shares": -np.ones((60, 4))}, "shares must be finite numbers >= 0"),
    ],
)
def test_invalid_options_are_rejected(clear, options, message):
    with pytest.raises(mc2.InputError, match=message):
        plots.cluster_map(clear, **options)
