"""Families by name, by kind of column and by kind of content."""

from collections.abc import Mapping
from typing import Any, TypeVar

from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily
from mcsquared.families.bernoulli import Bernoulli
from mcsquared.families.dirichlet import Bag, Categorical
from mcsquared.families.gaussian import Gaussian
from mcsquared.families.multivariate_gaussian import MultivariateGaussian
from mcsquared.families.poisson import Poisson

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
_BY_KIND = {kind: family for family in _BUILT_IN for kind in family.column_kinds}

WORD_CONCENTRATION = 0.05  # Dir(β, ..., β) of a topic over words unless the user gives one


def names() -> list[str]:
    """Return the names of the known families.

    Examples
    --------
    >>> mc2.families.names()[:3]
    ['gaussian', 'multivariate_gaussian', 'categorical']
    """
    return list(_FAMILIES)


def register(family: _Family) -> _Family:
    """Register a user-defined family under its name; usable as a class decorator.

    Models saved with it can then be loaded: files contain names and fields, never code.

    Examples
    --------
    >>> @mc2.families.register
    ... class Loud(mc2.Gaussian):
    ...     name = "loud"
    >>> mc2.families.by_name("loud").name
    'loud'
    """
    if family.name in _FAMILIES and _FAMILIES[family.name].__qualname__ != family.__qualname__:
        raise InputError(f"name must be unique among families, got {family.name!r}, which is taken")
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
    """Return the family, of any registered class, that ``to_dict`` described.

    Examples
    --------
    >>> mc2.families.from_dict({"family": "bernoulli", "a": 1, "b": 3})
    Bernoulli(a=1.0, b=3.0)
    """
    if not isinstance(values, Mapping):
        raise InputError(f"a family must be a mapping, got {type(values).__name__}")
    return _class_of(values.get("family")).from_dict(values)


def column_kinds() -> list[str]:
    """Return the kinds of columns that a context can have."""
    return list(_BY_KIND)


def kinds_of(family: Any) -> tuple[str, ...]:
    """Return the kinds of columns that a family, or a family name, uses unconverted."""
    return getattr(_FAMILIES.get(family) if isinstance(family, str) else family, "column_kinds", ())


def class_for_kind(kind: str) -> type[ConjugateFamily]:
    """Return the class of the default family of a kind of column."""
    return _BY_KIND[kind]


def display_of(family: ConjugateFamily, kind: str) -> str | None:
    """Return the display of a context: that of its family, or else of its kind of column."""
    return family.display or _BY_KIND[kind].display


def family_for_words(n_words: int | None = None) -> ConjugateFamily:
    """Return the default family of words, for a vocabulary of this size."""
    return Categorical(WORD_CONCENTRATION, n_words)


def family_for_vectors(width: int) -> ConjugateFamily:
    """Return the default family of vectors of this width."""
    return Gaussian() if width == 1 else MultivariateGaussian()


def _class_of(name: Any) -> type[ConjugateFamily]:
    if isinstance(name, str) and name in _FAMILIES:
        return _FAMILIES[name]
    raise InputError(f"family must be one of {', '.join(_FAMILIES)}, got {name!r}")
