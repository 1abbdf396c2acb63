"""The maps: discs do not overlap and contain their groups; similar groups are close."""

import numpy as np
import pytest

from mcsquared.report.layout import (
    N_COLOURS,
    cluster_discs,
    disc_colours,
    position_groups,
    topic_map,
)


def some_discs(n_clusters, seed=0):
    rng = np.random.default_rng(seed)
    features = np.sqrt(rng.dirichlet(np.full(8, 0.3), n_clusters))
    sizes = rng.geometric(0.02, n_clusters)
    return cluster_discs(features, sizes), sizes, features


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 40])
def test_discs_do_not_overlap_and_are_as_large_as_their_clusters(n_clusters):
    discs, sizes, _ = some_discs(n_clusters)
    apart = np.linalg.norm(discs.centre[:, None] - discs.centre[None], axis=2)
    needed = discs.radius[:, None] + discs.radius[None]
    assert (apart + np.where(np.eye(n_clusters), np.inf, 0) > needed).all()
    np.testing.assert_allclose(discs.radius**2, sizes)


def test_clusters_of_the_same_topics_are_neighbours():
    features = np.sqrt(np.repeat(np.eye(3), 4, axis=0) * 0.98 + 0.02 / 3)
    discs = cluster_discs(features, np.full(12, 50))
    apart = np.linalg.norm(discs.centre[:, None] - discs.centre[None], axis=2)
    kind = np.repeat(np.arange(3), 4)
    same = (kind[:, None] == kind[None]) & ~np.eye(12, dtype=bool)
    assert apart[same].mean() < 0.7 * apart[kind[:, None] != kind[None]].mean()


def test_equal_clusters_have_different_positions():
    discs = cluster_discs(np.ones((5, 2)), np.full(5, 3))
    apart = np.linalg.norm(discs.centre[:, None] - discs.centre[None], axis=2)
    assert apart[~np.eye(5, dtype=bool)].min() > 2 * np.sqrt(3)


def test_groups_are_in_their_disc_with_high_confidence_in_the_centre():
    discs, sizes, _ = some_discs(6)
    cluster = np.repeat(np.arange(6), sizes)
    rng = np.random.default_rng(1)
    confidence = rng.random(len(cluster))
    other = np.full(len(cluster), -1)
    points = position_groups(discs, cluster, confidence, other, np.ones(len(cluster)))
    distance = np.linalg.norm(points - discs.centre[cluster], axis=1)
    assert (distance <= discs.radius[cluster]).all()
    for k in range(6):
        in_cluster = cluster == k
        assert distance[in_cluster][np.argmax(confidence[in_cluster])] == distance[in_cluster].min()
    assert len(np.unique(points.round(6), axis=0)) == len(points), "no group hides another"


def test_a_group_with_a_second_choice_is_on_that_side():
    discs = cluster_discs(np.eye(3), np.full(3, 200))
    cluster = np.repeat(np.arange(3), 200)
    confidence = np.where(np.arange(600) % 10 == 0, 0.5, 1.0)
    other = np.where(confidence < 1, (cluster + 1) % 3, -1)
    points = position_groups(discs, cluster, confidence, other, np.ones(600))
    leaning = other >= 0
    toward = discs.centre[other[leaning]] - discs.centre[cluster[leaning]]
    offset = points[leaning] - discs.centre[cluster[leaning]]
    assert np.einsum("nd,nd->n", toward, offset).mean() > 0


def test_no_colour_is_used_twice_before_all_are_used():
    discs, _, _ = some_discs(N_COLOURS + 12)
    colour = disc_colours(discs)
    np.testing.assert_array_equal(colour[:N_COLOURS], np.arange(N_COLOURS))
    assert colour.max() < N_COLOURS


def test_neighbouring_clusters_have_different_colours():
    discs, _, _ = some_discs(150)
    colour = disc_colours(discs)
    assert colour.max() < N_COLOURS
    apart = np.linalg.norm(discs.centre[:, None] - discs.centre[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (colour[apart.argmin(axis=1)] != colour).mean() > 0.9


@pytest.mark.parametrize("n_groups", [3, 80, 1300])
def test_groups_with_similar_topics_are_close_to_each_other(n_groups):
    rng = np.random.default_rng(0)
    kind = np.arange(n_groups) % 3
    shares = rng.dirichlet(np.full(6, 0.1), n_groups) * 0.1
    shares[np.arange(n_groups), kind] += 0.9
    points = topic_map(shares, seed=0)
    assert points.shape == (n_groups, 2)
    assert np.isfinite(points).all()
    if n_groups > 10:
        centres = np.stack([points[kind == k].mean(axis=0) for k in range(3)])
        nearest = np.linalg.norm(points[:, None] - centres[None], axis=2).argmin(axis=1)
        assert (nearest == kind).mean() > 0.95
