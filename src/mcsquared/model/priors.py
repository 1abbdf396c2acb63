"""The priors of one fit: families of content and contexts, and the concentrations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcsquared import families
from mcsquared.arrays import Floats
from mcsquared.errors import InputError
from mcsquared.families import ConjugateFamily
from mcsquared.families.checks import LEARNED
from mcsquared.families.dirichlet import DEFAULT_CONCENTRATION, Dirichlet
from mcsquared.families.registry import WORD_CONCENTRATION, family_for_vectors, family_for_words
from mcsquared.model.effects import Effect, check_effects, effects_for
from mcsquared.model.parameters import (
    ALPHA,
    CONCENTRATIONS,
    ETA,
    Concentration,
    V,
    from_json,
    initial_value,
    to_json,
    values_of,
)

if TYPE_CHECKING:
    from mcsquared.corpus import Column, Corpus
    from mcsquared.corpus.levels import Level


@dataclass(frozen=True)
class LevelPriors:
    """The families and concentrations of one level above groups."""

    # Prior and likelihood of each context of a unit, given its type; all fields filled.
    contexts: Mapping[str, ConjugateFamily]
    # Concentrations of the types, and of the types (or clusters) of the level below in a type.
    alpha: Concentration = ALPHA.default
    v: Concentration = V.default

    def __post_init__(self) -> None:
        for parameter in (ALPHA, V):
            value = parameter.validated(getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)
        for name, family in self.contexts.items():
            if not family.can_sample:
                raise InputError(
                    "contexts of a level require families with sample_parameters and "
                    f"log_likelihood, got {type(family).__name__} for {name!r}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data from which `from_dict` creates an equal object."""
        return {
            "contexts": {name: family.to_dict() for name, family in self.contexts.items()},
            "alpha": to_json(self.alpha),
            "v": to_json(self.v),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LevelPriors:
        """Read the result of `to_dict`."""
        return cls(
            {str(name): families.from_dict(family) for name, family in data["contexts"].items()},
            from_json(data["alpha"]),
            from_json(data["v"]),
        )


@dataclass(frozen=True)
class Priors:
    """The families and concentrations of one fit, validated and immutable.

    Parameters
    ----------
    content : ConjugateFamily
        Prior and likelihood of the content of a topic (S and Y in the paper), all fields filled.
    contexts : mapping of str to ConjugateFamily
        Prior and likelihood of each context in a cluster (H and F in the paper), all fields filled.
        Concentrations of categories that are None become "learned", or 0.1 if ``lam`` is inf.
    alpha, v, eta, lam : float or Gamma
        Concentrations of clusters, of topics in a cluster, of topics at the root, and of groups
        around their cluster. A number is fixed, a `Gamma` is a prior; the paper's ``lam`` is inf.
    effects : mapping of str to Effect
        Contexts that act on the topics of their groups; they require a finite ``lam``.
    levels : mapping of str to LevelPriors
        Priors of the levels above groups, the lowest first.

    Examples
    --------
    >>> corpus = mc2.Corpus.from_tokens([["ant", "bee"], ["car"]], {"year": [1990, 2000]})
    >>> priors = mc2.Priors.for_corpus(corpus, lam=5)
    >>> priors.contexts["year"].mean, priors.lam, priors.initial_values()["v"]
    (1995.0, 5.0, 10.0)
    >>> priors.beta
    0.05
    >>> priors.columns(corpus)["year"].values
    array([1990., 2000.])
    >>> priors.has_learned_contexts, priors.n_categories, priors.category_columns
    (False, 0, {})
    >>> priors.background_columns
    {}
    >>> priors.context_given("year", shapes=None) == priors.contexts["year"]
    True
    >>> mc2.Priors.from_dict(priors.to_dict()) == priors
    True
    >>> mc2.Priors.for_corpus(corpus, lam=5, effects=["year"]).effect_offsets
    [0, 1]
    """

    content: ConjugateFamily
    contexts: Mapping[str, ConjugateFamily]
    alpha: Concentration = ALPHA.default
    v: Concentration = V.default
    eta: Concentration = ETA.default
    lam: Concentration = math.inf
    effects: Mapping[str, Effect] = dataclasses.field(default_factory=dict)
    levels: Mapping[str, LevelPriors] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, parameter in CONCENTRATIONS.items():
            object.__setattr__(self, name, parameter.validated(getattr(self, name)))
        object.__setattr__(self, "content", _with_word_concentration(self.content))
        default = DEFAULT_CONCENTRATION if self.lam == math.inf else LEARNED
        contexts = _with_concentrations(self.contexts, default)
        object.__setattr__(self, "contexts", contexts)
        check_effects(self.effects, groups_vary=self.lam != math.inf)
        _check_backgrounds(self)
        levels = {
            name: dataclasses.replace(level, contexts=_with_concentrations(level.contexts, default))
            for name, level in self.levels.items()
        }
        object.__setattr__(self, "levels", levels)

    @classmethod
    def for_corpus(
        cls,
        corpus: Corpus,
        content: str | ConjugateFamily = "auto",
        contexts: str | Mapping[str, str | ConjugateFamily] = "auto",
        effects: Sequence[str] = (),
        **concentrations: Concentration,
    ) -> Priors:
        """Choose and fill the families for a corpus.

        Parameters
        ----------
        content : "auto", "counts", a family or the name of one
        contexts : "auto" (all columns, families by type) or a mapping from column to family
        effects : sequence of str
            Contexts that act on topics.
        """
        by_level = _contexts_by_level(corpus, contexts)
        chosen = context_families(corpus, by_level[0])
        columns = {name: corpus.contexts[name].convert_for(f) for name, f in chosen.items()}
        return cls(
            content=content_family(corpus, content),
            contexts=chosen,
            effects=effects_for(columns, effects),
            levels={
                level.name: LevelPriors(context_families(level, families))
                for level, families in zip(corpus.levels, by_level[1:], strict=True)
            },
            **concentrations,
        )

    def columns(self, corpus: Corpus) -> dict[str, Column]:
        """Return the columns that the model uses, in the form that their families require."""
        return {
            name: corpus.contexts[name].convert_for(family)
            for name, family in self.contexts.items()
        }

    @property
    def category_columns(self) -> dict[str, slice]:
        """Positions of the categories of each context in the arrays over all categories."""
        columns: dict[str, slice] = {}
        first = 0
        for name, family in self.contexts.items():
            if family.kernel == "dirichlet":
                columns[name] = slice(first, first + family.n_stats)
                first += family.n_stats
        return columns

    @property
    def effect_offsets(self) -> list[int]:
        """First row of each effect among the values of all effects, and their number."""
        sizes = [effect.n_values for effect in self.effects.values()]
        return [sum(sizes[:i]) for i in range(len(sizes) + 1)]

    @property
    def beta(self) -> float:
        """Concentration of the words of a topic."""
        return float(self.content.concentration)  # type: ignore[attr-defined]

    @property
    def n_categories(self) -> int:
        """Number of categories of all contexts."""
        return max((columns.stop for columns in self.category_columns.values()), default=0)

    @property
    def background_columns(self) -> dict[str, slice]:
        """Columns of every context with a background in `ParameterDraw.background`."""
        names = [name for name, family in self.contexts.items() if has_background(family)]
        return {name: slice(3 * n, 3 * n + 3) for n, name in enumerate(names)}

    @property
    def has_learned_contexts(self) -> bool:
        """Whether base measure and concentration of some context are resampled."""
        return any(isinstance(f, Dirichlet) and f.is_learned for f in self.contexts.values())

    def context_given(self, name: str, shapes: Floats | None) -> ConjugateFamily:
        """Return the family of a context, given the Dirichlet parameters in a draw.

        If they are None, the initial ones of a chain are used.
        """
        family = self.contexts[name]
        if not isinstance(family, Dirichlet) or not family.is_learned:
            return family
        if shapes is None:
            return dataclasses.replace(family, concentration=family.initial_shape)
        return family.given(shapes[self.category_columns[name]])

    def initial_values(self) -> dict[str, Any]:
        """Return the initial concentrations of a chain, by name."""
        return {name: initial_value(prior) for name, prior in values_of(self).items()}

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data from which `from_dict` creates an equal object."""
        effects = {name: effect.to_dict() for name, effect in self.effects.items()}
        levels = [{"name": name, **level.to_dict()} for name, level in self.levels.items()]
        return {
            "content": self.content.to_dict(),
            "contexts": {name: family.to_dict() for name, family in self.contexts.items()},
            **{name: to_json(value) for name, value in values_of(self).items()},
            **({"effects": effects} if effects else {}),
            **({"levels": levels} if levels else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Priors:
        """Read the result of `to_dict`; raise `InputError` for anything else."""
        try:
            return cls(
                content=families.from_dict(data["content"]),
                contexts={
                    str(name): families.from_dict(family)
                    for name, family in data["contexts"].items()
                },
                effects={
                    str(name): Effect.from_dict(effect)
                    for name, effect in data.get("effects", {}).items()
                },
                **{name: from_json(data[name]) for name in CONCENTRATIONS},
                levels={
                    str(level["name"]): LevelPriors.from_dict(level)
                    for level in data.get("levels", [])
                },
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"priors must be a result of Priors.to_dict: {error}") from error


def content_family(corpus: Corpus, content: str | ConjugateFamily) -> ConjugateFamily:
    """Return the family of the content of a corpus, filled from the data."""
    from mcsquared.corpus import Words

    data = corpus.content
    words = family_for_words(max(1, corpus.n_words)) if isinstance(data, Words) else None
    if words is None and content == "counts":
        raise InputError("content='counts' requires integer counts, got vectors")
    if words is not None:
        if content in ("auto", "counts", words.name):
            return words
        family = _named(content, "content")
        if family.content_kind != "words":
            raise InputError(f"content must be {words.name!r} for words, got {family.name!r}")
        return dataclasses.replace(family, size=words.n_stats)  # type: ignore[type-var]
    assert not isinstance(data, Words)
    family = family_for_vectors(data.width) if content == "auto" else _named(content, "content")
    return family.filled(vector_observations(corpus, family))


def vector_observations(corpus: Corpus, family: ConjugateFamily) -> Any:
    """Return the tokens of a corpus of vectors in the form that ``family`` requires."""
    from mcsquared.corpus import Vectors

    assert isinstance(corpus.content, Vectors)
    return family.from_vectors(corpus.content.values)


def chosen_contexts(corpus: Corpus, contexts: Any) -> tuple[Any, list[Column]]:
    """Return the contexts of a fit, and columns left out because all values are distinct."""
    if not isinstance(contexts, str) or contexts != "auto":
        return contexts, []
    columns = all_contexts(corpus)
    distinct = {name: column for name, column in columns.items() if column.is_distinct}
    return {name: "auto" for name in columns if name not in distinct}, [*distinct.values()]


def all_contexts(corpus: Corpus) -> dict[str, Column]:
    """Return the contexts of the groups and of all levels above them."""
    columns = dict(corpus.contexts)
    for level in corpus.levels:
        columns |= level.contexts
    return columns


def _contexts_by_level(
    corpus: Corpus, contexts: str | Mapping[str, str | ConjugateFamily]
) -> list[Any]:
    """Divide the families of contexts among the groups and the levels above them."""
    if not corpus.levels or not isinstance(contexts, Mapping):
        return [contexts] * (1 + len(corpus.levels))
    levels = [level.contexts for level in corpus.levels]
    level_contexts = [{c: f for c, f in contexts.items() if c in level} for level in levels]
    others = {c: f for c, f in contexts.items() if not any(c in level for level in level_contexts)}
    return [others, *level_contexts]


def context_families(
    corpus: Corpus | Level, contexts: str | Mapping[str, str | ConjugateFamily]
) -> dict[str, ConjugateFamily]:
    """Return the family of every context column in use, filled from the data."""
    if isinstance(contexts, str) and contexts == "auto":
        contexts = dict.fromkeys(corpus.contexts, "auto")
    if not isinstance(contexts, Mapping):
        raise InputError(
            f"contexts must be 'auto' or a mapping from column to family, got {contexts!r:.60}"
        )
    for name in contexts:
        if name not in corpus.contexts:
            names = ", ".join(map(repr, corpus.contexts)) or "none"
            raise InputError(f"contexts must name columns of the corpus ({names}), got {name!r}")
    filled = {}
    for name, given in contexts.items():
        column = corpus.contexts[name]
        is_auto = isinstance(given, str) and given == "auto"
        family = column.default_family() if is_auto else _named(given, f"contexts[{name!r}]")
        filled[name] = column.convert_for(family).fill_family(family)
    return filled


def _with_word_concentration(family: ConjugateFamily) -> ConjugateFamily:
    """Return the family of the content; a concentration of words must be a number."""
    if not isinstance(family, Dirichlet):
        return family
    if family.is_learned:
        raise InputError(
            f"concentration of words must be a positive number, got {family.concentration!r}"
        )
    if family.concentration is None:
        return dataclasses.replace(family, concentration=WORD_CONCENTRATION)
    return family


def _with_concentrations(
    contexts: Mapping[str, ConjugateFamily], default: float | str
) -> dict[str, ConjugateFamily]:
    return {name: _with_concentration(name, f, default) for name, f in contexts.items()}


def _with_concentration(
    name: str, family: ConjugateFamily, default: float | str
) -> ConjugateFamily:
    """Return the family of a context; only compiled kernels can learn a concentration."""
    if not isinstance(family, Dirichlet):
        return family
    if family.kernel is None and family.is_learned:
        raise InputError(
            f"concentration of the context {name!r} must be a positive number, because "
            f"{type(family).__name__} is a user-defined family, got {family.concentration!r}"
        )
    if family.concentration is None:
        chosen = DEFAULT_CONCENTRATION if family.kernel is None else default
        return dataclasses.replace(family, concentration=chosen)
    return family


def _named(family: object, argument: str) -> ConjugateFamily:
    """Return a family that was given itself or by its name."""
    if isinstance(family, ConjugateFamily):
        return family
    if isinstance(family, str):
        try:
            return families.by_name(family)
        except InputError as error:
            raise InputError(f"{argument}: {error}") from None
    raise InputError(f"{argument} must be a family or the name of one, got {family!r}")


def has_background(family: ConjugateFamily) -> bool:
    """Return whether values of a context may come from a background instead of a cluster."""
    return bool(getattr(family, "background", False))


def _check_backgrounds(priors: Priors) -> None:
    """Raise `InputError` for a background of anything but a context of groups."""
    others = [("content", priors.content)]
    others += [(name, f) for level in priors.levels.values() for name, f in level.contexts.items()]
    others += [(name, f) for name, f in priors.contexts.items() if f.kernel is None]
    for name, family in others:
        if has_background(family):
            raise InputError(
                "background must be False except for contexts of groups with the family Gaussian, "
                f"got True for {name!r}"
            )
