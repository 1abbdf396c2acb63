"""What the site needs beyond its pages: links out of docs/, the gallery, no network."""

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
LEAVING = re.compile(r"\[([^\]]+)\]\(\.\./(?!how-to|reference)([^)\s#]+)[^)\s]*\)")
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write out links to files that the site does not have, and add the examples to the gallery."""
    source = page.file.src_uri
    if "/" not in source:
        markdown = LEAVING.sub(_named, markdown)
    if source == "gallery.md":
        markdown += "".join(map(_section, sorted((ROOT / "examples").glob("*.py"))))
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


def _section(example: Path) -> str:
    """Return an example as a section: what its docstring says, its picture, its code."""
    code = example.read_text(encoding="utf-8")
    summary, _, rest = (ast.get_docstring(ast.parse(code)) or example.stem).partition("\n")
    picture = ROOT / "docs" / "images" / f"{example.stem}.png"
    shown = f"![{summary}](images/{picture.name})\n\n" if picture.exists() else ""
    rest = rest.strip().replace("``", "`")
    return (
        f'\n## {summary}\n\n{rest}\n\n{shown}```python title="examples/{example.name}"\n{code}```\n'
    )
