"""Gather the data of a report and render it as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsquared.arrays import Floats, Int64s
from mcsquared.checks import is_integer
from mcsquared.corpus import Corpus, as_corpus
from mcsquared.errors import InputError
from mcsquared.markup import shorten
from mcsquared.palette import COLOURS, DARK_COLOURS, N_COLOURS
from mcsquared.posterior import Posterior
from mcsquared.posterior.membership import cluster_stability, likely_clusters
from mcsquared.posterior.names import TopicWords
from mcsquared.posterior.posterior import posterior_of
from mcsquared.prediction.groups import align
from mcsquared.report.content import (
    cluster_data,
    content_data,
    topic_data,
    topic_shares,
    vector_data,
    word_data,
)
from mcsquared.report.contexts import context_data
from mcsquared.report.groups import TypicalGroups, group_data, group_topic_shares, typical_groups
from mcsquared.report.layout import cluster_discs, disc_colours
from mcsquared.report.levels import level_data
from mcsquared.report.overview import (
    checks,
    diagnostic_data,
    key_figures,
    model_sentences,
    relevance_data,
)
from mcsquared.report.packing import embedded_json, pack, pack_shares
from mcsquared.report.structure import hierarchy_data, prevalence_data, text_data, topic_positions
from mcsquared.storage import check_target, write_text

if TYPE_CHECKING:
    from mcsquared.estimator import MC2


MAX_LISTED_GROUPS = 200_000  # larger corpora are sampled
N_TYPICAL = 12  # groups listed with a cluster or a topic

# Shared parts, then sections, in dependency order; concatenated into one script.
_SCRIPTS = (
    *("data", "downloads", "elements", "charts", "contexts", "lists", "map", "mapview", "levels"),
    *("overview", "clusters", "topics", "groups", "search", "effects", "hierarchy", "diagnostics"),
    "app",
)
_STYLES = ("base", "parts")
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")  # of page.html


def write_report(
    model: MC2 | Posterior,
    path: str | os.PathLike[str],
    *,
    corpus: Any = None,
    title: str | None = None,
    image_shape: tuple[int, int] | None = None,
    dimension_names: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
) -> None:
    """Write a report of a fitted model: one HTML file for any browser, without network access.

    Parameters
    ----------
    model : MC2 or Posterior
        A fitted model, or one loaded from a file.
    path : path
        The file is written atomically.
    corpus : Corpus, texts, matrix or list of arrays, optional
        The training data. A model does not store the content of its groups; with the corpus, the
        report has the topics of each group and a map of the groups by topics.
    title : str, optional
        Title of the page.
    image_shape : (height, width), optional
        Show topics as images whose pixels are the words or dimensions in row-major order. Words
        named r0c0, r0c1, ... are shown as images by default.
    dimension_names : sequence of str, optional
        Names of the dimensions if the content is vectors.
    texts : sequence of str, optional
        The text of each group, displayed with words coloured by topic.

    Examples
    --------
    >>> corpus = mc2.datasets.letters(n_groups_per_cluster=10, random_state=0).corpus
    >>> model = mc2.MC2(n_sweeps=50, burn_in=20, random_state=0, progress=False).fit(corpus)
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = pathlib.Path(folder.name) / "letters.html"
    >>> mc2.write_report(model, page, corpus=corpus, title="Letters")
    >>> page.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    >>> folder.cleanup()
    """
    target = check_target(path)
    posterior = posterior_of(model)
    names = () if model is posterior else ("clusters", "topics")
    bounds = {name: getattr(model, f"max_{name}", None) for name in names}
    if corpus is not None and not isinstance(corpus, Corpus):
        content: Any = getattr(model, "content", "auto")
        kind = content if content in ("counts", "vectors") else "auto"
        words: Any = posterior.vocabulary
        corpus = as_corpus(corpus, None, content=kind, vocabulary=words)
    data = report_data(
        posterior,
        corpus,
        title=str(title) if title is not None else "Clusters and topics",
        image_shape=image_shape,
        dimension_names=dimension_names,
        bounds=bounds,
        texts=texts,
    )
    write_text(target, render(data))


def report_data(
    posterior: Posterior,
    corpus: Corpus | None = None,
    *,
    title: str = "mc2 report",
    image_shape: tuple[int, int] | None = None,
    dimension_names: Sequence[str] | None = None,
    bounds: dict[str, int | None] | None = None,
    texts: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the content of a report, ready for `embedded_json`.

    ``bounds`` are ``max_clusters`` and ``max_topics`` of the estimator; the other arguments are
    those of `write_report`.
    """
    width = posterior.components.shape[1]
    if image_shape is not None:
        sides = image_shape if isinstance(image_shape, tuple | list) else ()
        if len(sides) != 2 or not all(is_integer(n) and n > 0 for n in sides):
            raise InputError(f"image_shape must be (height, width), got {image_shape!r:.60}")
        if sides[0] * sides[1] != width:
            raise InputError(f"image_shape must have {width} pixels, got {image_shape!r}")
    topics_of_group = group_topic_shares(posterior, corpus)
    if corpus is not None and posterior.cluster_content is None:
        posterior.attach_content(align(posterior, corpus))
    groups = np.arange(posterior.n_groups)
    if posterior.n_groups > MAX_LISTED_GROUPS:
        rng = np.random.default_rng(posterior.seed)
        groups = np.sort(rng.choice(posterior.n_groups, MAX_LISTED_GROUPS, replace=False))
    content = content_data(posterior, image_shape, dimension_names)
    has_images = content["image"] is not None
    words = None if posterior.vocabulary is None else TopicWords(posterior)
    likely, shares = likely_clusters(posterior), topic_shares(posterior)
    sizes = np.bincount(posterior.labels)
    discs = cluster_discs(np.sqrt(shares.share), sizes)
    score = likely.confidence
    if corpus is not None:
        # Σ √(p q) of the topic shares p of a group and q of its cluster.
        roots = np.sqrt(topics_of_group), np.sqrt(shares.share[posterior.labels])
        score = score * np.einsum("nm,nm->n", *roots).astype(np.float64)
    clusters = cluster_data(posterior, shares, words, has_images, dimension_names) | {
        "typical": _typical_of_clusters(posterior, groups, score),
        "stability": pack_shares(cluster_stability(posterior, likely.confidence)),
        "colour": pack(disc_colours(discs)),
        "centre": np.round(discs.centre, 3).tolist(),
        "radius": np.round(discs.radius, 3).tolist(),
    }
    tokens = posterior.tokens_per_group[groups]
    typical = typical_groups(topics_of_group[groups], tokens, N_TYPICAL)
    diagnostics = diagnostic_data(posterior, bounds or {})
    return {
        "title": title,
        "n_colours": N_COLOURS,
        "content": content,
        "facts": key_figures(posterior, content["unit"]),
        "checks": checks(posterior, likely.confidence, diagnostics),
        "model": model_sentences(posterior),
        "notes": [shorten(note, 400) for note in posterior.notes],
        "limitations": _limitations(posterior, corpus, groups),
        "groups": group_data(posterior, likely, discs, groups, topics_of_group, corpus is not None),
        "clusters": clusters,
        "topics": topic_data(posterior, shares, words, has_images, dimension_names)
        | {"typical": typical},
        "words": None if words is None else word_data(posterior, words),
        "vectors": vector_data(posterior) if words is None else None,
        "contexts": [
            context_data(posterior, name, groups, topics_of_group) for name in posterior.contexts
        ],
        "levels": level_data(posterior, groups),
        "relevance": relevance_data(posterior),
        "hierarchy": hierarchy_data(posterior),
        "topic_positions": topic_positions(posterior),
        "prevalence": prevalence_data(posterior),
        "texts": text_data(texts, groups, posterior.n_groups),
        "diagnostics": diagnostics,
    }


