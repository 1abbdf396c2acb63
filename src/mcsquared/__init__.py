"""Joint clustering of groups and topic modelling of their content, using the groups' contexts.

Names are imported when they are first used, so that ``import mcsquared`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcsquared import baselines, callbacks, corpus, datasets, evaluation, families, plots
    from mcsquared.corpus import Corpus, ParquetFolder
    from mcsquared.errors import InputError, ModelFileError
    from mcsquared.estimator import MC2
    from mcsquared.families import (
        Bag,
        Bernoulli,
        Categorical,
        ConjugateFamily,
        Gaussian,
        MultivariateGaussian,
        Poisson,
    )
    from mcsquared.gamma import Gamma
    from mcsquared.model.priors import Priors
    from mcsquared.posterior import Posterior
    from mcsquared.report import write_report

__version__ = "0.1.0"

# Modules of the public classes and functions; the other public names are modules.
_MODULE_OF = {
    "Corpus": "corpus",
    "ParquetFolder": "corpus",
    "MC2": "estimator",
    "Gamma": "gamma",
    "Priors": "model.priors",
    "Posterior": "posterior",
    "ConjugateFamily": "families",
    "Gaussian": "families",
    "MultivariateGaussian": "families",
    "Categorical": "families",
    "Bag": "families",
    "Bernoulli": "families",
    "Poisson": "families",
    "InputError": "errors",
    "ModelFileError": "errors",
    "write_report": "report",
}

__all__ = [
    "MC2",
    "Bag",
    "Bernoulli",
    "Categorical",
    "ConjugateFamily",
    "Corpus",
    "Gamma",
    "Gaussian",
    "InputError",
    "ModelFileError",
    "MultivariateGaussian",
    "ParquetFolder",
    "Poisson",
    "Posterior",
    "Priors",
    "__version__",
    "baselines",
    "callbacks",
    "corpus",
    "datasets",
    "distributed",
    "evaluation",
    "families",
    "plots",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF.get(name, name)}")
    return getattr(module, name) if name in _MODULE_OF else module


def __dir__() -> list[str]:
    return sorted(__all__)
