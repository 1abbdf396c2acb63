"""Render a report as one HTML file that contains its template, style, script and data."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from mcsquared.corpus import Corpus, as_corpus
from mcsquared.errors import InputError
from mcsquared.posterior import Posterior
from mcsquared.posterior.posterior import posterior_of
from mcsquared.report.data import report_data
from mcsquared.report.packing import embedded_json
from mcsquared.storage import check_target, write_text

if TYPE_CHECKING:
    from mcsquared.estimator import MC2

# In dependency order; concatenated into one script.
_SCRIPTS = (
    "data.js",
    "elements.js",
    "charts.js",
    "contexts.js",
    "lists.js",
    "map.js",
    "mapview.js",
    "overview.js",
    "clusters.js",
    "topics.js",
    "groups.js",
    "search.js",
    "diagnostics.js",
    "app.js",
)
_STYLES = ("base.css", "parts.css")


def write_report(
    model: MC2 | Posterior,
    path: str | os.PathLike[str],
    *,
    corpus: Any = None,
    title: str | None = None,
    image_shape: tuple[int, int] | None = None,
    dimension_names: Sequence[str] | None = None,
) -> None:
    """Write a report of a fitted model: one HTML file for any browser, without network access.

    Parameters
    ----------
    model : MC2 or Posterior
        Fitted, or loaded from a file.
    path : path
        The file is written atomically.
    corpus : Corpus, texts, matrix or list of arrays, optional
        The training data. A model does not store the content of its groups; with the corpus, the
        report has the topics of each group and a map of the groups by topics.
    title : str, optional
        Title of the page.
    image_shape : (height, width), optional
        Draw topics as images whose pixels are the words or dimensions in row-major order. Words
        named r0c0, r0c1, ... are drawn as images by default.
    dimension_names : sequence of str, optional
        Names of the dimensions if the content is vectors.

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
    )
    write_text(target, render(data))


def render(data: dict[str, Any]) -> str:
    """Return the page as a string.

    Its content security policy allows its own script and style, by their digests, and nothing
    else: the page loads nothing, and markup injected by the data would have no effect.
    """
    from mcsquared import __version__

    try:
        from jinja2 import Environment
        from markupsafe import Markup
    except ImportError as error:
        raise InputError(
            "jinja2 is not installed; pip install 'mcsquared[report]' provides it"
        ) from error
    style = "\n".join(_asset(name) for name in _STYLES)
    script = "\n".join(["'use strict';", "(() => {", *map(_asset, _SCRIPTS), "})();"])
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(
        _asset("page.html")
    )
    page: str = template.render(
        title=data["title"],
        version=__version__,
        style=Markup(style),
        script=Markup(script),
        style_digest=_digest(style),
        script_digest=_digest(script),
        data=Markup(embedded_json(data)),
    )
    # A title may contain lone surrogates, which UTF-8 cannot encode.
    return page.encode("utf-8", "replace").decode("utf-8")


def _asset(name: str) -> str:
    folder = resources.files("mcsquared.report") / "assets"
    return (folder / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
