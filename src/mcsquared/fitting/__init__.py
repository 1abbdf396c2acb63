"""From data to a posterior: checks, chains, and what they kept put in order."""

from mcsquared.fitting.checks import check_sampler, checked_schedule, seed_from
from mcsquared.fitting.fit import Fit, elsewhere
from mcsquared.fitting.stored import Shown, corpus_in_memory

__all__ = [
    "Fit",
    "Shown",
    "check_sampler",
    "checked_schedule",
    "corpus_in_memory",
    "elsewhere",
    "seed_from",
]
