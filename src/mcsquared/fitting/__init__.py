"""From data to a posterior: checks, chains, and the draws they kept."""

from mcsquared.fitting.checks import check_sampler, checked_schedule, seed_from
from mcsquared.fitting.fit import BackendFactory, EarlierFit, Fit

__all__ = ["BackendFactory", "EarlierFit", "Fit", "check_sampler", "checked_schedule", "seed_from"]
