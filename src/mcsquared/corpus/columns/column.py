"""A context column: numbers, dates, booleans, counts, categories, bags or vectors."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from mcsquared.arrays import Bools, Floats, Objects
from mcsquared.corpus.columns.values import days_to_dates, hint, is_distinct, number_hint
from mcsquared.corpus.content import canonical_counts, check_magnitude, names_array, object_array
from mcsquared.errors import InputError
from mcsquared.families.base import ConjugateFamily
from mcsquared.families.dirichlet import count_matrix
from mcsquared.families.registry import class_for_kind, column_kinds, kinds_of

N_HINT_VALUES = 1000  # first values from which `number_hint` detects identifiers
# Scalar kinds in data that are read; counts are numbers converted for a family.
RANGED_KINDS = ("number", "date", "boolean")
_SCALAR_KINDS = (*RANGED_KINDS, "count")


@dataclass(frozen=True, eq=False)
class Column:
    """A context: one observation per group, which may be missing.

    Parameters
    ----------
    name : str
    kind : {"number", "date", "boolean", "count", "category", "bag", "vector"}
    values : ndarray or csr_matrix
        Numbers, dates (days since 1970-01-01 UTC), booleans and counts: float64 (n_groups,),
        NaN if missing. Categories: int32 codes (n_groups,), -1 if missing. Bags: csr_matrix of
        int32 (n_groups, n_categories), an empty row if missing. Vectors: float64 (n_groups, width),
        a row of NaN if missing.
    categories : ndarray of object, optional
        Names of the categories of a category or a bag.
    note : str, optional
        How the column was interpreted, if that is not obvious.

    Examples
    --------
    >>> contexts = {"tag": ["a", None, "b"], "year": [1, 2, None]}
    >>> corpus = mc2.Corpus.from_tokens([["ant"]] * 3, contexts)
    >>> tag, year = corpus.contexts["tag"], corpus.contexts["year"]
    >>> tag.kind, tag.n_categories, tag.observed.tolist(), tag.values.tolist()
    ('category', 2, [True, False, True], [0, -1, 1])
    >>> tag.width, year.width, year.observations(), year.extent()
    (2, 1, array([1., 2.]), '1 to 2')
    >>> tag.default_family(), tag.accepts("categorical"), tag.accepts(mc2.Gaussian())
    (Categorical(concentration=None, size=2), True, False)
    >>> year.convert_for("poisson").kind, tag.describe()
    ('count', 'tag: category, family categorical, 2 of 3 observed, 2 categories')
    """

    name: str
    kind: str
    values: Any
    categories: Objects | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in column_kinds():
            raise InputError(
                f"the kind of context {self.name!r} must be one of {', '.join(column_kinds())}, "
                f"got {self.kind!r}"
            )
        set_field = object.__setattr__  # the dataclass is frozen
        if self.kind == "bag":
            set_field(self, "values", _bag_matrix(self.name, self.values))
            n_categories = self.values.shape[1]
        elif self.kind == "category":
            set_field(self, "values", np.ascontiguousarray(self.values, dtype=np.int32))
            n_categories = 0 if self.categories is None else len(self.categories)
            if len(self.values) and not -1 <= self.values.min() <= self.values.max() < n_categories:
                raise InputError(
                    f"the codes of context {self.name!r} must be from -1 to {n_categories - 1}, "
                    f"got {self.values.min()} to {self.values.max()}"
                )
        else:
            set_field(self, "values", _float_values(self.name, self.kind, self.values))
            set_field(self, "categories", None)
            return
        names = range(n_categories) if self.categories is None else self.categories
        argument = f"the categories of context {self.name!r}"
        set_field(self, "categories", names_array(names, n_categories, argument, "category"))
        if len(set(self.categories)) < n_categories:  # type: ignore[arg-type]
            raise InputError(f"{argument} must be unique, got duplicates")

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, rows: Any) -> "Column":
        selected = copy(self)  # `replace` would check the names of all categories again
        values = self.values[rows]
        values = values if self.kind == "bag" else np.ascontiguousarray(values)
        object.__setattr__(selected, "values", values)
        return selected

    def __repr__(self) -> str:
        return f"Column({self.describe()!r})"

    @property
    def n_categories(self) -> int:
        """Number of categories; 0 for kinds without categories."""
        return 0 if self.categories is None else len(self.categories)

    @property
    def width(self) -> int:
        """Number of categories (at least 1), or dimensions of a vector; 1 for scalar kinds."""
        if self.categories is not None:
            return max(self.n_categories, 1)
        return int(self.values.shape[1]) if self.kind == "vector" else 1

    @property
    def observed(self) -> Bools:
        """Mask of the groups that have this context, bool (n_groups,)."""
        if self.kind == "category":
            return np.asarray(self.values >= 0)
        if self.kind == "bag":
            return np.diff(self.values.indptr) > 0
        if self.kind == "vector":
            return ~np.isnan(self.values).any(axis=1)
        return ~np.isnan(self.values)

    def observations(self) -> Any:
        """Return the observed values only, in the numeric form that families use."""
        observed = self.observed
        return self.values if observed.all() else self.values[np.flatnonzero(observed)]

    @property
    def is_distinct(self) -> bool:
        """Whether all values, or all items of bags, are distinct: no information about clusters.

        Examples
        --------
        >>> names = [f"user {i}" for i in range(30)]
        >>> mc2.corpus.Column("id", "category", np.arange(30), np.array(names)).is_distinct
        True
        """
        if self.kind not in ("category", "bag") or self.categories is None:
            return False
        n_values = self.values.nnz if self.kind == "bag" else int(self.observed.sum())
        return is_distinct(self.categories.tolist(), n_values)

    def default_family(self) -> ConjugateFamily:
        """Return the default family of this kind of column."""
        family = class_for_kind(self.kind)()
        return family if self.categories is None else replace(family, size=self.width)  # type: ignore[type-var]

    def accepts(self, family: Any) -> bool:
        """Return whether the family can use this column without conversion."""
        kinds = kinds_of(family)
        return not kinds or self.kind in kinds

    def convert_for(self, family: Any) -> "Column":
        """Convert the column to a kind that the family accepts, or raise `InputError`."""
        from mcsquared.corpus.columns.convert import convert

        return self if self.accepts(family) else convert(self, family)

    def fill_family(self, family: ConjugateFamily) -> ConjugateFamily:
        """Return the family with every unset field filled from the observed values.

        Examples
        --------
        >>> year.fill_family(mc2.Gaussian(strength=1)).mean
        1.5
        """
        if self.categories is not None and hasattr(family, "size"):
            if family.size not in (None, self.width):
                raise InputError(
                    f"the family of context {self.name!r} must have size {self.width} (its "
                    f"categories), got {family.size}"
                )
            family = replace(family, size=self.width)  # type: ignore[type-var]
        return family.filled(self.observations())

    def align(self, categories: Sequence[str] | Objects) -> "Column":
        """Return the column recoded to other categories.

        A value that is not among them becomes missing (category) or is dropped (bag).

        Examples
        --------
        >>> tag.align(["b", "c"]).values.tolist()
        [-1, -1, 0]
        """
        if self.categories is None:
            raise InputError(
                f"context {self.name!r} must be a category or a bag to be aligned, got a "
                f"{self.kind}"
            )
        if np.array_equal(self.categories, categories):
            return self
        code_of = {str(name): code for code, name in enumerate(categories)}
        new_code = np.array([*(code_of.get(name, -1) for name in self.categories), -1], np.int32)
        names = object_array(list(code_of))
        if self.kind == "category":
            return replace(self, values=new_code[self.values], categories=names)
        kept = np.flatnonzero(new_code[:-1] >= 0)
        recode = count_matrix(kept, new_code[kept], (self.n_categories, len(names)))
        return replace(self, values=self.values @ recode, categories=names)

    def conform(self, reference: "Column") -> "Column":
        """Return the column with the kind and categories of a reference, the training column.

        Examples
        --------
        >>> tag.conform(tag[:1]).categories.tolist()
        ['a', 'b']
        """
        from mcsquared.corpus.columns.convert import conform

        return conform(self, reference)

    def display(self, values: Any) -> Any:
        """Return values of this column in the form shown to users: days as dates.

        Examples
        --------
        >>> day = mc2.corpus.Column("day", "date", [0.0, 1.0])
        >>> day.display(day.values).astype("datetime64[D]").tolist()
        [datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)]
        """
        return days_to_dates(values) if self.kind == "date" else values

    def extent(self) -> str:
        """Return the extent of the values: number of categories, width, or range."""
        if self.categories is not None:
            return f"{self.n_categories} categor{'y' if self.n_categories == 1 else 'ies'}"
        if self.kind == "vector":
            return f"width {self.values.shape[1]}"
        if not self.observed.any():
            return ""
        low, high = np.nanmin(self.values), np.nanmax(self.values)
        if self.kind == "date":
            first, last = days_to_dates(np.array([low, high])).astype("datetime64[D]")
            return f"{first} to {last}"
        return f"{low:.10g} to {high:.10g}"

    def describe(self) -> str:
        """Return a one-line description: kind, family, number of observations, extent."""
        has_range = self.kind in RANGED_KINDS
        first_values = self.observations()[:N_HINT_VALUES] if has_range else ()
        return self._description(int(self.observed.sum()), len(self), first_values)

    def _description(self, n_observed: int, n_groups: int, first_values: Any) -> str:
        """Return the description; ``first_values`` are observed values of `RANGED_KINDS`."""
        family = class_for_kind(self.kind).name
        extent, note = self.extent(), self.note
        line = f"{self.name}: {self.kind}, family {family}, {n_observed} of {n_groups} observed"
        line += f", {extent}" if extent else ""
        if not note and self.kind == "category" and self.categories is not None:
            note = hint(self.categories.tolist(), n_observed)
        elif not note and len(first_values):
            low, high = np.nanmin(self.values), np.nanmax(self.values)
            note = number_hint(first_values, low, high, self.kind)
        return f"{line} ({note})" if note else line


def _float_values(name: str, kind: str, values: Any) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    n_dimensions = 1 if kind in _SCALAR_KINDS else 2
    if array.ndim != n_dimensions:
        raise InputError(
            f"context {name!r} ({kind}) must have {n_dimensions} dimension(s), got {array.ndim}"
        )
    if kind == "vector" and array.shape[1] == 0:
        raise InputError(f"context {name!r} must contain vectors of width >= 1, got 0")
    check_magnitude(array, f"context {name!r}")
    observed = array[~np.isnan(array)]
    if kind == "boolean" and len(invalid := observed[~np.isin(observed, (0.0, 1.0))]):
        raise InputError(
            f"context {name!r} (boolean) must contain 0 and 1 only, got {invalid[0]:.10g}"
        )
    if kind == "count" and len(invalid := observed[(observed < 0) | (observed % 1 != 0)]):
        raise InputError(
            f"context {name!r} (count) must contain integers >= 0, got {invalid[0]:.10g}"
        )
    return array


def _bag_matrix(name: str, values: Any) -> sparse.csr_matrix:
    is_canonical = (
        isinstance(values, sparse.csr_matrix)
        and values.dtype == np.int32
        and values.has_canonical_format
        and (values.data > 0).all()
    )
    return values if is_canonical else canonical_counts(values, f"context {name!r}")


def distinct_note(column: Column) -> str:
    """Return the note on a context that is not used because all of its values are distinct."""
    name, family = column.name, "bag" if column.kind == "bag" else "categorical"
    return (
        f"the context {name!r} is not used, because all its values are distinct; to use it, pass "
        f"contexts={{{name!r}: {family!r}}} ({name}:{family} in mc2 fit)"
    )
