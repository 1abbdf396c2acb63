"""Conjugate families of contexts and content, one file each."""

from mcsquared.families.base import ConjugateFamily
from mcsquared.families.bernoulli import Bernoulli
from mcsquared.families.dirichlet import Bag, Categorical
from mcsquared.families.gaussian import Gaussian
from mcsquared.families.multivariate_gaussian import MultivariateGaussian
from mcsquared.families.poisson import Poisson
from mcsquared.families.registry import by_name, from_dict, names, register

__all__ = [
    "Bag",
    "Bernoulli",
    "Categorical",
    "ConjugateFamily",
    "Gaussian",
    "MultivariateGaussian",
    "Poisson",
    "by_name",
    "from_dict",
    "names",
    "register",
]
