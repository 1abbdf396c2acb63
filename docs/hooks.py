"""Hooks of the site: links out of docs, code of examples, steps of the sweep, no network."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./(?!how-to|reference)([^)\s#]+)[^)\s]*\)")
EXAMPLE = re.compile(r"^\[`(examples/\w+\.py)`\]\(\.\./\1\)$", re.MULTILINE)
STEPS = "<!-- steps of the sweep -->"
EXTERNAL = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Insert code of examples and the steps; replace links to files outside docs by their names."""
    if "/" not in page.file.src_uri:
        markdown = OUTSIDE.sub(_named, EXAMPLE.sub(_code, markdown))
    return markdown.replace(STEPS, steps_table()) if STEPS in markdown else markdown


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Raise an error if a page loads anything over the network."""
    if found := EXTERNAL.search(output):
        from mkdocs.exceptions import PluginError

        raise PluginError(
            f"{page.file.src_uri} must not load anything over the network, got {found.group()}"
        )
    return output


def steps_table() -> str:
    """Return the steps of the sweep as a table: name, module, summary of the docstring."""
    from mcsquared.samplers.sweep import BLOCKED_STEPS

    rows = ["| step | file in `samplers/steps` | what it does |", "| --- | --- | --- |"]
    for step in BLOCKED_STEPS:
        summary = (step.__doc__ or "").split("\n")[0].replace("|", "\\|")
        rows.append(f"| `{step.__name__}` | `{step.__module__.split('.')[-1]}.py` | {summary} |")
    return "\n".join(rows)


def _named(link: re.Match[str]) -> str:
    """Return the text of a link that leaves docs/, with the name of the file."""
    text, path = link.groups()
    return text if path in text else f"{text} (`{path}`)"


def _code(link: re.Match[str]) -> str:
    """Return the code of an example with its name as the title, and a link to its notebook."""
    path = ROOT / link[1]
    code, name = path.read_text(encoding="utf-8"), f"{path.stem}.ipynb"
    # HTML, because `make docs` writes the notebooks after the pages.
    return (
        f'```python title="{link[1]}"\n{code}```\n\n<a href="notebooks/{name}" download>{name}</a>'
    )
