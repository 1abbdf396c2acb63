"""Everything that the page shows, as one structure of lists, numbers and texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError
from mcsquared.report.clusters import cluster_data, mixed_up, topic_data, topic_spread
from mcsquared.report.content import Words, content_data, vector_data, word_data
from mcsquared.report.contexts import context_data
from mcsquared.report.diagnostics import diagnostic_data
from mcsquared.report.groups import group_data, memberships, shares_from_draws, typical_groups
from mcsquared.report.layout import colours_of, discs_of_clusters
from mcsquared.report.overview import checks, facts, model_sentences
from mcsquared.report.packing import clipped, pack
from mcsquared.report.shares import own_shares

if TYPE_CHECKING:
    from mcsquared.corpus import Corpus
    from mcsquared.posterior import Posterior

__all__ = ["report_data"]

MOST_GROUPS = 200_000
N_TYPICAL = 12


def report_data(
    posterior: Posterior,
    corpus: Corpus | None = None,
    *,
    title: str = "mc2 report",
    image_shape: tuple[int, int] | None = None,
    dimension_names: Sequence[str] | None = None,
    bounds: dict[str, int | None] | None = None,
) -> dict[str, Any]:
    """Return the content of a report, ready for `embedded_json`.

    Parameters
    ----------
    corpus : Corpus, optional
        The groups that the model was fitted to; with them each group has topics of its own.
    image_shape : (height, width), optional
        Draw topics as images; pixels are the words or the dimensions, row after row.
    dimension_names : sequence of str, optional
        Names of the numbers of a vector.
    bounds : dict, optional
        The user's ``max_clusters`` and ``max_topics``.
    """
    _check_image(posterior, image_shape)
    shares = shares_from_draws(posterior) if corpus is None else own_shares(posterior, corpus)
    shown = _shown(posterior)
    content = content_data(posterior, image_shape, dimension_names)
    words = None if posterior.vocabulary is None else Words(posterior)
    member, spread = memberships(posterior), topic_spread(posterior)
    sizes = np.bincount(posterior.labels, minlength=posterior.n_clusters)
    discs = discs_of_clusters(np.sqrt(spread.share), sizes)
    stability = np.bincount(posterior.labels, weights=member.confidence) / sizes
    image = content["image"] is not None
    firm = member.confidence
    if corpus is not None:
        firm = firm * _likeness(shares, spread.share[posterior.labels])
    clusters = cluster_data(
        posterior, spread, words, _typical_of_clusters(posterior, shown, firm), stability, image
    )
    clusters |= {
        "colour": pack(colours_of(discs)),
        "centre": np.round(discs.centre, 3).tolist(),
        "radius": np.round(discs.radius, 3).tolist(),
        "mixed_up": pack(mixed_up(posterior)),
    }
    typical = typical_groups(shares[shown], posterior.tokens_per_group[shown], N_TYPICAL)
    diagnostics = diagnostic_data(posterior, bounds or {})
    return {
        "title": title,
        "content": content,
        "facts": facts(posterior, content["unit"]),
        "checks": checks(posterior, member.confidence, diagnostics),
        "model": model_sentences(posterior),
        "notes": [clipped(note, 400) for note in posterior.notes],
        "gaps": _gaps(posterior, corpus, shown),
        "groups": group_data(posterior, member, discs, shown, shares, corpus is not None),
        "clusters": clusters,
        "topics": topic_data(posterior, spread, words, typical, image),
        "words": None if words is None else word_data(posterior, words),
        "vectors": vector_data(posterior) if words is None else None,
        "contexts": [context_data(posterior, name, shown, shares) for name in posterior.contexts],
        "diagnostics": diagnostics,
    }


def _check_image(posterior: Posterior, image_shape: tuple[int, int] | None) -> None:
    width = posterior.components.shape[1]
    if image_shape is not None and image_shape[0] * image_shape[1] != width:
        raise InputError(
            f"image_shape is {image_shape!r}, but the content has {width} numbers to draw"
        )


def _shown(posterior: Posterior) -> NDArray[np.int64]:
    """Return the groups that the page holds: all of them, or as many as a browser can bear."""
    if posterior.n_groups <= MOST_GROUPS:
        return np.arange(posterior.n_groups)
    rng = np.random.default_rng(posterior.seed)
    return np.sort(rng.choice(posterior.n_groups, MOST_GROUPS, replace=False))


def _likeness(
    shares: NDArray[np.floating[Any]], others: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Return how alike two rows of topic shares are, 0 to 1: Σ √(p q)."""
    return np.einsum("nm,nm->n", np.sqrt(shares), np.sqrt(others)).astype(np.float64)


def _typical_of_clusters(
    posterior: Posterior, shown: NDArray[np.int64], score: NDArray[np.float64]
) -> list[list[tuple[int, float]]]:
    """Return the groups with the highest scores in each cluster, as places among those shown."""
    labels, tokens = posterior.labels[shown], posterior.tokens_per_group[shown]
    order = np.lexsort((-tokens, -np.round(score[shown], 2), labels))
    starts = np.searchsorted(labels[order], np.arange(posterior.n_clusters + 1))
    return [
        [(int(j), round(float(score[shown[j]]), 4)) for j in order[begin:end][:N_TYPICAL]]
        for begin, end in pairwise(starts.tolist())
    ]


def _gaps(posterior: Posterior, corpus: Corpus | None, shown: NDArray[np.int64]) -> list[str]:
    """Return what the page cannot show, and how it could."""
    gaps = []
    if corpus is None:
        gaps.append(
            "A model file does not hold the groups' content, so a group's topics here are those of "
            "the clusters it was in. With the data (corpus=..., or --data on the command line) "
            "each group has its own, and the map can be drawn by topics."
        )
    if len(shown) < posterior.n_groups:
        gaps.append(
            f"The page holds {len(shown):,} of {posterior.n_groups:,} groups, drawn at random; "
            "all figures are of all groups."
        )
    return gaps
