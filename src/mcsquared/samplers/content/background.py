"""Values of numeric contexts that come from a background instead of their cluster.

    x_j ~ ρ F(φ_{z_j}) + (1 − ρ) F(φ_0),        ρ ~ Beta(1, 1),   φ_0 from the prior of φ

h_j indicates whether x_j comes from its cluster. Clusters are drawn with h summed out, then h given
the clusters; statistics are sums over the values of each kind. h is not stored: until the groups
are swept again, it follows from the random numbers and the clusters of the sweep.
"""

import numpy as np

from mcsquared.arrays import Bools, Int32s
from mcsquared.kernels.cpu.contexts import Background, draw_foreground
from mcsquared.observations import Observations
from mcsquared.samplers.threads import ThreadPool
from mcsquared.samplers.types import ContextDraw, Key


def no_background(observations: Observations) -> Background:
    """Return the parameters of contexts without a background."""
    log_probabilities = np.zeros((len(observations.dense_families), 2))
    log_probabilities[:, 1] = -np.inf
    return Background(log_probabilities, np.zeros(int(observations.dense.stat_start[-1])))


def with_outliers(
    observations: Observations,
    clusters: Int32s,
    given: ContextDraw | None,
    key: Key,
    threads: ThreadPool,
) -> Observations:
    """Return the observations with values from the background marked, given all parameters.

    ``clusters`` are those drawn for the groups, with the same ``key``.
    """
    if given is None or not observations.background_columns:
        return observations
    foreground: Bools = np.empty_like(observations.dense.observed)
    chunk_start = observations.layout.chunk_start
    parameters = (observations.dense, given.natural, given.background, key)

    def draw(first: int, last: int) -> None:
        groups = (chunk_start[first], chunk_start[last])
        out = (observations.first_group, clusters, foreground)
        draw_foreground(*groups, *parameters, *out)

    threads.map(len(chunk_start) - 1, draw, work=50.0 * foreground.size)
    return observations.with_foreground(foreground)
