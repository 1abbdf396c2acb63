"""First topics for tokens that had no part in the start of a chain."""

import numpy as np
from numba import njit

from mcsquared.kernels.rng import uniform

__all__ = ["draw_first_topics"]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_first_topics(
    first_group,
    last_group,
    group_start,
    words,
    cluster_of_group,
    shares,
    variates,
    seed,
    chain,
    sweep,
    step,
    first_token,
    topic_of_token,
):
    """Draw l_ji ∝ τ_km ψ_mw for every token of some groups, z_j = k.

    ``shares`` and ``variates`` are as in `draw_cells`. The number of a token is that of
    ``first_token`` plus its place, wherever its shard is.
    """
    n_topics = shares.shape[1]
    sums = np.empty(n_topics, np.float32)
    for j in range(first_group, last_group):
        share = shares[cluster_of_group[j]]
        for i in range(group_start[j], group_start[j + 1]):
            weight, total = variates[words[i]], np.float32(0.0)
            for m in range(n_topics):
                total += share[m] * weight[m]
                sums[m] = total
            u = np.float32(uniform(seed, chain, sweep, step, first_token + i, 0))
            drawn = min(np.searchsorted(sums, u * total, side="right"), n_topics - 1)
            while drawn > 0 and share[drawn] == 0.0:  # a slot without weight, by rounding
                drawn -= 1
            topic_of_token[i] = drawn
