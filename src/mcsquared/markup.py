"""HTML summaries for notebooks, light or dark; all text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MAX_CELL_LENGTH = 80  # characters

# Text and background have the notebook's colours; half-transparent borders are visible on any.
_STYLE = """
.mc2-card{font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:60em;
border:1px solid #8888;border-radius:6px;padding:.6em .9em;color:inherit;background:transparent}
.mc2-card h4{font-size:15px;margin:0 0 .3em;font-weight:600}
.mc2-card p{margin:.2em 0}
.mc2-card table{border-collapse:collapse;margin:.4em 0;font-size:inherit;color:inherit}
.mc2-card th,.mc2-card td{text-align:left;padding:.1em .9em .1em 0;border:0;background:none;
color:inherit;vertical-align:top;white-space:normal}
.mc2-card th{font-weight:600;border-bottom:1px solid #8888}
.mc2-card td.mc2-n,.mc2-card th.mc2-n{text-align:right;font-variant-numeric:tabular-nums}
.mc2-card .mc2-bar{display:inline-block;height:.65em;background:#0072b2;border-radius:2px}
.mc2-card .mc2-share{white-space:nowrap}
.mc2-card .mc2-advice::before{content:"⚠ "}
.mc2-card summary{cursor:pointer;margin:.2em 0}
"""


def shorten(text: Any, limit: int) -> str:
    """Return a text of at most ``limit`` characters; a longer one ends with an ellipsis."""
    words = str(text)
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def range_of(low: int, high: int) -> str:
    """Return a range of numbers, or the number if both are equal: "1 to 40", "40"."""
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def plural(n: int, noun: str) -> str:
    """Return a number with its noun: "1 cluster", "2 clusters"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """Return a share in percent: "12%", "less than 1%"."""
    return "less than 1%" if 0.0 < share < 0.005 else f"{share:.0%}"


class Html(str):
    """HTML whose text has already been escaped."""

    __slots__ = ()


def card(title: str, *parts: Html) -> str:
    """Return a summary with a title, given as plain text, and its parts."""
    body = "".join(parts)
    return f'<style>{_STYLE}</style><div class="mc2-card"><h4>{_text(title)}</h4>{body}</div>'


def paragraph(line: str) -> Html:
    """Return a line of plain text as a paragraph."""
    return Html(f"<p>{escape(line)}</p>")


def paragraphs(lines: Iterable[str], advice: bool = False) -> Html:
    """Return lines of plain text, one paragraph each; advice has a warning sign."""
    kind = ' class="mc2-advice"' if advice else ""
    return Html("".join(f"<p{kind}>{_text(line, 400)}</p>" for line in lines))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Html:
    """Return a table; numbers are right-aligned, text is truncated and escaped."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [all(number for _, number in column) for column in zip(*cells, strict=True)]
    classes = [' class="mc2-n"' if number else "" for number in numeric] or [""] * len(header)

    def line(tag: str, texts: Iterable[str]) -> str:
        filled = (f"<{tag}{c}>{text}</{tag}>" for c, text in zip(classes, texts, strict=True))
        return f"<tr>{''.join(filled)}</tr>"

    head = line("th", map(_text, header))
    body = "".join(line("td", (text for text, _ in row)) for row in cells)
    return Html(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")


def bar(share: float, longest: float = 1.0) -> Html:
    """Return a share as a bar, of full length for a share of ``longest``, and as a percentage."""
    width = 6.0 * min(max(share / longest, 0.0), 1.0) if longest > 0 else 0.0
    span = f'<span class="mc2-bar" style="width:{width:.2f}em"></span>'
    return Html(f'<span class="mc2-share">{span} {share:.1%}</span>')


def details(title: str, *parts: Html) -> Html:
    """Return a section that is collapsed until its title is clicked."""
    return Html(f"<details><summary>{_text(title)}</summary>{''.join(parts)}</details>")


def _cell(value: Any) -> tuple[str, bool]:
    """Return the HTML of a cell and whether it is a number."""
    if isinstance(value, Html):
        return value, False
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, float):
        return f"{value:.1f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}", True
    return _text(f"{value:,}" if number else value), number


def _text(value: Any, limit: int = MAX_CELL_LENGTH) -> str:
    return escape(shorten(" ".join(str(value).split()), limit))
