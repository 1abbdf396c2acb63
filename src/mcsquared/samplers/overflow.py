"""Why a chain has left the range of floating-point numbers."""

from __future__ import annotations

import math

import numpy as np

from mcsquared.model.parameters import values_of
from mcsquared.model.priors import Priors
from mcsquared.observations import Observations
from mcsquared.state import State


def likely_cause(state: State, observations: Observations, priors: Priors) -> str:
    """Return the likely cause of an overflow: the content, a context or a hyper-parameter."""
    counts = state.counts
    contexts = [
        (next(name for name, f in priors.contexts.items() if f is family), family, columns)
        for family, columns in observations.context_columns
    ]
    with np.errstate(all="ignore"):
        if observations.n_content_statistics:
            normalisers = observations.content_family.log_normaliser(counts.topic_statistics)
            if not np.isfinite(normalisers).all():
                return "the scale of the content: rescale it"
        for name, family, columns in contexts:
            normalisers = family.log_normaliser(counts.context_statistics[:, columns])
            if not np.isfinite(normalisers).all():
                return f"the scale of context {name!r} or the fields of its family: rescale it"
    values = {name: value for name, value in values_of(state).items() if value != math.inf}
    name = max(values, key=lambda name: _distance_from_one(values[name]))
    return f"a hyper-parameter: {name} is {values[name]:g}"


def _distance_from_one(value: float) -> float:
    return abs(math.log(value)) if 0.0 < value < math.inf else math.inf
