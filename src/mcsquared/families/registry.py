"""Families by name, for files and the command line."""

from collections.abc import Mapping
from typing import Any, TypeVar

from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily
from mcsquared.families.bernoulli import Bernoulli
from mcsquared.families.dirichlet import Bag, Categorical
from mcsquared.families.gaussian import Gaussian
from mcsquared.families.multivariate_gaussian import MultivariateGaussian
from mcsquared.families.poisson import Poisson

__all__ = ["by_name", "from_dict", "names", "register"]

_Family = TypeVar("_Family", bound=type[ConjugateFamily])

_BUILT_IN: tuple[type[ConjugateFamily], ...] = (
    Gaussian,
    MultivariateGaussian,
    Categorical,
    Bag,
    Bernoulli,
    Poisson,
)
_FAMILIES: dict[str, type[ConjugateFamily]] = {family.name: family for family in _BUILT_IN}


def names() -> list[str]:
    """Return the names of the known families.

    Examples
    --------
    >>> mc2.families.names()[:3]
    ['gaussian', 'multivariate_gaussian', 'categorical']
    """
    return list(_FAMILIES)


def register(family: _Family) -> _Family:
    """Make a family of your own known by its name; usable as a class decorator.

    A model that was saved with it can then be loaded: files hold names and fields, never code.

    Examples
    --------
    >>> @mc2.families.register
    ... class Loud(mc2.Gaussian):
    ...     name = "loud"
    >>> mc2.families.by_name("loud").name
    'loud'
    """
    if family.name in _FAMILIES and _FAMILIES[family.name].__qualname__ != family.__qualname__:
        raise InputError(f"a family named {family.name!r} is known already; another name is wanted")
    _FAMILIES[family.name] = family
    return family


def by_name(name: str) -> ConjugateFamily:
    """Return the family of that name with its default fields.

    Examples
    --------
    >>> mc2.families.by_name("poisson")
    Poisson(shape=1.0, rate=None)
    """
    return _class_of(name)()


def from_dict(values: Any) -> ConjugateFamily:
    """Return the family that ``to_dict`` described, whichever it is.

    Examples
    --------
    >>> mc2.families.from_dict({"family": "bernoulli", "a": 1, "b": 3})
    Bernoulli(a=1.0, b=3.0)
    """
    if not isinstance(values, Mapping):
        raise InputError(
            f"a family must be given as a mapping, but {type(values).__name__} was found"
        )
    return _class_of(values.get("family")).from_dict(values)


def _class_of(name: Any) -> type[ConjugateFamily]:
    if isinstance(name, str) and name in _FAMILIES:
        return _FAMILIES[name]
    raise InputError(f"the family {name!r} is not known; one of {', '.join(_FAMILIES)} is wanted")
