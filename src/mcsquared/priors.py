"""Former place of `mcsquared.model`, until every import has moved."""

from mcsquared.model.parameters import Concentration, Gamma
from mcsquared.model.priors import Priors, vector_observations

__all__ = ["Concentration", "Gamma", "Priors", "vector_observations"]
