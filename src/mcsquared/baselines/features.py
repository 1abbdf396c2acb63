"""Contexts as binary features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mcsquared.errors import InputError

if TYPE_CHECKING:
    from mcsquared.corpus import Column, Corpus


@dataclass(frozen=True, eq=False)
class Features:
    """Binary features of contexts, learnt from the training groups.

    Every category, entry of a bag and boolean value is a feature. Numbers, dates, counts and the
    coordinates of vectors are cut at quantiles, and every bin is a feature. A missing context and a
    category unseen in training have no feature.

    Parameters
    ----------
    columns : dict from str to Column
        Kinds and categories of the contexts; without groups.
    cuts : dict from str to list of float64 arrays
        Inner bounds of the bins of each coordinate.
    """

    columns: dict[str, Column]
    cuts: dict[str, list[NDArray[np.float64]]]

    @classmethod
    def learn(cls, contexts: Mapping[str, Column], names: str | Iterable[str], n_bins: int) -> Self:
        """Learn categories and cuts; ``names`` is a list of contexts, or "auto" for all."""
        chosen = list(contexts) if isinstance(names, str) and names == "auto" else _listed(names)
        for name in chosen:
            if name not in contexts:
                known = ", ".join(contexts) or "none"
                raise InputError(f"contexts must be contexts of the corpus ({known}), got {name!r}")
        shares = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
        cuts = {}
        for name in chosen:
            if contexts[name].categories is None:
                cuts[name] = [
                    _cuts(values, shares) for values in np.atleast_2d(contexts[name].values.T)
                ]
        return cls({name: contexts[name][:0] for name in chosen}, cuts)

    @property
    def names(self) -> list[str]:
        """Names of the features in the order of columns, e.g. "year<1990" or "authors=Ng_A"."""
        names = []
        for name, column in self.columns.items():
            if column.categories is not None:
                names += [f"{name}={category}" for category in column.categories]
                continue
            for i, cuts in enumerate(self.cuts[name]):
                part = name if len(self.cuts[name]) == 1 else f"{name}[{i}]"
                names += [*(f"{part}<{cut:g}" for cut in cuts), _last_name(part, cuts)]
        return names

    def of(self, corpus: Corpus) -> sparse.csr_matrix:
        """Return the features of each group: csr_matrix of ones (n_groups, n_features)."""
        blocks = [sparse.csr_matrix((corpus.n_groups, 0))]
        for name, reference in self.columns.items():
            if name not in corpus.contexts:
                width = _width(reference, self.cuts.get(name, []))
                blocks.append(sparse.csr_matrix((corpus.n_groups, width)))
                continue
            column = corpus.contexts[name].conform(reference)
            blocks.append(_indicators(column, self.cuts.get(name, [])))
        features = sparse.csr_matrix(sparse.hstack(blocks, format="csr"), dtype=np.float64)
        features.sort_indices()
        return features


def _listed(names: str | Iterable[str]) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"contexts must be 'auto' or a list of names, got {names!r}")
    return list(dict.fromkeys(names))


def _cuts(values: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inner bounds of the bins; fewer if many groups have the same value."""
    seen = values[~np.isnan(values)]
    if len(seen) == 0:
        return np.zeros(0)
    cuts = np.unique(np.quantile(seen, shares))
    return cuts[cuts > seen.min()]


def _last_name(part: str, cuts: NDArray[np.float64]) -> str:
    return f"{part}>={cuts[-1]:g}" if len(cuts) else f"{part} known"


def _width(column: Column, cuts: list[NDArray[np.float64]]) -> int:
    return column.n_categories if column.categories is not None else sum(len(c) + 1 for c in cuts)


def _indicators(column: Column, cuts: list[NDArray[np.float64]]) -> sparse.csr_matrix:
    if column.kind == "bag":
        present = column.values.astype(np.float64)
        present.data[:] = 1.0
        return present
    if column.kind == "category":
        return _one_hot(column.values, column.n_categories)
    parts = []
    for values, bounds in zip(np.atleast_2d(column.values.T), cuts, strict=True):
        bins = np.where(np.isnan(values), -1, np.searchsorted(bounds, values, side="right"))
        parts.append(_one_hot(bins, len(bounds) + 1))
    return sparse.hstack(parts, format="csr")


def _one_hot(code: NDArray[np.integer], size: int) -> sparse.csr_matrix:
    rows = np.flatnonzero(code >= 0)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, code[rows])), shape=(len(code), size))
