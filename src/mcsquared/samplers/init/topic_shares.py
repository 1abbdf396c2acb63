"""Clusters of groups with similar topic shares: candidates for the start of a chain.

Groups are compared by the Bhattacharyya coefficient Σ_m √(p_m q_m) of their topic shares, so that
clusters are those of spherical k-means on the square roots. No sum depends on threads or on BLAS.
"""

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Rng
from mcsquared.observations import Observations
from mcsquared.samplers.content.divisions import ChosenGroups, begin_division
from mcsquared.samplers.threads import SINGLE_THREAD
from mcsquared.samplers.types import Labels
from mcsquared.state import State

N_ITERATIONS = 10


def sqrt_shares_of_groups(observations: Observations, state: State) -> Floats:
    """Return the square roots of the topic shares of all groups, (n_groups, topic slots)."""
    labels = Labels(state.cluster_of_group, state.topic_of_token)
    every = ChosenGroups(len(state.topic_weights), np.arange(observations.n_groups))
    _, (_, counts) = begin_division(observations, labels, every, SINGLE_THREAD)
    return np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def cluster_rows(rows: Floats, n_clusters: int, rng: Rng) -> Int32s:
    """Return the clusters of rows of length 1 by spherical k-means, int32 (n_rows,).

    The first centres are random rows.
    """
    n_rows, ones = len(rows), np.ones(len(rows))
    centres = rows[rng.choice(n_rows, n_clusters, replace=False)]
    for _ in range(N_ITERATIONS):
        nearest = np.einsum("jm,km->jk", rows, centres).argmax(axis=1)
        indicators = (ones, (nearest, np.arange(n_rows)))
        centres = sparse.csr_matrix(indicators, (n_clusters, n_rows)) @ rows
        centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-300)
    return nearest.astype(np.int32)
