"""From data to a posterior: checks, chains, and what they kept put in order."""

from mcsquared.fitting.checks import check_sampler, checked_schedule, seed_from
from mcsquared.fitting.fit import EarlierFit, Fit, elsewhere

__all__ = ["EarlierFit", "Fit", "check_sampler", "checked_schedule", "elsewhere", "seed_from"]
