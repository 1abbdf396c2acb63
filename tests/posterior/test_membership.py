"""Groups that no cluster holds, and the stability of small clusters."""

import numpy as np
import pytest

from mcsquared.posterior.consensus import consensus, expected_loss
from mcsquared.posterior.membership import (
    cluster_stability,
    group_confidence,
    membership_probabilities,
    reassign_unsettled,
)
from mcsquared.report.overview import _check_unsettled
from tests.plots.test_clusters import bare_posterior
from tests.posterior.models import make_posterior


def with_draws(draws):
    """Return a posterior with these partitions of 40 groups as its draws."""
    _, corpus, _ = make_posterior(n_groups=draws.shape[1], contexts=False)
    return bare_posterior(corpus, draws.astype(np.int32))


@pytest.fixture(scope="module")
def scattered():
    """Return a posterior with four clusters and four groups that are in each equally often."""
    draws = np.tile(np.arange(40) % 4, (8, 1))
    draws[:, :4] = (np.arange(8)[:, None] + np.arange(4)) % 4
    return with_draws(draws)


def test_scattered_groups_are_unsettled_and_have_a_cluster_of_the_others(scattered):
    assert scattered.n_clusters == 4
    table = scattered.unsettled()
    assert set(table["group"]) == {0, 1, 2, 3}
    assert table.groupby("group")["probability"].sum().between(0.99, 1.01).all()
    first = table.drop_duplicates("group").set_index("group")
    np.testing.assert_array_equal(first["cluster"], scattered.labels[:4])
    assert (first["probability"] < 0.5).all()
    marked = scattered.consensus(mark_unsettled=True)
    np.testing.assert_array_equal(np.flatnonzero(marked == -1), np.arange(4))
    np.testing.assert_array_equal(marked[4:], scattered.labels[4:])


def test_the_consensus_has_no_more_clusters_than_a_draw():
    """Groups that are in different clusters in every draw would otherwise be alone."""
    rng = np.random.default_rng(1)
    draws = np.tile(np.arange(200) % 20, (20, 1))
    draws[:, :24] = rng.integers(0, 20, (20, 24))
    assert consensus(draws.astype(np.int32)).max() + 1 > 20
    posterior = with_draws(draws)
    assert posterior.n_clusters == 20
    assert posterior.consensus("binder").max() + 1 == 20


def test_a_group_that_is_alone_in_half_of_the_draws_has_half_the_stability():
    draws = np.repeat([[0] * 20 + [1] * 20], 10, axis=0)
    draws[:6, 39] = 2
    posterior = with_draws(draws)
    assert posterior.labels[39] == 2
    assert group_confidence(posterior)[39] == pytest.approx(0.6)
    assert cluster_stability(posterior, group_confidence(posterior))[2] == pytest.approx(0.6)
    assert 39 not in set(posterior.unsettled()["group"])


def test_a_cluster_that_some_draws_join_with_others_is_settled():
    """The groups of a cluster are together in all draws, but with those of three others."""
    apart = np.repeat(np.arange(4), 10)
    draws = np.array([apart] * 5 + [np.zeros(40)] * 4)
    posterior = with_draws(draws)
    assert posterior.n_clusters == 4
    assert posterior.unsettled().empty


def test_probabilities_sum_to_one_and_follow_certain_draws():
    labels = np.repeat([0, 1], 10).astype(np.int32)
    draws = np.array([labels, 1 - labels, labels], np.int32)
    probability = membership_probabilities(draws, labels, np.array([0.5, 2.0, 0.5]))
    np.testing.assert_allclose(probability, np.eye(2)[labels])


def test_settling_removes_clusters_that_no_draw_has_at_little_loss():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 30)
    draws = np.array([np.where(rng.random(90) < 0.1, rng.integers(0, 3, 90), truth)] * 9, np.int32)
    draws[:, 0] = np.arange(9) % 3
    labels = truth.astype(np.int32)
    labels[0] = 3
    improved = reassign_unsettled(labels, draws)
    assert improved.max() == 2
    assert expected_loss(improved, draws) < 1.02 * expected_loss(labels, draws)


def test_a_consensus_of_many_small_clusters_is_searched_again_within_the_bound_of_the_draws():
    """Draws that disagree: the best partition of all has more clusters than any draw."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    draws = np.stack([3 * kind + rng.integers(0, 3, 60) for _ in range(12)]).astype(np.int32)
    draws[:, 30:] = rng.integers(0, 9, (12, 30))
    posterior = with_draws(draws)
    free = consensus(draws)
    assert free.max() >= 9, "otherwise the bound does not matter"
    bounded = consensus(draws, max_clusters=9)
    assert bounded.max() < 9
    assert posterior.n_clusters <= 9
    assert expected_loss(bounded, draws) <= expected_loss(reassign_unsettled(free, draws), draws)
    assert expected_loss(posterior.labels, draws) <= expected_loss(
        reassign_unsettled(free, draws), draws
    )


@pytest.mark.parametrize("n_unsettled", [1, 2])
def test_the_check_of_unsettled_groups_is_in_the_right_number(n_unsettled):
    draws = np.tile(np.repeat(np.arange(3), 100), (9, 1)).astype(np.int32)
    draws[:, :n_unsettled] = (np.arange(9) % 3)[:, None]
    posterior = with_draws(draws)
    assert posterior.unsettled()["group"].nunique() == n_unsettled
    _, title, text = _check_unsettled(posterior)
    if n_unsettled == 1:
        assert title == "1 unsettled group (less than 1%)"
        assert "contains it with" in text
        assert "its page lists" in text
    else:
        assert title == "2 unsettled groups (1%)"
        assert "their pages list" in text
