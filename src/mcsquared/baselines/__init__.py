"""Other models with the interface of `MC2`, for comparison.

Names are imported lazily, because several require optional packages.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcsquared.baselines.clusterers import (
        NMF,
        AffinityPropagation,
        KMeans,
        TopicClusters,
        symmetric_kl,
    )
    from mcsquared.baselines.dmr import DMR
    from mcsquared.baselines.hdp import HDP
    from mcsquared.baselines.lda import LDA
    from mcsquared.baselines.mgctm import MGCTM
    from mcsquared.baselines.nptot import NPTOT
    from mcsquared.baselines.special_cases import MLCHDP, DPMixture, NestedDP

__all__ = [
    "DMR",
    "HDP",
    "LDA",
    "MGCTM",
    "MLCHDP",
    "NMF",
    "NPTOT",
    "AffinityPropagation",
    "DPMixture",
    "KMeans",
    "NestedDP",
    "TopicClusters",
    "symmetric_kl",
]

_MODULES = {name: name.lower() for name in ("DMR", "HDP", "LDA", "MGCTM", "NPTOT")}
_MODULES |= dict.fromkeys(("DPMixture", "MLCHDP", "NestedDP"), "special_cases")


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'clusterers')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
