"""Weights of chains, and the weights of their draws that follow from them."""

from typing import Any

import numpy as np

from mcsquared.arrays import Floats, Int32s, Int64s
from mcsquared.errors import InputError
from mcsquared.posterior.consensus import evenly_spaced
from mcsquared.posterior.draws import ParameterDraw


def equal_weights(chain_of_draw: Int32s) -> Floats:
    """Return the weights of chains if all draws have equal weight: float64 (n_chains,)."""
    return np.bincount(chain_of_draw) / len(chain_of_draw)


def check_weights(weights: Any, chain_of_draw: Int32s) -> Floats:
    """Return validated weights of chains, float64 (n_chains,); None: equal for all draws."""
    equal = equal_weights(chain_of_draw)
    if weights is None:
        return equal
    array = np.asarray(weights, np.float64)
    valid = array.shape == equal.shape and np.isfinite(array).all() and (array >= 0).all()
    if not (valid and abs(array.sum() - 1.0) < 1e-6 and not array[equal == 0].any()):
        raise InputError(
            f"chain_weights must be {len(equal)} numbers >= 0 that sum to 1, 0 for chains without "
            f"draws, got {weights!r}"
        )
    return array


def weights_of_draws(chain_of_draw: Int32s, chain_weights: Floats, equal: bool) -> Floats:
    """Return the weight of each draw, relative to their mean: float64 (n_draws,).

    The draws of a chain share its weight. If ``equal``, all are exactly 1.
    """
    if equal:
        return np.ones(len(chain_of_draw))
    n_draws = np.bincount(chain_of_draw, minlength=len(chain_weights))
    weights = (chain_weights / np.maximum(n_draws, 1))[chain_of_draw]
    total = weights.sum()
    # The draws with parameters may all belong to chains with zero weight.
    return weights * (len(weights) / total) if total > 0 else np.ones(len(weights))


class WeightedDraws:
    """Draws of chains with weights; a base class of `Posterior`."""

    chain_weights: Floats
    chain_of_draw: Int32s
    cluster_of_group: Int32s
    parameters: list[ParameterDraw]

    @property
    def n_draws(self) -> int:
        """Number of kept draws."""
        return int(self.cluster_of_group.shape[0])

    @property
    def n_groups(self) -> int:
        """Number of training groups."""
        return int(self.cluster_of_group.shape[1])

    @property
    def is_weighted(self) -> bool:
        """Whether some chains have more weight than their share of the draws."""
        equal = equal_weights(self.chain_of_draw)
        return not np.allclose(self.chain_weights, equal, rtol=0.0, atol=1e-9)

    @property
    def draw_weights(self) -> Floats:
        """Weight of each draw, relative to their mean: float64 (n_draws,)."""
        return weights_of_draws(self.chain_of_draw, self.chain_weights, not self.is_weighted)

    @property
    def parameter_weights(self) -> Floats:
        """Weight of each draw of `parameters`, relative to their mean."""
        chains = self.chain_of_draw[[draw.index for draw in self.parameters]]
        return weights_of_draws(chains, self.chain_weights, not self.is_weighted)

    @property
    def draws_by_weight(self) -> Int32s:
        """Draws of the chains in proportion to their weights: int32 (n_chosen, n_groups)."""
        if not self.is_weighted:
            return self.cluster_of_group
        return self.cluster_of_group[indices_by_weight(self.chain_of_draw, self.draw_weights)]


def indices_by_weight(chain_of_draw: Int32s, weights: Floats) -> Int64s:
    """Return indices of draws whose number per chain is proportional to the chain's weight.

    All draws of the chain with the largest weight per draw, and evenly spaced ones of the others.
    """
    chosen = []
    for chain in np.unique(chain_of_draw):
        draws = np.flatnonzero(chain_of_draw == chain)
        n_chosen = round(len(draws) * weights[draws[0]] / weights.max())
        chosen.append(draws[evenly_spaced(len(draws), n_chosen)])
    return np.concatenate(chosen)
