"""Report data of hierarchies, of topics by context, and of the texts of the groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mcsquared.arrays import Int64s
from mcsquared.corpus import Column
from mcsquared.corpus.sources.words import plain_text
from mcsquared.errors import InputError
from mcsquared.markup import shorten
from mcsquared.posterior import Posterior
from mcsquared.posterior.draws import topic_similarity
from mcsquared.posterior.effects import effects_of
from mcsquared.posterior.prevalence import bin_of_values, prevalence_of
from mcsquared.report.packing import as_numbers, pack

_MAX_LEAVES = 400  # of a hierarchy
_MAX_VALUES = 40  # of a category or a bag: the most frequent ones
_MAX_VALUE_LENGTH = 60
_MAX_TEXT_LENGTH = 6000  # characters
_MAX_TOTAL_LENGTH = 12_000_000  # characters of all texts; each is shorter if there are many


def hierarchy_data(posterior: Posterior) -> dict[str, Any]:
    """Return the merges of clusters and of topics, each None if they are too few or too many."""
    data: dict[str, Any] = {}
    for of, n in (("clusters", posterior.n_clusters), ("topics", posterior.n_listed_topics)):
        data[of] = None
        if 2 < n <= _MAX_LEAVES:
            hierarchy = posterior.hierarchy(of)
            data[of] = {
                "first": pack(hierarchy.linkage[:, 0].astype(np.int64)),
                "second": pack(hierarchy.linkage[:, 1].astype(np.int64)),
                "distance": pack(hierarchy.linkage[:, 2]),
                "weight": pack(hierarchy.weights),
            }
    return data


def topic_positions(posterior: Posterior) -> list[list[float]] | None:
    """Return a point in the plane for each topic: similar topics are close (classical scaling).

    None if there are fewer than three topics.
    """
    n = posterior.n_listed_topics
    if n < 3:
        return None
    draw, topics = posterior.representative_draw, posterior.topic_order[:n]
    similarity = topic_similarity(draw, draw, posterior.priors.content)[np.ix_(topics, topics)]
    squared = np.square(1.0 - np.clip(similarity, 0.0, 1.0))
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    plane = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    return np.round(plane / max(float(np.abs(plane).max()), 1e-12), 4).tolist()


def prevalence_data(posterior: Posterior) -> list[dict[str, Any] | None]:
    """Return topic shares by value, with intervals, for each context; None where undefined."""
    data: list[dict[str, Any] | None] = []
    for name, column in posterior.contexts.items():
        if column.kind == "vector" or posterior.n_listed_topics == 0:
            data.append(None)
            continue
        try:
            is_number = column.kind not in ("category", "boolean", "bag")
            prevalence = prevalence_of(posterior, name, None if is_number else _MAX_VALUES)
        except InputError:  # raised by a user-defined family
            data.append(None)
            continue
        names = _ranges_of_bins(column) or prevalence.values
        data.append(
            {
                "values": [shorten(value, _MAX_VALUE_LENGTH) for value in names],
                "points": pack(as_numbers(prevalence.values)) if is_number else None,
                "groups": pack(prevalence.n_groups),
                **{part: pack(getattr(prevalence, part)) for part in ("share", "low", "high")},
                "effects": _effect_data(posterior, name),
            }
        )
    return data


def _ranges_of_bins(column: Column) -> list[str] | None:
    """Return the ranges of the bins of whole numbers, such as "1946–1956"; None for others."""
    if column.kind not in ("number", "count"):
        return None
    values = np.asarray(column.observations(), np.float64)
    if not len(values) or (values != np.round(values)).any():
        return None
    bins = bin_of_values(values)
    low, high = np.full((2, bins.max() + 1), [[np.inf], [-np.inf]])
    np.minimum.at(low, bins, values)
    np.maximum.at(high, bins, values)
    ranges = zip(low, high, strict=True)
    return [f"{a:.0f}" if a == b else f"{a:.0f}–{b:.0f}" for a, b in ranges]


def _effect_data(posterior: Posterior, name: str) -> dict[str, Any] | None:
    """Return how much each value of an effect raises or lowers topics; None for other contexts."""
    effect = posterior.priors.effects.get(name)
    if effect is None:
        return None
    effects, rows = effects_of(posterior, name), np.arange(effect.n_values)
    if effect.edges is None:
        n_groups = np.asarray(effect.shares(posterior.contexts[name]).sum(axis=0)).ravel()
        rows = np.argsort(-n_groups, kind="stable")[:_MAX_VALUES]
    return {
        "values": [shorten(str(effects.values[i]), _MAX_VALUE_LENGTH) for i in rows],
        **{part: pack(getattr(effects, part)[rows]) for part in ("effect", "low", "high")},
    }


def text_data(texts: Sequence[Any] | None, groups: Int64s, n_groups: int) -> list[str] | None:
    """Return the texts of the groups in the report, shortened if they are long or many."""
    if texts is None:
        return None
    if len(texts) != n_groups:
        raise InputError(f"texts must have one entry per group ({n_groups}), got {len(texts)}")
    limit = min(_MAX_TEXT_LENGTH, max(200, _MAX_TOTAL_LENGTH // max(len(groups), 1)))
    chosen = [texts[j] for j in groups]
    return [shorten(plain_text(text), limit) if isinstance(text, str) else "" for text in chosen]
