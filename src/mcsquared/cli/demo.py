"""mc2 demo: fit a data set and write its report."""

from __future__ import annotations

import sys
import webbrowser
from importlib import import_module
from pathlib import Path

import typer

from mcsquared.errors import InputError
from mcsquared.storage import check_target

DEMOS = {"letters": "demo_letters", "stdlib": "demo_modules"}


def run(name: str, seed: int, out: Path | None, browser: bool) -> None:
    """Run a demo, write its report, and open it if standard output is a terminal."""
    if name not in DEMOS:
        raise InputError(f"the demo must be one of {', '.join(DEMOS)}, got {name!r}")
    page = Path(f"mc2-demo-{name}.html") if out is None else out
    check_target(page)
    model, corpus = import_module(f"mcsquared.cli.{DEMOS[name]}").run(seed)
    if not _can_report():
        typer.echo("for a report, install the extra: pip install 'mcsquared[report]'")
        return
    from mcsquared.report import write_report

    write_report(model, page, corpus=corpus, title=f"mc2 demo {name}")
    address = page.resolve().as_uri()
    typer.echo(f"report: {address}")
    if browser and sys.stdout.isatty():
        webbrowser.open(address)


def _can_report() -> bool:
    from importlib.util import find_spec

    return find_spec("jinja2") is not None
