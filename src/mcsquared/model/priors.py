"""The priors of one fit: families of content and contexts, and the concentrations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcsquared import families
from mcsquared.errors import InputError
from mcsquared.families import Categorical, ConjugateFamily, Gaussian, MultivariateGaussian
from mcsquared.model.parameters import (
    ALPHA,
    CONCENTRATIONS,
    ETA,
    NAMES,
    Concentration,
    V,
    from_json,
    initial_value,
    to_json,
    values_of,
)

if TYPE_CHECKING:
    import numpy as np

    from mcsquared.corpus import Column, Corpus

WORD_CONCENTRATION = 0.05  # Dir(β, ..., β) of a topic over words unless the user gives one


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
    alpha: Concentration = ALPHA.default
    v: Concentration = V.default
    eta: Concentration = ETA.default
    lam: Concentration = math.inf

    def __post_init__(self) -> None:
        for declared in CONCENTRATIONS:
            value = declared.validated(getattr(self, declared.name))
            object.__setattr__(self, declared.name, value)

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

    def initial_values(self) -> dict[str, Any]:
        """Return the concentrations that a chain starts with, by name.

        Examples
        --------
        >>> priors.initial_values()["v"]
        10.0
        """
        return {name: initial_value(prior) for name, prior in values_of(self).items()}

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
            **{name: to_json(value) for name, value in values_of(self).items()},
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
                **{name: from_json(data[name]) for name in NAMES},
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


def _named(family: object, argument: str) -> ConjugateFamily:
    if isinstance(family, ConjugateFamily):
        return family
    if isinstance(family, str):
        try:
            return families.by_name(family)
        except InputError as error:
            raise InputError(f"{argument}: {error}") from None
    raise InputError(f"{argument} is {family!r}, but a family or the name of one is wanted")
