"""Write every example of the gallery as a Jupyter notebook: ``python docs/notebooks.py FOLDER``.

The docstring of an example becomes a text cell. Its imports and constants, and each function,
become code cells. The last cell calls ``main`` with the default arguments. Uses the standard
library alone.
"""

import ast
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def notebook(path: Path) -> dict[str, Any]:
    """Return an example as a notebook, in version 4 of its format."""
    source = path.read_text(encoding="utf-8")
    lines, tree = source.splitlines(), ast.parse(source)
    *statements, last = tree.body[1:]
    assert isinstance(last, ast.If), f"{path.name} must end with a call of main"
    title, _, text = (ast.get_docstring(tree) or "").partition("\n\n")
    cells = [_cell("markdown", f"# {title.rstrip('.')}\n\n{text.strip()}")]
    begin = statements[0].lineno
    for before, statement in pairwise(statements):
        if isinstance(statement, ast.FunctionDef) or isinstance(before, ast.FunctionDef):
            cells.append(_cell("code", _text(lines, begin, statement.lineno)))
            begin = statement.lineno
    cells.append(_cell("code", _text(lines, begin, last.lineno)))
    figure, n_sweeps = _defaults(last)
    cells.append(_cell("code", f"main(Path({figure!r}), {n_sweeps})"))
    for number, cell in enumerate(cells):
        cell["id"] = f"{path.stem}-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def _text(lines: list[str], begin: int, end: int) -> str:
    """Return the lines from ``begin`` to ``end``, counted from 1 and exclusive, without margins."""
    return "\n".join(lines[begin - 1 : end - 1]).strip("\n")


def _defaults(last: ast.If) -> tuple[str, int]:
    """Return the default figure and number of sweeps of the call of ``main``."""
    lists = [node for node in ast.walk(last) if isinstance(node, ast.List)]
    figure, n_sweeps = ast.literal_eval(lists[0])
    return figure, int(n_sweeps)


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text}
    return cell if kind == "markdown" else cell | {"execution_count": None, "outputs": []}


def main(folder: Path) -> None:
    """Write all notebooks to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(EXAMPLES.glob("*.py")):
        text = json.dumps(notebook(path), indent=1, ensure_ascii=False)
        (folder / f"{path.stem}.ipynb").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
