"""What the site needs beyond its pages: links out of docs/, the examples' code, no network."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
LEAVING = re.compile(r"\[([^\]]+)\]\(\.\./(?!how-to|reference)([^)\s#]+)[^)\s]*\)")
EXAMPLE = re.compile(r"^\[`(examples/\w+\.py)`\]\(\.\./\1\)$", re.MULTILINE)
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show an example where a line links to it alone; write out links to other files of ours."""
    if "/" not in page.file.src_uri:
        markdown = LEAVING.sub(_named, EXAMPLE.sub(_code, markdown))
    return markdown


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that would load something from elsewhere."""
    if found := LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads something by network: {found.group()}")
    return output


def _named(link: re.Match[str]) -> str:
    """Return a link that leaves docs/ as its text and the file's name."""
    text, path = link.groups()
    return text if path in text else f"{text} (`{path}`)"


def _code(link: re.Match[str]) -> str:
    """Return an example's code under its name."""
    code = (ROOT / link[1]).read_text(encoding="utf-8")
    return f'```python title="{link[1]}"\n{code}```'
