"""Initial types of the units above groups."""

import numpy as np

from mcsquared.arrays import Int32s
from mcsquared.kernels.rng import Step
from mcsquared.model.parameters import initial_value
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.samplers.types import Key
from mcsquared.state import LevelState, State

MAX_INITIAL_TYPES = 20  # many, because types merge more easily than they appear


def start_levels(state: State, observations: Observations, priors: Priors, key: Key) -> None:
    """Add the initial states of the levels: random types, concentrations at their prior means.

    With few units, each has its own type. Every type is counted as having drawn each type of its
    children once.
    """
    if not observations.levels:
        return
    rng = key.generator(Step.TYPES)
    below, n_below = state.cluster_of_group, len(state.counts.groups_in_cluster)
    parent = observations.parent_of_group
    for units, prior in zip(observations.levels, priors.levels.values(), strict=True):
        n_types = min(units.n_units, MAX_INITIAL_TYPES)
        types = (rng.permutation(units.n_units) % n_types).astype(np.int32)
        children = np.zeros((n_types + 1, n_below), np.int32)
        np.add.at(children, (np.append(types, n_types)[parent], below), 1)
        state.levels.append(
            LevelState(
                type_of_unit=types,
                alpha=initial_value(prior.alpha),
                v=initial_value(prior.v),
                children=children[:-1],
                orphans=children[-1],
                draws_below=initial_draws(children),
                shapes=[context.initial_shapes() for context in units.contexts],
            )
        )
        below, n_below, parent = types, n_types, units.parent


def initial_draws(children: Int32s) -> np.ndarray:
    """Return the initial number of draws of each type of children.

    Each type of parents (a row) has drawn every type of its children once; each child without a
    parent (counted in the last row) is a draw of its own.
    """
    return (children[:-1] > 0).sum(axis=0) + children[-1].astype(np.int64)
