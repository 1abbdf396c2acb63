"""The model's hyper-parameters, validated, immutable."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from mcsquared import families
from mcsquared.errors import InputError
from mcsquared.families import Categorical, ConjugateFamily, Gaussian, MultivariateGaussian

if TYPE_CHECKING:
    import numpy as np

    from mcsquared.corpus import Column, Corpus

__all__ = ["CONCENTRATIONS", "Concentration", "Gamma", "Priors"]

CONCENTRATIONS = ("alpha", "v", "eta", "lam")
LARGEST = 1e300  # concentration, and mean of a prior of one
WORD_CONCENTRATION = 0.05  # Dir(β, ..., β) of a topic over words, unless the user says otherwise


def _as_float(value: object) -> float:
    """Return a number as a float; NaN for what is none, or too large for one."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


@dataclass(frozen=True)
class Gamma:
    """Prior of a concentration that is resampled: Gamma with a shape and a **rate**.

    Parameters
    ----------
    shape, rate : float
        Both positive; the mean is ``shape / rate``.

    Examples
    --------
    >>> mc2.Gamma(shape=1, rate=0.1).mean
    10.0
    """

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        for field in ("shape", "rate"):
            value = getattr(self, field)
            number = _as_float(value)
            if not 0 < number < math.inf:
                raise InputError(f"Gamma {field} is {value!r}, but a positive number is wanted")
            object.__setattr__(self, field, number)
        if not 1 / LARGEST <= self.mean <= LARGEST:
            raise InputError(
                f"Gamma(shape={self.shape:g}, rate={self.rate:g}) has the mean {self.mean:g}, "
                f"but one from {1 / LARGEST:g} to {LARGEST:g} is wanted"
            )

    @property
    def mean(self) -> float:
        """Return the prior mean, ``shape / rate``.

        Examples
        --------
        >>> mc2.Gamma(2, 4).mean
        0.5
        """
        return self.shape / self.rate

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a concentration from its prior.

        Examples
        --------
        >>> mc2.Gamma(2, 4).sample(np.random.default_rng(0)) > 0
        True
        """
        return float(rng.gamma(self.shape, 1.0 / self.rate))


Concentration = float | Gamma


@dataclass(frozen=True)
class Priors:
    """Everything a chain needs to know that is not data and does not change.

    Parameters
    ----------
    content : ConjugateFamily
        How content arises in a topic (S and Y of the paper), every field filled.
    contexts : mapping of str to ConjugateFamily
        How each context arises in a cluster (H and F of the paper), every field filled.
    alpha, v, eta, lam : float or Gamma
        Concentrations of clusters, of topics in a cluster, of topics at the root, and of groups
        around their cluster. A number is fixed, a `Gamma` is resampled; ``lam=inf`` is the paper.

    Examples
    --------
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee"], ["car"]], {"year": [1990, 2000]})
    >>> priors = mc2.Priors.for_corpus(corpus, lam=5)
    >>> priors.contexts["year"].mean, priors.lam
    (1995.0, 5.0)
    """

    content: ConjugateFamily
    contexts: Mapping[str, ConjugateFamily]
    alpha: Concentration = Gamma(1.0, 1.0)
    v: Concentration = Gamma(1.0, 0.1)
    eta: Concentration = Gamma(1.0, 1.0)
    lam: Concentration = math.inf

    def __post_init__(self) -> None:
        for name in CONCENTRATIONS:
            value = validated_concentration(name, getattr(self, name))
            object.__setattr__(self, name, value)

    @classmethod
    def for_corpus(
        cls,
        corpus: Corpus,
        content: str | ConjugateFamily = "auto",
        contexts: str | Mapping[str, str | ConjugateFamily] = "auto",
        **concentrations: Concentration,
    ) -> Priors:
        """Choose and fill the families for a corpus.

        Parameters
        ----------
        content : "auto", "counts", a family or the name of one
        contexts : "auto" (all columns, families by type) or a mapping from column to family
        """
        return cls(
            content=content_family(corpus, content),
            contexts=context_families(corpus, contexts),
            **concentrations,
        )

    def columns(self, corpus: Corpus) -> dict[str, Column]:
        """Return the corpus's columns that the model uses, in the form their families read.

        Examples
        --------
        >>> priors.columns(corpus)["year"].values
        array([1990., 2000.])
        """
        return {
            name: corpus.contexts[name].as_family(family) for name, family in self.contexts.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data from which `from_dict` makes an equal object.

        Examples
        --------
        >>> priors.to_dict()["alpha"]
        {'shape': 1.0, 'rate': 1.0}
        """
        return {
            "content": self.content.to_dict(),
            "contexts": {name: family.to_dict() for name, family in self.contexts.items()},
            **{name: _concentration_to_json(getattr(self, name)) for name in CONCENTRATIONS},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Priors:
        """Read what `to_dict` wrote; anything else is an `InputError`.

        Examples
        --------
        >>> mc2.Priors.from_dict(priors.to_dict()) == priors
        True
        """
        try:
            return cls(
                content=families.from_dict(data["content"]),
                contexts={
                    str(name): families.from_dict(family)
                    for name, family in data["contexts"].items()
                },
                **{name: _concentration_from_json(data[name]) for name in CONCENTRATIONS},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"priors are not in the form that was saved: {error}") from error


def content_family(corpus: Corpus, content: str | ConjugateFamily) -> ConjugateFamily:
    """Return the family of the corpus's content, filled from the data."""
    from mcsquared.corpus import Words

    data = corpus.content
    words = isinstance(data, Words)
    if isinstance(content, str) and content in ("auto", "counts"):
        if not words and content == "counts":
            raise InputError("content='counts' wants whole counts, but the corpus holds vectors")
        family: ConjugateFamily
        if isinstance(data, Words):
            family = Categorical(WORD_CONCENTRATION)
        else:
            family = Gaussian() if data.width == 1 else MultivariateGaussian()
    elif words and content == Categorical.name:
        family = Categorical(WORD_CONCENTRATION)
    else:
        family = _named(content, "content")
    if words:
        if not isinstance(family, Categorical):
            raise InputError(
                f"content is {family.name!r}, but the corpus holds words, which are 'categorical'"
            )
        return dataclasses.replace(family, size=max(1, corpus.n_words))
    return family.filled(vector_observations(corpus, family))


def vector_observations(corpus: Corpus, family: ConjugateFamily) -> np.ndarray:
    """Return the tokens of a corpus of vectors in the form that ``family`` reads."""
    import numpy as np

    from mcsquared.corpus import Vectors

    assert isinstance(corpus.content, Vectors)
    values = corpus.content.values
    if isinstance(family, MultivariateGaussian):
        return values
    if family.name in ("categorical", "bag"):
        raise InputError(
            f"content is {family.name!r}, but the corpus holds vectors; give whole counts instead"
        )
    if family.kernel is None:
        return values if values.shape[1] != 1 else values[:, 0]
    if values.shape[1] != 1:
        raise InputError(
            f"content is {family.name!r}, which wants one number per token, "
            f"but the tokens have {values.shape[1]}; 'multivariate_gaussian' takes them"
        )
    column = values[:, 0]
    if family.name == "poisson" and ((column < 0) | (column != np.floor(column))).any():
        raise InputError("content is 'poisson', but some values are negative or fractional")
    if family.name == "bernoulli" and ((column != 0) & (column != 1)).any():
        raise InputError("content is 'bernoulli', but some values are neither 0 nor 1")
    return column


def context_families(
    corpus: Corpus, contexts: str | Mapping[str, str | ConjugateFamily]
) -> dict[str, ConjugateFamily]:
    """Return the family of every context column in use, filled from the data."""
    if isinstance(contexts, str):
        if contexts != "auto":
            raise InputError(
                f"contexts is {contexts!r}, but 'auto' or a mapping from column to family is wanted"
            )
        chosen = {name: column.default_family() for name, column in corpus.contexts.items()}
    elif isinstance(contexts, Mapping):
        for name in contexts:
            if name not in corpus.contexts:
                known = ", ".join(map(repr, corpus.contexts)) or "none"
                raise InputError(f"contexts names the column {name!r}, but the corpus has {known}")
        chosen = {
            name: corpus.contexts[name].default_family()
            if family == "auto"
            else _named(family, f"contexts[{name!r}]")
            for name, family in contexts.items()
        }
    else:
        raise InputError(
            f"contexts is a {type(contexts).__name__}, but 'auto' or a mapping is wanted"
        )
    return {
        name: corpus.contexts[name].as_family(family).fill(family)
        for name, family in chosen.items()
    }


def validated_concentration(name: str, value: object) -> Concentration:
    """Return ``value`` as a positive float or a `Gamma`, or say what is wrong with it."""
    if isinstance(value, Gamma):
        return value
    limit = math.inf if name == "lam" else LARGEST  # only λ may be infinite: the paper's model
    number = _as_float(value)
    if not 0 < number <= limit:
        raise InputError(f"{name} is {value!r}, but a positive number or a Gamma prior is wanted")
    return number


def _named(family: object, argument: str) -> ConjugateFamily:
    if isinstance(family, ConjugateFamily):
        return family
    if isinstance(family, str):
        try:
            return families.by_name(family)
        except InputError as error:
            raise InputError(f"{argument}: {error}") from None
    raise InputError(f"{argument} is {family!r}, but a family or the name of one is wanted")


def _concentration_to_json(value: Concentration) -> object:
    if isinstance(value, Gamma):
        return {"shape": value.shape, "rate": value.rate}
    return "inf" if math.isinf(value) else value  # JSON has no infinity


def _concentration_from_json(value: Any) -> Concentration:
    if isinstance(value, Mapping):
        return Gamma(value["shape"], value["rate"])
    return math.inf if value == "inf" else value
