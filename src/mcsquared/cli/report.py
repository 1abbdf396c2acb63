"""mc2 report: one page to look at a model with."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from mcsquared.cli.reading import FileOptions, read_for_model
from mcsquared.errors import InputError
from mcsquared.estimator import MC2
from mcsquared.report import write_report
from mcsquared.storage import check_target

__all__ = ["run"]


def run(model_file: Path, out: Path, data: FileOptions | None, title: str | None) -> None:
    """Read the model, and the data where they are given, and write the page whole or not at all."""
    check_target(out)
    for path in (model_file, *(() if data is None else (data.path,))):
        if out.exists() and path.exists() and os.path.samefile(path, out):
            raise InputError(
                f"--out is {str(out)!r}, which is read as well; another name is wanted"
            )
    model = MC2.load(model_file)
    corpus = None if data is None else read_for_model(model, data, known=True)
    write_report(model, out, corpus=corpus, title=title or model_file.stem)
    size = out.stat().st_size / 1e6
    typer.echo(
        f"{model.n_clusters_} clusters and {model.n_topics_} topics of "
        f"{model.posterior_.n_groups:,} groups, {size:.1f} MB, written to {out}"
    )
    typer.echo(f"open it in a browser: {out.resolve().as_uri()}")
