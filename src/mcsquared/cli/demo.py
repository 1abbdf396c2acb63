"""mc2 demo: from data to a result and a report of it."""

from __future__ import annotations

import sys
import webbrowser
from importlib import import_module
from pathlib import Path

import typer

from mcsquared.errors import InputError
from mcsquared.storage import check_target

__all__ = ["run"]

DEMOS = {"letters": "demo_letters", "stdlib": "demo_modules"}


def run(name: str, seed: int, out: Path | None, browser: bool) -> None:
    """Run a demo, write its report, and open it where somebody is looking."""
    if name not in DEMOS:
        raise InputError(f"the demo is {name!r}, but one of {', '.join(DEMOS)} is wanted")
    page = Path(f"mc2-demo-{name}.html") if out is None else out
    check_target(page)
    model, corpus = import_module(f"mcsquared.cli.{DEMOS[name]}").run(seed)
    if not _can_report():
        typer.echo("for a report to look at: pip install 'mcsquared[report]'")
        return
    from mcsquared.report import write_report

    write_report(model, page, corpus=corpus, title=f"mc2 demo {name}")
    address = page.resolve().as_uri()
    typer.echo(f"a report of it all: {address}")
    if browser and sys.stdout.isatty():
        webbrowser.open(address)


def _can_report() -> bool:
    from importlib.util import find_spec

    return find_spec("jinja2") is not None
