"""What at least half of a cluster's groups share apart from words: ranges, and absent values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mcsquared.arrays import Bools, Floats
from mcsquared.corpus import Column
from mcsquared.corpus.content import row_offsets
from mcsquared.markup import shorten
from mcsquared.posterior.consensus import contingency

if TYPE_CHECKING:
    from mcsquared.posterior.posterior import Posterior

# A word or value names a cluster if most of its groups have it, and clearly more than in others.
MIN_SHARE, MIN_NAMING_LIFT = 0.5, 1.2
MAX_VALUE_LENGTH = 40  # characters
_DIGITS = 4  # of the ends of a range


class SharedValue(NamedTuple):
    """A phrase about a context, and the shares of a cluster's and of all groups it applies to."""

    text: str
    share: float
    overall: float
    by_choice: float = 0.0  # share of the groups that it applies to by construction

    @property
    def is_clear(self) -> bool:
        """Whether it applies to half of the cluster's groups, and clearly to fewer of all."""
        lift = MIN_NAMING_LIFT * self.overall
        return self.share >= MIN_SHARE and self.share - self.by_choice >= lift

    @property
    def is_range(self) -> bool:
        """Whether the phrase is a range, not an absent value."""
        return self.by_choice > 0

    @property
    def gain(self) -> float:
        """How well the phrase describes the cluster; see `naming_gain`."""
        share = max(self.share - self.by_choice, 0.0)
        return float(naming_gain(np.array(share), np.array(self.overall)))


def naming_gain(share: Floats, overall: Floats) -> Floats:
    """Return p² log(p / q), given the shares of a cluster's and of all groups that have an item.

    p² is the share of pairs of the cluster's groups that have it in common, so that an item of many
    groups precedes one that is rarer, but rarer still in other clusters.
    """
    return share**2 * np.log(np.maximum(share, 1e-300) / np.maximum(overall, 1e-300))


def value_gains(posterior: Posterior) -> Floats:
    """Return the largest `naming_gain` of a value that names each cluster; 0 if there is none."""
    sizes = np.bincount(posterior.labels)
    gains = np.zeros(len(sizes))
    for column in posterior.contexts.values():
        if column.kind == "bag":
            groups, values = column.values.nonzero()
        elif column.kind in ("category", "boolean"):
            groups = np.flatnonzero(column.observed)
            values = np.asarray(column.observations(), np.int64)
        else:
            continue
        if not len(groups):
            continue
        counts = contingency(posterior.labels[groups], values).tocoo()
        share = counts.data / sizes[counts.row]
        overall = np.bincount(values)[counts.col] / posterior.n_groups
        is_naming = (share >= MIN_SHARE) & (share >= MIN_NAMING_LIFT * overall)
        np.maximum.at(gains, counts.row, np.where(is_naming, naming_gain(share, overall), 0.0))
    return gains


def shared_values(posterior: Posterior) -> list[SharedValue | None]:
    """Return the best description of each cluster by a range or an absent value, or None.

    It applies to at least half of the cluster's groups, and clearly to fewer of all groups.
    """
    best: list[SharedValue | None] = [None] * posterior.n_clusters
    for name, column in posterior.contexts.items():
        short = shorten(name, MAX_VALUE_LENGTH)
        for k, found in _candidates(posterior, column, short):
            current = best[k]
            if found.is_clear and (current is None or found.gain > current.gain):
                best[k] = found
    return best


def last_phrase(
    found: SharedValue | None, gain: float, has_value_only: bool, is_repeated: bool
) -> str:
    """Return a range or absent value if it describes a cluster better than its words and values.

    ``gain`` is that of the best word or value. ``has_value_only``: most groups have a value, but no
    word; a second value would say little more. A range also tells a cluster apart from a larger one
    with the same best word (``is_repeated``).
    """
    if found is None or (has_value_only and not found.is_range):
        return ""
    return found.text if found.gain > gain or (is_repeated and found.is_range) else ""


