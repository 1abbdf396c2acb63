"""The posterior: kept draws, their consensus, tables and diagnostics."""

from mcsquared.posterior.consensus import CoClustering, expected_loss
from mcsquared.posterior.draws import ParameterDraw
from mcsquared.posterior.posterior import Posterior

__all__ = ["CoClustering", "ParameterDraw", "Posterior", "expected_loss"]
