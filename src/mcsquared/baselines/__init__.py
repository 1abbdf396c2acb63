"""What others would use on the same corpus: the same ``fit``, ``predict`` and scores.

Names are loaded when they are first used: each brings a package of its own.
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

_HOME = {
    "HDP": "hdp",
    "NPTOT": "nptot",
    "LDA": "lda",
    "DMR": "dmr",
    "NestedDP": "special_cases",
    "DPMixture": "special_cases",
    "KMeans": "clusterers",
    "NMF": "clusterers",
    "AffinityPropagation": "clusterers",
    "TopicClusters": "clusterers",
    "symmetric_kl": "clusterers",
}

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
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
