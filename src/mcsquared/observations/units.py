"""The units of the levels above groups as the arrays that samplers read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.arrays import Bools, Floats, Int32s
from mcsquared.families.dirichlet import Dirichlet

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.model.priors import Priors


@dataclass(frozen=True)
class UnitContext:
    """A context of the units of a level."""

    family: ConjugateFamily
    observed: Bools  # (n_units,)
    x: Any  # the observed values only, in the form that the family requires
    statistics: Floats  # (n_units, n_stats): a row of zeros if missing

    @property
    def is_learned(self) -> bool:
        """Whether base measure and concentration of the context are resampled."""
        return isinstance(self.family, Dirichlet) and self.family.is_learned

    def initial_shapes(self) -> Floats:
        """Return the initial Dirichlet parameters of the categories, float64 (n_categories,).

        They are empty, (0,), if the context is not learned.
        """
        if not isinstance(self.family, Dirichlet) or not self.family.is_learned:
            return np.zeros(0)
        return np.full(self.family.n_stats, self.family.initial_shape)

    def family_given(self, shapes: Floats) -> ConjugateFamily:
        """Return the family, with its current Dirichlet parameters if they are learned."""
        if isinstance(self.family, Dirichlet) and self.family.is_learned:
            return self.family.given(shapes)
        return self.family

    def statistics_of_types(self, type_of_unit: Int32s, n_types: int) -> Floats:
        """Sum the statistics of the units of every type, in the order of the units."""
        total = np.zeros((n_types, self.statistics.shape[1]))
        np.add.at(total, type_of_unit, self.statistics)
        return total


@dataclass(frozen=True)
class Units:
    """The units of a level."""

    name: str
    parent: Int32s  # (n_units,): their units one level above; -1 for none
    contexts: list[UnitContext]

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.parent)


def observe_units(corpus: Corpus, priors: Priors) -> tuple[Units, ...]:
    """Return the units of every level of a corpus, the lowest level first."""
    levels = corpus.levels
    result = []
    for number, level in enumerate(levels):
        contexts = []
        for name, family in priors.levels[level.name].contexts.items():
            column = level.contexts[name].convert_for(family)
            x, statistics = column.observations(), np.zeros((level.n_units, family.n_stats))
            if column.observed.any():
                statistics[column.observed] = family.statistics(x)
            contexts.append(UnitContext(family, column.observed, x, statistics))
        parent = np.full(level.n_units, -1, np.int32)
        if number + 1 < len(levels):
            parent = levels[number + 1].parent_of_child
        result.append(Units(level.name, parent, contexts))
    return tuple(result)