def _typical_of_clusters(posterior: Posterior, groups: Int64s, score: Floats) -> TypicalGroups:
    """Return the groups with the highest scores in each cluster, as positions in ``groups``."""
    labels, tokens = posterior.labels[groups], posterior.tokens_per_group[groups]
    order = np.lexsort((-tokens, -np.round(score[groups], 2), labels))
    starts = np.searchsorted(labels[order], np.arange(posterior.n_clusters + 1))
    return [
        [(int(j), round(float(score[groups[j]]), 4)) for j in order[begin:end][:N_TYPICAL]]
        for begin, end in pairwise(starts.tolist())
    ]


def _limitations(posterior: Posterior, corpus: Corpus | None, groups: Int64s) -> list[str]:
    """Return the limitations of the report, and how to remove them."""
    limitations = []
    if corpus is None:
        limitations.append(
            "A model file does not contain the content of the groups, so the topics of a group are "
            "those of its clusters. With the data (corpus=..., or --data on the command line) the "
            "report has the topics of each group and a map by topics."
        )
    if len(groups) < posterior.n_groups:
        limitations.append(
            f"The report lists a random sample of {len(groups):,} of {posterior.n_groups:,} "
            "groups; all statistics refer to all groups."
        )
    return limitations


def render(data: dict[str, Any]) -> str:
    """Return the page as a string.

    The content security policy allows only the script and style of the page, identified by their
    digests: the page loads nothing, and markup injected by the data has no effect.
    """
    from mcsquared import __version__

    style = "\n".join([_colour_style(), *(_asset(f"{name}.css") for name in _STYLES)])
    scripts = [_asset(f"{name}.js") for name in _SCRIPTS]
    script = "\n".join(["'use strict';", "(() => {", *scripts, "})();"])
    values = {
        "title": escape(data["title"]),
        "version": __version__,
        "style": style,
        "script": script,
        "style_digest": _digest(style),
        "script_digest": _digest(script),
        "data": embedded_json(data),
    }
    page = _PLACEHOLDER.sub(lambda match: values[match[1]], _asset("page.html"))
    # A title may contain lone surrogates, which UTF-8 cannot encode.
    return page.encode("utf-8", "replace").decode("utf-8")


def _colour_style() -> str:
    """Return the colours of the palette as variables of the style sheet, for both themes."""
    light, dark = (
        " ".join(f"--c{number}: {colour};" for number, colour in enumerate(colours))
        for colours in (COLOURS, DARK_COLOURS)
    )
    chosen = f':root[data-theme="dark"] {{ {dark} }}'
    preferred = f':root:not([data-theme="light"]) {{ {dark} }}'
    media = f"@media (prefers-color-scheme: dark) {{ {preferred} }}"
    return f":root {{ {light} }}\n{media}\n{chosen}"


def _asset(name: str) -> str:
    return (resources.files("mcsquared.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
