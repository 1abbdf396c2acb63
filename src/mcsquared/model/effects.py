"""Effects: contexts whose values shift the topic weights of their groups.

    θ_j ~ DP(λ, b_j),   b_j  =  ω_0 τ_{z_j} + Σ_c ω_c τ^(c)_{x_jc},   τ^(c)_value ~ DP(v_c, ε)

Every effect has a number of values: categories, the items of a bag, or bins of a number or date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Int64s, Objects
from mcsquared.errors import InputError
from mcsquared.families.dirichlet import count_matrix

if TYPE_CHECKING:
    from mcsquared.corpus import Column

MAX_EFFECTS = 10  # the set of effects of a group is an index with one bit per effect
MAX_VALUES = 2**19  # of all effects, because of the indices of random numbers
# Largest number of bins of numbers and dates, given the smallest number of groups per bin.
MAX_BINS = {10: 20, 100: 80}


@dataclass(frozen=True)
class Effect:
    """The values of a context that acts on topics."""

    n_values: int  # categories, items, or bins
    # Numbers and dates only: bin i has the values from ``edges[i - 1]`` to below ``edges[i]``. The
    # first and the last bin are open. Dates are days since 1970-01-01.
    edges: tuple[float, ...] | None = None

    @classmethod
    def for_column(cls, column: Column) -> Effect:
        """Return the effect of a column; bins of numbers and dates are chosen from the data."""
        if column.kind == "vector":
            raise InputError(
                f"effects must be categories, bags, booleans, numbers or dates, got {column.name!r}"
                " (vectors)"
            )
        if column.categories is not None:
            return cls(column.width)
        if column.kind == "boolean":
            return cls(2)
        edges = bin_edges(column.observations())
        return cls(len(edges) + 1, edges)

    def shares(self, column: Column) -> sparse.csr_matrix:
        """Return the share of each value in each group: float64 (n_groups, n_values).

        The shares of a group sum to 1; a group without the context has none.
        """
        if column.kind == "bag":
            items = sparse.csr_matrix(column.values, dtype=np.float64)
            totals = np.asarray(items.sum(axis=1)).ravel()
            return sparse.csr_matrix(sparse.diags(1.0 / np.maximum(totals, 1.0)) @ items)
        groups = np.flatnonzero(column.observed)
        codes = self.codes(column)[groups]
        shape = (len(column), self.n_values)
        return sparse.csr_matrix(count_matrix(groups, codes, shape), dtype=np.float64)

    def fits(self, column: Column) -> bool:
        """Return whether a column has these values."""
        if column.categories is None and column.kind != "boolean":
            return self.edges is not None and column.kind != "vector"
        return self.edges is None and self.n_values == (column.width if column.n_categories else 2)

    def codes(self, column: Column) -> Int64s:
        """Return the index of each group's value: int64 (n_groups,); not for bags.

        The index of a group without the context is arbitrary.
        """
        if self.edges is None:
            return np.nan_to_num(column.values, nan=-1.0).astype(np.int64)
        return np.searchsorted(np.array(self.edges), column.values, side="right")

    def labels(self, column: Column) -> Objects:
        """Return the values in the form shown to users: object (n_values,)."""
        if self.edges is None:
            names: Any = [False, True] if column.categories is None else column.categories
            return np.array(list(names), dtype=object)
        edges = [_format_edge(edge) for edge in column.display(np.array(self.edges))]
        if not edges:
            return np.array(["all"], dtype=object)
        between = [f"{low} to below {high}" for low, high in pairwise(edges)]
        return np.array([f"below {edges[0]}", *between, f"{edges[-1]} and above"], dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data from which `from_dict` creates an equal object."""
        edges = None if self.edges is None else list(self.edges)
        return {"n_values": self.n_values, "edges": edges}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Effect:
        """Read the result of `to_dict`; raise `InputError` for invalid values."""
        edges = data["edges"] if data["edges"] is None else tuple(map(float, data["edges"]))
        n_values = data["n_values"]
        is_valid = isinstance(n_values, int) and 0 < n_values <= MAX_VALUES
        if edges is not None:
            ordered = bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
            is_valid = is_valid and ordered and n_values == len(edges) + 1
        if not is_valid:
            raise InputError(f"an effect is not valid: {data!r:.80}")
        return cls(n_values, edges)


def bin_edges(values: Floats) -> tuple[float, ...]:
    """Return edges between bins of about equally many values; equal values share a bin.

    There are up to 20 bins of about 10 values or more, and up to 80 bins of about 100 or more.
    """
    n_bins = max(1, *(min(len(values) // size, limit) for size, limit in MAX_BINS.items()))
    if n_bins == 1:
        return ()
    probabilities = np.arange(1, n_bins) / n_bins
    edges = np.unique(np.quantile(values, probabilities, method="higher"))
    return tuple(edges[edges > values.min()].tolist())


def effects_for(columns: Mapping[str, Column], names: object) -> dict[str, Effect]:
    """Return the effects of the named columns, which must be contexts of the model."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"effects must be a list of names of contexts, got {names!r:.60}")
    effects: dict[str, Effect] = {}
    for name in names:
        if name not in columns:
            known = ", ".join(map(repr, columns)) or "none"
            raise InputError(f"effects must name contexts of the model ({known}), got {name!r:.60}")
        if name in effects:
            raise InputError(f"effects must be distinct, got {name!r} twice")
        effects[name] = Effect.for_column(columns[name])
    return effects


def check_effects(effects: Mapping[str, Effect], groups_vary: bool) -> None:
    """Raise `InputError` if the model cannot have these effects."""
    if effects and not groups_vary:
        raise InputError("effects require a finite lam, got effects with lam=inf")
    if len(effects) > MAX_EFFECTS:
        raise InputError(f"effects must be at most {MAX_EFFECTS} contexts, got {len(effects)}")
    n_values = sum(effect.n_values for effect in effects.values())
    if n_values > MAX_VALUES:
        raise InputError(f"effects must have <= {MAX_VALUES} values in all, got {n_values}")


def _format_edge(edge: Any) -> str:
    if isinstance(edge, np.datetime64):
        return str(edge.astype("datetime64[D]"))
    return f"{float(edge):.10g}"
