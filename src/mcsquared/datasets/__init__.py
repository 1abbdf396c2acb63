"""Data sets: synthetic letters, draws from the prior, and readers of public data."""

from mcsquared.datasets.letters import Letters, identifiable_letters, letters
from mcsquared.datasets.original_files import load_nips_toolbox, load_nus_wide, load_pnas, load_uci
from mcsquared.datasets.readers import (
    DataSet,
    load_labelme,
    load_nips,
    load_poliblog,
    load_reuters,
    load_schools,
    load_un,
    load_wiki,
)
from mcsquared.datasets.simulate import Simulated, simulate
from mcsquared.datasets.standard_library import standard_library

__all__ = [
    "DataSet",
    "Letters",
    "Simulated",
    "identifiable_letters",
    "letters",
    "load_labelme",
    "load_nips",
    "load_nips_toolbox",
    "load_nus_wide",
    "load_pnas",
    "load_poliblog",
    "load_reuters",
    "load_schools",
    "load_uci",
    "load_un",
    "load_wiki",
    "simulate",
    "standard_library",
]
