"""The code of a page of the documentation, block by block."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code of one language, with its line in the page."""

    kind: str
    code: str
    line: int

    def commands(self) -> list[list[str]]:
        """Return the calls of mc2 in a block of shell commands, as lists of arguments."""
        joined = self.code.replace("\\\n", " ")
        words = [shlex.split(line, comments=True) for line in joined.splitlines()]
        return [command[1:] for command in words if command[:1] == ["mc2"]]


def blocks(page: str, change: Callable[[str], str] = str) -> list[Block]:
    """Return the blocks of a page in their order, with their code changed."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        Block(match[1], change(match[2]), text[: match.start()].count("\n") + 2)
        for match in FENCE.finditer(text)
    ]
