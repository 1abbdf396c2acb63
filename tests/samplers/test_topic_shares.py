"""Clusters of similar topic shares, with which chains of levels may begin."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcsquared.samplers.init.topic_shares import cluster_rows, sqrt_shares_of_groups
from tests.samplers.test_candidates import start_with


def test_rows_are_square_roots_of_topic_shares():
    state, observations, _, _ = start_with(np.zeros_like)
    rows = sqrt_shares_of_groups(observations, state)
    start, topics = observations.group_start, state.topic_of_token
    for j in (0, observations.n_groups - 1):
        counts = np.bincount(topics[start[j] : start[j + 1]], minlength=rows.shape[1])
        np.testing.assert_allclose(rows[j] ** 2, counts / counts.sum())


def test_a_group_without_tokens_has_a_row_of_zeros():
    rows = np.zeros((6, 3))
    rows[:5, 1] = 1.0
    labels = cluster_rows(rows, 2, np.random.default_rng(0))
    assert labels.shape == (6,)
    assert len(set(labels[:5].tolist())) == 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clusters_of_separated_rows_are_found(seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, 300)
    shares = rng.dirichlet(np.full(20, 0.1), 3)[kind] + 0.02 * rng.dirichlet(np.ones(20), 300)
    rows = np.sqrt(shares / shares.sum(axis=1, keepdims=True))
    labels = cluster_rows(rows, 6, rng)
    pure = [len(set(kind[labels == k].tolist())) for k in np.unique(labels)]
    assert pure == [1] * len(pure)
    assert adjusted_rand_score(kind, labels) > 0.3
