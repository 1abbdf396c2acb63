"""Other models with the same ``fit``, ``predict`` and scores, for comparison.

Names are imported lazily, because several require optional packages.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcsquared.baselines.clusterers import NMF, AffinityPropagation, KMeans, TopicClusters
    from mcsquared.baselines.dmr import DMR
    from mcsquared.baselines.hdp import HDP
    from mcsquared.baselines.lda import LDA
    from mcsquared.baselines.nptot import NPTOT
    from mcsquared.baselines.rows import symmetric_kl
    from mcsquared.baselines.special_cases import DPMixture, NestedDP

_NAMES = {
    "clusterers": ("NMF", "AffinityPropagation", "KMeans", "TopicClusters"),
    "dmr": ("DMR",),
    "hdp": ("HDP",),
    "lda": ("LDA",),
    "nptot": ("NPTOT",),
    "rows": ("symmetric_kl",),
    "special_cases": ("DPMixture", "NestedDP"),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "DMR",
    "HDP",
    "LDA",
    "NMF",
    "NPTOT",
    "AffinityPropagation",
    "DPMixture",
    "KMeans",
    "NestedDP",
    "TopicClusters",
    "symmetric_kl",
]


def __getattr__(name: str) -> object:
    if name in _MODULE_OF_NAME:
        return getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
