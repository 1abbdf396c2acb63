"""All data of a report, as one structure of lists, numbers and texts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.arrays import Int64s
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError
from mcsquared.posterior import Posterior
from mcsquared.posterior.tables import cluster_stability
from mcsquared.report.clusters import Typical, cluster_data, topic_data, topic_shares
from mcsquared.report.content import Words, content_data, vector_data, word_data
from mcsquared.report.contexts import context_data
from mcsquared.report.groups import (
    group_data,
    group_topic_shares,
    memberships,
    typical_groups,
)
from mcsquared.report.layout import cluster_discs, disc_colours
from mcsquared.report.overview import checks, diagnostic_data, facts, model_sentences
from mcsquared.report.packing import pack, shorten

MAX_GROUPS = 200_000
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
    posterior : Posterior
    corpus : Corpus, optional
        The training groups, from which the topics of each group are computed.
    title : str
    image_shape : (height, width), optional
        Draw topics as images whose pixels are the words or the dimensions, in row-major order.
    dimension_names : sequence of str, optional
        Names of the dimensions of vectors.
    bounds : dict, optional
        ``max_clusters`` and ``max_topics`` of the estimator.
    """
    width = posterior.components.shape[1]
    if image_shape is not None and image_shape[0] * image_shape[1] != width:
        raise InputError(f"image_shape must have {width} pixels, got {image_shape!r}")
    topics_of_group = group_topic_shares(posterior, corpus)
    groups = _sample_groups(posterior)
    content = content_data(posterior, image_shape, dimension_names)
    image = content["image"] is not None
    words = None if posterior.vocabulary is None else Words(posterior)
    membership, shares = memberships(posterior), topic_shares(posterior)
    sizes = np.bincount(posterior.labels)
    discs = cluster_discs(np.sqrt(shares.share), sizes)
    stability = cluster_stability(posterior, membership.confidence)
    score = membership.confidence
    if corpus is not None:
        # Σ √(p q) of the topic shares p of a group and q of its cluster.
        roots = np.sqrt(topics_of_group), np.sqrt(shares.share[posterior.labels])
        score = score * np.einsum("nm,nm->n", *roots).astype(np.float64)
    typical = _typical_of_clusters(posterior, groups, score)
    clusters = cluster_data(posterior, shares, words, typical, stability, image)
    clusters |= {
        "colour": pack(disc_colours(discs)),
        "centre": np.round(discs.centre, 3).tolist(),
        "radius": np.round(discs.radius, 3).tolist(),
    }
    tokens = posterior.tokens_per_group[groups]
    typical = typical_groups(topics_of_group[groups], tokens, N_TYPICAL)
    diagnostics = diagnostic_data(posterior, bounds or {})
    return {
        "title": title,
        "content": content,
        "facts": facts(posterior, content["unit"]),
        "checks": checks(posterior, membership.confidence, diagnostics),
        "model": model_sentences(posterior),
        "notes": [shorten(note, 400) for note in posterior.notes],
        "gaps": _gaps(posterior, corpus, groups),
        "groups": group_data(
            posterior, membership, discs, groups, topics_of_group, corpus is not None
        ),
        "clusters": clusters,
        "topics": topic_data(posterior, shares, words, typical, image),
        "words": None if words is None else word_data(posterior, words),
        "vectors": vector_data(posterior) if words is None else None,
        "contexts": [
            context_data(posterior, name, groups, topics_of_group) for name in posterior.contexts
        ],
        "diagnostics": diagnostics,
    }


def _sample_groups(posterior: Posterior) -> Int64s:
    """Return the groups in the report: all of them, or a random sample."""
    if posterior.n_groups <= MAX_GROUPS:
        return np.arange(posterior.n_groups)
    rng = np.random.default_rng(posterior.seed)
    return np.sort(rng.choice(posterior.n_groups, MAX_GROUPS, replace=False))


def _typical_of_clusters(
    posterior: Posterior, groups: Int64s, score: NDArray[np.float64]
) -> Typical:
    """Return the groups with the highest scores in each cluster, as positions in ``groups``."""
    labels, tokens = posterior.labels[groups], posterior.tokens_per_group[groups]
    order = np.lexsort((-tokens, -np.round(score[groups], 2), labels))
    starts = np.searchsorted(labels[order], np.arange(posterior.n_clusters + 1))
    return [
        [(int(j), round(float(score[groups[j]]), 4)) for j in order[begin:end][:N_TYPICAL]]
        for begin, end in pairwise(starts.tolist())
    ]


def _gaps(posterior: Posterior, corpus: Corpus | None, groups: Int64s) -> list[str]:
    """Return the limitations of the report, and how to lift them."""
    gaps = []
    if corpus is None:
        gaps.append(
            "A model file does not contain the content of the groups, so the topics of a group are "
            "those of its clusters. With the data (corpus=..., or --data on the command line) the "
            "report has the topics of each group and a map by topics."
        )
    if len(groups) < posterior.n_groups:
        gaps.append(
            f"The report lists a random sample of {len(groups):,} of {posterior.n_groups:,} "
            "groups; all statistics refer to all groups."
        )
    return gaps