def _candidates(
    posterior: Posterior, column: Column, name: str
) -> Iterator[tuple[int, SharedValue]]:
    if column.kind in ("number", "date", "count"):
        return _ranges(posterior, column, name)
    if column.kind in ("bag", "category"):
        return _absent_values(posterior, column, name)
    return iter(())


def _ranges(posterior: Posterior, column: Column, name: str) -> Iterator[tuple[int, SharedValue]]:
    """Yield, for each cluster, the range of half of its groups that is rarest among all groups."""
    values = np.asarray(column.observations(), np.float64)
    labels, sizes = posterior.labels[column.observed], np.bincount(posterior.labels)
    all_in_order, by_cluster = np.sort(values), values[np.lexsort((values, labels))]
    start = row_offsets(np.bincount(labels, minlength=len(sizes)))

    def n_in(ordered: Floats, low: Floats, high: Floats) -> Floats:
        """Return the number of values from ``low`` to ``high``."""
        last = np.searchsorted(ordered, high, "right")
        return (last - np.searchsorted(ordered, low, "left")).astype(np.float64)

    for k, (first, last) in enumerate(pairwise(start)):
        inside, n_half = by_cluster[first:last], -(-int(sizes[k]) // 2)
        if not 0 < n_half <= len(inside):
            continue
        low, high = inside[: len(inside) - n_half + 1], inside[n_half - 1 :]
        at = np.lexsort((high - low, n_in(all_in_order, low, high)))[0]
        ends = np.array([low[at], high[at]])
        share = n_in(inside, *ends) / sizes[k]
        overall = n_in(all_in_order, *ends) / posterior.n_groups
        text = f"{name} {_range(column, ends)}"
        # The two groups at the ends are in the range because it was chosen so.
        yield k, SharedValue(text, float(share), float(overall), 2.0 / float(sizes[k]))


def _range(column: Column, ends: Floats) -> str:
    """Return a range such as 90–98; one number if the ends look the same."""
    low, high = column.display(ends)
    if column.kind == "date":
        texts = [str(low)[:10], str(high)[:10]]
    elif low == high:
        texts = [_number(float(low), round)]
    else:
        texts = [_number(float(low), math.floor), _number(float(high), math.ceil)]
    return "–".join(dict.fromkeys(texts))


def _number(value: float, rounded: Callable[[float], int]) -> str:
    """Return a number of a few digits, without an exponent if possible: 12,340."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    scale = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(abs(value))))
    value = rounded(round(value * scale, 6)) / scale
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.{_DIGITS}g}"


def _absent_values(
    posterior: Posterior, column: Column, name: str
) -> Iterator[tuple[int, SharedValue]]:
    """Yield values that most groups have, but not these: groups with other values, "not usa"."""
    if column.categories is None:
        return
    observed = np.asarray(column.observed)
    labels, sizes = posterior.labels[observed], np.bincount(posterior.labels)
    n_observed = np.bincount(labels, minlength=len(sizes))
    for v in _values_of_most_groups(column, posterior.n_groups):
        n_with = np.bincount(labels[_has_value(column, v)[observed]], minlength=len(sizes))
        n_without = n_observed - n_with
        text = f"{name}: not {shorten(column.categories[v], MAX_VALUE_LENGTH)}"
        overall = float(n_without.sum() / posterior.n_groups)
        for k, share in enumerate(n_without / np.maximum(sizes, 1)):
            yield k, SharedValue(text, float(share), overall)


def _values_of_most_groups(column: Column, n_groups: int) -> list[int]:
    """Return the indices of the values that at least half of all groups have."""
    if column.kind == "bag":
        n_with = np.bincount(column.values.indices, minlength=column.values.shape[1])
    else:
        n_with = np.bincount(np.asarray(column.observations(), np.int64))
    n_with = n_with[: column.n_categories]
    return np.flatnonzero(n_with >= MIN_SHARE * n_groups).tolist()


def _has_value(column: Column, v: int) -> Bools:
    """Return whether each group has a value: bool (n_groups,)."""
    if column.kind == "bag":
        return np.asarray(column.values[:, [v]].toarray()).ravel() > 0
    return np.asarray(column.values) == v
