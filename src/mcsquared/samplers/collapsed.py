"""The paper's collapsed Gibbs sampler, corrected: z, l, tables, concentrations and ε in turn.

The kernels do the work; `mcsquared.samplers.reference` says the same in plain NumPy, to be read
beside the paper.
"""

from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.clusters import sweep_clusters
from mcsquared.samplers.concentrations import resample_concentrations
from mcsquared.samplers.starts import start
from mcsquared.samplers.topics import sweep_topics
from mcsquared.state import NO_BOUNDS, Bounds, State

__all__ = ["start", "sweep"]


def sweep(
    state: State,
    observations: Observations,
    priors: Priors,
    seed: int,
    chain: int,
    bounds: Bounds = NO_BOUNDS,
) -> None:
    """Do one sweep: every group's cluster, every token's topic, then ε and the concentrations."""
    state.sweep += 1
    sweep_clusters(state, observations, seed, chain, bounds)
    sweep_topics(state, observations, priors, seed, chain, bounds)
    resample_concentrations(state, priors, seed, chain)
